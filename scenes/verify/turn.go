package verify

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tavernsim/engine/agent"
	"tavernsim/engine/director"
	"tavernsim/protocol"
)

// chunk is how many deliberations are decided at once.
const chunk = 2048

// turn is one deliberation that is decided again.
type turn struct {
	agent    uint32
	records  []protocol.Record // its facts in the journal
	deferred bool              // the fact after them holds its requests back

	facts    []protocol.KindData
	requests []protocol.Sequenced
	end      *agent.TurnEnded // as decided
	lost     bool             // it cannot be decided again
	trouble  string           // why there is no decision
	err      error
}

// turns decides the deliberations of the wave, a chunk at a time: many at once
// against the state before the wave, then compared in their order.
func (v *verifier) turns() error {
	for place := 0; place < len(v.wave.order); {
		list, n, err := v.gather(v.wave.order[place:])
		if err != nil {
			return err
		}
		place += n
		v.redoAll(list)
		for i := range list {
			if err := v.settle(&list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// gather reads the facts of the next turns ahead. Failures between them are
// folded when no turn is waiting before them.
func (v *verifier) gather(order []uint32) (list []turn, places int, err error) {
	ahead := 0
	for places < len(order) && len(list) < chunk {
		o := order[places]
		r, _ := v.peek(ahead)
		if r.Kind == director.FactAgentFailed {
			if len(list) > 0 {
				return list, places, nil
			}
			ours, err := v.failures(o, false)
			if err != nil {
				return nil, 0, err
			}
			if ours {
				places++
			}
			continue
		}
		places++
		t := turn{agent: o}
		ahead = v.records(&t, ahead)
		list = append(list, t)
		if len(t.records) == 0 {
			return list, places, nil // a difference; it will be found
		}
	}
	return list, places, nil
}

// records finds a turn's facts, from the given place ahead.
func (v *verifier) records(t *turn, ahead int) int {
	name := v.state.Name(t.agent)
	for {
		r, ok := v.peek(ahead)
		if !ok || r.Actor != name {
			return ahead
		}
		t.records = append(t.records, r)
		ahead++
		if r.Kind != agent.FactTurnEnded {
			continue
		}
		if r, ok := v.peek(ahead); ok && r.Kind == director.FactDeferred {
			t.deferred = true
			ahead++
		}
		return ahead
	}
}

// redoAll decides turns on all workers.
func (v *verifier) redoAll(list []turn) {
	if v.spaces == nil {
		v.spaces = make(spaces, v.opt.Workers*2)
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(v.opt.Workers, len(list)) {
		done.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return
				}
				v.redo(&list[i])
			}
		})
	}
	done.Wait()
}

// redo decides one deliberation with the answers that were recorded.
func (v *verifier) redo(t *turn) {
	defer func() {
		if p := recover(); p != nil {
			t.trouble = fmt.Sprintf("the deliberation panics: %v", p)
		}
	}()
	m := v.state.Agents[t.agent]
	m.Spaces = v.spaces
	d, err := m.Decide(v.state.Wake(t.agent, v.wave.time, v.seed, v.wave.workflow))
	answers := answersOf{turn: t, codec: v.codec}
	for err == nil && len(d.Facts) == 0 && t.trouble == "" {
		answers.ask(d.Effects)
		in := answers.next()
		if in == nil {
			break
		}
		d, err = m.Decide(in)
	}
	switch {
	case err != nil:
		t.trouble = "the deliberation fails: " + err.Error()
	case len(d.Facts) == 0:
		abandon(m)
	default:
		t.err = v.encode(t, d)
		t.lost = t.lost || v.heardMore(t)
	}
	m.Release()
}

// heardMore: the deliberation perceived ephemeral events, whose payload nobody
// kept.
func (v *verifier) heardMore(t *turn) bool {
	if t.end == nil || t.end.Lost == 0 || len(t.records) == 0 {
		return false
	}
	end, err := endOf(t.records[len(t.records)-1], v.codec)
	return err == nil && end != nil && end.Lost < t.end.Lost
}

// abandon ends a deliberation that waits for an answer that nobody has.
func abandon(m *agent.Machine) {
	_, _ = m.Decide(&agent.Cancel{Reason: "the journal has no answer"}) // whose facts nobody reads
}

// encode keeps what a decision says beyond the machine's working memory.
func (v *verifier) encode(t *turn, d protocol.Decision) error {
	for _, f := range d.Facts {
		raw, err := v.codec.Append(nil, f)
		if err != nil {
			return err
		}
		t.facts = append(t.facts, protocol.KindData{Kind: f.FactKind(), Data: raw})
		if end, ok := f.(*agent.TurnEnded); ok {
			kept := *end
			t.end = &kept
		}
	}
	for _, r := range d.Requests {
		t.requests = append(t.requests, protocol.Sequenced{To: r.To, Data: slices.Clone(r.Data)})
	}
	return nil
}

// answersOf hands the recorded answers of a turn to its machine.
type answersOf struct {
	turn  *turn
	codec *protocol.Codec
	at    int   // of the records
	open  []int // model requests that wait, in the order in which they were asked
}

func (a *answersOf) ask(effects []protocol.Effect) {
	for _, e := range effects {
		if q, ok := e.(*agent.Ask); ok && q.Kind == agent.KindModel {
			a.open = append(a.open, q.Number)
		}
	}
}

// next is the next input, nil when there is none.
func (a *answersOf) next() any {
	for ; a.at < len(a.turn.records); a.at++ {
		r := a.turn.records[a.at]
		switch r.Kind {
		case agent.FactModelAnswered, agent.FactCallAnswered:
			a.at++
			return a.answer(r)
		case agent.FactTurnEnded:
			end, err := endOf(r, a.codec)
			if err == nil && end.Outcome == agent.OutcomeCancelled {
				a.at++
				return &agent.Cancel{Reason: end.Error}
			}
		}
	}
	a.turn.trouble = "it asks the outside, and no answer was recorded"
	return nil
}

func (a *answersOf) answer(r protocol.Record) any {
	f, err := agent.ReadFact(a.codec, r.Kind, r.Data)
	if err != nil {
		a.turn.err = err
		return nil
	}
	x, ok := f.(agent.Recorded).Answered()
	if !ok {
		a.turn.lost = true
		return nil
	}
	if x.Kind != agent.KindModel {
		return x
	}
	if x.Number == 0 && len(a.open) > 0 { // an older run: answers came in the order of the questions
		x.Number = a.open[0]
	}
	a.open = slices.DeleteFunc(a.open, func(n int) bool { return n == x.Number })
	return x
}

// settle compares a turn with its facts and folds them; its requests go to the
// services, or wait for as long as the model took.
func (v *verifier) settle(t *turn) error {
	switch {
	case t.err != nil:
		return t.err
	case t.lost:
		return v.settleLost(t)
	}
	name := v.state.Name(t.agent)
	for _, f := range t.facts {
		r, ok := v.peek(0)
		if err := v.same(r, ok, name, v.wave.time, f); err != nil {
			return err
		}
		v.report.Verified++
		if err := v.fold(); err != nil {
			return err
		}
	}
	if t.end == nil {
		r, _ := v.peek(0)
		return v.differs(name+": "+t.trouble, &r, nil)
	}
	return v.settled(t)
}

func (v *verifier) settled(t *turn) error {
	if int(t.agent) != v.state.Size() {
		v.wave.turns++
		v.report.Deliberations++
	}
	if t.end.Elapsed <= 0 {
		v.sequence(t.requests)
		return nil
	}
	if len(t.requests) == 0 {
		return nil
	}
	return v.expect(v.state.Name(uint32(v.state.Size())), v.wave.time, &director.EffectsDeferred{
		Agent: t.agent, Due: v.wave.time.Add(t.end.Elapsed), Effects: t.requests,
	})
}

// settleLost folds a turn that cannot be decided again; what it asked for is not
// known either.
func (v *verifier) settleLost(t *turn) error {
	n := len(t.records)
	if t.deferred {
		n++
	} else {
		v.wave.lost = true
	}
	for range n {
		if err := v.take(TakenLost); err != nil {
			return err
		}
	}
	if int(t.agent) != v.state.Size() {
		v.wave.turns++
	}
	return nil
}
