// Package kb is simd kb: knowledge bases are searched, measured, read from files of other
// programs, written out of projects and runs, and reviewed.
package kb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/collection"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/internal/show"
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
	for _, h := range hits {
		fmt.Fprintf(e.Out, "%10.6f  %-32s %s\n", float64(h.Score)/1e6, h.Entry.ID, h.Entry.Title)
	}
	return nil
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

func newBench(e *cli.Env) *cobra.Command {
	var sequence, asJSON bool
	c := &cobra.Command{
		Use:   "bench DIR",
		Short: "Measure how well a collection is searched",
		Long: `Search a collection of documents for queries whose answers are known, in the form of
the Cranfield collection: one file *.all* with the documents, one *.qry with the
queries, one *rel with the judgements. Print the mean average precision, nDCG and
recall of the first 10, and the time of a query. Every document whose grade is above 0,
or that has none, is relevant, and all are worth the same.

Exit codes: 0 measured, 2 usage, 3 the collection has faults, 4 no such folder or file.`,
		Example: "  simd kb bench cranfield\n  simd kb bench dialogues --sequence --json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return bench(e, args[0], sequence, asJSON) },
	}
	c.Flags().BoolVar(&sequence, "sequence", false, "each document follows the one before it, as the lines of a dialogue do")
	c.Flags().BoolVar(&asJSON, "json", false, "print an object: {documents, queries, map, ndcg_at_10, recall_at_10, query_p50_us, query_p99_us, build_ms}")
	return c
}

// figures is what simd kb bench prints.
type figures struct {
	collection.Figures
	P50   float64 `json:"query_p50_us"` // of the first 10 answers, wall clock
	P99   float64 `json:"query_p99_us"`
	Build float64 `json:"build_ms"`
}

func bench(e *cli.Env, dir string, sequence, asJSON bool) error {
	files, err := readCollection(dir)
	if err != nil {
		return err
	}
	c, err := collection.Read(files)
	if err != nil {
		return err
	}
	began := time.Now()
	base, err := c.Base(sequence)
	if err != nil {
		return err
	}
	out := figures{Build: time.Since(began).Seconds() * 1e3}
	var took []time.Duration
	out.Figures = c.Measure(func(text string) []string {
		began := time.Now()
		base.Query(knowledge.Query{Text: text})
		took = append(took, time.Since(began))
		var ids []string
		for _, h := range base.Query(knowledge.Query{Text: text, Limit: collection.Depth}) {
			ids = append(ids, h.Entry.ID)
		}
		return ids
	})
	slices.Sort(took)
	out.P50, out.P99 = took[len(took)/2].Seconds()*1e6, took[len(took)*99/100].Seconds()*1e6
	if asJSON {
		return show.JSON(e.Out, out)
	}
	fmt.Fprintf(e.Out, "documents  %d\nqueries    %d\nMAP        %.4f\nnDCG@10    %.4f\nrecall@10  %.4f\nquery      p50 %.0f µs, p99 %.0f µs\nindex      %.0f ms\n",
		out.Documents, out.Queries, out.MAP, out.NDCG, out.Recall, out.P50, out.P99, out.Build)
	return nil
}

// maxCollectionFile bounds what is read of one file of a collection.
const maxCollectionFile = 1 << 30

// readCollection finds and reads the files of a collection.
func readCollection(dir string) (collection.Files, error) {
	var f collection.Files
	list, err := os.ReadDir(dir)
	if err != nil {
		return f, protocol.Errorf(protocol.KindNotFound, "%w", err)
	}
	found := map[string]string{}
	for _, entry := range list {
		what := collection.Which(entry.Name())
		if what == "" || !entry.Type().IsRegular() {
			continue
		}
		if other := found[what]; other != "" {
			return f, protocol.Errorf(protocol.KindInvalid, "%s: %s and %s both look like the %s", dir, other, entry.Name(), what)
		}
		found[what] = entry.Name()
	}
	for _, part := range []struct {
		what string
		into *string
	}{{"documents", &f.Documents}, {"queries", &f.Queries}, {"judgements", &f.Judgements}} {
		if found[part.what] == "" {
			return f, protocol.Errorf(protocol.KindNotFound, "%s: no file with the %s; want *.all*, *.qry and *rel", dir, part.what)
		}
		data, err := readBounded(filepath.Join(dir, found[part.what]), maxCollectionFile)
		if err != nil {
			return f, err
		}
		*part.into = string(data)
	}
	return f, nil
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
