package verify

import (
	"math"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/factjson"
)

// settle makes the folded stage ready to decide: it waits for no disk and takes no
// snapshot. On the realtime clock the history says when the scene ends.
func (v *verifier) settle() {
	c := machines.StageConfig{Stepwise: true, Snapshots: never(), Endless: v.forks > 0}
	if v.made.Clock != agenda.Realtime && !c.Endless {
		c.Stop = v.made.Stop
	}
	v.stage = machines.NewStage(v.state.StageState, c, machines.Kept{Wave: math.MaxUint64}, v.state.Shown())
}

// countForks counts the forks that the walk has before it. Each began with other stop conditions, of which those of the
// last one are known.
func (v *verifier) countForks(journal history.Journal) error {
	return journal.Scan(persistence.Query{From: journal.Begin().Last + 1, Kinds: []string{agenda.FactForked}}, func(protocol.Record) error {
		v.forks++
		return nil
	})
}

// decideWave has the stage decide the next wave again, from the inputs that the
// history shows.
func (v *verifier) decideWave() error {
	first, ok := v.peek(0)
	if !ok {
		return v.differs("the journal ends within a wave", nil, nil)
	}
	v.wave, v.lost, v.ends, v.takes, v.taken, v.wakes, v.asked, v.packs = v.state.Agenda.Wave+1, false, false, nil, "", nil, nil, nil
	if back, yes := v.state.GoesBack(first.Time); yes && v.made.Clock != agenda.Realtime { // there a turn's facts are of its beginning
		return v.differs(back, &first, nil)
	}
	if v.isGiven(agenda.FactForked) || v.isGiven(agenda.FactRedelivered) { // somebody changed it between two lives
		if v.isGiven(agenda.FactForked) {
			v.forks--
		}
		err := v.takeWave(TakenOutside)
		v.settle()
		return err
	}
	v.failed = map[string]int{}
	steps := []func() error{v.control, v.letters, v.abandoned, v.arrivals, v.begin}
	if v.made.Clock == agenda.Realtime {
		v.noteView()
		steps = []func() error{v.letters, v.abandoned, v.openArrivals}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if r, _ := v.peek(0); v.ends && v.stage.Outcome().Reason == "" {
		return v.differs("the recorded run ended here, and no stop condition holds", &r, nil)
	}
	for v.state.Agenda.Wave < v.wave {
		switch {
		case len(v.wakes) > 0:
			if err := v.turns(); err != nil {
				return err
			}
		case len(v.packs) > 0:
			if err := v.pack(); err != nil {
				return err
			}
		case v.asked != nil:
			if err := v.service(*v.asked); err != nil {
				return err
			}
		default:
			r, _ := v.peek(0)
			return v.differs("the stage waits for nothing here", &r, nil)
		}
	}
	return nil
}

// isGiven reports whether a fact from outside is in the wave.
func (v *verifier) isGiven(kind string) bool {
	return slices.ContainsFunc(v.given, func(r protocol.Record) bool { return r.Kind == kind })
}

// takeWave folds a wave that cannot be decided again, to its end.
func (v *verifier) takeWave(reason string) error {
	for v.state.Agenda.Wave < v.wave {
		r, ok := v.peek(0)
		if !ok {
			return v.differs("the journal ends within a wave", nil, nil)
		}
		if back, yes := v.state.GoesBack(r.Time); yes && r.Kind == agenda.FactWaveClosed {
			return v.differs(back, &r, nil)
		}
		v.report.Taken[reason]++
		if err := v.state.Apply(v.pass()); err != nil {
			return err
		}
	}
	return nil
}

// started takes the seed of the scene from its first fact: that of the run may be of a fork.
func (v *verifier) started(r protocol.Record) error {
	f, err := v.codec.ReadFact(r.Kind, r.Data)
	if x, ok := f.(*agenda.Started); ok {
		v.made.Seed = x.Seed
	}
	return err
}

// seed is the one in force. A walk from an older snapshot does not know which one that is before the first fork.
func (v *verifier) seed() uint64 {
	if seed := v.state.Seed; seed != nil {
		return *seed
	}
	return v.made.Seed
}

// control gives the stage what was asked of the scene from outside before the wave.
func (v *verifier) control() error {
	for _, r := range v.given {
		in, err := v.wanted(r)
		if err == nil && in != nil {
			err = v.decide(in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wanted is what a fact shows that somebody outside asked for; nil = nothing, or an end that the stage finds itself.
func (v *verifier) wanted(r protocol.Record) (machines.Input, error) {
	if r.Kind == agenda.FactIntervened {
		return v.order(r)
	}
	f, err := v.codec.ReadFact(r.Kind, r.Data)
	switch x := f.(type) {
	case *agenda.Paused:
		return &machines.Control{Do: machines.DoPause, Reason: x.Reason}, err
	case *agenda.Resumed:
		return &machines.Control{Do: machines.DoResume}, err
	case *agenda.Ended:
		if v.ends = v.forks == 0 && v.stage.EndsBy(x.Reason, r.Time); !v.ends {
			return &machines.Control{Do: machines.DoStop, Reason: x.Reason, At: r.Time}, err
		}
	}
	return nil, err
}

// order is the order from outside that a fact shows.
func (v *verifier) order(r protocol.Record) (*machines.Order, error) {
	f, err := v.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		return nil, err
	}
	o := &machines.Order{Intervened: f.(*agenda.Intervened)}
	if r.Time > v.state.Agenda.Now { // its own time opened the wave
		o.After = r.Time.Sub(v.state.Agenda.Begun())
	}
	return o, nil
}

// letters gives the stage the dead letters of the wave.
func (v *verifier) letters() error {
	for _, r := range v.given {
		if r.Kind != agenda.FactDeadLettered {
			continue
		}
		f, err := v.codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		letter := f.(*agenda.DeadLettered)
		if letter.Reason == agenda.ReasonGone { // the stage decides it
			continue
		}
		if err := v.decide(&machines.DeadLetters{Letters: []*agenda.DeadLettered{letter}}); err != nil {
			return err
		}
	}
	return nil
}

// abandoned tells the budgets what the turns take that the wave abandons: nothing is under way here.
func (v *verifier) abandoned() error {
	for _, r := range v.given {
		if r.Kind != agenda.FactAbandoned {
			continue
		}
		f, err := v.codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return err
		}
		v.state.Spending.Expect(f.(*agenda.TurnAbandoned))
	}
	return nil
}

// refused notes of whom a fold may not know what they hear from now on. One letter is
// told by its receiver; on the realtime clock a turn may have begun before it.
func (v *verifier) refused(x *agenda.DeadLettered) {
	if x.Reason == agenda.ReasonGone {
		return
	}
	if x.Event == "" && (x.Kind == "" || x.Kind == protocol.KindEvent.String()) { // a number of them
		for o := range v.state.Agents {
			v.unsure[uint32(o)] = true
		}
	}
	if o, ok := v.made.Ordinal(x.Receiver); ok && v.made.Clock == agenda.Realtime {
		v.unsure[o] = true
	}
}

// settled: a turn that took everything leaves nothing that may differ.
func (v *verifier) settled(t *turn) {
	if m := v.state.Agents[t.agent]; v.unsure[t.agent] && !t.full && m.State.Waiting() == 0 && !m.Overflowed() {
		delete(v.unsure, t.agent)
	}
}

// begin has the stage open the wave.
func (v *verifier) begin() error {
	if !v.state.Agenda.Started {
		r, _ := v.peek(0)
		if r.Kind != agenda.FactStarted {
			return v.differs("a history begins with "+agenda.FactStarted, &r, nil)
		}
		if err := v.started(r); err != nil {
			return err
		}
		return v.decide(&machines.Begin{})
	}
	failed, err := v.failures(setup.ActorScene)
	if err != nil {
		return err
	}
	var crashes []protocol.Fact
	for _, f := range failed {
		crashes = append(crashes, f)
	}
	if len(crashes) > 0 {
		if err := v.decide(&machines.Begin{Crashes: crashes}); err != nil {
			return err
		}
	}
	return v.decide(&machines.Tick{})
}

// failures are those of an actor that is no agent, in the wave.
func (v *verifier) failures(actor string) (list []*agenda.ActorFailed, err error) {
	for _, r := range v.given {
		if r.Kind != agenda.FactActorFailed {
			continue
		}
		f, err := v.codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			return nil, err
		}
		if x := f.(*agenda.ActorFailed); x.Actor == actor {
			list = append(list, x)
		}
	}
	return list, nil
}

// decide gives the stage an input, holds the facts that come of it to the recorded
// ones, and notes what else the stage wishes for.
func (v *verifier) decide(in machines.Input) error {
	effects, err := v.stage.Decide(machines.Moment{Time: v.realtime.now}, in)
	if err != nil {
		return err
	}
	for i := range effects {
		switch e := effects[i]; e.Act {
		case machines.ActKeep:
			if err := v.keep(&e); err != nil {
				return err
			}
		case machines.ActKeepSpan:
			if err := e.Span.Each(func(r protocol.Record) error {
				return v.keep(&machines.Effect{Act: machines.ActKeep, Wave: e.Wave, At: r.Time, Actor: r.Actor, Kind: r.Kind, Data: r.Data})
			}); err != nil {
				return err
			}
		case machines.ActWake:
			for _, e.Agent = range e.Woken() {
				v.wakes = append(v.wakes, e)
			}
		case machines.ActAsk:
			v.asked = &e
		case machines.ActPack:
			v.packs = append(v.packs, e)
		}
	}
	return nil
}

// pack gives the stage the states of agents that leave for other scenes.
func (v *verifier) pack() error {
	list := v.packs
	v.packs = nil
	for _, e := range list {
		in, err := machines.Pack(v.codec, v.state.Agents[e.Agent], e.Wave)
		if err != nil {
			return err
		}
		if err := v.decide(in); err != nil {
			return err
		}
	}
	return nil
}

// keep holds a decided fact to the next recorded one, and folds it into the agents;
// the stage and its service have folded it.
func (v *verifier) keep(e *machines.Effect) error {
	r, ok := v.peek(0)
	decided := protocol.KindData{Kind: e.Kind, Data: e.Data}
	if started, ours := e.Fact.(*agenda.Started); ours && ok {
		if err := v.sameStart(started, r, &decided); err != nil {
			return err
		}
	}
	if !ok || r.Actor != e.Actor || r.Kind != e.Kind || r.Time != e.At || !slices.Equal(r.Data, decided.Data) {
		d := &protocol.Record{Actor: e.Actor, Time: e.At, Kind: decided.Kind, Data: decided.Data}
		if !ok {
			return v.differs("the journal ends within a wave", nil, d)
		}
		return v.differs("the facts differ", &r, d)
	}
	if reason := v.reasonFor(e, r.Seq); reason != "" {
		v.report.Taken[reason]++
	} else {
		v.report.Verified++
	}
	fact, err := v.codec.ReadFact(e.Kind, e.Data)
	if err != nil {
		return err
	}
	if x, ok := fact.(*agenda.DeadLettered); ok {
		v.refused(x)
	}
	return v.state.ApplyAgents(v.pass(), fact)
}

// sameStart takes from the recorded start what the run says of itself.
func (v *verifier) sameStart(started *agenda.Started, r protocol.Record, decided *protocol.KindData) error {
	f, err := v.codec.ReadFact(r.Kind, r.Data)
	have, ok := f.(*agenda.Started)
	if err != nil || !ok {
		return err
	}
	want := *started
	want.Project = have.Project
	decided.Data, err = v.codec.Marshal(&want)
	return err
}

// reasonFor says why a fact is taken as it is, although the stage gave it; "" = it
// was decided.
func (v *verifier) reasonFor(e *machines.Effect, seq uint64) string {
	if v.takes[seq] {
		return TakenLost
	}
	switch e.Kind {
	case agenda.FactActorFailed, agenda.FactAgentFailed, agenda.FactAbandoned:
		return TakenFailure
	case agenda.FactDeadLettered:
		if x, ok := e.Fact.(*agenda.DeadLettered); ok && x.Reason == agenda.ReasonGone {
			return ""
		}
		return TakenLetters
	case agenda.FactEnded:
		if v.ends {
			return ""
		}
		return TakenOutside
	case agenda.FactPaused, agenda.FactResumed, agenda.FactIntervened:
		return TakenOutside
	}
	if e.Actor == setup.ActorScene && v.taken != TakenLost {
		return ""
	}
	return v.taken
}

// differs notes the difference and ends the walk.
func (v *verifier) differs(reason string, recorded, decided *protocol.Record) error {
	if v.err != nil {
		return v.err
	}
	d := &Difference{Wave: v.wave, Reason: reason, Recorded: v.side(recorded), Decided: v.side(decided)}
	for _, r := range []*protocol.Record{decided, recorded} {
		if r != nil {
			d.Seq, d.Time, d.Actor = r.Seq, r.Time.String(), r.Actor
		}
	}
	if decided != nil {
		d.Actor = decided.Actor
	}
	v.report.Difference = d
	return errDiffers{}
}

func (v *verifier) side(r *protocol.Record) *Side {
	if r == nil {
		return nil
	}
	s := &Side{Actor: r.Actor, Kind: r.Kind, Time: r.Time.String()}
	f, err := v.codec.ReadFact(r.Kind, r.Data)
	if err != nil {
		s.Fact = "cannot be read: " + err.Error()
		return s
	}
	s.Fact = factjson.Of(f)
	return s
}

// endOf reads the last of a turn's facts.
func endOf(r protocol.Record, codec *protocol.Codec) (*agentfact.TurnEnded, error) {
	f, err := codec.ReadFact(r.Kind, r.Data)
	end, _ := f.(*agentfact.TurnEnded)
	return end, err
}
