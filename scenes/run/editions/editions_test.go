package editions_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/editions"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/tools"
	"tavernsim/tools/toolstest"
)

const tides = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "plugins": ["tides"]}
-- models/m.yaml --
rules: [{answer: {calls: [{tool: "tides:next", params: {harbour: Brest}}]}}]
-- plugins/tides/plugin.yaml --
{name: tides, version: 1.0.0, configOptions: [{key: extensions.tides.unit, type: string}]}
-- plugins/tides/tools/next.tool.yaml --
id: "tides:next"
description: the first
parameters: {properties: {harbour: {type: string}}}
implementation: {type: service, name: clock}
-- plugins/tides/tools/count.tool.yaml --
id: "tides:count"
implementation: {type: script, command: python3 ./count.py}
needs: ["net:example.com:443"]
-- plugins/tides/tools/count.py --
print(1)
-- plugins/tides/workflows/w.yaml --
nodes: []
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: ["tides:next"]
custom_runtime_config: {deliberation_frequency_hz: 20}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
`

// noProgram lets the one tool ask for nothing, neither a sandbox nor a grant.
var noProgram = [...]string{"{type: script, command: python3 ./count.py}", "{type: service, name: clock}", `needs: ["net:example.com:443"]`, ""}

// with is the project with some texts replaced, in the order of the list.
func with(t *testing.T, pairs ...string) *project.Project {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.NewReplacer(pairs...).Replace(tides)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Promises 1 and 2: what a run can go on with, and why it cannot with anything else.
func TestCompare(t *testing.T) {
	was := with(t)
	for name, c := range map[string]struct {
		change []string
		tools  []string
		why    string
	}{
		"nothing":            {},
		"a description":      {[]string{"the first", "the second"}, []string{"tides:next"}, ""},
		"a program":          {[]string{"print(1)", "print(2)"}, []string{"tides:count"}, ""},
		"a version":          {[]string{"1.0.0,", "1.1.0,"}, nil, ""},
		"a tool of its own":  {[]string{"-- plugins/tides/tools/count.py --", "-- plugins/tides/tools/new.tool.yaml --\n{id: 'tides:new', implementation: {type: service, name: clock}}\n-- plugins/tides/tools/count.py --"}, []string{"tides:new"}, ""},
		"fewer needs":        {[]string{`needs: ["net:example.com:443"]`, ""}, []string{"tides:count"}, ""},
		"wider needs":        {[]string{`"net:example.com:443"`, `"net:example.com:443", "net:example.org:443"`}, nil, "asks for more than before: net:example.org:443"},
		"a cost":             {[]string{"description: the first", "cost: 0.1"}, nil, "costs something else"},
		"an option":          {[]string{"unit, type: string", "unit, type: integer"}, nil, "more of the manifest"},
		"a hook":             {[]string{"configOptions:", "services: {w: {command: ./w}}, permissions: {hooks: ['hook:scene:end']}, hooks: [{hook: 'scene:end', service: w, fail: open}], configOptions:", "-- plugins/tides/tools/count.py --", "-- plugins/tides/w --\nx\n-- plugins/tides/tools/count.py --"}, nil, "has hooks"},
		"a workflow":         {[]string{"nodes: []", "nodes: []\ndescription: x"}, nil, "decides more than what tools are"},
		"the project itself": {[]string{"hz: 20", "hz: 21"}, nil, "agent_profiles/a.yaml is a file of the project"},
	} {
		f, err := editions.Compare(was, with(t, c.change...))
		switch {
		case c.why != "":
			if err == nil || !strings.Contains(err.Error(), c.why) || protocol.KindOf(err) != protocol.KindConflict {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || !slices.Equal(f.Tools, c.tools):
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// A realtime run takes a tool that was changed between two waves. The history is decided again with
// both, and the run goes on with the newer one.
func TestAScenesGoesOnWithOtherTools(t *testing.T) {
	first, second := with(t, noProgram[:]...), with(t, append([]string{"the first", "the second", "1.0.0,", "1.1.0,"}, noProgram[:]...)...)
	next := second
	said, harbours := make(chan string, 1000), make(chan string, 1000)
	clock := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		said <- c.Tool.Description
		harbours <- fmt.Sprint(c.Tool.Description, " of ", c.Params["harbour"])
		return tools.Output(c.Tool.Description)
	})
	wait := func(want string) {
		t.Helper()
		for end := time.After(toolstest.Long); ; {
			select {
			case got := <-said:
				if got == want {
					return
				}
			case <-end:
				t.Fatal("no call of", want)
			}
		}
	}
	opt := runner.Options{
		Dir: filepath.Join(t.TempDir(), "run"), Clock: agenda.Realtime, For: time.Hour, Services: map[string]tools.Executor{"clock": clock},
		Reread: func() (*granted.Reread, error) { return &granted.Reread{Project: next}, nil },
	}
	r, err := runner.Start(first, opt)
	if err != nil {
		t.Fatal(err)
	}
	wait("the first")
	lines, err := r.Reload()
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "goes on with tides 1.1.0 (edition 2): tides:next") {
		t.Fatal(lines, err)
	}
	wait("the second")
	if lines, err := r.Reload(); err != nil || len(lines) != 0 {
		t.Error(lines, err)
	}
	next = with(t, append([]string{"the first", "the second", "1.0.0,", "1.2.0,"}, noProgram[:]...)...)
	if lines, err := r.Reload(); err != nil || len(lines) != 1 || !strings.HasSuffix(lines[0], "goes on with tides 1.2.0 (edition 3): no tool is defined otherwise") {
		t.Error(lines, err)
	}
	r.Interrupt()
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	verified := func() {
		t.Helper()
		if again, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
			t.Errorf("%+v %v", again, err)
		}
	}
	verified()
	for len(said) > 0 {
		<-said
	}
	dir := opt.Dir
	opt.Dir = ""
	if r, err = runner.Resume(dir, opt); err != nil {
		t.Fatal(err)
	}
	if got := <-said; got != "the second" {
		t.Error("the run goes on with", got)
	}
	r.Interrupt()
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	opt.Dir = dir
	verified()
	out := filepath.Join(t.TempDir(), "fork")
	if _, err := rundir.Fork(t.Context(), dir, out, rundir.ForkOptions{At: "end"}); err != nil {
		t.Fatal(err)
	}
	opt.Dir = out
	verified()
	// Another model is that of every edition.
	model := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(model, []byte(`rules: [{answer: {calls: [{tool: "tides:next", params: {harbour: Ostend}}]}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(t.TempDir(), "other")
	if _, err := rundir.Fork(t.Context(), dir, out, rundir.ForkOptions{At: "end", Set: []string{"model=" + model}, Model: runner.ReadModel}); err != nil {
		t.Fatal(err)
	}
	for len(harbours) > 0 {
		<-harbours
	}
	opt.Dir = ""
	if r, err = runner.Resume(out, opt); err != nil {
		t.Fatal(err)
	}
	for got := ""; got != "the second of Ostend"; {
		select {
		case got = <-harbours:
		case <-time.After(toolstest.Long):
			t.Fatal("nobody asks for Ostend")
		}
	}
	r.Interrupt()
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	opt.Dir = out
	verified()
}

// The virtual clock refuses: such a run is decided by what it began with. Nothing of the edition stays.
func TestTheVirtualClockKeepsItsTools(t *testing.T) {
	opt := runner.Options{
		Dir: filepath.Join(t.TempDir(), "run"), Clock: agenda.Virtual, For: 1000 * time.Hour, Services: map[string]tools.Executor{"clock": tools.Func(func(context.Context, *tools.Call) tools.Result { return tools.Output(nil) })},
		Reread: func() (*granted.Reread, error) {
			return &granted.Reread{Project: with(t, append([]string{"the first", "the second"}, noProgram[:]...)...)}, nil
		},
	}
	r, err := runner.Start(with(t, noProgram[:]...), opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reload(); err == nil || !strings.Contains(err.Error(), "virtual clock") {
		t.Error(err)
	}
	r.Interrupt()
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(r.Manifest.Editions) > 0 {
		t.Error(r.Manifest.Editions)
	}
	if left, _ := filepath.Glob(opt.Dir + "/editions/*"); len(left) > 0 {
		t.Error(left)
	}
}

// A run of two scenes takes the tools in each of them that can: one whose task of a changed tool is
// open keeps what it has, and the error names it. When the task has ended, it takes them, too, also if the run was
// interrupted meanwhile. Each scene compares the files with what it has itself.
func TestReloadsOfTwoScenes(t *testing.T) {
	later := append([]string{"implementation: {type: service, name: clock}\n-- plugins/tides/tools/count", "implementation: {type: service, name: clock}\nexecution: {mode: async, timeout: 1h}\n-- plugins/tides/tools/count"}, noProgram[:]...)
	second := "\n-- agent_profiles/q.yaml --\nid: q\nname: Q\nversion: '1.0.0'\nschema_version: '1.0'\ncore_deliberation_workflow_id: std/core\n-- scenes/quiet.yaml --\nid: quiet\nname: Q\nagent_instances: [{instance_id: a, profile_id: q}]\n"
	load := func(more ...string) *project.Project {
		t.Helper()
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.NewReplacer(append(more, later...)...).Replace(tides)+second))), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	begun, end := make(chan struct{}, 1), make(chan struct{})
	clock := tools.Func(func(ctx context.Context, _ *tools.Call) tools.Result {
		select {
		case begun <- struct{}{}:
		default:
		}
		select {
		case <-end:
		case <-ctx.Done():
		}
		return tools.Output("high")
	})
	next := load("the first", "the second")
	opt := runner.Options{
		Dir: filepath.Join(t.TempDir(), "run"), Clock: agenda.Realtime, For: time.Hour, Scenes: []string{"s", "quiet"}, Services: map[string]tools.Executor{"clock": clock},
		Reread: func() (*granted.Reread, error) { return &granted.Reread{Project: next}, nil },
	}
	r, err := runner.Start(load(), opt)
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	reload := func(open bool, takes ...string) { // open: a task of the scene s is
		t.Helper()
		lines, err := r.Reload()
		if len(lines) != len(takes) || open != (err != nil) || err != nil && (!strings.Contains(err.Error(), "scene s: the task ") || !strings.Contains(err.Error(), "is open; wait for it, or cancel it")) {
			t.Fatalf("%q, want %q; %v", lines, takes, err)
		}
		for i, scene := range takes {
			if !strings.HasPrefix(lines[i], "the scene "+scene+" goes on with tides 1.0.0 (edition ") || !strings.HasSuffix(lines[i], ": tides:next") {
				t.Errorf("%q, want %q", lines, takes)
			}
		}
	}
	wait := func() {
		t.Helper()
		r.Interrupt()
		if _, err := r.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	reload(true, "quiet")
	both := next
	next = load()
	reload(false, "quiet") // the other scene has that
	next = both
	reload(true, "quiet")
	rest := &agenda.Intervened{ID: "rest", Do: protocol.Encode([]any{map[string]any{"rest": map[string]any{"agents": "a"}}})} // it begins no other task
	if _, err := r.Scenes[0].Run.Order(t.Context(), rest); err != nil {
		t.Fatal(err)
	}
	wait()
	close(end)
	dir := opt.Dir
	opt.Dir, opt.Scenes = "", nil
	if r, err = runner.Resume(dir, opt); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for late := time.After(toolstest.Long); ; {
		if lines, err = r.Reload(); err == nil {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
			continue
		case <-late:
		}
		t.Fatal(lines, err)
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "the scene s goes on with ") {
		t.Error(lines)
	}
	reload(false)
	next = load()
	reload(false, "s", "quiet")
	wait()
	for _, s := range []string{"s", "quiet"} {
		again, err := rundir.Replay(t.Context(), r.Dir, rundir.ReplayOptions{Verify: true, Scene: s})
		if err != nil || again.Scenes[0].Differs() {
			t.Errorf("%s: %+v %v", s, again, err)
		}
	}
}

// A run that began without tools takes none.
func TestNoToolsToReload(t *testing.T) {
	next := with(t, append([]string{`tool_ids_inventory: ["tides:next"]`, "", `{tool: "tides:next", params: {harbour: Brest}}`, ""}, noProgram[:]...)...)
	before, rest, _ := strings.Cut(tides, "-- plugins/tides/tools/next")
	_, after, _ := strings.Cut(rest, "-- plugins/tides/workflows")
	none := strings.NewReplacer(`tool_ids_inventory: ["tides:next"]`, "", `{tool: "tides:next", params: {harbour: Brest}}`, "").Replace(before + "-- plugins/tides/workflows" + after)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(none))), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.Start(p, runner.Options{
		Dir: filepath.Join(t.TempDir(), "run"), Clock: agenda.Realtime, For: time.Hour,
		Reread: func() (*granted.Reread, error) { return &granted.Reread{Project: next}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := r.Reload(); err == nil || !strings.Contains(err.Error(), "it began without tools") || len(lines) > 0 {
		t.Error(lines, err)
	}
	r.Interrupt()
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(r.Manifest.Editions) > 0 {
		t.Error(r.Manifest.Editions)
	}
}
