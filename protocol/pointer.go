package protocol

import "strings"

// Pointer reads a JSON pointer (RFC 6901) with at least one step; nil = it is none.
func Pointer(text string) []string {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok || rest == "" {
		return nil
	}
	steps := strings.Split(rest, "/")
	for i := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i])
	}
	return steps
}
