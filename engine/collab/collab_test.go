package collab_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/collab"
	"tavernsim/protocol"
)

func draw() protocol.Draw { return protocol.NewDraw(1, 2) }

// repeat gives n equal ballots of a preference.
func repeat(n int, names ...string) (list []any) {
	for range n {
		one := make([]any, len(names))
		for i, name := range names {
			one[i] = name
		}
		list = append(list, one)
	}
	return list
}

func first(ballots []any) (list []any) {
	for _, b := range ballots {
		list = append(list, b.([]any)[0])
	}
	return list
}

// Promise 3: what is spoiled changes nothing. Nine electors, one set of preferences, a winner for each method.
func TestMethodsDisagree(t *testing.T) {
	ballots := slices.Concat(repeat(4, "a", "b", "c"), repeat(3, "c", "b", "a"), repeat(2, "b", "c", "a"))
	options := []string{"a", "b", "c"}
	for _, c := range []struct {
		v       collab.Voting
		ballots []any
		want    string
	}{
		{collab.Voting{Method: collab.Plurality, Options: options}, first(ballots), "a map[a:4 b:2 c:3]"},
		{collab.Voting{Method: collab.Plurality, Options: options, Majority: 0.5}, first(ballots), "no_majority map[a:4 b:2 c:3]"},
		{collab.Voting{Method: collab.Borda, Options: options}, ballots, "b map[a:8 b:11 c:8]"},
		{collab.Voting{Method: collab.Condorcet, Options: options}, ballots, "b map[a:0 b:4 c:2]"},
		{collab.Voting{Method: collab.Approval, Options: options}, []any{[]any{"a", "c"}, []any{"c"}, []any{"c", "c"}, []any{"d"}, []any{}, "c"}, "c map[a:1 b:0 c:2]"},
		{collab.Voting{Method: collab.Score}, []any{map[string]any{"a": int64(3), "b": 4.0}, map[string]any{"a": int64(2)}, map[string]any{"a": -1.0}, map[string]any{"b": 0.5}, map[string]any{}}, "a map[a:5 b:4]"},
		{collab.Voting{Method: collab.Borda, Options: options}, repeat(1, "b"), "b map[a:0 b:2 c:0]"},
		{collab.Voting{Method: collab.Condorcet, Options: options, Ties: collab.None}, slices.Concat(repeat(1, "a", "b", "c"), repeat(1, "b", "c", "a"), repeat(1, "c", "a", "b")), "tie map[a:2 b:2 c:2]"},
		{collab.Voting{Quorum: 0.6}, []any{"a", "a", "a", "a", "a"}, "no_quorum map[a:5]"},
		{collab.Voting{Quorum: 0.5}, []any{"a", "a", "a", "a", ""}, "a map[a:4]"},
		{collab.Voting{Options: options}, []any{"d"}, "no_votes map[a:0 b:0 c:0]"},
		{collab.Voting{}, nil, "no_votes map[]"},
		{collab.Voting{Ties: collab.None}, []any{"x", "y"}, "tie map[x:1 y:1]"},
	} {
		if faults := c.v.Faults(); len(faults) > 0 {
			t.Fatal(faults)
		}
		got := c.v.Count(c.ballots, 10, draw())
		if text := fmt.Sprint(got.Winner, got.Why, " ", got.Counts); text != c.want {
			t.Errorf("%+v of %v: %s, want %s", c.v, c.ballots, text, c.want)
		}
		if got.Votes+got.Spoiled != int64(len(c.ballots)) {
			t.Errorf("%+v: %d votes and %d spoiled of %d ballots", c.v, got.Votes, got.Spoiled, len(c.ballots))
		}
	}
}

// Promise 4: rules have bounds.
func TestFaults(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint("o", i)
	}
	for _, v := range []collab.Voting{{Method: collab.Borda}, {Method: collab.Condorcet, Options: many}, {Method: collab.Score, Majority: 0.5}, {Options: []string{"a", "a"}}, {Options: []string{""}}} {
		if len(v.Faults()) != 1 {
			t.Errorf("%+v: %v", v, v.Faults())
		}
	}
	most := make([]string, 300_000) // comparing each with each takes minutes
	for i := range most {
		most[i] = fmt.Sprint("o", i)
	}
	for n, want := range map[int]int{collab.MaxOptions: 0, len(most): 1} {
		if v := (collab.Voting{Method: collab.Approval, Options: most[:n]}); len(v.Faults()) != want {
			t.Errorf("%d options: %v", n, v.Faults())
		}
	}
	for _, a := range []collab.Auction{{Price: collab.Double, Reserve: 1}, {Reserve: collab.MaxAmount + 1}} {
		if len(a.Faults()) != 1 {
			t.Errorf("%+v: %v", a, a.Faults())
		}
	}
}

// Only condorcet keeps a number for each pair of options.
func TestCountTakesLittle(t *testing.T) {
	options := make([]string, collab.MaxOptions)
	for i := range options {
		options[i] = fmt.Sprint("o", i)
	}
	v := collab.Voting{Method: collab.Plurality, Options: options}
	if n := testing.AllocsPerRun(10, func() { v.Count([]any{"o1"}, 1, draw()) }); n > 200 {
		t.Errorf("%v allocations for one ballot of %d options", n, len(options))
	}
}

// Promise 1: equal ballots in another order come to the same, ties too; a voter more for the winner of a
// plurality does not make it lose.
func TestVotesAreFreeOfOrder(t *testing.T) {
	options := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		v := collab.Voting{Method: rapid.SampledFrom(collab.Methods()).Draw(t, "method"), Options: options, Ties: rapid.SampledFrom(collab.Ties()).Draw(t, "ties")}
		ballots := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return ballot(t, v.Method, options) }), 0, 12).Draw(t, "ballots")
		d := protocol.NewDraw(rapid.Uint64().Draw(t, "seed"))
		a, b := v.Count(ballots, 12, d), v.Count(rapid.Permutation(ballots).Draw(t, "permuted"), 12, d)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%+v and %+v", a, b)
		}
		if (a.Winner == "") == (a.Why == "") || a.Winner != "" && !slices.Contains(options, a.Winner) {
			t.Fatalf("winner %q because %q", a.Winner, a.Why)
		}
		if a.Winner != "" {
			for name, n := range a.Counts {
				if n > a.Counts[a.Winner] {
					t.Fatalf("%s has more than the winner: %+v", name, a)
				}
			}
			if v.Method == collab.Plurality {
				if more := v.Count(append(slices.Clip(ballots), a.Winner), 12, d); more.Winner != a.Winner {
					t.Fatalf("%s lost by a vote for it: %+v", a.Winner, more)
				}
			}
		}
	})
}

func ballot(t *rapid.T, method string, options []string) any {
	if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
		return rapid.SampledFrom([]any{nil, int64(3), "x", []any{"x"}, map[string]any{"a": "b"}, math.NaN()}).Draw(t, "what")
	}
	switch method {
	case collab.Plurality:
		return rapid.SampledFrom(options).Draw(t, "one")
	case collab.Score:
		m := map[string]any{}
		for _, o := range options {
			m[o] = rapid.Int64Range(0, 5).Draw(t, o)
		}
		return m
	}
	list := rapid.Permutation(options).Draw(t, "list")
	return repeat(1, list[:rapid.IntRange(1, len(list)).Draw(t, "length")]...)[0]
}

func bids(list ...any) (out []collab.Bid) {
	for i := 0; i < len(list); i += 2 {
		v := map[string]any{"amount": list[i+1]}
		if n, ok := list[i+1].(int); ok {
			v["amount"] = int64(max(n, -n))
			v["side"] = map[bool]string{true: "sell", false: "buy"}[n < 0]
		}
		out = append(out, collab.Bid{By: list[i].(string), Value: v})
	}
	return out
}

func TestAuctions(t *testing.T) {
	for _, c := range []struct {
		a    collab.Auction
		bids []collab.Bid
		want string
	}{
		{collab.Auction{Price: collab.SecondPrice}, bids("ada", 30, "bo", 45, "cy", 41), "bo  41 [{bo  41}]"},
		{collab.Auction{Price: collab.FirstPrice}, bids("ada", 30, "bo", 45, "cy", 41), "bo  45 [{bo  45}]"},
		{collab.Auction{}, bids("ada", 30, "bo", 45, "cy", 41), "bo  45 [{bo  45}]"},
		{collab.Auction{Price: collab.SecondPrice, Reserve: 43}, bids("ada", 30, "bo", 45), "bo  43 [{bo  43}]"},
		{collab.Auction{Price: collab.SecondPrice, Reserve: 46}, bids("ada", 30, "bo", 45), " reserve 0 []"},
		{collab.Auction{Price: collab.SecondPrice}, bids("ada", 30, "bo", "45", "cy", 1.5, "dee", -1.0), "ada  0 [{ada  0}]"},
		{collab.Auction{Price: collab.SecondPrice}, bids("bo", nil), " no_bids 0 []"},
		{collab.Auction{Price: collab.SecondPrice, Ties: collab.None}, bids("ada", 5, "bo", 5), " tie 0 []"},
		{collab.Auction{Price: collab.Double}, bids("b1", 10, "b2", 8, "b3", 3, "s1", -2, "s2", -5, "s3", -9), "  6 [{b1 s1 6} {b2 s2 6}]"},
		{collab.Auction{Price: collab.Double}, bids("b1", 3, "s1", -4), " no_match 0 []"},
	} {
		s := c.a.Settle(c.bids, draw())
		if got := fmt.Sprint(s.Winner, " ", s.Why, " ", s.Price, " ", s.Trades); got != c.want {
			t.Errorf("%+v of %v: %q, want %q", c.a, c.bids, got, c.want)
		}
	}
}

// A sealed second price auction among many: the highest value wins and pays the second
// highest; who bids something else than the value never gains by it.
func TestSecondPriceIsHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1000), 2, 20).Draw(t, "values")
		var list []collab.Bid
		for i, v := range values {
			list = append(list, collab.Bid{By: fmt.Sprint("b", i), Value: map[string]any{"amount": v}})
		}
		d := protocol.NewDraw(rapid.Uint64().Draw(t, "seed"))
		a := collab.Auction{Price: collab.SecondPrice}
		s := a.Settle(list, d)
		sorted := slices.Sorted(slices.Values(values))
		if s.Price != sorted[len(sorted)-2] || s.Highest != sorted[len(sorted)-1] {
			t.Fatalf("%+v of %v", s, values)
		}
		if other := a.Settle(rapid.Permutation(list).Draw(t, "permuted"), d); other.Winner != s.Winner || other.Price != s.Price {
			t.Fatalf("%+v and %+v", s, other)
		}
		i, lie := rapid.IntRange(0, len(list)-1).Draw(t, "liar"), rapid.Int64Range(0, 1000).Draw(t, "lie")
		gain := func(s *collab.Sale) int64 {
			if s.Winner == list[i].By {
				return values[i] - s.Price
			}
			return 0
		}
		honest := gain(s)
		list[i].Value = map[string]any{"amount": lie}
		if lied := gain(a.Settle(list, d)); lied > honest {
			t.Fatalf("%d of value %d gains %d, and %d with its value", lie, values[i], lied, honest)
		}
	})
}

// Promise 2. A double auction: each trades at most once, nobody at a price that is worse than the own
// one, and no pair is left that would trade.
func TestDoubleAuction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []collab.Bid
		amount, side := map[string]int64{}, map[string]string{}
		for i := range rapid.IntRange(0, 20).Draw(t, "n") {
			by := fmt.Sprint("b", i)
			amount[by], side[by] = rapid.Int64Range(0, 20).Draw(t, "amount"), rapid.SampledFrom([]string{"buy", "sell"}).Draw(t, "side")
			list = append(list, collab.Bid{By: by, Value: map[string]any{"amount": amount[by], "side": side[by]}})
		}
		a, d := collab.Auction{Price: collab.Double}, protocol.NewDraw(rapid.Uint64().Draw(t, "seed"))
		s := a.Settle(list, d)
		if other := a.Settle(rapid.Permutation(list).Draw(t, "permuted"), d); fmt.Sprint(other) != fmt.Sprint(s) {
			t.Fatalf("%+v and %+v", s, other)
		}
		done := map[string]bool{}
		for _, x := range s.Trades {
			if done[x.Buyer] || done[x.Seller] || side[x.Buyer] != "buy" || side[x.Seller] != "sell" || x.Price != s.Price || amount[x.Buyer] < x.Price || amount[x.Seller] > x.Price {
				t.Fatalf("%+v in %+v", x, s)
			}
			done[x.Buyer], done[x.Seller] = true, true
		}
		for b := range amount {
			for c := range amount {
				if !done[b] && !done[c] && side[b] == "buy" && side[c] == "sell" && amount[b] >= amount[c] {
					t.Fatalf("%s and %s would trade: %+v", b, c, s)
				}
			}
		}
	})
}

// The least cost, against all assignments.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "columns")
		costs := make([][]int64, rows)
		for i := range costs {
			costs[i] = rapid.SliceOfN(rapid.Int64Range(0, 9), cols, cols).Draw(t, "row")
		}
		got, total, err := collab.Assign(costs)
		if err != nil {
			t.Fatal(err)
		}
		sum, taken := int64(0), map[int]bool{}
		for i, j := range got {
			if j < 0 {
				continue
			}
			if taken[j] {
				t.Fatalf("column %d is taken twice: %v", j, got)
			}
			taken[j] = true
			sum += costs[i][j]
		}
		if sum != total || len(taken) != min(rows, cols) || total != least(costs, 0, map[int]bool{}, min(rows, cols)) {
			t.Fatalf("%v costs %d of %v", got, total, costs)
		}
	})
	for _, costs := range [][][]int64{{{1, 2}, {1}}, {{}}, {{-1}}, {{math.MaxInt64}}, make([][]int64, collab.MaxAssign+1)} {
		if _, _, err := collab.Assign(costs); err == nil {
			t.Errorf("%v: no error", costs)
		}
	}
	if got, total, err := collab.Assign(nil); err != nil || len(got) != 0 || total != 0 {
		t.Error(got, total, err)
	}
}

// least tries all ways to assign so many of the rows from one on.
func least(costs [][]int64, row int, taken map[int]bool, left int) int64 {
	switch {
	case left == 0:
		return 0
	case len(costs)-row < left:
		return math.MaxInt64 / 2
	}
	best := least(costs, row+1, taken, left)
	for j, c := range costs[row] {
		if !taken[j] {
			taken[j] = true
			best = min(best, c+least(costs, row+1, taken, left-1))
			delete(taken, j)
		}
	}
	return best
}
