package agent

import (
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// §3.4: agents search by whatever a query can ask for.
func TestQueryToolTakesEveryFilter(t *testing.T) {
	_, err := knowledge.QueryOf(map[string]any{"?": true})
	_, names, ok := strings.Cut(err.Error(), "there are ")
	if !ok {
		t.Fatalf("%v does not list the fields of a query", err)
	}
	specs := ToolSpecs()
	i := slices.IndexFunc(specs, func(s protocol.ToolSpec) bool { return s.Name == toolQueryKnowledge })
	taken := specs[i].Parameters.(map[string]any)["properties"].(map[string]any)
	for name := range strings.SplitSeq(names, ", ") {
		if taken[name] == nil && name != "text" { // another word for query
			t.Errorf("the tool does not take %s", name)
		}
	}
}
