package progress

import (
	"math"
	"slices"
	"sort"
	"strings"

	"tavernsim/internal/terminal"
)

// part is a piece of the line. Its why, if it has one, stands between text and end.
type part struct {
	rank           int
	text, why, end string
}

// The ranks of parts: where the line is too narrow, the part of the lowest rank goes first.
const (
	rankEvents = iota
	rankRates
	rankBar
	rankEnd
	rankNames
	rankTime
	rankHands
	rankWaiting
	rankPaused
	rankStall
)

// leastWhy is how many cells of a why remain before other parts do.
const leastWhy = 40

// fit is the line in at most so many cells; 0 or less = there is no bound. Parts go, of the same rank the last one first,
// until the rest fits with shorter whys; then the whys are cut, each at the same length, and at last the end of the line.
func fit(parts []part, cells int) string {
	if cells <= 0 {
		return joined(parts, math.MaxInt)
	}
	parts = slices.Clone(parts)
	for len(parts) > 1 && terminal.Width(joined(parts, leastWhy)) > cells {
		least := len(parts) - 1
		for i := range slices.Backward(parts) {
			if parts[i].rank < parts[least].rank {
				least = i
			}
		}
		parts = slices.Delete(parts, least, least+1)
	}
	most := sort.Search(cells, func(n int) bool { return terminal.Width(joined(parts, n+1)) > cells })
	return terminal.Cut(joined(parts, most), cells)
}

// joined writes the parts, with so many cells of each why.
func joined(parts []part, cells int) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.text)
		if cells > 0 {
			b.WriteString(terminal.Cut(p.why, cells))
		}
		b.WriteString(p.end)
	}
	return strings.TrimLeft(b.String(), " |")
}
