package kb

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/internal/lenient"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
)

type searchOptions struct {
	limit    int
	json     bool
	more     string
	least    string               // priority; a number, or nothing
	metadata []string             // KEY=VALUE
	texts    map[string]*string   // fields of the query
	lists    map[string]*[]string // the same
}

func newSearch(e *cli.Env) *cobra.Command {
	o := searchOptions{texts: map[string]*string{}, lists: map[string]*[]string{}}
	c := &cobra.Command{
		Use:   "search PROJECT BASE [WORDS...]",
		Short: "Search a knowledge base, as QueryKnowledgeBaseTool does",
		Long: `Search a knowledge base of a project, as QueryKnowledgeBaseTool does, and print
score, id and title of the entries that fit the words and all flags, the best
first. No time passes: the age of entries does not count.

Exit codes: 0 searched, 2 usage, 3 the project has faults, 4 no such project or base.`,
		Example: "  simd kb search my-project herbal_lore cure for fever\n  simd kb search my-project herbal_lore fever --tag herb --json\n  simd kb search my-project herbal_lore --metadata region=north",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 && c.Flags().NFlag() == 0 {
				return cli.Usagef("want words, or flags that say which entries")
			}
			q, err := o.query(strings.Join(args[2:], " "))
			if err != nil {
				return cli.Usage(err)
			}
			return o.search(e, args[0], args[1], q)
		},
	}
	f := c.Flags()
	for _, x := range [][3]string{
		{"tag", "tags", "only entries with any of these tags"}, {"all-tag", "all_tags", "only entries with all of these tags"},
		{"exclude-tag", "exclude_tags", "only entries with none of these tags"}, {"type", "entry_types", "only entries of these types"},
		{"keyword", "keywords", "only entries in which any of these occurs, also inside words"}, {"all-keyword", "all_keywords", "only entries in which all of these occur"},
		{"id", "ids", "only these entries"},
	} {
		o.lists[x[1]] = f.StringSlice(x[0], nil, x[2])
	}
	for _, x := range [][2]string{{"status", "only goals with this status"}, {"source", "only entries with this source"}, {"author", "only entries of this author"}} {
		o.texts[x[0]] = f.String(x[0], "", x[1])
	}
	f.StringArrayVar(&o.metadata, "metadata", nil, "only entries with `KEY=VALUE` in custom_metadata: JSON, or else a text; dots lead into objects")
	f.StringVar(&o.least, "min-priority", "", "only entries of at least this priority")
	f.IntVar(&o.limit, "limit", knowledge.DefaultLimit, fmt.Sprintf("most entries, at most %d", knowledge.MaxLimit))
	f.BoolVar(&o.json, "json", false, "print a list of {score, entry}")
	cli.PluginsFlag(f, &o.more)
	cli.Least(f, 1, "limit")
	return c
}

// query is what words and flags ask for.
func (o *searchOptions) query(text string) (knowledge.Query, error) {
	v := map[string]any{"text": text, "limit": int64(o.limit)}
	for name, list := range o.lists {
		v[name] = protocol.ListOf(*list)
	}
	for name, text := range o.texts {
		v[name] = *text
	}
	if o.least != "" {
		n, err := strconv.ParseFloat(o.least, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return knowledge.Query{}, fmt.Errorf("--min-priority %q: want a number", o.least)
		}
		v["min_priority"] = n
	}
	metadata := map[string]any{}
	for _, pair := range o.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return knowledge.Query{}, fmt.Errorf("--metadata %s: want KEY=VALUE", pair)
		}
		metadata[key] = value
		if t, err := lenient.Read(value, lenient.Options{Plain: true, Strict: true}); err == nil {
			metadata[key] = t.Value
		}
	}
	v["metadata"] = metadata
	return knowledge.QueryOf(v)
}

// hitLine is a found entry in JSON.
type hitLine struct {
	Score int64          `json:"score"` // in millionths; comparable within one answer
	Entry map[string]any `json:"entry"`
}

func (o *searchOptions) search(e *cli.Env, dir, id string, q knowledge.Query) error {
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
	if words != nil && q.Text != "" {
		q.Vector = vector.New(words.Of(vector.Text(q.Text)))
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
