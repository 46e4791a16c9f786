package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/packed"
)

// Tasks is the service of tasks of tools.
type Tasks struct {
	State tooltask.State

	rules tooltask.Rules
	told  map[string]tooltask.Told // before the next decision
}

// ActorTasks is the actor of its facts.
const ActorTasks = ofService + tooltask.Service

func tasksKind() ServiceKind {
	return ServiceKind{Name: tooltask.Service, New: newTasks, Facts: tooltask.Facts}
}

func newTasks(sc *setup.Scene) (Service, error) {
	return &Tasks{rules: tooltask.Rules{Realtime: sc.Clock == agenda.Realtime, Tick: sc.Simulation().Tick.Std(), CostOf: sc.ToolPrices()}, told: map[string]tooltask.Told{}}, nil
}

// Tell gives what is known outside about a task, for the next decision.
func (t *Tasks) Tell(id string, x tooltask.Told) { t.told[id] = x }

// Decide implements Service.
func (t *Tasks) Decide(in *packed.Reader, now protocol.Time, give func([]protocol.Fact, bool) error) error {
	raws, err := in.Next(int(in.Left))
	if err != nil {
		return err
	}
	requests := make([]tooltask.Request, len(raws))
	for i, raw := range raws {
		if requests[i], err = tooltask.ReadRequest(raw); err != nil {
			return err
		}
	}
	facts := t.State.Decide(t.rules, now, requests, t.told)
	clear(t.told)
	return give(facts, false)
}

// Apply implements Service.
func (t *Tasks) Apply(f protocol.Fact) error {
	x, ok := f.(tooltask.Fact)
	if !ok {
		return unfolded(f)
	}
	t.State.Apply(x)
	return nil
}

// Publish implements Service. On the realtime clock a task is waited for without a time.
func (t *Tasks) Publish() Part {
	return Part{Shown: t.State, Next: t.State.Next(), Awaits: t.rules.Realtime && t.State.Len() > 0 || len(t.State.Players) > 0, Holds: t.State.Holds()}
}

// Snapshot implements Service.
func (t *Tasks) Snapshot(codec *protocol.Codec) (protocol.Raw, error) { return t.State.Snapshot(codec) }

// Load implements Service.
func (t *Tasks) Load(codec *protocol.Codec, raw protocol.Raw) (err error) {
	t.State, err = tooltask.Restore(codec, raw)
	return err
}

// Tasks are the tasks of the scene.
func (s *State) Tasks() *Tasks { return part[*Tasks](s) }

// finished is the event by which agents hear of the end of a task; nil = the fact ends none, or
// no asker is there.
func finished(f protocol.Fact) protocol.Raw {
	typ, payload, to := tooltask.Heard(f)
	if len(to) == 0 {
		return nil
	}
	return (&protocol.Draft{EventHeader: protocol.EventHeader{Type: typ, Source: setup.ActorScene, Targets: to, RequiresAck: true}, TTL: -1, Body: protocol.Encode(payload)}).AppendMsg(nil)
}
