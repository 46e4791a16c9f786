package tam

import "bytes"

// gap is the white space that stays in the text where something was cut out.
type gap uint8

const (
	gapNone gap = iota
	gapBlank
	gapLine
	gapParagraph
)

func (g gap) String() string { return [...]string{"", " ", "\n", "\n\n"}[g] }

// gapOf names the white space in b; a fence line in it counts for nothing.
func gapOf(b []byte) gap {
	breaks, blank, solid := 0, false, false
	best := 0
	for _, c := range b {
		switch c {
		case '\n':
			breaks++
		case ' ', '\t', '\r':
			blank = true
		default:
			solid = true
			best, breaks = max(best, breaks), 0
		}
	}
	best = max(best, breaks)
	switch {
	case best > 1:
		return gapParagraph
	case best == 1:
		return gapLine
	case blank || solid:
		return gapBlank
	}
	return gapNone
}

const proseBlanks = " \t\r\n"

// separator returns where in b the part begins that belongs to a marker behind
// b: white space, and at most one fence line. lineStart: b begins a line.
func separator(b []byte, lineStart bool) int {
	body := bytes.TrimRight(b, proseBlanks)
	k := bytes.LastIndexByte(body, '\n') + 1
	if k == 0 && !lineStart {
		return len(body)
	}
	if bytes.IndexByte(b[len(body):], '\n') < 0 || !isOpeningFence(body[k:]) {
		return len(body)
	}
	return len(bytes.TrimRight(body[:k], proseBlanks))
}

// isOpeningFence reports a line of three or more backticks or tildes with any
// info string.
func isOpeningFence(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	if len(line) == 0 {
		return false
	}
	n := len(line) - len(bytes.TrimLeft(line, string(line[:1])))
	if line[0] != '`' && line[0] != '~' || n < 3 {
		return false
	}
	return bytes.IndexByte(line[n:], '`') < 0
}

func countFences(b []byte) int {
	if len(bytes.Trim(b, proseBlanks)) > 0 {
		return 1
	}
	return 0
}
