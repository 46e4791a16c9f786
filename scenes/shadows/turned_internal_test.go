package shadows

import (
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/bus"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
)

// A turn that ran ahead is the committed one if both leave the same, whatever the number of the wave.
func TestATurnAheadIsTheCommittedOne(t *testing.T) {
	codec := machines.NewCodec()
	d := &Driver{options: Options{Codec: codec}}
	end := func(wave uint64) agentfact.TurnEnded {
		return agentfact.TurnEnded{Turn: 3, Wave: wave, Outcome: agentfact.OutcomeOK}
	}
	facts := func(end agentfact.TurnEnded) []protocol.KindData {
		raw, err := codec.Marshal(&end)
		if err != nil {
			t.Fatal(err)
		}
		return []protocol.KindData{{Kind: agentfact.FactSaid, Data: protocol.Raw{1}}, {Kind: agentfact.FactTurnEnded, Data: raw}}
	}
	asks := func() []protocol.Sequenced { return []protocol.Sequenced{{To: bus.Service, Data: protocol.Raw{1}}} }
	for name, c := range map[string]struct {
		change func(*turn, *Handed)
		want   bool
	}{
		"the same":              {func(*turn, *Handed) {}, true},
		"none":                  {func(x *turn, _ *Handed) { *x = turn{at: x.at, null: true} }, false},
		"at another time":       {func(x *turn, _ *Handed) { x.at++ }, false},
		"another fact more":     {func(_ *turn, h *Handed) { h.Facts = append(h.Facts, h.Facts[0]) }, false},
		"a fact of its own":     {func(_ *turn, h *Handed) { h.Facts[0].Data = protocol.Raw{2} }, false},
		"a fact of other kind":  {func(_ *turn, h *Handed) { h.Facts[0].Kind = world.FactCommitted }, false},
		"another end":           {func(_ *turn, h *Handed) { h.End.Changed = true }, false},
		"one request more":      {func(_ *turn, h *Handed) { h.Effects = append(h.Effects, h.Effects[0]) }, false},
		"a request of its own":  {func(_ *turn, h *Handed) { h.Effects[0].Data = protocol.Raw{2} }, false},
		"a request to somebody": {func(_ *turn, h *Handed) { h.Effects[0].To = worldstate.Service }, false},
	} {
		ahead, in := turn{at: 5, facts: facts(end(0)), end: end(0), effects: asks()}, Handed{Facts: facts(end(9)), End: end(9), Effects: asks()}
		c.change(&ahead, &in)
		if got := d.same(&ahead, 5, &in.End, &in); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What an answer ahead has cost is in vain until a turn takes the answer itself. One that was never sent, or was cancelled, costs
// nothing.
func TestAnAnswerAheadIsPaidInVainUntilItIsUsed(t *testing.T) {
	const used, wasted, open = outside.Used, outside.Wasted, outside.Pending
	for name, c := range map[string]struct {
		before, after outside.Fate
		err           error
		paid, vain    int64
	}{
		"not taken yet":  {open, open, nil, 7, 7},
		"taken later":    {open, used, nil, 7, 0},
		"wasted":         {open, wasted, nil, 7, 7},
		"taken before":   {used, open, nil, 7, 0},
		"never sent":     {outside.NeverSent, open, nil, 0, 0},
		"cancelled":      {open, open, protocol.Errorf(protocol.KindCancelled, "it is over"), 0, 0},
		"failed at cost": {open, open, &llm.Failure{Outcome: llm.OutcomeTimeout}, 7, 7},
	} {
		d, q := &Driver{}, &request{fate: c.before}
		x := &effect.Answered{Err: c.err}
		x.Model.Usage.Input = 7
		d.paid(&one{}, q, x)
		if c.after != open {
			d.became(q, c.after)
		}
		if d.counts.Paid.Tokens != c.paid || d.counts.Vain.Tokens != c.vain {
			t.Errorf("%s: paid %d, %d of it in vain; want %d and %d", name, d.counts.Paid.Tokens, d.counts.Vain.Tokens, c.paid, c.vain)
		}
	}
}

// An answer that needs no endpoint takes nothing of a budget.
func TestWhatTakesNothingIsNotLimited(t *testing.T) {
	for _, c := range []struct {
		bound   *llm.Bound
		limited bool
	}{{nil, false}, {&llm.Bound{Input: 1}, true}, {&llm.Bound{Input: 1, Script: true}, false}, {&llm.Bound{Input: 1, Saved: true}, false}, {&llm.Bound{Input: 1, Recorded: true}, false}} {
		if q := (&request{bound: c.bound}); (q.limited() != nil) != c.limited {
			t.Errorf("%+v: limited by %+v", c.bound, q.limited())
		}
	}
}
