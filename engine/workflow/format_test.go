package workflow_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/protocol"
)

const formatPage = "../../docs/formats/workflow.md"

// TestFormatExamples runs the examples of the format page: a json block that is
// followed by a text block. Rewrite what they show with
//
//	go test ./engine/workflow -run Format -update
func TestFormatExamples(t *testing.T) {
	raw, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	blocks := strings.Split(page, "```")
	defs := map[string]*workflow.Definition{}
	for _, b := range blocks {
		if body, ok := strings.CutPrefix(b, "json\n"); ok {
			def := decode(t, []byte(body))
			defs[def.ID] = def
		}
	}
	var latest *workflow.Definition
	var played []*workflow.Definition
	for i, b := range blocks {
		if body, ok := strings.CutPrefix(b, "json\n"); ok {
			latest = decode(t, []byte(body))
		}
		body, ok := strings.CutPrefix(b, "text\n")
		if !ok || i%2 == 0 {
			continue
		}
		given := exampleGiven(body)
		s := exampleScript(t, defs, latest, given)
		played = append(played, latest)
		got := "text\n" + given + exampleShown(s.outcome(t))
		if got != b && !*update {
			t.Errorf("%s: the example %q shows\n%s\ngot\n%s", formatPage, latest.ID, b, got)
		}
		blocks[i] = got
	}
	if *update {
		if err := os.WriteFile(formatPage, []byte(strings.Join(blocks, "```")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	everyKindShown(t, page, defs, played)
}

// exampleGiven are the lines of a text block that a person wrote.
func exampleGiven(body string) string {
	var b strings.Builder
	for l := range strings.Lines(body) {
		if strings.HasPrefix(l, "input ") || strings.HasPrefix(l, "host ") {
			b.WriteString(l)
		}
	}
	return b.String()
}

func exampleScript(t *testing.T, defs map[string]*workflow.Definition, main *workflow.Definition, given string) *script {
	s := &script{defs: defs, main: main, host: map[string]line{}, env: workflow.Env{Now: 1, Draw: protocol.NewDraw(7)}}
	for l := range strings.Lines(given) {
		if rest, ok := strings.CutPrefix(l, "input "); ok {
			s.input = values(t, rest)
		} else {
			s.readHost(t, strings.TrimPrefix(l, "host "))
		}
	}
	return s
}

// exampleShown are the lines of an outcome that the page shows.
func exampleShown(outcome string) string {
	var b strings.Builder
	for l := range strings.Lines(outcome) {
		if !strings.HasPrefix(l, "complete ") {
			b.WriteString(l)
		}
	}
	return b.String()
}

// everyKindShown: the text names each kind, and an example with a result has it, or a workflow that such an
// example runs. The kinds of tools are shown by some, for one rule makes them all.
func everyKindShown(t *testing.T, page string, defs map[string]*workflow.Definition, played []*workflow.Definition) {
	shown, seen := map[string]bool{}, map[string]bool{}
	for len(played) > 0 {
		def := played[0]
		played = played[1:]
		if seen[def.ID] {
			continue
		}
		seen[def.ID] = true
		for _, n := range def.Nodes {
			shown[n.Type] = true
			for _, v := range n.ConfigValues {
				if id, ok := v.(string); ok && defs[id] != nil {
					played = append(played, defs[id])
				}
			}
		}
	}
	engine := []string{workflow.TypeGroupInput, workflow.TypeGroupOutput, workflow.TypeSubWorkflow, workflow.TypeLoop}
	engine = append(engine, slices.Sorted(maps.Keys((&script{}).options().Kinds))...)
	for _, spec := range agent.ToolSpecs() {
		engine = slices.DeleteFunc(engine, func(kind string) bool { return kind == nodes.KindOf(spec.Name) })
	}
	for _, kind := range engine {
		if !shown[kind] {
			t.Errorf("%s has no example of %s with a result: a json block with it and a text block behind that", formatPage, kind)
		}
		if !regexp.MustCompile("(?m)(^### (.*, )?" + kind + "(,|$)|`" + kind + "`)").MatchString(page) {
			t.Errorf("%s says nothing about %s: give it a heading of its own or of several kinds", formatPage, kind)
		}
	}
}
