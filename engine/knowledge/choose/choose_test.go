package choose

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

func shown(list []Candidate) string {
	var out []string
	for _, c := range list {
		if c.Why == "" {
			out = append(out, c.ID)
		} else {
			out = append(out, c.ID+" ("+c.Why+")")
		}
	}
	return strings.Join(out, ", ")
}

// Promise 2, minds §11: each rule alone.
func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		list  []Candidate
		limit int
		want  string
	}{
		"by priority, then id":     {[]Candidate{{ID: "b"}, {ID: "a"}, {ID: "c", Priority: 2}}, 9, "c, a, b"},
		"limit":                    {[]Candidate{{ID: "a"}, {ID: "b"}, {ID: "c", Priority: 2}}, 2, "c, a, b (limit: 2 entries of this base)"},
		"outside the limit":        {[]Candidate{{ID: "a"}, {ID: "b", Outside: true}, {ID: "c", Priority: 2}}, 1, "c, a (limit: 1 entries of this base), b"},
		"group by priority":        {[]Candidate{{ID: "a", Group: "g", By: ByPriority}, {ID: "b", Group: "g", Priority: 1, By: ByPriority}, {ID: "c"}}, 9, "b, a (group g: b stands), c"},
		"priority before weight":   {[]Candidate{{ID: "a", Group: "g", Weight: 1_000_000, Priority: 5}, {ID: "b", Group: "g", By: ByPriority}}, 9, "a (group g: b stands), b"},
		"who is out does not win":  {[]Candidate{{ID: "a", Group: "g", Priority: 5, By: ByPriority, Why: "chance: 0 %"}, {ID: "b", Group: "g", By: ByPriority}}, 9, "a (chance: 0 %), b"},
		"in several groups":        {[]Candidate{{ID: "a", Group: "g, h", By: ByPriority}, {ID: "b", Group: "h,", Priority: -1, By: ByPriority}, {ID: "c", Group: "g", Priority: -1, By: ByPriority}}, 9, "a, b (group h: a stands), c (group g: a stands)"},
		"out of one of its groups": {[]Candidate{{ID: "a", Group: "g", Priority: 1, By: ByPriority}, {ID: "b", Group: "g, h", By: ByPriority}, {ID: "c", Group: "h", Priority: -1, By: ByPriority}}, 9, "a, b (group g: a stands), c"},
		"a group of one":           {[]Candidate{{ID: "a", Group: "g"}}, 9, "a"},
		"losers take no place":     {[]Candidate{{ID: "a", Group: "g", By: ByPriority}, {ID: "b", Group: "g", By: ByPriority}, {ID: "c"}}, 2, "a, b (group g: a stands), c"},
		"nothing stands, limit 0":  {[]Candidate{{ID: "a"}}, 0, "a (limit: 0 entries of this base)"},
		"groups choose for itself": {[]Candidate{{ID: "a", Group: "g", By: ByPriority}, {ID: "b", Group: "h", By: ByPriority}}, 9, "a, b"},
	} {
		Choose(c.list, Bounds{Limit: c.limit}, protocol.NewDraw(1))
		if got := shown(c.list); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Promise 1: the order in which candidates come changes nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []Candidate
		for i := range rapid.IntRange(0, 12).Draw(rt, "candidates") {
			list = append(list, Candidate{ID: fmt.Sprint("e", i), Priority: float64(rapid.IntRange(0, 2).Draw(rt, "priority")),
				Group: rapid.SampledFrom([]string{"", "g", "h", "g, h", "h,i"}).Draw(rt, "group"), Weight: rapid.Int64Range(0, 5).Draw(rt, "weight"),
				By: rapid.SampledFrom([]string{"", ByPriority, ByMatches}).Draw(rt, "by"), Outside: rapid.Bool().Draw(rt, "outside"), Exempt: rapid.Bool().Draw(rt, "exempt"),
				Matches: rapid.IntRange(0, 2).Draw(rt, "matches"), Stays: rapid.IntRange(0, 4).Draw(rt, "stays") == 0, Tokens: rapid.IntRange(0, 9).Draw(rt, "tokens")})
		}
		other := rapid.Permutation(list).Draw(rt, "order")
		tokens := rapid.IntRange(0, 30).Draw(rt, "tokens of all")
		draw, limit := protocol.NewDraw(rapid.Uint64().Draw(rt, "seed")), rapid.IntRange(0, 12).Draw(rt, "limit")
		Choose(list, Bounds{Limit: limit, Tokens: tokens}, draw)
		Choose(other, Bounds{Limit: limit, Tokens: tokens}, draw)
		if shown(list) != shown(other) {
			rt.Fatalf("%s\n%s", shown(list), shown(other))
		}
	})
}

// Weights and chances are shares of many turns, and 0 is the default.
func TestShares(t *testing.T) {
	heavy, half, whole := 0, 0, 0
	const n = 4000
	for seed := range uint64(n) {
		draw := protocol.NewDraw(seed)
		list := []Candidate{{ID: "a", Group: "g", Weight: 300}, {ID: "b", Group: "g"}}
		Choose(list, Bounds{Limit: 9}, draw)
		if list[0].Why == "" {
			heavy++
		}
		if (&Candidate{ID: "x", Chance: 50}).Drawn(draw) {
			half++
		}
		if (&Candidate{ID: "x"}).Drawn(draw) {
			whole++
		}
	}
	if heavy < n*70/100 || heavy > n*80/100 || half < n*45/100 || half > n*55/100 || whole != n {
		t.Errorf("of %d: %d by weight 3:1, %d by 50 %%, %d by 100 %%", n, heavy, half, whole)
	}
}

// Minds §11: matches, tokens, and what stays.
func TestMatchesTokensAndStays(t *testing.T) {
	for name, c := range map[string]struct {
		list   []Candidate
		tokens int
		want   string
		limit  int
	}{
		"most matches":                  {[]Candidate{{ID: "a", Group: "g", By: ByMatches, Matches: 1, Weight: 1_000_000}, {ID: "b", Group: "g", Matches: 2}}, 0, "a (group g: b stands), b", 0},
		"priority before matches":       {[]Candidate{{ID: "a", Group: "g", By: ByPriority}, {ID: "b", Group: "g", By: ByMatches, Matches: 2}}, 0, "a, b (group g: a stands)", 0},
		"who stays wins its group":      {[]Candidate{{ID: "a", Group: "g", By: ByPriority, Priority: 9}, {ID: "b", Group: "g", Stays: true}}, 0, "a (group g: b stands), b", 0},
		"tokens, and a smaller one":     {[]Candidate{{ID: "a", Tokens: 6}, {ID: "b", Tokens: 5}, {ID: "c", Tokens: 4}}, 10, "a, b (tokens: 5, and 4 of 10 are left), c", 0},
		"exempt from tokens":            {[]Candidate{{ID: "a", Tokens: 6}, {ID: "b", Tokens: 50, Exempt: true}, {ID: "c", Tokens: 4}}, 10, "a, b, c", 0},
		"what does not fit has no seat": {[]Candidate{{ID: "a", Tokens: 60}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, 10, "a (tokens: 60, and 10 of 10 are left), b, c, d (limit: 2 entries of this base)", 2},
	} {
		Choose(c.list, Bounds{Limit: cmp.Or(c.limit, 9), Tokens: c.tokens}, protocol.NewDraw(1))
		if got := shown(c.list); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	stays := Candidate{ID: "x", Chance: 0.0001, Stays: true}
	if !stays.Drawn(protocol.NewDraw(1)) {
		t.Error("a chance put out what stays")
	}
}
