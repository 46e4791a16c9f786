package budget_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

// cast has agents a0, a1, …, of the profiles even and odd.
type cast struct{}

func (cast) Name(o uint32) string { return fmt.Sprintf("a%d", o) }
func (cast) Ordinal(id string) (o uint32, ok bool) {
	_, err := fmt.Sscanf(id, "a%d", &o)
	return o, err == nil
}
func (cast) Profile(o uint32) string { return [...]string{"even", "odd"}[o%2] }

func limits(t interface{ Fatal(...any) }, text string) *budget.Limits {
	b, err := budget.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := b.Limits(budget.Refuse)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParse(t *testing.T) {
	for _, text := range []string{
		"tokens=100000", "tokens=100000,dollars=0.5,calls=7", "calls=1,window=day,on_exhausted=degrade:small", "dollars=0.000000001", "tokens=1,window=run,on_exhausted=pause",
	} {
		b, err := budget.Parse(text)
		if err != nil || b.String() != text {
			t.Errorf("%s: %v, %v", text, b, err)
		}
	}
	for text, want := range map[string]string{
		"":                                    "want NAME=VALUE",
		"tokens":                              "want NAME=VALUE",
		"tokens=":                             "want NAME=VALUE",
		"tokens=many":                         "no number",
		"tokens=-1":                           "want 1 to",
		"tokens=0":                            "tokens is 0",
		"tokens=1,tokens=2":                   "twice",
		"euros=1":                             "want tokens, dollars, calls",
		"dollars=NaN":                         "want 0.000000001 to",
		"dollars=-0.5":                        "want 0.000000001 to",
		"dollars=1e-12":                       "want 0.000000001 to",
		"dollars=1e12":                        "want 0.000000001 to",
		"calls=1e3":                           "no number",
		"window=day":                          "no limit",
		"tokens=1,window=week":                "want run or day",
		"tokens=1,on_exhausted=stop":          "want refuse, degrade:MODEL, pause or end",
		"tokens=1,on_exhausted=degrade":       "want refuse",
		"tokens=1,on_exhausted=degrade:":      "want refuse",
		"tokens=1,on_exhausted=refuse:little": "want refuse",
	} {
		if _, err := budget.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestShare(t *testing.T) {
	b, err := budget.Parse("tokens=100,dollars=1,calls=5,on_exhausted=end")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Share(3).String(); got != "tokens=33,dollars=0.333333333,calls=1,on_exhausted=end" {
		t.Error(got)
	}
	if b.Share(1) != b || (*budget.Budget)(nil).Share(3) != nil {
		t.Error("a share of one is the whole")
	}
}

// life plays random turns of waves against a tree, as a stage does.
type life struct {
	*rapid.T
	rounds *budget.Rounds
	tree   *budget.Tree
	out    map[[2]int]budget.Amount // bounds of granted requests that have not settled
	log    []string                 // of grants and refusals, in their order
	facts  []fact
	pick   func(n int) int // which of several messages comes first
}

type fact struct {
	agent uint32
	at    protocol.Time
	took  budget.Amount
	of    string // endpoint
}

// play is a turn: it asks for one round of requests after the other.
type play struct {
	agent  uint32
	asks   [][]budget.Amount // bounds, by round
	takes  [][]budget.Amount
	to     []string // endpoints that its requests may come to
	round  int
	number int
	open   int // requests of the round without an answer
	ended  bool
}

func amounts(most int64) *rapid.Generator[budget.Amount] {
	return rapid.Custom(func(t *rapid.T) budget.Amount {
		return budget.Amount{Tokens: rapid.Int64Range(0, most).Draw(t, "tokens"), Calls: 1, Nano: rapid.Int64Range(0, most).Draw(t, "nano")}
	})
}

func plays() *rapid.Generator[[]*play] {
	return rapid.Custom(func(t *rapid.T) (list []*play) {
		for i := range rapid.IntRange(1, 8).Draw(t, "turns") {
			p := &play{agent: uint32(i), to: rapid.SampledFrom([][]string{nil, {"near"}, {"far"}, {"near", "far"}}).Draw(t, "endpoints")}
			for range rapid.IntRange(0, 3).Draw(t, "rounds") {
				var asks, takes []budget.Amount
				for range rapid.IntRange(1, 2).Draw(t, "requests") {
					bound := amounts(60).Draw(t, "bound")
					asks = append(asks, bound)
					takes = append(takes, budget.Amount{Tokens: rapid.Int64Range(0, bound.Tokens).Draw(t, "took"), Calls: 1, Nano: rapid.Int64Range(0, bound.Nano).Draw(t, "cost")})
				}
				p.asks, p.takes = append(p.asks, asks), append(p.takes, takes)
			}
			list = append(list, p)
		}
		return list
	})
}

func configs() *rapid.Generator[budget.Config] {
	return rapid.Custom(func(t *rapid.T) budget.Config {
		some := func(name string) *budget.Limits {
			if rapid.Bool().Draw(t, name) {
				return nil
			}
			l := &budget.Limits{Amount: amounts(200).Draw(t, name+" limit"), On: budget.Action{Do: budget.Refuse}}
			l.Calls = rapid.Int64Range(1, 30).Draw(t, "calls")
			return l
		}
		c := budget.Config{Run: some("run"), Scene: some("scene"), Profiles: map[string]*budget.Limits{}, Agents: map[string]*budget.Limits{}, Cast: cast{}}
		c.Endpoints = map[string]*budget.Limits{}
		for _, name := range []string{"near", "far"} {
			if l := some(name); l != nil {
				c.Endpoints[name] = l
			}
		}
		for _, profile := range []string{"even", "odd"} {
			if l := some(profile); l != nil {
				c.Profiles[profile] = l
			}
			if l := some("each " + profile); l != nil {
				c.Agents[profile] = l
			}
		}
		return c
	})
}

// wave plays a wave to its end and merges its turns in their order. Messages are taken in
// the order that pick says.
func (l *life) wave(at protocol.Time, turns []*play) {
	var order []uint32
	for _, p := range turns {
		order = append(order, p.agent)
	}
	l.rounds.Open(at, order, models(func(uint32) budget.Amount { return budget.Amount{} }))
	type message struct {
		p      *play
		number int
		took   budget.Amount
		of     string
	}
	var box []message
	for i, p := range turns {
		p.round, p.number, p.open, p.ended = 0, 0, 0, false
		l.rounds.Woken(p.agent, i, 1)
		box = append(box, message{p: p})
	}
	bounds := map[[2]int]budget.Amount{}
	takes := map[[2]int]budget.Amount{}
	for len(box) > 0 {
		i := l.pick(len(box))
		m := box[i]
		box = slices.Delete(box, i, i+1)
		s := &budget.Step{Agent: m.p.agent, Done: m.number, Took: m.took, Of: m.of}
		if m.number > 0 {
			m.p.open--
			delete(l.out, [2]int{int(m.p.agent), m.number})
		}
		if m.p.open == 0 {
			if m.p.round < len(m.p.asks) {
				for k, bound := range m.p.asks[m.p.round] {
					m.p.number++
					m.p.open++
					key := [2]int{int(m.p.agent), m.p.number}
					bounds[key], takes[key] = bound, m.p.takes[m.p.round][k]
					s.Asks = append(s.Asks, budget.Request{Agent: m.p.agent, Number: m.p.number, Bound: bound, Parts: parts(m.p.to, bound)})
				}
				m.p.round++
			} else {
				m.p.ended = true
			}
		}
		l.rounds.Step(1, s)
		if m.p.ended {
			l.rounds.Ended(m.p.agent)
		}
		for _, g := range l.rounds.Grants(at) {
			key := [2]int{int(g.Agent), g.Number}
			l.log = append(l.log, fmt.Sprintf("a%d %d %v %v", g.Agent, g.Number, g.Refused, g.Barred))
			p, took, of := turns[slices.Index(order, g.Agent)], takes[key], ""
			for _, name := range p.to { // the last that has room for it answers
				if !slices.Contains(g.Barred, name) {
					of = name
				}
			}
			if g.Refused != nil {
				took, of = budget.Amount{}, ""
			} else {
				l.out[key] = bounds[key]
				l.facts = append(l.facts, fact{g.Agent, at, took, of})
			}
			box = append(box, message{p, g.Number, took, of})
		}
		l.check()
	}
	for _, p := range turns {
		if !p.ended {
			l.Fatalf("a%d never ended: promise 3", p.agent)
		}
		for _, f := range l.facts {
			if f.agent == p.agent && f.at == at {
				l.tree.Charge(f.agent, f.of, f.at, f.took)
			}
		}
		l.rounds.Merged(p.agent)
	}
	l.check()
}

func parts(to []string, bound budget.Amount) (list []budget.Part) {
	for i, name := range to {
		list = append(list, budget.Part{Endpoint: name, Bound: bound, First: i == 0})
	}
	return list
}

// check holds promise 1, and that what is reserved is what is out.
func (l *life) check() {
	for _, line := range l.tree.Lines() {
		sum := line.Used.Plus(line.Reserved)
		if line.Amount.Tokens > 0 && sum.Tokens > line.Amount.Tokens || line.Amount.Calls > 0 && sum.Calls > line.Amount.Calls || line.Amount.Nano > 0 && sum.Nano > line.Amount.Nano {
			l.Fatalf("%s is exceeded: %v used, %v reserved of %v", line.Name, line.Used, line.Reserved, line.Amount)
		}
		if len(l.out) == 0 && line.Reserved != (budget.Amount{}) {
			l.Fatalf("%s: nothing is out, and %v reserved", line.Name, line.Reserved)
		}
	}
}

func begin(t *rapid.T, c budget.Config, pick func(n int) int) *life {
	tree := budget.New(c)
	return &life{T: t, tree: tree, rounds: budget.NewRounds(tree, false), out: map[[2]int]budget.Amount{}, pick: pick}
}

// Promises 1, 2 and 3: whatever order messages come in, the grants are the same, no
// ledger is exceeded and every turn ends.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, waves := configs().Draw(t, "ledgers"), rapid.SliceOfN(plays(), 1, 3).Draw(t, "waves")
		first := begin(t, c, func(int) int { return 0 })
		last := begin(t, c, func(n int) int { return n - 1 })
		any := begin(t, c, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "which") })
		for i, turns := range waves {
			for _, l := range []*life{first, last, any} {
				l.wave(protocol.Time(i), turns)
			}
			for _, l := range []*life{last, any} {
				if !slices.Equal(first.log, l.log) {
					t.Fatalf("wave %d:\n%s\n%s", i, strings.Join(first.log, "\n"), strings.Join(l.log, "\n"))
				}
				if a, b := first.tree.Kept(), l.tree.Kept(); !reflect.DeepEqual(a, b) {
					t.Fatalf("wave %d: %v, %v", i, a, b)
				}
			}
		}
	})
}

// Promise 1 holds when requests are granted as they come, too.
func TestFirstCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := begin(t, configs().Draw(t, "ledgers"), func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "which") })
		l.rounds.FirstCome = true
		for i, turns := range rapid.SliceOfN(plays(), 1, 3).Draw(t, "waves") {
			l.wave(protocol.Time(i), turns)
		}
	})
}

// Promise 4: a tree that counted the facts, and one restored from what was kept, grant
// the next wave alike.
func TestFoldedAndRestored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, waves := configs().Draw(t, "ledgers"), rapid.SliceOfN(plays(), 2, 3).Draw(t, "waves")
		pick := func(int) int { return 0 }
		live := begin(t, c, pick)
		for i, turns := range waves[1:] {
			live.wave(protocol.Time(i), turns)
		}
		folded, restored := begin(t, c, pick), begin(t, c, pick)
		for _, f := range live.facts {
			folded.tree.Charge(f.agent, f.of, f.at, f.took)
		}
		restored.tree.Restore(live.tree.Kept())
		live.log = nil
		for _, l := range []*life{live, folded, restored} {
			l.wave(100, waves[0])
			if !slices.Equal(l.log, live.log) || !reflect.DeepEqual(l.tree.Kept(), live.tree.Kept()) {
				t.Fatalf("%s\n%s", strings.Join(live.log, "\n"), strings.Join(l.log, "\n"))
			}
		}
	})
}

// A wave goes by rounds if its turns at their worst do not fit into some ledger.
func TestRoundsAreNeeded(t *testing.T) {
	c := budget.Config{Run: limits(t, "tokens=100"), Agents: map[string]*budget.Limits{"odd": limits(t, "calls=2")}, Cast: cast{}}
	worst := func(uint32) budget.Amount { return budget.Amount{Tokens: 30, Calls: 2} }
	for _, x := range []struct {
		order []uint32
		used  int64
		want  bool
	}{{[]uint32{0, 1, 2}, 0, false}, {[]uint32{0, 1, 2, 4}, 0, true}, {[]uint32{0, 1, 2}, 10, false}, {[]uint32{0, 1, 2}, 11, true}, {nil, 200, false}, {[]uint32{1}, 1, false}} {
		tree := budget.New(c)
		tree.Charge(0, "", 0, budget.Amount{Tokens: x.used})
		r := budget.NewRounds(tree, false)
		if got := r.Open(0, x.order, models(worst)); got != x.want {
			t.Errorf("%v after %d tokens: %v", x.order, x.used, got)
		}
		if r.FirstCome = true; !r.Open(0, nil, models(worst)) {
			t.Error("on the realtime clock every request asks")
		}
	}
	tree := budget.New(c)
	tree.Charge(1, "", 0, budget.Amount{Calls: 1})
	if !budget.NewRounds(tree, false).Open(0, []uint32{1}, models(worst)) {
		t.Error("the agent's own ledger has one call left")
	}
}

// Promise 1: a turn that took its last answer is in motion until its end has come, because that lets another turn
// begin, whose request belongs to the round.
func TestTheEndOfATurnBelongsToTheRound(t *testing.T) {
	ask := func(agent uint32, n int) []budget.Request {
		return []budget.Request{{Agent: agent, Number: n, Bound: budget.Amount{Calls: 1}}}
	}
	for _, endsFirst := range []bool{true, false} {
		r := budget.NewRounds(budget.New(budget.Config{Run: limits(t, "calls=3"), Cast: cast{}}), false)
		for o := range uint32(2) {
			r.Woken(o, int(o), 1)
			r.Step(1, &budget.Step{Agent: o, Asks: ask(o, 1)})
		}
		if g := r.Grants(0); len(g) != 2 {
			t.Fatal(g)
		}
		takes := func(agent uint32, asks []budget.Request) {
			r.Step(1, &budget.Step{Agent: agent, Done: 1, Took: budget.Amount{Calls: 1}, Asks: asks})
			if g := r.Grants(0); len(g) > 0 {
				t.Errorf("ends first: %v: granted before the end of the turn: %v", endsFirst, g)
			}
		}
		end := func() {
			takes(0, nil)
			r.Ended(0)
			r.Woken(2, 2, 1)
			r.Step(1, &budget.Step{Agent: 2, Asks: ask(2, 1)})
		}
		if endsFirst {
			end()
			r.Step(1, &budget.Step{Agent: 1, Done: 1, Took: budget.Amount{Calls: 1}, Asks: ask(1, 2)})
		} else {
			takes(1, ask(1, 2))
			end()
		}
		if g := r.Grants(0); len(g) != 1 || g[0].Agent != 1 || g[0].Refused != nil { // the other one waits until it has settled
			t.Errorf("ends first: %v: %v", endsFirst, g)
		}
	}
}

// Promise 1: what a turn dropped, or its end, is out of the round: it has no grant, whoever is last.
func TestDroppedRequestsAreNotGranted(t *testing.T) {
	one := budget.Amount{Calls: 1}
	ask := func(agent uint32, n int) budget.Request { return budget.Request{Agent: agent, Number: n, Bound: one} }
	for _, lastFirst := range []bool{true, false} {
		for name, drops := range map[string]budget.Step{"over": {Over: true}, "waits for another": {Dropped: []int{3}}} {
			r := budget.NewRounds(budget.New(budget.Config{Run: limits(t, "calls=4"), Cast: cast{}}), false)
			for o := range uint32(2) {
				r.Woken(o, int(o), 1)
				r.Step(1, &budget.Step{Agent: o, Asks: []budget.Request{ask(o, 1)}})
			}
			for _, g := range r.Grants(0) {
				r.Step(1, &budget.Step{Agent: g.Agent, Free: 1})
			}
			dropped := func() {
				s := drops
				s.Agent, s.Done, s.Took, s.Asks = 0, 1, one, []budget.Request{ask(0, 3)}
				r.Step(1, &s)
				if g := r.Grants(0); len(g) > 0 {
					t.Errorf("%s, last first: %v: granted before the end of the turn: %v", name, lastFirst, g)
				}
				r.Ended(0)
			}
			if !lastFirst {
				dropped()
			}
			r.Step(1, &budget.Step{Agent: 1, Done: 1, Took: one, Asks: []budget.Request{ask(1, 2)}})
			if lastFirst {
				dropped()
			}
			if g := r.Grants(0); len(g) != 1 || g[0].Agent != 1 || g[0].Refused != nil {
				t.Errorf("%s, last first: %v: %v", name, lastFirst, g)
			}
		}
	}
	r := budget.NewRounds(budget.New(budget.Config{Run: limits(t, "calls=2"), Cast: cast{}}), false)
	r.Woken(0, 0, 1)
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{ask(0, 1), ask(0, 2)}})
	r.Grants(0)
	r.Step(1, &budget.Step{Agent: 0, Free: 1})
	r.Step(1, &budget.Step{Agent: 0, Done: 1, Took: one, Asks: []budget.Request{ask(0, 3)}, Dropped: []int{2, 3}}) // 2 is out
	if g, l := r.Grants(0), r.Lines()[0]; len(g) > 0 || l.Reserved != one {
		t.Error(g, l)
	}
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{ask(0, 4), ask(0, 5)}, Dropped: []int{4}})
	r.Step(1, &budget.Step{Agent: 0, Done: 2})
	if g := r.Grants(0); len(g) != 1 || g[0].Number != 5 {
		t.Error(g)
	}
}

// A turn whose facts are lost gives back what it took.
func TestMergedWithoutFacts(t *testing.T) {
	tree := budget.New(budget.Config{Run: limits(t, "tokens=100"), Cast: cast{}})
	r := budget.NewRounds(tree, false)
	r.Woken(0, 0, 1)
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: 1, Bound: budget.Amount{Tokens: 40}}, {Agent: 0, Number: 2, Bound: budget.Amount{Tokens: 60}}}})
	if g := r.Grants(0); len(g) != 2 || g[0].Refused != nil || g[1].Refused != nil {
		t.Fatal(g)
	}
	r.Step(1, &budget.Step{Agent: 0, Done: 1, Took: budget.Amount{Tokens: 5}})
	if l := tree.Lines()[0]; l.Used.Tokens != 5 || l.Reserved.Tokens != 60 {
		t.Error(l)
	}
	r.Merged(0)
	r.Step(1, &budget.Step{Agent: 0, Done: 2, Took: budget.Amount{Tokens: 60}}) // too late
	if l := tree.Lines()[0]; l.Used != (budget.Amount{}) || l.Reserved != (budget.Amount{}) {
		t.Error(l)
	}
}

// An attempt that may have cost its bound is reserved once more before the next one.
func TestRepeated(t *testing.T) {
	tree := budget.New(budget.Config{Run: limits(t, "tokens=100"), Cast: cast{}})
	r := budget.NewRounds(tree, false)
	ask := budget.Request{Agent: 0, Number: 1, Bound: budget.Amount{Tokens: 40}}
	r.Woken(0, 0, 1)
	for i, want := range []bool{false, false, true} {
		r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{ask}})
		if i == 2 { // two attempts are lost
			r.Step(1, &budget.Step{Agent: 0, Done: 1, Took: budget.Amount{Tokens: 80}})
		}
		if g := r.Grants(0); len(g) != 1 || (g[0].Refused != nil) != want {
			t.Fatal(i, g)
		}
	}
}
