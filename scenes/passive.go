package scenes

import (
	"cmp"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/seats"
)

// A passive agent has no actor: package seats holds its state. No fact tells of it.

// passiveState is the state of an agent that was passive, on its way into its actor.
type passiveState struct {
	state []byte     // nil = the machine has its state
	since *time.Time // when the actor was made; nil = nobody wants to know
}

// newSeats makes the seats of a scene, whose agents are away.
func (s *scene) newSeats() *seats.Seats {
	after := cmp.Or(s.options.PassivateAfter, s.Simulation().Limits.PassivateAfter.Std(), seats.Patience(s.Size(), s.Clock == agenda.Virtual))
	return seats.New(s.Len(), seats.Options{
		After: protocol.Time(after), AtOnce: s.Clock == agenda.Virtual && after < s.Simulation().Tick.Std(),
		Spawn: s.spawnAgent, Stop: s.system.Stop, Failed: func(_ uint32, err error) { s.stage.Tell(carrying(protocol.KindState, err)) },
		Largest: s.options.largest, Memory: cmp.Or(s.options.PassiveMemory, passiveMemory), File: s.options.PassiveFile, Warn: func(err error) { s.log.Warn(err.Error(), "scene", s.ID) },
	})
}

// layAgents puts the agents that are there into the scene: passive, until they are told something; with an actor if
// the state is too large.
func (s *scene) layAgents(state *machines.State) error {
	if err := state.LayDown(machines.Nobody); err != nil {
		return err
	}
	for o := range uint32(s.Len()) {
		switch {
		case state.Agenda.Away(o):
			s.seats.Put(o, nil)
		case !state.Agenda.Started: // it is as declared
			s.seats.Lay(o, nil)
		case state.Agents[o] != nil:
			ref, err := s.spawn(&agentShell{scene: s, machine: state.Agents[o]})
			if err != nil {
				return err
			}
			s.seats.Sit(o, ref)
		default:
			s.seats.Enter(o)
		}
	}
	return nil
}

const passiveMemory = 64 << 20 // bytes of states of passive agents that lie in memory, if there is a file

// spawnAgent gives an agent an actor, one that another has left or a new one. The actor takes the state with its first
// message.
func (s *scene) spawnAgent(o uint32, state []byte, left *actors.Ref) (*actors.Ref, error) {
	passive := passiveState{state: state}
	if state != nil && s.options.ColdWakes != nil {
		now := time.Now()
		passive.since = &now
	}
	if left != nil {
		if s.system.Pass(left, o, func(last actors.Behavior) actors.Behavior { return s.again(last, o, passive) }) {
			return left, nil
		}
		s.system.Stop(left)
	}
	return s.spawn(&agentShell{scene: s, machine: s.Machine(o), passive: passive})
}

// again makes the behaviour of an agent out of that of another, whose actor it gets.
func (s *scene) again(last actors.Behavior, o uint32, passive passiveState) actors.Behavior {
	shell, ok := last.(*agentShell)
	if !ok { // a test has wrapped it
		return s.wrapped(s.Name(o), &agentShell{scene: s, machine: s.Machine(o), passive: passive})
	}
	s.Begin(shell.machine, o)
	*shell = agentShell{scene: s, machine: shell.machine, passive: passive}
	return shell
}

func (s *scene) spawn(shell *agentShell) (*actors.Ref, error) {
	id := shell.machine.ID
	return s.system.Spawn(actors.Spec{Unlisted: true, Supervisor: s.sup, First: s.wrapped(id.Instance, shell), ID: id.Ordinal, Kind: kindAgent})
}

// unpack gives the machine of an agent that was passive its state.
func (a *agentShell) unpack() error {
	state, err := agent.Restore(a.Codec, protocol.Raw(a.passive.state))
	if err != nil {
		return protocol.Errorf(protocol.KindCorrupt, "scene %s: agent %s: its state cannot be read since it was passive: %w", a.ID, a.machine.ID.Instance, err)
	}
	if a.passive.since != nil {
		a.options.ColdWakes.Record(time.Since(*a.passive.since))
	}
	a.machine.State, a.passive = state, passiveState{}
	return nil
}

// stays reports whether an agent cannot be passive now: it deliberates, or has heard an ephemeral
// event, whose payload no snapshot holds.
func (a *agentShell) stays() bool { return a.deliberation != nil || a.machine.State.Ephemeral(false) }

// offer gives the stage the state of an agent that may be passive.
func (a *agentShell) offer(wave uint64) error {
	if a.stays() {
		return nil
	}
	raw, err := agent.Snapshot(a.Codec, &a.machine.State)
	if err != nil || !a.seats.Takes(raw) {
		return err
	}
	a.stage.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Source: a.machine.ID.Instance, Type: seats.MayLeave}, Kind: protocol.KindState, Wave: wave, Body: protocol.NewBody(raw)})
	return nil
}

// knows reports whether the machine of an agent that was restored from the journal knows a message: it was folded up to a
// wave. A stack of calls shows no more of that than of an agent in a new process.
func (a *agentShell) knows(env *protocol.Envelope) bool {
	switch env.Kind {
	case protocol.KindEvent, protocol.KindObserve, protocol.KindWake: // of a wake: the wave continued without this agent
		return env.Wave <= a.through
	}
	return false
}

// restoreAgent folds the state of one failed agent from the journal, to the wave that has the failure: what came
// later waits in the mailbox. The disk may be further, and a fold has no payloads of ephemeral events.
func (s *scene) restoreAgent(o uint32) (*agentShell, error) {
	wave, _ := s.failed.Load(o)
	through := wave.(uint64)
	m, err := history.Agent(s.Scene, s.journal, o, through, history.Options{Log: s.log})
	if err != nil {
		return nil, err
	}
	return &agentShell{scene: s, machine: m, through: through}, nil
}

// Seats says how many agents have an actor and how many are passive, and how many bytes these keep.
func (r *Run) Seats() (seated, passive int, bytes int64) { return r.scene.seats.Count() }
