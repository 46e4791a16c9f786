package source

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Promises 1, 2 and 5: dates stay text, what readers read differently is refused, every
// place is that of its character. Each archive holds input files and, last, the trees and faults they give.
// go test ./internal/source -run TestTrees -update rewrites it.
func TestTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { testTrees(t, file) })
	}
}

// A fault in a file with secrets says of which kind a value is, and quotes none of it.
func TestSecretValues(t *testing.T) {
	type entry struct {
		Text  string            `json:"text"`
		Word  string            `json:"word"`
		Count int64             `json:"count"`
		Share float64           `json:"share"`
		Wait  protocol.Duration `json:"wait"`
		On    bool              `json:"on"`
		List  []string          `json:"list"`
		Names map[string]string `json:"names"`
		Rates map[string]int64  `json:"rates"`
	}
	rules := Rules{"source.entry.word": {Enum: []string{"one", "two"}}, "source.entry.count": {Range: &Range{Min: 1, Max: 9}}, "source.entry.wait": {Range: &Range{Min: 1, Max: 9}}}
	for _, secret := range []string{"s3cret77", "77773333", "7777.3333", "-7777333", "0777733331", "77_773333", "99999999999999999999", "7e7777", "!s3cret77", "*s3cret77", "@s3cret77", "true", "[s3cret77]", "{s3cret77}", "{a: s3cret77}", "7777h"} {
		for _, form := range []string{"%s", "{text: %s}", "{word: %s}", "{count: %s}", "{share: %s}", "{wait: %s}", "{on: %s}", "{list: %s}", "{list: [{a: %s}]}", "{names: %s}", "{names: {a: %s}}", "{rates: {a: %s}}", "{unknown: %s}", "{word: %s, text: {"} {
			yaml := fmt.Sprintf(form, secret)
			json := strings.NewReplacer("{text", `{"text"`, "{word", `{"word"`, "{count", `{"count"`, "{share", `{"share"`, "{a:", `{"a":`).Replace(yaml)
			for file, data := range map[string]string{"secrets.yaml": yaml, "secrets.json": json} {
				report := &Report{}
				if doc := Parse(file, []byte(data), Limits{Secret: true}, report); doc != nil {
					d := Decoder{Rules: rules, Report: report}
					d.Decode(doc, &entry{})
				}
				for _, f := range report.List() {
					said := f.Message + f.Suggestion
					if f.Path != "names" { // a name is said, in the path of what it names
						said += f.Path
					}
					if bare := strings.Trim(secret, "!*@[]{}"); bare != "true" && strings.Contains(said, bare) || strings.Contains(said, "s3cret") {
						t.Errorf("%s: %s", data, f)
					}
				}
			}
		}
	}
}

func testTrees(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	if n := len(a.Files) - 1; a.Files[n].Name == "want" {
		want = string(a.Files[n].Data)
		a.Files = a.Files[:n]
	}
	var b strings.Builder
	for _, f := range a.Files {
		var report Report
		doc := Parse(f.Name, f.Data, Limits{}, &report)
		fmt.Fprintf(&b, "%s:\n", f.Name)
		if doc != nil {
			dump(&b, doc.Root, nil)
		}
		for _, f := range report.List() {
			fmt.Fprintln(&b, "!", f)
		}
	}
	if *update {
		a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(b.String())})
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

// dump writes one line per node: position, path, value.
func dump(b *strings.Builder, n *Node, p *trail) {
	fmt.Fprintf(b, "  %d:%d %s ", n.Pos.Line, n.Pos.Column, p)
	switch n.Kind {
	case Object, List:
		fmt.Fprintf(b, "%s of %d\n", n.Kind, n.Len())
	default:
		fmt.Fprintf(b, "%T %#v\n", n.Value(), n.Value())
	}
	for i := range n.Len() {
		if n.Kind == Object {
			k := n.Keys()[i]
			fmt.Fprintf(b, "  %d:%d key %s\n", k.Pos.Line, k.Pos.Column, k.Name)
			dump(b, n.Elem(i), p.key(k.Name))
		} else {
			dump(b, n.Elem(i), p.item(i))
		}
	}
}

// Promise 1: both notations give the same tree of the same value, and the plain value back.
func TestParseBothNotations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"x.json", "x.yaml"} {
			var report Report
			doc := Parse(name, text, Limits{}, &report)
			if doc == nil || report.Total() > 0 {
				t.Fatalf("%s of %s: %v", name, text, report.Err())
			}
			if got := doc.Root.Value(); !protocol.Equal(got, v) {
				t.Fatalf("%s of %s: got %#v, want %#v", name, text, got, v)
			}
		}
	})
}

func genValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Int64().AsAny(),
		rapid.Float64Range(-1e15, 1e15).AsAny(),
		rapid.StringMatching(`[a-z0-9:#\-"'\\ é漢\n{}\[\]&*!|>%@]{0,12}`).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	list := rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(genValue(depth-1), 0, 4).Draw(t, "list") })
	object := rapid.Custom(func(t *rapid.T) any {
		return rapid.MapOfN(rapid.StringMatching(`[a-z_]{1,6}`), genValue(depth-1), 0, 4).Draw(t, "object")
	})
	return rapid.OneOf(append(scalars, list, object)...)
}

// Promise 4: each bound is a fault. Promise 5: a column counts characters.
func TestLimits(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	for _, tc := range []struct {
		name, file, text, want string
		lim                    Limits
	}{
		{"depth allowed", "x.json", deep(64), "", Limits{}},
		{"depth json", "x.json", deep(66), "x.json:1:65: nested deeper than 64", Limits{}},
		{"depth far beyond the stack", "x.json", strings.Repeat("[", 5_000_000), "x.json:1:65: nested deeper than 64", Limits{}},
		{"depth in comments and text does not count", "x.json", "[\"" + strings.Repeat("[", 99) + "\" /*" + strings.Repeat("{", 99) + "*/] // " + strings.Repeat("[", 99), "", Limits{}},
		{"depth yaml", "x.yaml", deep(70), "nested deeper than 64", Limits{}},
		{"bytes", "x.json", "[1, 2, 3]", "x.json: the file has 9 bytes; the limit is 8 (split it)", Limits{MaxBytes: 8}},
		{"nodes", "x.json", "[1, 2, 3]", "more than 3 values", Limits{MaxNodes: 3}},
		{"alias bomb", "x.yaml", bomb, "more than 2000000 values", Limits{}},
		{"alias of itself", "x.yaml", "a: &a [*a]", "", Limits{}},
		{"utf-8", "x.json", "{\"é\": \"\xff\"}", "x.json:1:8: byte 0xff is not UTF-8", Limits{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var report Report
			doc := Parse(tc.file, []byte(tc.text), tc.lim, &report)
			got := ""
			if err := report.Err(); err != nil {
				got = err.Error()
			}
			if tc.name == "alias of itself" { // refused by one bound or another
				if doc != nil || got == "" {
					t.Fatal("accepted")
				}
				return
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Promise 4: a file of too many values is refused before a tree of them is built.
func TestCrowdedFilesCostLittle(t *testing.T) {
	const size = 16 << 20
	fill := func(begin, each, end string) []byte {
		return []byte(begin + strings.Repeat(each, (size-len(begin)-len(end))/len(each)) + end)
	}
	for name, c := range map[string]struct {
		file string
		data []byte
	}{
		"lines of a yaml list":   {"x.yaml", fill("", "- a\n", "")},
		"lines of a yaml object": {"x.yaml", fill("", "a:\n", "")},
		"a yaml list":            {"x.yaml", fill("[", "1,", "1]")},
		"empty yaml objects":     {"x.yaml", fill("[", "{},", "1]")},
		"a json list":            {"x.json", fill("[", "1,", "1]")},
		"json texts":             {"x.json", fill("[", `"",`, "1]")},
		"empty json lists":       {"x.json", fill("[", "[],", "1]")},
		"a json object":          {"x.json", fill("{", `"a":1,`, `"a":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			var report Report
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			doc := Parse(c.file, c.data, Limits{}, &report)
			runtime.ReadMemStats(&after)
			got := fmt.Sprint(report.Err())
			if doc != nil || !strings.Contains(got, "the file has more than 2000000 ") || !strings.HasSuffix(got, "(split it)") {
				t.Errorf("got %s", got)
			}
			cost := (after.TotalAlloc - before.TotalAlloc) >> 20
			if t.Logf("%d MiB", cost); cost > 48 {
				t.Errorf("it cost %d MiB", cost)
			}
		})
	}
}

// What counts before a tree is built: values, and neither keys nor what stands in
// texts and comments.
func TestValuesAreCounted(t *testing.T) {
	for _, c := range []struct {
		file, text string
		values     int
	}{
		{"x.json", `{"a": [1, -2.5e3, "x,y:[{"], "b": {"c": null,}, /* 1, 2 */ "d": true} // [1,2]`, 8},
		{"x.json", `[[], {}, "", 0,]`, 5},
		{"x.yaml", "a: [1, x]\nb:\n  - 2\n  - - 3\n", 8},
	} {
		for _, limit := range []int{c.values, c.values - 1, c.values - 3} {
			var report Report
			doc := Parse(c.file, []byte(c.text), Limits{MaxNodes: limit}, &report)
			if (doc != nil) != (limit == c.values) {
				t.Errorf("%s, at most %d: %v", c.text, limit, report.Err())
			}
		}
	}
}

func TestReportBounds(t *testing.T) {
	var r Report
	if r.Err() != nil {
		t.Fatal("an empty report is an error")
	}
	for i := range MaxHeld + 5 {
		r.Add(Fault{File: "f", Line: MaxHeld + 10 - i, Message: "m"})
	}
	list := r.List()
	if len(list) != MaxShown || r.Total() != MaxHeld+5 {
		t.Fatalf("%d shown of %d", len(list), r.Total())
	}
	for i := 1; i < len(list); i++ {
		if list[i-1].compare(list[i]) >= 0 {
			t.Fatal("not sorted")
		}
	}
	if text := r.Err().Error(); !strings.HasSuffix(text, fmt.Sprintf("\nand %d more", MaxHeld+5-MaxShown)) {
		t.Error(text[len(text)-40:])
	}
	if k := protocol.KindOf(r.Err()); k != protocol.KindInvalid {
		t.Error("kind", k)
	}
}

func TestReportDropsRepetitions(t *testing.T) {
	var r Report
	for range 3 {
		r.Add(Fault{File: "f", Line: 1, Message: "m"})
	}
	if got := r.Err().Error(); got != "f:1:0: m" {
		t.Error(got)
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"instance_id", "profile_id", "count", "on_scene_start"}
	for word, want := range map[string]string{
		"instanceId": "instance_id", "instnace_id": "instance_id", "profil_id": "profile_id", "cuont": "count",
		"counts": "count", "zzz": "", "": "", "on_scene_stat": "on_scene_start", "ON-SCENE-START": "on_scene_start",
	} {
		if got := nearest(word, words); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	if got := nearest("ab", []string{"ad", "ac"}); got != "ac" {
		t.Errorf("a tie goes to the first in order, got %q", got)
	}
	long := strings.Repeat("x", 1<<22) // spelled like a candidate: looking takes minutes
	if got := nearest(long, append(slices.Repeat([]string{"agent"}, maxCandidates-1), long)); got != "" {
		t.Errorf("a word of %d bytes has a suggestion of %d", len(long), len(got))
	}
}

type color string

type shape struct {
	Name    string            `json:"name"`
	Color   color             `json:"color,omitempty"`
	Size    int               `json:"size"`
	Big     uint64            `json:"big"`
	Ratio   float64           `json:"ratio"`
	On      *bool             `json:"on"`
	Tags    []string          `json:"tags"`
	Parts   []shape           `json:"parts"`
	Names   map[string]string `json:"names"`
	Ports   map[string]shape  `json:"ports"`
	Free    map[string]any    `json:"free"`
	Any     any               `json:"any"`
	At      time.Time         `json:"at"`
	Skipped int               `json:"-"`
}

func decoder(r *Report) *Decoder {
	return &Decoder{Report: r, Shorthand: map[reflect.Type]string{reflect.TypeFor[shape](): "name"}, Rules: Rules{
		"source.shape.name":  {Required: true, Doc: "What it is called."},
		"source.shape.color": {Enum: []string{"red", "blue"}, Default: "red"},
		"source.shape.ratio": {Range: &Range{Min: 0, Max: 1}},
		"source.shape.tags":  {MaxItems: 2},
	}}
}

func TestDecode(t *testing.T) {
	text := `{"$schema": "x", "name": "n", "color": "blue", "size": 3.0, "big": 7, "ratio": 1, "on": false, "tags": ["a", "b"],
		"parts": ["short", {"name": "long", "size": 1}], "names": {"a": "b"}, "ports": {"p": {"name": "q"}},
		"free": {"x": [1, 2.5, null]}, "any": null, "at": "2025-01-02T03:04:05Z"}`
	var report Report
	var got shape
	doc := Parse("x.json", []byte(text), Limits{}, &report)
	if !decoder(&report).Decode(doc, &got) {
		t.Fatal(report.Err())
	}
	off := false
	want := shape{Name: "n", Color: "blue", Size: 3, Big: 7, Ratio: 1, On: &off, Tags: []string{"a", "b"},
		Parts: []shape{{Name: "short"}, {Name: "long", Size: 1}}, Names: map[string]string{"a": "b"},
		Ports: map[string]shape{"p": {Name: "q"}}, Free: map[string]any{"x": []any{int64(1), 2.5, nil}},
		At: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// A zero that older programs took is refused, or reported apart; another value out of the range is a fault in any case.
func TestStrictRange(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "n", "ratio": 0.0, "size": 0}`: "0 2",
		`{"name": "n", "ratio": -1}`:             "1 0",
		`{"name": "n", "size": 9}`:               "1 0",
		`{"name": "n", "ratio": 1, "size": 1}`:   "0 0",
		`{"name": "n", "tags": [], "color": ""}`: "0 2",
		`{"name": "", "color": "red"}`:           "1 0",
		`{"name": "n", "parts": []}`:             "0 0",
	} {
		var report, strict Report
		d := decoder(&report)
		d.Rules["source.shape.ratio"] = Rule{Range: &Range{Max: 1, Open: true}, Strict: true}
		d.Rules["source.shape.size"] = Rule{Range: &Range{Min: 1, Max: 8}, Strict: true}
		d.Rules["source.shape.tags"] = Rule{Strict: true}
		doc := Parse("x.json", []byte(text), Limits{}, &report)
		report.Strict = &strict
		d.Decode(doc, &shape{})
		if got := fmt.Sprint(report.Total(), strict.Total()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		before := report.Total() + strict.Total()
		report = Report{}
		if d.Decode(doc, &shape{}); report.Total() != before {
			t.Errorf("%s: %v", text, report.Err())
		}
	}
}

// A tag is a fault. Older programs took those of the core, and every tag of a key.
func TestTagsOfOlderFiles(t *testing.T) {
	for text, want := range map[string]string{"a: !!str 5": "0 1", "a: !foo 5": "1 0", "!foo a: 5": "0 1", "!!binary a: 5": "0 1", "? !!set a": "0 1", "a: 5": "0 0"} {
		var report, strict Report
		report.Strict = &strict
		Parse("x.yaml", []byte(text), Limits{}, &report)
		if got := fmt.Sprint(report.Total(), strict.Total()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Promise 3: one look finds the faults of a file and of what it holds; a syntax error
// ends its file alone.
func TestEveryFaultIsReported(t *testing.T) {
	var report Report
	var got shape
	doc := Parse("x.json", []byte(`{"name": 3, "color": "green", "siz": 1, "ratio": 7, "tags": ["a", "b", "c"]}`), Limits{}, &report)
	decoder(&report).Decode(doc, &got)
	Parse("broken.json", []byte(`{"a": `), Limits{}, &report)
	doc = Parse("y.yaml", []byte("name: n\nsize: x\nzero: 012\n"), Limits{}, &report)
	if doc != nil {
		decoder(&report).Decode(doc, &got)
	}
	text := report.Err().Error()
	for _, want := range []string{"x.json:1:10: ", "x.json:1:22: ", "x.json:1:31: ", "x.json:1:50: ", "x.json:1:61: ", "y.yaml:2:7: ", "broken.json:2:1: ", "y.yaml:3:7: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no fault at %s in\n%s", want, text)
		}
	}
}

// What Decode refuses by type, range and enumeration, the schema says, too.
func TestSchemaOfStruct(t *testing.T) {
	got := decoder(&Report{}).Schema(reflect.TypeFor[shape](), "Shape")
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/shape.schema.json"
	if *update {
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != string(text)+"\n" {
		t.Errorf("got %s\nwant %s %v", text, want, err)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, x := range a.Files {
			f.Add(strings.HasSuffix(x.Name, ".yaml"), x.Data)
		}
	}
	f.Fuzz(func(t *testing.T, isYAML bool, data []byte) {
		name := "x.json"
		if isYAML {
			name = "x.yaml"
		}
		var report Report
		doc := Parse(name, data, Limits{MaxNodes: 10_000, MaxDepth: 32}, &report)
		if doc == nil {
			if report.Total() == 0 {
				t.Fatal("refused without a fault")
			}
			return
		}
		v := doc.Root.Value()
		if n, err := protocol.Normalize(v); err != nil || !protocol.Equal(n, v) {
			t.Fatalf("not normal: %v", err)
		}
		var s shape
		decoder(&report).Decode(doc, &s)
		for _, fault := range report.List() {
			if fault.Line < 0 || fault.Line > len(data)+2 || fault.Message == "" { // YAML has five line breaks
				t.Fatalf("bad fault %+v", fault)
			}
		}
	})
}
