package tam

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/tam/finding"
)

// Pretty shows the source with its findings underlined, for people who write
// blocks by hand, then one line per block. The result must be that of the source.
func Pretty(source string, r Result) string {
	all := slices.Clone(r.Diagnostics)
	for i := range r.Blocks {
		all = append(all, r.Blocks[i].Diagnostics...)
	}
	slices.SortStableFunc(all, func(a, b Diagnostic) int { return a.Offset - b.Offset })
	var b strings.Builder
	b.WriteString(finding.Show(source, all))
	for i := range r.Blocks {
		summary(&b, i, &r.Blocks[i])
	}
	return b.String()
}

func summary(b *strings.Builder, i int, blk *Block) {
	state := "runs"
	switch {
	case !blk.Complete:
		state = "does not run: incomplete"
	case !blk.Executable:
		state = "does not run"
	}
	fmt.Fprintf(b, "block %d: %s\n", i+1, state)
	for j := range blk.Commands {
		c := &blk.Commands[j]
		fmt.Fprintf(b, "  step %d: %s (%d params)\n", c.Index, c.ToolID, len(c.Params)+len(c.URIs))
	}
}
