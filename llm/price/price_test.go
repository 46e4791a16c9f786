package price

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Promise 1, and the order in which prices are found.
func TestOf(t *testing.T) {
	zero := Rate{}
	own := List{"gpt-5-mini": {Input: 1, Output: 1}, "gpt-5-mini-2025-08-07": {Input: 2, Output: 2}, "gpt-*": {Input: 3, Output: 3}, "gpt-6*": {Input: 4, Output: 4}, "*t-6-x": {Input: 5, Output: 5}, "house": zero, "a*c*e": {Input: 6, Output: 6}}
	for _, c := range []struct {
		preset, model string
		own           List
		free          bool
		want          string
	}{
		{"openai", "gpt-5-mini", own, false, "$1 in / $1 out per million"},
		{"openai", "gpt-5-mini-2025-08-07", own, false, "$2 in / $2 out per million"},
		{"openai", "gpt-5-mini-2026-01-02", own, false, "$1 in / $1 out per million"},
		{"openai", "gpt-5-mini-latest", own, false, "$1 in / $1 out per million"},
		{"openai", "gpt-5-minimal", own, false, "$3 in / $3 out per million"},
		{"openai", "gpt-6-x", own, true, "$5 in / $5 out per million"}, // of equal length: the first in byte order
		{"openai", "gpt-6-y", own, false, "$4 in / $4 out per million"},
		{"openai", "abcde", own, false, "$6 in / $6 out per million"},
		{"openai", "ace", own, false, "$6 in / $6 out per million"},
		{"openai", "ae", own, false, "no price (add prices or free to the endpoint)"},
		{"openai", "house", own, false, "free"},
		{"openai", "o3", own, true, "free"},
		{"openai", "o3", own, false, "$2 in / $8 out per million (list of 2026-07)"},
		{"openai", "o3", List{"*": {Input: 7, Output: 7}}, false, "$7 in / $7 out per million"},
		{"openai", "gpt-5-mini", nil, false, "$0.25 in / $2 out per million (list of 2026-07)"},
		{"azure", "gpt-5-mini-2025-08-07", nil, false, "$0.25 in / $2 out per million (list of 2026-07)"},
		{"openai", "gpt-5-ultra", nil, false, "no price (add prices or free to the endpoint)"},
		{"anthropic", "claude-sonnet-4-20250514", nil, false, "$3 in / $15 out per million, $6 / $22.5 above 200000 tokens (list of 2026-07)"},
		{"openrouter", "some/model:free", nil, false, "free (list of 2026-07)"},
		{"ollama", "llama3.2", nil, true, "free"},
		{"ollama", "llama3.2", nil, false, "no price (add prices or free to the endpoint)"},
		{"", "gpt-5-mini", nil, false, "no price (add prices or free to the endpoint)"},
	} {
		p, err := Make(c.preset, c.own, c.free)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Say(c.model); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.preset, c.model, got, c.want)
		}
		if price, ok := p.Of(c.model); ok != !strings.HasPrefix(c.want, "no") || !ok && price != (Price{}) {
			t.Errorf("%s %s: %v, %v", c.preset, c.model, price, ok)
		}
	}
	if _, ok := (*Prices)(nil).Of("x"); ok {
		t.Error("no prices have one")
	}
}

// Every entry of the list is whole, and an answer is never cheaper than reading it from a cache.
func TestLists(t *testing.T) {
	f, err := Lists()
	if err != nil {
		t.Fatal(err)
	}
	for preset, list := range f.Lists {
		for model, d := range list {
			p := d.Price()
			if p.CacheRead > p.Input || p.CacheWrite < p.Input || p.Output < p.Input && !strings.Contains(model, "embedding") {
				t.Errorf("%s %s: %+v", preset, model, p)
			}
		}
	}
	if f.Date == "" || len(f.Lists["azure"]) == 0 {
		t.Errorf("%q, %d for azure", f.Date, len(f.Lists["azure"]))
	}
}

func TestBadPrices(t *testing.T) {
	type file struct {
		Prices map[string]Rate `json:"prices"`
	}
	for text, want := range map[string]string{
		"prices: {a: {input: 1}}":                           "output",
		"prices: {a: {input: -1, output: 1}}":               "out of range",
		"prices: {a: {input: .nan, output: 1}}":             "not finite",
		"prices: {a: {input: 1e9, output: 1}}":              "out of range",
		"prices: {a: {input: 1, output: 1, reasoning: 2}}":  "unknown field",
		"prices: {a: {input: cheap, output: 1}}":            "want a number",
		"prices: {a: {input: 1, output: 1, cache_read: -}}": "",

		"prices: {a: {input: 1, output: 1, long: {above: 9, input: 2}}}":              "output",
		"prices: {a: {input: 1, output: 1, long: {above: 0, input: 2, output: 1}}}":   "out of range",
		"prices: {a: {input: 1, output: 1, long: {above: 9, input: 0.9, output: 1}}}": "out of range",
	} {
		report := &source.Report{}
		if doc := source.Parse("p.yaml", []byte(text), source.Limits{}, report); doc != nil {
			d := source.Decoder{Rules: Rules(), Report: report}
			d.Decode(doc, &file{})
		}
		if err := report.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A question above the length is long, with all its tokens and those of its answer.
func TestLong(t *testing.T) {
	read := 0.5
	p := (&Rate{Input: 5, CacheRead: &read, Output: 30, Long: &Long{Above: 272_000, Input: 2, Output: 1.5}}).Price()
	for _, c := range []struct {
		u    protocol.Usage
		want int64
	}{
		{protocol.Usage{Input: 272_000, CacheRead: 72_000, Output: 100}, 1_000_000_000 + 36_000_000 + 3_000_000},
		{protocol.Usage{Input: 272_001, CacheRead: 72_001, Output: 100}, 2_000_000_000 + 72_001_000 + 4_500_000},
	} {
		if got := p.Cost(&c.u); got != c.want {
			t.Errorf("%+v: %d, want %d", c.u, got, c.want)
		}
	}
	if got, want := p.String(), "$5 in / $30 out per million, $10 / $45 above 272000 tokens"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Promise 2: what a cache has is part of the input, reasoning is part of the output.
func TestCost(t *testing.T) {
	p := Price{Rates: Rates{Input: 250_000_000, CacheRead: 25_000_000, CacheWrite: 312_500_000, Output: 2_000_000_000}}
	for _, c := range []struct {
		u    protocol.Usage
		want int64
	}{
		{protocol.Usage{}, 0},
		{protocol.Usage{Input: 1000, Output: 100}, 250_000 + 200_000},
		{protocol.Usage{Input: 1000, CacheRead: 400, CacheWrite: 100, Output: 100, Reasoning: 90}, 125_000 + 10_000 + 31_250 + 200_000},
		{protocol.Usage{Input: 1}, 250},
		{protocol.Usage{Input: 1, CacheWrite: 1}, 313}, // 312.5
		{protocol.Usage{Input: -5, Output: -5}, 0},
		{protocol.Usage{Input: 10, CacheRead: 20}, 500}, // nonsense: what is certain is charged
	} {
		if got := p.Cost(&c.u); got != c.want {
			t.Errorf("%+v: %d, want %d", c.u, got, c.want)
		}
	}
	if (Price{}).Cost(&protocol.Usage{Input: 1 << 40, Output: 1 << 40}) != 0 {
		t.Error("free costs")
	}
}

// Promises 3 and 4, beside numbers without a limit.
func TestCostAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(0, 1<<20), rapid.Int64Range(0, 1<<60))
		rate := rapid.OneOf(rapid.Int64Range(0, 1<<37), rapid.Int64Range(0, math.MaxInt64))
		rates := func(least Rates) Rates {
			return Rates{max(rate.Draw(t, "in"), least.Input), max(rate.Draw(t, "read"), least.CacheRead), max(rate.Draw(t, "write"), least.CacheWrite), max(rate.Draw(t, "out"), least.Output)}
		}
		p := Price{Rates: rates(Rates{}), Above: rapid.OneOf(rapid.Just[int64](0), count).Draw(t, "above")}
		p.Long = rates(p.Rates)
		input := count.Draw(t, "input")
		read := rapid.Int64Range(0, input).Draw(t, "cached")
		write := rapid.Int64Range(0, input-read).Draw(t, "written")
		u := protocol.Usage{Input: input, CacheRead: read, CacheWrite: write, Output: count.Draw(t, "output")}
		charged := p.Rates
		if p.Above > 0 && input > p.Above {
			charged = p.Long
		}
		sum := new(big.Int)
		for _, x := range [][2]int64{{input - read - write, charged.Input}, {read, charged.CacheRead}, {write, charged.CacheWrite}, {u.Output, charged.Output}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(x[0]), big.NewInt(x[1])))
		}
		sum.Add(sum, big.NewInt(million-1))
		sum.Div(sum, big.NewInt(million))
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		}
		got := p.Cost(&u)
		if got != want {
			t.Fatalf("%+v of %+v: %d, want %s", u, p, got, sum)
		}
		if bound := p.Bound(u.Input, u.Output); got > bound {
			t.Fatalf("%d is above the bound %d", got, bound)
		}
		more := u
		more.Input, more.Output = u.Input+count.Draw(t, "more"), u.Output+count.Draw(t, "longer")
		if p.Cost(&more) < got || p.Bound(more.Input, more.Output) < p.Bound(u.Input, u.Output) {
			t.Fatalf("%+v costs less than %+v", more, u)
		}
		if s := Sum(got, want); s < got {
			t.Fatalf("the sum %d is below %d", s, got)
		}
	})
}

func TestDollars(t *testing.T) {
	for n, want := range map[int64]string{
		0: "$0", -5: "$0", 1: "$0.000000001", 4_200: "$0.0000042", 4_200_000: "$0.0042", 4_000_000: "$0.004", 42_400_000: "$0.042", 99_900_000: "$0.1",
		100_000_000: "$0.10", 420_000_000: "$0.42", 999_999_999: "$1.00", 1_204_500_000_000: "$1,204.50", 1_234_567_890_000_000: "$1,234,567.89", 12_000_000_000: "$12.00", math.MaxInt64: "$9,223,372,036.85",
	} {
		if got := Dollars(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
