package price

import (
	_ "embed"
	"regexp"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
)

//go:embed prices.yaml
var prices []byte

// File is the form of prices.yaml.
type File struct {
	Date  string            `json:"date"` // of the figures
	Same  map[string]string `json:"same"` // presets with the list of another
	Lists map[string]List   `json:"lists"`
}

// List has the prices of models, by name or pattern.
type List map[string]Rate

// Lists are the prices that the program knows, by preset, and the date of the figures.
func Lists() (*File, error) {
	report, f := &source.Report{}, &File{}
	if doc := source.Parse("prices.yaml", prices, source.Limits{}, report); doc != nil {
		d := source.Decoder{Rules: Rules(), Report: report}
		d.Decode(doc, f)
	}
	for preset, of := range f.Same {
		f.Lists[preset] = f.Lists[of]
	}
	return f, report.Err()
}

// Prices are those of one endpoint. They are immutable.
type Prices struct {
	own, known List
	free       bool
	date       string
}

// Make makes the prices of an endpoint of a preset, "" = none.
func Make(preset string, own List, free bool) (*Prices, error) {
	f, err := Lists()
	if err != nil {
		return nil, err
	}
	return &Prices{own: own, free: free, known: f.Lists[preset], date: f.Date}, nil
}

// Of finds the price of a model, as the endpoint calls it. ok is false if nobody said one.
func (p *Prices) Of(model string) (price Price, ok bool) {
	price, _, ok = p.find(model)
	return price, ok
}

// Say says the price of a model, where it is from, and what to do if there is none.
func (p *Prices) Say(model string) string {
	price, from, ok := p.find(model)
	if !ok {
		return "no price (add prices or free to the endpoint)"
	}
	return price.String() + from
}

func (p *Prices) find(model string) (price Price, from string, ok bool) {
	if p == nil {
		return Price{}, "", false
	}
	if price, ok := p.own.of(model); ok {
		return price, "", true
	}
	if p.free {
		return Price{}, "", true
	}
	price, ok = p.known.of(model)
	return price, " (list of " + p.date + ")", ok
}

func (l List) of(model string) (Price, bool) {
	for _, name := range []string{model, dated().ReplaceAllString(model, "")} {
		if d, ok := l[name]; ok {
			return d.Price(), true
		}
	}
	var best *Rate
	longest := -1
	for _, pattern := range protocol.SortedKeys(l) {
		if n := len(strings.ReplaceAll(pattern, "*", "")); n < len(pattern) && n > longest && fits(pattern, model) {
			d := l[pattern]
			best, longest = &d, n
		}
	}
	if best == nil {
		return Price{}, false
	}
	return best.Price(), true
}

// fits matches a name against a pattern in which * stands for any characters.
func fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = rest
	}
	return strings.HasSuffix(name, last)
}

func dated() *regexp.Regexp { return regexp.MustCompile(`-(\d{4}-\d\d-\d\d|\d{8}|latest)$`) }

// Rules say about the fields of a price what their types do not.
func Rules() source.Rules {
	dollars, factor := &source.Range{Min: 0, Max: 100_000}, &source.Range{Min: 1, Max: 1000}
	return source.Rules{
		"price.Rate.input":       {Required: true, Range: dollars, Doc: "Dollars for a million tokens of questions."},
		"price.Rate.output":      {Required: true, Range: dollars, Doc: "Dollars for a million tokens of answers, with those of reasoning."},
		"price.Rate.cache_read":  {Range: dollars, Doc: "Dollars for a million tokens that the endpoint read from its cache. Default: `input`."},
		"price.Rate.cache_write": {Range: dollars, Doc: "Dollars for a million tokens that the endpoint wrote to its cache. Default: `input`."},
		"price.Rate.long":        {Doc: "What long questions cost. Default: as others."},
		"price.Long.above":       {Required: true, Range: &source.Range{Min: 1, Max: 1e9}, Doc: "Tokens; a question that has more is long."},
		"price.Long.input":       {Required: true, Range: factor, Doc: "How many times as much all tokens of a long question cost, also those of a cache."},
		"price.Long.output":      {Required: true, Range: factor, Doc: "How many times as much the tokens of its answer cost."},
	}
}
