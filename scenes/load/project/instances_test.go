package project

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/numbered"

	"pgregory.net/rapid"
)

const traders = `
-- agent_profiles/trader.yaml --
id: trader
name: Trader
version: 1.0.0
schema_version: "1.0"
core_deliberation_workflow_id: turn
initial_private_state_schema:
  properties:
    gold: {type: integer, default: 7}
    home: {type: object, default: {x: 1}, properties: {y: {type: integer, default: 2}}}
    name: {type: string}
initial_private_state_values:
  name: nobody
  stock: {apples: 3, pears: [1, 2, 3]}
  kept: [1, 2, 3]
custom_runtime_config:
  max_inbox: 10
  max_calls: 5
  deliberation_frequency_hz: 2
  wake_on_start: false
  subscribed_event_types: [market.closed]
subscribed_event_types: [market.opened]
-- workflows/turn.yaml --
nodes: []
-- scenes/main.yaml --
id: main
name: Main
agent_instances:
  - {instance_id: boss, profile_id: trader}
  - instance_id: "trader_{n:05}"
    profile_id: trader
    count: COUNT
    initial_private_state_override:
      name: "Trader {n}"
      stock: {label: "box {n:03}", fixed: {a: 1}, list: ["{n}", 5]}
    custom_runtime_config:
      max_calls: 9
      deliberation_frequency_hz: 0
      subscribed_event_types: [market.opened, {type: rumor, filter_condition: payload.loud}]
  - {instance_id: "guard_{n}", profile_id: trader, count: 3}
simulation: {stop: {after: 1h}}
`

// folder makes a file system of an archive's text.
func folder(text string) fstest.MapFS {
	fsys := fstest.MapFS{}
	name := ""
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(strings.TrimSpace(rest), " --")
			fsys[name] = &fstest.MapFile{}
		} else if name != "" {
			fsys[name].Data = append(fsys[name].Data, line...)
		}
	}
	return fsys
}

func loadText(t testing.TB, text string) *Project {
	t.Helper()
	p, err := Load(folder(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func traderScene(t testing.TB, count int) *Scene {
	t.Helper()
	s, err := loadText(t, strings.Replace(traders, "COUNT", fmt.Sprint(count), 1)).Scene("main")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCount(t *testing.T) {
	a, err := traderScene(t, 4).Agents(0)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for in := range a.All() {
		ids = append(ids, in.ID)
		if !reflect.DeepEqual(in, a.At(in.Ordinal)) {
			t.Errorf("At(%d) differs from All", in.Ordinal)
		}
		if o, ok := a.Find(in.ID); !ok || o != in.Ordinal {
			t.Errorf("Find(%q) = %d, %v", in.ID, o, ok)
		}
	}
	if got := strings.Join(ids, " "); got != "boss trader_00001 trader_00002 trader_00003 trader_00004 guard_1 guard_2 guard_3" {
		t.Error(got)
	}
	for _, id := range []string{"", "trader_1", "trader_00005", "trader_00000", "guard_4", "guard_01", "bos", "guard_1x"} {
		if o, ok := a.Find(id); ok {
			t.Errorf("Find(%q) = %d", id, o)
		}
	}
}

// §2.3.1: the scene wins field by field at the top; below nothing is merged;
// schema defaults fill what is missing; templates reach nested text.
func TestStateMerge(t *testing.T) {
	a, err := traderScene(t, 4).Agents(0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name":  "Trader 3",
		"gold":  int64(7),
		"home":  map[string]any{"x": int64(1), "y": int64(2)},
		"stock": map[string]any{"label": "box 003", "fixed": map[string]any{"a": int64(1)}, "list": []any{"3", int64(5)}},
		"kept":  []any{int64(1), int64(2), int64(3)},
	}
	if got := a.At(3).State; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if got := a.At(0).State["name"]; got != "nobody" {
		t.Error("boss is called", got)
	}
}

// Scene over profile over default, field by field; a written 0 or false counts.
func TestRuntimeMerge(t *testing.T) {
	a, err := traderScene(t, 1).Agents(0)
	if err != nil {
		t.Fatal(err)
	}
	boss, trader := a.At(0).Runtime, a.At(1).Runtime
	if boss.MaxInbox != 10 || boss.MaxCalls != 5 || boss.DeliberationFrequencyHz != 2 || *boss.WakeOnStart || *boss.WakeOnStateChange {
		t.Errorf("boss %+v", boss)
	}
	if trader.MaxInbox != 10 || trader.MaxCalls != 9 || trader.DeliberationFrequencyHz != 0 || trader.MaxModelCalls != 8 {
		t.Errorf("trader %+v", trader)
	}
	var types []string
	for _, s := range a.At(1).Subscriptions {
		types = append(types, s.Type+s.FilterText())
	}
	if got := strings.Join(types, " "); got != "market.opened market.closed rumorpayload.loud" {
		t.Error(got)
	}
}

func TestAgentsOverride(t *testing.T) {
	s := traderScene(t, 9) // and 3 guards, and the boss
	for _, tc := range []struct{ want, traders, guards int }{{12, 9, 3}, {2, 1, 1}, {3, 2, 1}, {1200, 900, 300}, {7, 5, 2}, {1_000_000 - 1, 749_999, 250_000}} {
		a, err := s.Agents(tc.want)
		if err != nil {
			t.Fatal(err)
		}
		if a.counts[1] != tc.traders || a.counts[2] != tc.guards || a.Len() != tc.want+1 {
			t.Errorf("%d: %d traders and %d guards of %d", tc.want, a.counts[1], a.counts[2], a.Len())
		}
	}
	for want, text := range map[int]string{1: "want 2 to 10000000", -1: "want 2", 20_000_000: "want 2 to", 1_000_000: "max_agents is 1000000", 10_000_000: "10000001 agents; simulation.limits.max_agents is 1000000"} {
		if _, err := s.Agents(want); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%d: %v", want, err)
		}
	}
}

// Ids that another number of agents makes are checked like those of the file.
func TestAgentsOverrideChecksIDs(t *testing.T) {
	for id, want := range map[string]string{strings.Repeat("{n}", 60): "has 240 bytes; the limit is 200", "solo": "solo"} {
		text := strings.Replace(strings.Replace(traders, "COUNT", "1", 1), `"guard_{n}", profile_id: trader, count: 3`, fmt.Sprintf("%q, profile_id: trader, count: 1", id), 1)
		s, err := loadText(t, text).Scene("main")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Agents(3000); protocol.KindOf(err) != protocol.KindInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAgentsOverrideWithoutCount(t *testing.T) {
	p, err := Load(os.DirFS("testdata/appendix"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := p.Scene("")
	if _, err := s.Agents(5); protocol.KindOf(err) != protocol.KindInvalid {
		t.Error(err)
	}
}

// A hundred thousand agents are a table, and making one allocates what differs.
func TestInstancesAreCheap(t *testing.T) {
	s := traderScene(t, 100_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a, err := s.Agents(0)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 64<<10 {
		t.Errorf("the table takes %d bytes", used)
	}
	if n := testing.AllocsPerRun(100, func() { a.At(100_001) }); n > 2 {
		t.Errorf("a guard, who shares everything but the id, takes %v allocations", n)
	}
	x, y := a.At(5).State, a.At(6).State
	if fmt.Sprintf("%p", x["home"]) != fmt.Sprintf("%p", y["home"]) {
		t.Error("fields without a template are copied")
	}
	runtime.KeepAlive(a)
}

// clashes agrees with making every id.
func TestClashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a1]{1,2}(\{n\}|\{n:02\})?[1]?`)
		var entries []*entry
		var counts []int
		seen, twice := map[string]bool{}, false
		for range rapid.IntRange(1, 4).Draw(t, "entries") {
			e := &entry{id: numbered.Parse(id.Draw(t, "id")), count: 1}
			if e.id.HasN() {
				e.count = rapid.IntRange(1, 15).Draw(t, "count")
			}
			for n := range e.count {
				s := e.id.Expand(n + 1)
				twice = twice || seen[s]
				seen[s] = true
			}
			entries, counts = append(entries, e), append(counts, e.count)
		}
		if got := clashes(entries, counts); (len(got) > 0) != twice {
			t.Fatalf("clashes %v, want %v", got, twice)
		}
	})
}

// Promise 5: what is copied is what was read, whatever the file says by then.
func TestCopyOfChangedFiles(t *testing.T) {
	fsys := folder(strings.Replace(traders, "COUNT", "2", 1))
	p, err := Load(fsys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "inputs")
	want := map[string]string{}
	for _, f := range p.Files() {
		want[f.Path] = string(fsys[f.Path].Data)
		for i := range fsys[f.Path].Data {
			fsys[f.Path].Data[i] = '#'
		}
	}
	if err := p.CopyTo(dir); err != nil || len(want) == 0 {
		t.Fatal(err)
	}
	for path, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v; want %q", path, got, err, text)
		}
	}
}

// Promise 5: CopyTo writes what was read; the copy is the same project.
func TestCopyTo(t *testing.T) {
	p := loadAppendix(t)
	dir := filepath.Join(t.TempDir(), "inputs")
	if err := p.CopyTo(dir); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	q, err := Load(root.FS(), Options{Name: "appendix"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Hash() != q.Hash() || !reflect.DeepEqual(fileNames(p), fileNames(q)) || q.ID() != p.ID() {
		t.Error("the copy differs")
	}
	if err := p.CopyTo(dir); protocol.KindOf(err) != protocol.KindConflict {
		t.Error("an existing folder:", err)
	}
	if left, _ := filepath.Glob(dir + ".part-*"); len(left) > 0 {
		t.Error("left behind:", left)
	}
	if err := p.CopyTo(filepath.Join(dir, "missing", "x")); err == nil {
		t.Error("copied into a folder that does not exist")
	}
}

func fileNames(p *Project) []string {
	var names []string
	for _, f := range p.Files() {
		names = append(names, f.Path+" "+f.SHA256)
	}
	return names
}

// Promise 2: equal files have an equal hash, others another.
func TestHashSeesEveryFile(t *testing.T) {
	text := strings.Replace(traders, "COUNT", "2", 1)
	h := loadText(t, text).Hash()
	if h != loadText(t, text).Hash() {
		t.Error("the hash changes by itself")
	}
	for _, more := range []string{"-- models/x.yaml --\nrules: []\n", "-- workflows/more.yaml --\nnodes: []\n"} {
		if loadText(t, text+more).Hash() == h {
			t.Errorf("the hash does not see %q", more)
		}
	}
	if loadText(t, text+"-- notes.txt --\nx\n").Hash() != h {
		t.Error("the hash sees a file that is not read")
	}
}

// Promise 4: no link is followed and nothing outside the folder is read.
func TestLinksAreRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("outside/secret.yaml", "rules: []")
	write("p/scenes/main.yaml", "id: m\nname: M\nagent_instances: []\nsimulation: {stop: {after: 1h}, model: data/secret.yaml}\n")
	for link, target := range map[string]string{"p/workflows": "../outside", "p/scenes/link.yaml": "main.yaml", "p/data": "../outside"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	_, err := Load(os.DirFS(filepath.Join(dir, "p")), Options{})
	want := "scenes/link.yaml: is a symbolic link; a project holds plain files only (put the file itself here)\n" +
		"scenes/main.yaml:4:40: simulation.model: data is a symbolic link; a project holds plain files only\n" +
		"workflows: is a symbolic link; a project holds plain files only (put the file itself here)"
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

// Promise 6: each bound is a fault.
func TestProjectLimits(t *testing.T) {
	text := strings.Replace(traders, "COUNT", "2", 1)
	for want, lim := range map[string]Limits{
		"the project has more than 2 files":   {MaxFiles: 2},
		"the project has more than 500 bytes": {MaxTotalBytes: 500},
		"the file has more than":              {File: source.Limits{MaxBytes: 100}},
		"folders nested deeper than 1":        {MaxFolders: 1},
		"nested deeper than 3":                {File: source.Limits{MaxDepth: 3}},
	} {
		_, err := Load(folder(text+"-- workflows/a/b/c.yaml --\nnodes: []\n"), Options{Limits: lim})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A folder without project.json loads; its id is the folder's name.
func TestWithoutProjectFile(t *testing.T) {
	p, err := Load(folder("-- scenes/only.yaml --\nid: only\nname: Only\nagent_instances: []\n"), Options{Name: "tale", Stops: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Scene("")
	if err != nil || s.Definition.ID != "only" || p.ID() != "tale" || len(p.Warnings) != 0 {
		t.Error(s, err, p.ID(), p.Warnings)
	}
	if _, err := p.Scene("other"); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
	two := loadText(t, "-- scenes/a.yaml --\nid: a\nname: A\nagent_instances: []\n-- scenes/b.yaml --\nid: b\nname: B\nagent_instances: []\n")
	if _, err := two.Scene(""); err == nil || !strings.Contains(err.Error(), "name one of a, b") {
		t.Error(err)
	}
}

func TestMissingFolder(t *testing.T) {
	_, err := Load(os.DirFS(filepath.Join(t.TempDir(), "nothing")), Options{})
	if protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
}

// §3.5: payloads are checked against the schema of their event type.
func TestCheckEvent(t *testing.T) {
	p := loadText(t, `
-- project.json --
{"id": "p", "event_schemas": {"spoke": "schemas/spoke.yaml", "left": {"type": "object", "required": ["where"]}}}
-- schemas/spoke.yaml --
type: object
properties: {text: {$ref: "common.json#/$defs/text"}}
-- schemas/common.json --
{"$defs": {"text": {"type": "string", "minLength": 1}}}
-- scenes/main.yaml --
id: main
name: Main
agent_instances: []
simulation: {stop: {after: 1h}}
`)
	for _, tc := range []struct {
		typ     string
		payload any
		want    string
	}{
		{"spoke", map[string]any{"text": "hi"}, ""},
		{"spoke", map[string]any{"text": int64(1)}, "event spoke: payload: text: got number, want string"},
		{"left", map[string]any{}, "event left: payload: missing property 'where'"},
		{"left", "x", "event left: payload: got string, want object"},
		{"unknown", 5, ""},
	} {
		got := ""
		if err := p.CheckEvent(tc.typ, tc.payload); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s %v: got %q, want %q", tc.typ, tc.payload, got, tc.want)
		}
	}
	if got := strings.Join(fileNamesOnly(p), " "); !strings.Contains(got, "schemas/common.json") {
		t.Error("a file that a schema refers to is no input:", got)
	}
}

func fileNamesOnly(p *Project) []string {
	var names []string
	for _, f := range p.Files() {
		names = append(names, f.Path)
	}
	return names
}
