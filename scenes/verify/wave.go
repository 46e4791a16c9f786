package verify

import (
	"slices"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/protocol"
	"tavernsim/scenes/fields"
	"tavernsim/scenes/machines"
)

// decideWave decides the next wave again, in the steps of the live scene.
func (v *verifier) decideWave() error {
	first, ok := v.peek(0)
	if !ok {
		return v.differs("the journal ends within a wave", nil, nil)
	}
	d := v.state.Director
	v.wave = &wave{number: d.Wave + 1, time: first.Time, requests: map[string][]protocol.Raw{}}
	if v.state.Clock() == director.Realtime {
		return v.takeWave(TakenRealtime)
	}
	switch v.marks[v.wave.number] {
	case director.FactForked, director.FactRedelivered:
		return v.takeWave(TakenOutside) // what somebody changed between two lives
	}
	if err := v.open(); err != nil {
		return err
	}
	if err := v.turns(); err != nil {
		return err
	}
	if err := v.services(); err != nil {
		return err
	}
	return v.close()
}

// takeWave folds a wave that cannot be decided again, to its end.
func (v *verifier) takeWave(reason string) error {
	number := v.state.Director.Wave
	for v.state.Director.Wave == number {
		r, ok := v.peek(0)
		if !ok {
			return v.differs("the journal ends within a wave", nil, nil)
		}
		if err := v.seen(r); err != nil {
			return err
		}
		if err := v.take(reason); err != nil {
			return err
		}
	}
	return nil
}

// seen notes what a fact from outside changes for the walk.
func (v *verifier) seen(r protocol.Record) error {
	switch r.Kind {
	case director.FactStarted, director.FactForked:
		f, err := machines.ReadFact(v.codec, r.Kind, r.Data)
		if err != nil {
			return err
		}
		switch x := f.(type) {
		case *director.Started:
			v.seed = x.Seed
		case *director.Forked:
			v.seed = x.Seed
		}
	}
	return nil
}

// open finds out who has a turn, as the director says.
func (v *verifier) open() error {
	w, d, life := v.wave, v.state.Director, v.state.Definition().Lifecycle
	stage := uint32(v.state.Size())
	only := func(workflow string) {
		if workflow != "" {
			w.order, w.workflow = []uint32{stage}, workflow
		}
	}
	switch mark := v.marks[w.number]; {
	case !d.Started:
		only(life.Start)
		return v.started()
	case mark == director.FactPaused:
		only(life.Pause)
	case mark == director.FactResumed:
		only(life.Resume)
	case mark == director.FactEnded:
	case v.marks[w.number+1] == director.FactEnded && life.End != "":
		only(life.End)
	case v.between():
	default:
		at, ok := d.NextTime()
		x, expires := v.state.Expires(at, ok)
		if expires {
			at, ok = x, true
		}
		if !ok || at != w.time {
			return v.notDue(at, ok, life.End, only)
		}
		for _, due := range d.TakeDeferred(at) {
			v.sequence(due.Effects)
		}
		if w.expires = expires; !expires {
			w.order = d.Take(at)
		}
	}
	d.Now = w.time
	return nil
}

// started is the first fact; its seed and project are what the run says of
// itself.
func (v *verifier) started() error {
	r, _ := v.peek(0)
	if r.Kind != director.FactStarted {
		return v.differs("a history begins with "+director.FactStarted, &r, nil)
	}
	if err := v.seen(r); err != nil {
		return err
	}
	f, err := machines.ReadFact(v.codec, r.Kind, r.Data)
	if err != nil {
		return err
	}
	want, have := v.state.Started(r.Time), f.(*director.Started)
	want.Seed, want.Project = have.Seed, have.Project
	return v.expect(r.Actor, r.Time, want)
}

// between: a wave of failures alone, which happened between two deliberations.
func (v *verifier) between() bool {
	for i := 0; ; i++ {
		r, ok := v.peek(i)
		if !ok || r.Kind != director.FactAgentFailed {
			at, due := v.state.Director.NextTime()
			return i > 0 && (!due || at != v.wave.time)
		}
	}
}

// notDue: a wave at another time than the agenda's next is that of an end
// workflow whose end was never kept, or a difference.
func (v *verifier) notDue(at protocol.Time, ok bool, end string, only func(string)) error {
	r, _ := v.peek(0)
	if end != "" && r.Actor == v.state.Name(uint32(v.state.Size())) {
		only(end)
		v.state.Director.Now = v.wave.time
		return nil
	}
	if !ok {
		return v.differs("nothing was due any more", &r, nil)
	}
	return v.differs("the next that was due is due at "+at.String(), &r, nil)
}

func (v *verifier) sequence(effects []protocol.Sequenced) {
	for _, e := range effects {
		v.wave.requests[e.To] = append(v.wave.requests[e.To], e.Data)
	}
}

// failures folds agent.failed facts up to the one of the given agent, if there
// is one; ours says that there is. Why an actor failed is taken, what becomes of
// it is decided.
func (v *verifier) failures(o uint32, any bool) (ours bool, err error) {
	for {
		r, ok := v.peek(0)
		if !ok || r.Kind != director.FactAgentFailed {
			return false, nil
		}
		f, err := machines.ReadFact(v.codec, r.Kind, r.Data)
		if err != nil {
			return false, err
		}
		x := f.(*director.AgentFailed)
		want := v.state.Director.Failure(x.Agent, x.Error, x.Stack, v.wave.time)
		raw, err := v.codec.Marshal(&want)
		if err == nil {
			err = v.same(r, true, v.state.Name(uint32(v.state.Size())), v.wave.time, protocol.KindData{Kind: r.Kind, Data: raw})
		}
		if err == nil {
			err = v.take(TakenFailure)
		}
		if err != nil {
			return false, err
		}
		if int(x.Agent) != v.state.Size() {
			v.wave.turns++
		}
		v.announce(x)
		if !any && x.Agent == o {
			return true, nil
		}
	}
}

func (v *verifier) announce(f protocol.Fact) {
	if request, ok := v.state.Announced(f); ok {
		v.wave.requests[protocol.ToEvents] = append(v.wave.requests[protocol.ToEvents], request)
	}
}

// services has world, knowledge and channel decide about the wave's requests.
func (v *verifier) services() error {
	if _, err := v.failures(0, true); err != nil {
		return err
	}
	for _, service := range v.state.Services() {
		list := v.wave.requests[service]
		actor := v.state.Actor(service)
		var err error
		switch {
		case v.wave.lost:
			err = v.takeOf(actor)
		case len(list) == 0 && !v.asksAnyway(service):
		case service == protocol.ToEvents && v.opt.NoMiddleware:
			err = v.takeJudged(actor)
		default:
			err = v.decide(service, actor, list)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decide holds what a service decides to its facts.
func (v *verifier) decide(service, actor string, list []protocol.Raw) error {
	return v.state.Decide(service, list, v.wave.time, func(facts []protocol.Fact) error {
		for _, f := range facts {
			if err := v.expect(actor, v.wave.time, f); err != nil {
				return err
			}
			if err := v.heed(f); err != nil {
				return err
			}
		}
		return nil
	})
}

// heed finds out what follows from a service's fact.
func (v *verifier) heed(f protocol.Fact) error {
	v.announce(f)
	return v.published(f)
}

// takeJudged folds the facts of a channel that had middleware; whom they
// interrupt and block, and how many there are, is decided from them.
func (v *verifier) takeJudged(actor string) error {
	for {
		r, ok := v.peek(0)
		if !ok || r.Actor != actor {
			return nil
		}
		f, err := machines.ReadFact(v.codec, r.Kind, r.Data)
		if err != nil {
			return err
		}
		if err := v.take(TakenMiddleware); err != nil {
			return err
		}
		if err := v.heed(f); err != nil {
			return err
		}
	}
}

// asksAnyway: time passes for a service although nobody asks it for something.
func (v *verifier) asksAnyway(service string) bool {
	switch service {
	case protocol.ToWorld:
		return v.wave.expires
	case protocol.ToEvents:
		return v.state.Director.ReleaseDue(v.wave.time)
	}
	return false
}

// published counts an event and finds out whom it interrupts and blocks; the
// release of what was held is no new event.
func (v *verifier) published(f protocol.Fact) error {
	switch x := f.(type) {
	case *bus.Routed:
		if x.Released == 0 {
			v.wave.published++
		}
		if v.wave.interrupted == nil {
			v.wave.interrupted = map[uint32]bool{}
		}
		v.wave.interruptions = append(v.wave.interruptions, v.state.Interruptions(x, v.wave.interrupted, v.wave.time)...)
		if blocked := v.state.Blocked(x); blocked != nil {
			return v.expect(v.state.Name(uint32(v.state.Size())), v.wave.time, blocked)
		}
	case *bus.Refused:
		v.wave.published++
	}
	return nil
}

// takeOf folds the facts of a service that cannot be asked again, with what the
// scene says of them in between.
func (v *verifier) takeOf(actor string) error {
	for {
		r, ok := v.peek(0)
		if !ok || r.Actor != actor && r.Kind != director.FactBlocked {
			return nil
		}
		if err := v.take(TakenLost); err != nil {
			return err
		}
	}
}

// outside is why a fact of the scene's own cannot be decided again; "" = it can.
func outside(kind string) (reason string) {
	switch kind {
	case director.FactActorFailed:
		return TakenFailure
	case director.FactDeadLettered:
		return TakenLetters
	case director.FactPaused, director.FactResumed, director.FactEnded:
		return TakenOutside
	}
	return ""
}

// close takes what the scene keeps of its own and holds the wave's end to what
// was counted.
func (v *verifier) close() error {
	if err := v.scenesOwn(); err != nil {
		return err
	}
	if len(v.wave.interruptions) > 0 {
		return v.expect(v.state.Name(uint32(v.state.Size())), v.wave.time, v.wave.interruptions[0])
	}
	closed := &director.WaveClosed{Wave: v.wave.number, Turns: v.wave.turns, Events: v.wave.published, World: v.state.World.Version()}
	if v.wave.lost { // how many events the lost turns published is not known
		if r, ok := v.peek(0); ok && r.Kind == director.FactWaveClosed {
			return v.take(TakenLost)
		}
	}
	return v.expect(v.state.Name(uint32(v.state.Size())), v.wave.time, closed)
}

// scenesOwn takes the facts that the scene keeps until the end of a wave.
func (v *verifier) scenesOwn() error {
	for {
		r, ok := v.peek(0)
		reason := outside(r.Kind)
		switch {
		case ok && r.Kind == director.FactInterrupted && v.wave.lost:
			reason = TakenLost
		case ok && r.Kind == director.FactInterrupted && len(v.wave.interruptions) > 0:
			f := v.wave.interruptions[0]
			v.wave.interruptions = v.wave.interruptions[1:]
			if err := v.expect(v.state.Name(uint32(v.state.Size())), v.wave.time, f); err != nil {
				return err
			}
			continue
		}
		if !ok || reason == "" {
			return nil
		}
		if err := v.take(reason); err != nil {
			return err
		}
	}
}

// same holds a recorded fact to a decided one.
func (v *verifier) same(r protocol.Record, ok bool, actor string, at protocol.Time, f protocol.KindData) error {
	if ok && r.Actor == actor && r.Kind == f.Kind && r.Time == at && slices.Equal(r.Data, f.Data) {
		return nil
	}
	decided := &protocol.Record{Actor: actor, Time: at, Kind: f.Kind, Data: f.Data}
	if !ok {
		return v.differs("the journal ends within a wave", nil, decided)
	}
	return v.differs("the facts differ", &r, decided)
}

// differs notes the difference and ends the walk.
func (v *verifier) differs(reason string, recorded, decided *protocol.Record) error {
	if v.err != nil {
		return v.err
	}
	d := &Difference{Wave: v.state.Director.Wave + 1, Reason: reason, Recorded: v.side(recorded), Decided: v.side(decided)}
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
	f, err := machines.ReadFact(v.codec, r.Kind, r.Data)
	if err != nil {
		s.Fact = "cannot be read: " + err.Error()
		return s
	}
	s.Fact = fields.Of(f)
	return s
}

// endOf reads the last of a turn's facts.
func endOf(r protocol.Record, codec *protocol.Codec) (*agent.TurnEnded, error) {
	f, err := agent.ReadFact(codec, r.Kind, r.Data)
	end, _ := f.(*agent.TurnEnded)
	return end, err
}
