package turns_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
)

// player drives an order as a stage does.
type player struct {
	t      rapid.TB
	codec  *protocol.Codec
	rules  *turns.Rules
	state  *turns.State
	now    protocol.Time
	wave   uint64
	facts  []turns.Fact
	rests  bool // everybody
	warned int
}

func newPlayer(t rapid.TB, d turns.Turns, members ...uint32) *player {
	rules, err := turns.New(d, members)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, codec: protocol.NewCodec(turns.Facts()), rules: rules, state: turns.NewState(rules), now: 1000}
	p.state.Started(7, p.now)
	return p
}

func (p *player) input() *turns.Input {
	return &turns.Input{
		Now: p.now, Step: 1, Name: func(o uint32) string { return fmt.Sprint("a", o) },
		World: func() any { return map[string]any{} }, Agent: func(o uint32) any { return map[string]any{"ordinal": int64(o)} },
		Rests: func(uint32) bool { return p.rests }, Warn: func(error) { p.warned++ },
	}
}

// close ends the open wave: it folds what the order decides, as it is when it was stored.
func (p *player) close() (said []turns.Fact) {
	p.wave++
	for f := p.state.Decide(p.input()); f != nil; f = p.state.Decide(p.input()) {
		p.fold(f)
		if said = append(said, f); len(said) > 4*len(p.rules.Members)+8 {
			p.t.Fatalf("the order does not come to an end: %+v", said)
		}
	}
	return said
}

func (p *player) fold(f turns.Fact) {
	raw, err := p.codec.Marshal(f)
	if err != nil {
		p.t.Fatal(err)
	}
	read, err := p.codec.ReadFact(f.FactKind(), raw)
	if err != nil {
		p.t.Fatal(err)
	}
	p.facts = append(p.facts, read.(turns.Fact))
	p.state.Apply(read.(turns.Fact), p.wave, p.now)
}

func (p *player) stored() []byte {
	raw, err := p.state.Snapshot(p.codec)
	if err != nil {
		p.t.Fatal(err)
	}
	return raw
}

// Promises 1, 2, 3 and 6: whatever agents, directors, failures and time do, rounds begin and
// end in turn, turns lie in rounds, nobody holds a turn that was not given, Decide changes
// nothing and ends, and a snapshot goes on as its state does.
func TestOrdersKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := turns.Turns{Policy: turns.Policy(rapid.SampledFrom([]string{"round_robin", "initiative", "director", "simultaneous"}).Draw(t, "policy")), PerTurn: rapid.Int64Range(0, 3).Draw(t, "per_turn"), Rounds: rapid.Int64Range(0, 4).Draw(t, "rounds")}
		if rapid.Bool().Draw(t, "limited") {
			d.TimeLimit, d.OnTimeout = protocol.Duration(5), rapid.SampledFrom([]string{"", "skip", "forfeit"}).Draw(t, "on_timeout")
		}
		if d.Policy == turns.Initiative {
			d.By, d.Reroll = "agent.ordinal === 2 ? 'none' : roll", rapid.SampledFrom([]string{"", "round", "scene"}).Draw(t, "reroll")
		}
		if d.Policy == turns.Director && d.TimeLimit != 0 {
			d.Fallback = rapid.SampledFrom([]string{"", "wait", "round_robin", "free"}).Draw(t, "fallback")
		}
		p := newPlayer(t, d, 1, 2, 4)
		c := checker{left: map[uint32]int64{}, gone: map[uint32]bool{}}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			o := rapid.SampledFrom([]uint32{0, 1, 2, 4}).Draw(t, "agent")
			switch rapid.SampledFrom([]string{"turn", "turn", "turn", "time", "give", "gone", "interrupt", "swap snapshot"}).Draw(t, "act") {
			case "turn":
				if latency := protocol.Time(0); !p.state.Gated(o) {
					if rapid.Bool().Draw(t, "slow") {
						latency = p.now + 3
					}
					if c.left[o] > 0 {
						c.left[o]--
					}
					p.state.Ended(o, p.wave+1, latency)
				}
			case "interrupt":
				if p.state.Interrupted(o) {
					c.left[o]++
				}
			case "time":
				p.now += protocol.Time(rapid.IntRange(1, 6).Draw(t, "after"))
			case "give":
				before := p.stored()
				began, granted, err := p.state.Give(p.input(), "gm", []uint32{1, o}, 2)
				if !bytes.Equal(before, p.stored()) {
					t.Fatal("Give changed the state")
				}
				p.wave++
				if err == nil {
					if began != nil {
						p.fold(began)
					}
					p.fold(granted)
				}
			case "gone":
				if len(c.gone) < 2 {
					c.gone[o] = true
					p.state.Gone(o)
				}
			case "swap snapshot":
				raw := p.stored()
				again, err := turns.Restore(p.rules, p.codec, raw)
				if err != nil {
					t.Fatal(err)
				}
				if p.state = again; !bytes.Equal(raw, p.stored()) {
					t.Fatal("a snapshot is not what it was made of")
				}
			}
			before := p.stored()
			p.state.Decide(p.input())
			if !bytes.Equal(before, p.stored()) {
				t.Fatal("Decide changed the state")
			}
			p.close()
			c.check(t, p)
		}
	})
}

// checker holds a history of facts to the promises.
type checker struct {
	seen  int
	round int64 // that runs; 0 = none
	last  int64
	left  map[uint32]int64
	gone  map[uint32]bool
	loose bool
}

func (c *checker) check(t *rapid.T, p *player) {
	for _, f := range p.facts[c.seen:] {
		switch x := f.(type) {
		case *turns.Began:
			if c.round != 0 || x.Round != c.last+1 {
				t.Fatalf("round %d began in round %d behind %d", x.Round, c.round, c.last)
			}
			c.round, c.last, c.loose = x.Round, x.Round, false
			clear(c.left)
		case *turns.Granted:
			if x.Round != c.round {
				t.Fatalf("a turn of round %d in round %d", x.Round, c.round)
			}
			for _, o := range x.Agents {
				c.left[o] += x.Turns
			}
		case *turns.Forfeited:
			for _, o := range x.Agents {
				c.left[o] = 0
			}
		case *turns.Ended:
			if x.Round != c.round {
				t.Fatalf("round %d ended in round %d", x.Round, c.round)
			}
			for o, n := range c.left {
				if n > 0 {
					t.Fatalf("round %d ended before %d of agent %d were taken", x.Round, n, o)
				}
			}
			c.round = 0
		case *turns.Stalled:
			c.loose = x.Fallback == "free"
		}
	}
	c.seen = len(p.facts)
	for _, o := range p.rules.Members {
		if free := !p.state.Gated(o); free != (c.left[o] > 0 || c.loose) {
			t.Fatalf("agent %d: free %v, left %d, loose %v", o, free, c.left[o], c.loose)
		}
	}
	if p.state.Gated(0) {
		t.Fatal("who is no participant is gated")
	}
}

// Promise 4: a turn is over when its latency is, and its time limit holds until then.
func TestATurnIsOverWithItsLatency(t *testing.T) {
	p := newPlayer(t, turns.Turns{Policy: turns.RoundRobin, TimeLimit: protocol.Duration(10)}, 0, 1)
	p.close()
	p.now = 1001
	p.state.Ended(0, 2, 1006)
	if said := p.close(); len(said) != 0 || p.state.Next(p.now) != 1006 {
		t.Fatalf("%+v, next %d", said, p.state.Next(p.now))
	}
	p.now = 1006
	if said := p.close(); len(said) != 1 || !slices.Equal(said[0].(*turns.Granted).Agents, []uint32{1}) {
		t.Fatalf("%+v", said)
	}
	p.state.Ended(1, 9, 2000)
	p.now = p.state.Next(p.now)
	if f, ok := p.close()[0].(*turns.Forfeited); !ok || p.now != 1017 || f.Reason != turns.ReasonTime {
		t.Fatalf("at %d: %+v", p.now, f)
	}
}

// A turn that began before its grant is none of it: the agent is called again.
func TestATurnBeforeItsGrant(t *testing.T) {
	p := newPlayer(t, turns.Turns{Policy: turns.RoundRobin, Interject: turns.Critical}, 0)
	p.close()
	if again := p.state.Ended(0, p.wave, 0); !again || p.state.Gated(0) {
		t.Fatal("it was counted")
	}
	if again := p.state.Ended(0, p.wave+1, 0); again || !p.state.Gated(0) {
		t.Fatal("it was not counted")
	}
}

// Promise 5: who is gone has no turn, and with nobody left the rounds are over.
func TestNobodyWaitsForWhoIsGone(t *testing.T) {
	p := newPlayer(t, turns.Turns{Policy: turns.Simultaneous}, 0, 1)
	p.close()
	p.state.Gone(0)
	p.state.Gone(1)
	said := p.close()
	end, ok := said[len(said)-1].(*turns.Ended)
	if !ok || !end.Over || !p.state.Over() || end.Forfeited != 2 {
		t.Fatalf("%+v", said)
	}
	if _, _, err := p.state.Give(p.input(), "gm", []uint32{0}, 1); err == nil {
		t.Fatal("a turn was given to who is gone")
	}
}

// The number of initiative is drawn by seed, round and agent, and once with reroll: scene.
func TestInitiativeIsDrawn(t *testing.T) {
	orders := func(reroll string) (list [][]uint32) {
		p := newPlayer(t, turns.Turns{Policy: turns.Initiative, By: "roll", Reroll: reroll}, 0, 1, 2, 3, 4, 5)
		for range 3 {
			for _, f := range p.close() {
				if x, ok := f.(*turns.Began); ok {
					list = append(list, x.Order)
				}
			}
			for range 6 {
				for _, o := range p.rules.Members {
					if !p.state.Gated(o) {
						p.state.Ended(o, p.wave+1, 0)
					}
				}
				for _, f := range p.close() {
					if x, ok := f.(*turns.Began); ok {
						list = append(list, x.Order)
					}
				}
			}
		}
		return list[:3]
	}
	each, once := orders("round"), orders("scene")
	if !reflect.DeepEqual(each, orders("")) || slices.Equal(each[0], each[1]) && slices.Equal(each[1], each[2]) {
		t.Errorf("reroll round: %v", each)
	}
	if !slices.Equal(once[0], once[1]) || !slices.Equal(once[1], once[2]) {
		t.Errorf("reroll scene: %v", once)
	}
}

// What is no number, and what cannot be evaluated, comes last.
func TestInitiativeWithoutANumber(t *testing.T) {
	for by, want := range map[string][]uint32{
		"[3, 0/0, 5][agent.ordinal]":            {2, 0, 1},
		"[true, 'x', false][agent.ordinal]":     {0, 2, 1},
		"agent.ordinal < 2 ? world.x.y : -1000": {2, 0, 1},
	} {
		p := newPlayer(t, turns.Turns{Policy: turns.Initiative, By: by}, 0, 1, 2)
		if got := p.close()[0].(*turns.Began).Order; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", by, got, want)
		}
	}
}

// The fields of a definition that do not go together are refused, each by its name.
func TestFaults(t *testing.T) {
	minute := protocol.Duration(time.Minute)
	for _, c := range []struct {
		turns.Turns
		field string
	}{
		{turns.Turns{Policy: turns.Free, Rounds: 1}, "rounds"},
		{turns.Turns{Policy: turns.Free, Participants: []string{"a"}}, "participants"},
		{turns.Turns{Policy: turns.RoundRobin, By: "roll"}, "by"},
		{turns.Turns{Policy: turns.Initiative}, "by"},
		{turns.Turns{Policy: turns.Initiative, By: "roll +"}, "by"},
		{turns.Turns{Policy: turns.Initiative, By: "events"}, "by"},
		{turns.Turns{Policy: turns.Initiative, By: "roll", Order: []string{"a"}}, "order"},
		{turns.Turns{Policy: turns.Simultaneous, Order: []string{"a"}}, "order"},
		{turns.Turns{Policy: turns.Simultaneous, Reroll: turns.OneScene}, "reroll"},
		{turns.Turns{Policy: turns.RoundRobin, TimeLimit: minute, Fallback: turns.Wait}, "fallback"},
		{turns.Turns{Policy: turns.RoundRobin, TimeLimit: minute, OnTimeout: turns.Play}, "on_timeout"},
		{turns.Turns{Policy: turns.RoundRobin, OnTimeout: turns.Skip}, "on_timeout"},
		{turns.Turns{Policy: turns.Director, Fallback: turns.Wait}, "fallback"},
	} {
		faults := c.Faults()
		if len(faults) != 1 || faults[0].Field != c.field || faults[0].Message == "" {
			t.Errorf("%+v: %+v, want one of %s", c.Turns, faults, c.field)
		}
		if _, err := turns.New(c.Turns, []uint32{0}); err == nil {
			t.Errorf("%+v: no error", c.Turns)
		}
	}
	var refused *protocol.Error
	if _, err := turns.New(turns.Turns{Policy: turns.RoundRobin}, nil); !errors.As(err, &refused) {
		t.Errorf("without participants: %v", err)
	}
	if r, err := turns.New(turns.Turns{Policy: turns.Free}, nil); err != nil || r.Gates() {
		t.Errorf("free: %v", err)
	}
}

// Where everybody rests no round begins, and the order comes to an end of what it decides, however many rounds there
// are. When somebody is back, the next round begins.
func TestEverybodyRests(t *testing.T) {
	for _, rounds := range []int64{0, 1, 5} {
		for _, policy := range []turns.Policy{turns.RoundRobin, turns.Simultaneous} {
			p := newPlayer(t, turns.Turns{Policy: policy, Rounds: rounds}, 0, 1)
			p.rests = true
			if said := p.close(); len(said) > 0 {
				t.Errorf("%s, %d rounds: %+v", policy, rounds, said)
			}
			p.rests, p.now = false, p.now+1
			if said := p.close(); len(said) == 0 {
				t.Errorf("%s, %d rounds: nobody is back", policy, rounds)
			}
			p.rests, p.now = true, p.now+1 // in the middle of a round
			p.close()
			began := 0
			for _, f := range p.facts {
				if _, is := f.(*turns.Began); is {
					began++
				}
			}
			if began != 1 {
				t.Errorf("%s, %d rounds: %d began", policy, rounds, began)
			}
		}
	}
}
