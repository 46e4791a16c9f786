package kb

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/collection"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/internal/show"
	"tavernsim/llm/embed"
	"tavernsim/protocol"
)

type benchOptions struct {
	sequence, json bool
	vectors        string
}

func newBench(e *cli.Env) *cobra.Command {
	var o benchOptions
	c := &cobra.Command{
		Use:   "bench DIR",
		Short: "Measure how well a collection is searched",
		Long: `Search a collection of documents for queries whose answers are known, in the form of
the Cranfield collection: one file *.all* with the documents, one *.qry with the
queries, one *rel with the judgements. Print the mean average precision, nDCG and
recall of the first 10, and the time of a query. Every document whose grade is above 0,
or that has none, is relevant, and all are worth the same.

With --vectors the same queries are also ranked by words and vectors, as a base with a
static model ranks them, and stand beside those by words alone.

Exit codes: 0 measured, 2 usage, 3 the collection or the vectors have faults, 4 no such
folder or file.`,
		Example: "  simd kb bench cranfield\n  simd kb bench cranfield --vectors glove.txt\n  simd kb bench dialogues --sequence --json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return o.bench(e, args[0]) },
	}
	f := c.Flags()
	f.BoolVar(&o.sequence, "sequence", false, "each document follows the one before it, as the lines of a dialogue do")
	f.StringVar(&o.vectors, "vectors", "", "rank by vectors, too: a `FILE` with a word and its numbers in each line")
	f.BoolVar(&o.json, "json", false, "print an object: {documents, queries, map, ndcg_at_10, recall_at_10, query_p50_us, query_p99_us, build_ms}, and vectors, a like one")
	return c
}

// measured is how good answers are, and what they take.
type measured struct {
	collection.Figures
	P50   float64 `json:"query_p50_us"` // of the first 10 answers, wall clock
	P99   float64 `json:"query_p99_us"`
	Build float64 `json:"build_ms"`
}

// figures is what simd kb bench prints.
type figures struct {
	measured
	Vectors *measured `json:"vectors,omitempty"` // by words and vectors; nil = not asked for
}

func (o *benchOptions) bench(e *cli.Env, dir string) error {
	files, err := readCollection(dir)
	if err != nil {
		return err
	}
	c, err := collection.Read(files)
	if err != nil {
		return err
	}
	var out figures
	if out.measured, err = o.measure(c, nil); err != nil {
		return err
	}
	if o.vectors != "" {
		data, err := readBounded(o.vectors, maxCollectionFile)
		if err != nil {
			return err
		}
		words, err := embed.Read("vectors", o.vectors, data)
		if err != nil {
			return err
		}
		near, err := o.measure(c, words)
		if err != nil {
			return err
		}
		out.Vectors = &near
	}
	if o.json {
		return show.JSON(e.Out, out)
	}
	return out.print(e.Out)
}

// print writes a line for each figure, and a column for vectors if they were asked for.
func (f *figures) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, of func(*measured) []any) {
		fmt.Fprintf(t, "%s\t"+format, append([]any{name}, of(&f.measured)...)...)
		if f.Vectors != nil {
			fmt.Fprintf(t, "\t"+format, of(f.Vectors)...)
		}
		fmt.Fprintln(t)
	}
	if f.Vectors != nil {
		fmt.Fprintln(t, "\twords\twords and vectors")
	}
	line("documents", "%d", func(m *measured) []any { return []any{m.Documents} })
	line("queries", "%d", func(m *measured) []any { return []any{m.Queries} })
	line("MAP", "%.4f", func(m *measured) []any { return []any{m.MAP} })
	line("nDCG@10", "%.4f", func(m *measured) []any { return []any{m.NDCG} })
	line("recall@10", "%.4f", func(m *measured) []any { return []any{m.Recall} })
	line("query", "p50 %.0f µs, p99 %.0f µs", func(m *measured) []any { return []any{m.P50, m.P99} })
	line("index", "%.0f ms", func(m *measured) []any { return []any{m.Build} })
	return t.Flush()
}

// measure asks the queries by words alone, or also by vectors.
func (o *benchOptions) measure(c *collection.Collection, by *embed.Words) (measured, error) {
	began := time.Now()
	base, err := o.base(c, by)
	if err != nil {
		return measured{}, err
	}
	out := measured{Build: time.Since(began).Seconds() * 1e3}
	var took []time.Duration
	out.Figures = c.Measure(func(text string) []string {
		q := knowledge.Query{Text: text}
		if by != nil {
			q.Vector = vector.New(by.Of(vector.Text(text)))
		}
		began := time.Now()
		base.Query(q)
		took = append(took, time.Since(began))
		q.Limit = collection.Depth
		var ids []string
		for _, h := range base.Query(q) {
			ids = append(ids, h.Entry.ID)
		}
		return ids
	})
	slices.Sort(took)
	out.P50, out.P99 = took[len(took)/2].Seconds()*1e6, took[len(took)*99/100].Seconds()*1e6
	return out, nil
}

func (o *benchOptions) base(c *collection.Collection, by *embed.Words) (*knowledge.Base, error) {
	if by == nil {
		return c.Base(o.sequence, nil)
	}
	base, err := c.Base(o.sequence, &knowledge.Embedding{Model: by.Name()})
	if err != nil {
		return nil, err
	}
	return dressed(base, by)
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
