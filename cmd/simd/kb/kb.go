// Package kb is simd kb: knowledge bases are searched, measured, read from files of other
// programs, written out of projects and runs, and reviewed.
package kb

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
)

// New is `simd kb`.
func New(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "kb",
		Short: "Knowledge bases",
		Long: `Search knowledge bases, measure how well they are searched, read them from files of
other programs, and write out what a run has learnt (docs/formats/knowledge_base.md).`,
	}
	c.AddCommand(newSearch(e), newActivate(e), newBench(e), newImport(e), newExport(e), newReview(e))
	return c
}

type searchOptions struct {
	limit int
	json  bool
	tags  []string
	types []string
	more  string
}

func newSearch(e *cli.Env) *cobra.Command {
	var o searchOptions
	c := &cobra.Command{
		Use:   "search PROJECT BASE WORDS...",
		Short: "Search a knowledge base, as QueryKnowledgeBaseTool does",
		Long: `Search a knowledge base of a project, as QueryKnowledgeBaseTool does, and print
score, id and title of the entries that it finds, the best first. No time passes:
the age of entries does not count.

Exit codes: 0 searched, 2 usage, 3 the project has faults, 4 no such project or base.`,
		Example: "  simd kb search my-project herbal_lore cure for fever\n  simd kb search my-project herbal_lore fever --tag herb --json",
		Args:    cobra.MinimumNArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.search(e, args[0], args[1], strings.Join(args[2:], " "))
		},
	}
	f := c.Flags()
	f.IntVar(&o.limit, "limit", knowledge.DefaultLimit, fmt.Sprintf("most entries, at most %d", knowledge.MaxLimit))
	f.StringSliceVar(&o.tags, "tag", nil, "only entries with any of these tags")
	f.StringSliceVar(&o.types, "type", nil, "only entries of these types")
	f.BoolVar(&o.json, "json", false, "print a list of {score, entry}")
	cli.PluginsFlag(f, &o.more)
	cli.Least(f, 1, "limit")
	return c
}

// hitLine is a found entry in JSON.
type hitLine struct {
	Score int64          `json:"score"` // in millionths; comparable within one answer
	Entry map[string]any `json:"entry"`
}

func (o *searchOptions) search(e *cli.Env, dir, id, text string) error {
	def, err := baseOf(dir, o.more, id)
	if err != nil {
		return err
	}
	base, err := knowledge.New(*def)
	if err != nil {
		return err
	}
	base, words, err := seen(e, dir, o.more, base)
	if err != nil {
		return err
	}
	q := knowledge.Query{Text: text, Tags: o.tags, EntryTypes: o.types, Limit: o.limit}
	if words != nil {
		q.Vector = vector.New(words.Of(vector.Text(text)))
	}
	hits := base.Query(q)
	if o.json {
		lines := make([]hitLine, len(hits))
		for i, h := range hits {
			lines[i] = hitLine{h.Score, h.Entry.Value()}
		}
		return show.JSON(e.Out, lines)
	}
	var page strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&page, "%10.6f  %-32s %s\n", float64(h.Score)/1e6, h.Entry.ID, h.Entry.Title)
	}
	return terminal.Print(e.Out, page.String())
}

// baseOf finds a knowledge base of a project.
func baseOf(dir, more, id string) (*knowledge.KnowledgeBase, error) {
	p, err := cli.LoadProject(dir, more, true)
	if err != nil {
		return nil, err
	}
	if def, ok := p.KnowledgeBase(id); ok {
		return def, nil
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "no knowledge base %q; there are %s", id, strings.Join(p.KnowledgeBaseIDs(), ", "))
}

// readBounded reads a file of at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, protocol.Errorf(protocol.KindNotFound, "%w", err)
	case !info.Mode().IsRegular():
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: no regular file", path)
	case info.Size() > most:
		return nil, protocol.Errorf(protocol.KindLimit, "%s: %d bytes; the limit is %d", path, info.Size(), most)
	}
	return os.ReadFile(path)
}
