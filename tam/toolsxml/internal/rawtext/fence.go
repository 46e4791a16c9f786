package rawtext

import "strings"

// FenceLine tells whether a trimmed line is a Markdown fence with or without an
// info string.
func FenceLine(t string) bool {
	rest, ok := strings.CutPrefix(t, "```")
	if !ok {
		rest, ok = strings.CutPrefix(t, "~~~")
	}
	return ok && !strings.ContainsAny(rest, "`<>")
}

// FenceBefore measures the fence line with which the text in front of a root
// ends, 0 for none.
func FenceBefore(text string) int {
	body := strings.TrimRight(text, " \t\r\n")
	line := strings.LastIndexByte(body, '\n') + 1
	if !FenceLine(strings.TrimSpace(body[line:])) {
		return 0
	}
	return len(text) - line
}

// OutsideFence takes the closing fence line off the text behind a root.
func OutsideFence(text string, fenced bool) string {
	if !fenced {
		return text
	}
	trimmed := strings.TrimLeft(text, " \t\r\n")
	line, rest, _ := strings.Cut(trimmed, "\n")
	if t := strings.TrimSpace(line); t == "```" || t == "~~~" {
		return rest
	}
	return text
}
