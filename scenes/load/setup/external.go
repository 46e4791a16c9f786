package setup

import (
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/protocol"
)

// ToolNames are those of external tools, sorted.
func ToolNames(external []agent.External) (names []string) {
	for i := range external {
		names = append(names, external[i].Spec.Name)
	}
	slices.Sort(names)
	return names
}

// SameTools refuses other external tools than a run has whose scenes are decided again
// or go on.
func SameTools(had []string, external []agent.External) error {
	names := ToolNames(external)
	if slices.Equal(had, names) {
		return nil
	}
	return protocol.Errorf(protocol.KindConflict, "the run has the external tools [%s] of the program that embeds it, and this program has [%s]; use that program (External in its options)", strings.Join(had, " "), strings.Join(names, " "))
}
