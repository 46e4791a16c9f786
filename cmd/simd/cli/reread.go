package cli

import (
	"strings"

	"tavernsim/internal/terminal"
)

// Reread says what differs after a run has read the operator's files again, a line each.
func Reread(changed []string) string {
	if len(changed) == 0 {
		return "no grant and no secret has changed"
	}
	lines := make([]string, len(changed))
	for i, line := range changed {
		lines[i] = terminal.Plain(line)
	}
	return strings.Join(lines, "\n")
}
