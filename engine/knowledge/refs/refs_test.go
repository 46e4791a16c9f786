package refs

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

func library(t testing.TB) Resolver {
	t.Helper()
	lore := func(id string, content any) knowledge.Entry {
		return knowledge.Entry{ID: id, EntryType: "lore", Content: content}
	}
	entries := []knowledge.Entry{
		lore("a", "A({{{b}}})"), lore("b", "B"), lore("loop1", "1{{{loop2}}}"), lore("loop2", "2{{{loop1}}}"), lore("self", "{{{self}}}"),
		lore("obj", map[string]any{"name": "Grey {{{b}}}", "deep": map[string]any{"n": int64(7)}}), lore("gap", "x{{{nothing}}}y"),
		lore("v1.2", "dotted"), lore("foreign", "{{{town:inn}}}"), {ID: "k", EntryType: "lore", Content: "by key", ReferenceKey: "the key"},
		{ID: "untitled", EntryType: "goal", Goal: &knowledge.Goal{Description: "a goal"}},
		{ID: "title", EntryType: "lore", Title: "Only a title"},
	}
	for i := range 12 {
		entries = append(entries, lore(fmt.Sprintf("d%d", i), fmt.Sprintf("%d{{{d%d}}}", i, i+1)))
	}
	for i := range 10 { // each doubles: 2^10 texts
		entries = append(entries, lore(fmt.Sprintf("w%d", i), strings.Repeat(fmt.Sprintf("{{{w%d}}}", i+1), 8)))
	}
	home, err := knowledge.New(knowledge.KnowledgeBase{ID: "home", Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	town, err := knowledge.New(knowledge.KnowledgeBase{ID: "kb_town", Entries: []knowledge.Entry{lore("inn", "the inn of {{{owner}}}"), lore("owner", "Bo"), lore("back", "{{{home:a}}}")}})
	if err != nil {
		t.Fatal(err)
	}
	return Resolver{Home: home,
		Base: func(alias string) *knowledge.Base {
			return map[string]*knowledge.Base{"town": town, "home": home}[alias]
		},
		Lookup: func(key string) (any, bool) { return int64(9), key == "world.hour" },
	}
}

// Promise 1, §3.4: dynamic references in contents, and the markers of those that lead
// nowhere.
func TestReferences_3_4(t *testing.T) {
	r := library(t)
	for src, want := range map[string]string{
		"plain {{x}} { }":       "plain {{x}} { }",
		"see {{{b}}}.":          "see B.",
		"{{{ b }}}{{{b}}}":      "BB",
		"{{{a}}}":               "A(B)",
		"{{{the key}}}":         "by key",
		"{{{v1.2}}}":            "dotted",
		"{{{obj.name}}}":        "Grey B",
		"{{{obj.deep.n}}}":      "7",
		"{{{obj}}}":             `{"deep":{"n":7},"name":"Grey B"}`,
		"{{{town:inn}}}":        "the inn of Bo",
		"{{{town:back}}}":       "A(B)",
		"{{{foreign}}}":         "the inn of Bo",
		"{{{world.hour}}}":      "9",
		"{{{untitled}}}":        "a goal",
		"{{{title}}}":           "Only a title",
		"{{{gap}}}":             "x[missing reference: nothing]y ! nothing",
		"{{{obj.gone}}}":        "[missing reference: obj.gone] ! obj.gone",
		"{{{city:inn}}}":        "[missing reference: city:inn] ! city:inn",
		"{{{}}}":                "[missing reference: ] ! ",
		"{{{self}}}":            "[reference cycle: self -> self] ! self -> self",
		"{{{loop1}}}":           "12[reference cycle: loop1 -> loop2 -> loop1] ! loop1 -> loop2 -> loop1",
		"{{{d0}}}":              "0123456789[references deeper than 10: d10] ! d10",
		"{{{d3}}} and {{{d4}}}": "34567891011[missing reference: d12] and 4567891011[missing reference: d12] ! d12 ! d12",
		"open {{{b":             "open {{{b",
	} {
		got, warnings := textOf(r, src)
		for _, w := range warnings {
			got += " ! " + w.Key
		}
		if got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", src, got, want)
		}
	}
}

func TestReferencesKeepTypes(t *testing.T) {
	r := library(t)
	v, warnings := valueOf(r, map[string]any{"hour": "{{{world.hour}}}", "list": []any{"{{{obj.deep}}}", int64(1)}})
	if want := (map[string]any{"hour": int64(9), "list": []any{map[string]any{"n": int64(7)}, int64(1)}}); !protocol.Equal(v, want) || len(warnings) > 0 {
		t.Errorf("%v, %v", v, warnings)
	}
	e, _ := r.Home.Get("self")
	if v, warnings := r.Entry(e); v != "[reference cycle: self -> self]" || warnings[0].Entry != "self" {
		t.Errorf("%v, %v", v, warnings)
	}
	if got, _ := textOf(Resolver{}, "{{{x}}}"); got != "[missing reference: x]" {
		t.Error(got)
	}
}

// Promise 2: references that multiply end at the bound.
func TestReferencesAreBounded(t *testing.T) {
	got, warnings := textOf(library(t), "{{{w0}}}")
	if len(got) > 8*MaxResolvedBytes || len(warnings) != MaxWarnings || !strings.Contains(got, "too many references") {
		t.Errorf("%d bytes, %d warnings", len(got), len(warnings))
	}
}

func FuzzReferences(f *testing.F) {
	for _, s := range []string{"{{{a}}}", "{{{obj.deep.n}}}", "x{{{town:inn}}}y", "{{{{b}}}}", "{{{d0}}}", "{{{loop1", "}}}{{{"} {
		f.Add(s)
	}
	r := library(f)
	f.Fuzz(func(t *testing.T, s string) {
		a, _ := textOf(r, s)
		b, _ := textOf(r, s)
		if a != b {
			t.Fatalf("%q: %q, then %q", s, a, b)
		}
	})
}

// valueOf resolves the references of every text inside a value that is in no entry.
func valueOf(r Resolver, v any) (any, []knowledge.Warning) {
	run := resolving{Resolver: r, home: r.Home}
	return run.value(v), run.warnings
}

func textOf(r Resolver, text string) (string, []knowledge.Warning) {
	v, warnings := valueOf(r, text)
	return string(template.AppendText(nil, v)), warnings
}
