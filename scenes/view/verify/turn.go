package verify

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/span"
	"tavernsim/scenes/machines/tally"
)

// turn is one deliberation that is decided again.
type turn struct {
	agent   uint32
	wake    machines.Effect
	records []protocol.Record    // its facts in the journal
	held    []protocol.Sequenced // its requests, where the fact behind them holds them back
	view    *machines.View       // of the services when it was woken
	before  *agent.Arrived       // realtime: what had reached the agent then
	full    bool                 // realtime: something found no room at the agent

	facts    []protocol.KindData
	requests []protocol.Sequenced
	end      *agentfact.TurnEnded // as decided
	number   uint64               // of the agent's turns
	blind    bool                 // what it asked for is not known
	came     []protocol.Fact      // what the stage made of such requests
	lost     bool                 // it cannot be decided again
	trouble  string               // why there is no decision
	err      error
}

// turns decides the deliberations that the stage wishes for, a chunk at a time: many
// at once against the state before the wave, then compared in their order.
func (v *verifier) turns() error {
	list, n, err := v.gather()
	if err != nil {
		return err
	}
	v.wakes = v.wakes[n:]
	v.redoAll(list)
	if err := v.trace(list); err != nil {
		return err
	}
	for i := range list {
		if err := v.hand(&list[i]); err != nil {
			return err
		}
		v.settled(&list[i])
	}
	return nil
}

// gather reads the facts of the next turns ahead. A failure among them is given to
// the stage when no turn waits before it.
func (v *verifier) gather() (list []turn, n int, err error) {
	ahead := 0
	for n < len(v.wakes) && len(list) < v.opt.Chunk {
		if r, _ := v.peek(ahead); r.Kind == agenda.FactAgentFailed {
			if len(list) > 0 {
				return list, n, nil
			}
			return nil, 1, v.agentFailed(r)
		}
		t := turn{agent: v.wakes[n].Agent, wake: v.wakes[n], view: v.state.View, lost: v.unsure[v.wakes[n].Agent]}
		if ahead, err = v.records(&t, ahead); err == nil && v.made.Clock == agenda.Realtime {
			err = v.asItBegan(&t)
		}
		if err != nil {
			return nil, 0, err
		}
		n++
		list = append(list, t)
		if len(t.records) == 0 {
			return list, n, nil // a difference; it will be found
		}
	}
	return list, n, nil
}

// agentFailed tells the stage of a failure. Why an actor failed is taken, what
// becomes of the agent is decided.
func (v *verifier) agentFailed(r protocol.Record) error {
	f, err := v.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		return err
	}
	x := f.(*agenda.AgentFailed)
	if int(x.Agent) > v.state.Size() {
		return v.differs("there is no such agent", &r, nil)
	}
	return v.decide(&machines.ActorFailed{Actor: v.made.Name(x.Agent), Error: x.Error, Stack: x.Stack})
}

// records finds a turn's facts, from the given place ahead.
func (v *verifier) records(t *turn, ahead int) (int, error) {
	name := v.made.Name(t.agent)
	for {
		r, ok := v.peek(ahead)
		if !ok || r.Actor != name {
			return ahead, nil
		}
		t.records = append(t.records, r)
		ahead++
		if r.Kind != agentfact.FactTurnEnded {
			continue
		}
		if r, ok := v.peek(ahead); ok && r.Kind == agenda.FactDeferred {
			f, err := v.codec.ReadFact(r.Kind, r.Data)
			if err != nil {
				return ahead, err
			}
			t.held = f.(*agenda.EffectsDeferred).Effects
			ahead++
		}
		return ahead, nil
	}
}

// arrivals gives the stage the failures between two deliberations.
func (v *verifier) arrivals() error {
	for i := 0; ; {
		r, ok := v.peek(i)
		switch {
		case !ok:
			return nil
		case r.Kind == agenda.FactAgentFailed && v.strays(r):
			if err := v.agentFailed(r); err != nil {
				return err
			}
			i++
		default:
			return nil
		}
	}
}

// strays: a wave of failures alone, which happened between two deliberations.
func (v *verifier) strays(r protocol.Record) bool {
	at, _ := v.state.Agenda.NextTime()
	return at != r.Time
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
	if t.lost {
		return
	}
	m.Lend(v.spaces.get())
	wake := machines.Wake(v.made, m, t.view, t.wake.Wave, t.wake.At, v.seed(), t.wake.Kind)
	wake.Before = t.before
	d, err := t.play(m, &wake, v.codec, v.tells(t, m))
	switch {
	case err != nil:
		t.trouble = "the deliberation fails: " + err.Error()
	case len(d.Facts) == 0:
		abandon(m)
	default:
		t.err = v.encode(t, d)
		t.lost = t.lost || v.heardMore(t)
	}
	v.spaces.put(m.Release())
}

// cut reads the failures of requests that a kill cut off: the first facts of the turn.
func (t *turn) cut(codec *protocol.Codec) (lost []*effect.Answered, err error) {
	for _, r := range t.records {
		if r.Kind != agentfact.FactModelAnswered {
			break
		}
		f, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return nil, err
		}
		x, _ := f.(agentfact.Recorded).Answered()
		if !f.(*agentfact.ModelAnswered).Cut() {
			break
		}
		lost = append(lost, x)
	}
	return lost, nil
}

// left reads the failures of requests whose answers the turn did not take, behind its first facts, and what such calls of tools took.
// A fact that cannot be read is found where it is compared.
func (t *turn) left(codec *protocol.Codec, from int) (left []*effect.Answered, tools block.Spent, waits bool) {
	for _, r := range t.records[from:] {
		if r.Kind != agentfact.FactModelAnswered && r.Kind != agentfact.FactCallsCharged {
			continue
		}
		f, _ := codec.ReadFact(r.Kind, r.Data)
		switch f := f.(type) {
		case *agentfact.CallsCharged:
			tools = block.Spent(*f)
		case *agentfact.ModelAnswered:
			if x, _ := f.Answered(); f.Cut() {
				left = append(left, x)
			}
		}
	}
	return left, tools, false
}

// play gives a deliberation the recorded answers until it ends, or one is missing.
func (t *turn) play(m *agent.Machine, wake *agent.Wake, codec *protocol.Codec, show func(*effect.Ask)) (protocol.Decision, error) {
	var err error
	wake.Recorded = true
	if wake.Lost, err = t.cut(codec); err != nil {
		return protocol.Decision{}, err
	}
	wake.Left = func([]int) ([]*effect.Answered, block.Spent, bool) { return t.left(codec, len(wake.Lost)) }
	d, err := m.Decide(wake)
	answers := answersOf{turn: t, codec: codec, at: len(wake.Lost), show: show}
	for err == nil && len(d.Facts) == 0 && t.trouble == "" {
		answers.ask(d.Effects)
		in := answers.next()
		if in == nil {
			break
		}
		d, err = m.Decide(in)
	}
	return d, err
}

// tells is what tells of the requests of a deliberation; nil = nobody wants to know.
func (v *verifier) tells(t *turn, m *agent.Machine) func(*effect.Ask) {
	if v.opt.Asked == nil {
		return nil
	}
	name, number := v.made.Name(t.agent), m.State.Turn+1
	return func(q *effect.Ask) { v.opt.Asked(name, number, q) }
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
		if end, ok := f.(*agentfact.TurnEnded); ok && end.ToolCalls+end.ToolRefused > 0 {
			f = t.asRecorded(*end, v.codec)
		}
		raw, err := v.codec.Append(nil, f)
		if err != nil {
			return err
		}
		t.facts = append(t.facts, protocol.KindData{Kind: f.FactKind(), Data: raw})
		if end, ok := f.(*agentfact.TurnEnded); ok {
			kept := *end
			t.end = &kept
		}
	}
	for _, r := range d.Requests {
		t.requests = append(t.requests, protocol.Sequenced{To: r.To, Data: slices.Clone(r.Data)})
	}
	return nil
}

// asRecorded leaves out what an older run did not say: what tools took.
func (t *turn) asRecorded(end agentfact.TurnEnded, codec *protocol.Codec) *agentfact.TurnEnded {
	if was, err := endOf(t.records[len(t.records)-1], codec); err == nil && was != nil && was.ToolCalls+was.ToolRefused == 0 {
		end.ToolCalls, end.ToolTime, end.ToolBytes, end.ToolCost, end.ToolRefused = 0, 0, 0, 0, 0
	}
	return &end
}

// answersOf hands the recorded answers of a turn to its machine.
type answersOf struct {
	turn  *turn
	codec *protocol.Codec
	at    int               // of the records
	show  func(*effect.Ask) // nil = nobody looks
}

func (a *answersOf) ask(effects []protocol.Effect) {
	for _, e := range effects {
		if q, ok := e.(*effect.Ask); ok && a.show != nil {
			a.show(q)
		}
	}
}

// next is the next input, nil when there is none.
func (a *answersOf) next() any {
	for a.at < len(a.turn.records) {
		r := a.turn.records[a.at]
		a.at++
		switch r.Kind {
		case agentfact.FactModelAnswered, agentfact.FactCallAnswered, agentfact.FactHookAnswered:
			x, cut := a.answer(r)
			switch {
			case x == nil:
				return nil
			case !cut:
				return x
			}
		case agentfact.FactTurnEnded:
			end, err := endOf(r, a.codec)
			if err == nil && (end.Outcome == agentfact.OutcomeCancelled || end.Outcome == agentfact.OutcomeInterrupted) {
				return &agent.Cancel{Reason: end.Error, Interrupt: end.Outcome == agentfact.OutcomeInterrupted, Tools: block.Spent{Calls: end.ToolCalls, Cost: end.ToolCost}}
			}
		}
	}
	a.turn.trouble = "it asks the outside, and no answer was recorded"
	return nil
}

// answer reads an answer; cut = nobody waited for it.
func (a *answersOf) answer(r protocol.Record) (x *effect.Answered, cut bool) {
	f, err := a.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		a.turn.err = err
		return nil, false
	}
	x, ok := f.(agentfact.Recorded).Answered()
	if !ok || x.Number == 0 { // of an older program: which question it answers is not known
		a.turn.lost = true
		return nil, false
	}
	m, _ := f.(*agentfact.ModelAnswered)
	return x, m != nil && m.Cut()
}

// hand gives the stage the end of a turn, as it was decided.
func (v *verifier) hand(t *turn) error {
	switch {
	case t.err != nil:
		return t.err
	case t.lost:
		return v.handLost(t)
	case t.end == nil:
		r, _ := v.peek(0)
		return v.differs(v.made.Name(t.agent)+": "+t.trouble, &r, nil)
	}
	v.countTurn(t.agent)
	return v.ended(t, t.wake.At, t.facts, t.requests)
}

// ended gives the stage the end of a turn.
func (v *verifier) ended(t *turn, at protocol.Time, facts []protocol.KindData, requests []protocol.Sequenced) error {
	in := &machines.TurnsEnded{Span: &span.Span{}}
	in.Open(v.made.Budgets != nil, t.wake.Wave, at)
	if err := in.Add(v.codec, t.agent, v.made.Name(t.agent), facts, requests); err != nil {
		return err
	}
	in.Turns[0].Came = t.came
	return v.decide(in)
}

func (v *verifier) countTurn(o uint32) {
	if tally.Deliberates(v.made, o) {
		v.report.Deliberations++
	}
}
