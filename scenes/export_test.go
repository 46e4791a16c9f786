package scenes

import (
	"sync/atomic"

	"tavernsim/actors"
	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/setup"
)

// Look shows what an agent keeps.
func Look(m *agent.Machine) map[string]any {
	goals := []any{}
	for _, g := range m.State.Goals {
		goals = append(goals, g.Value())
	}
	private := m.State.Private
	if private == nil {
		private = map[string]any{}
	}
	return map[string]any{"private": private, "goals": goals, "turn": int64(m.State.Turn), "waiting": int64(m.State.Waiting())}
}

// Services names the actors that a test may make fail.
func Services() []string { return []string{setup.ActorWorld, setup.ActorKnowledge, setup.ActorEvents} }

// FailService makes a service panic, so many times, when it is asked to decide
// in a wave from the given one on.
func FailService(actor string, wave uint64, times int64) func(*Options) {
	var left atomic.Int64
	left.Store(times)
	return func(o *Options) {
		o.wrap = func(name string, b actors.Behavior) actors.Behavior {
			if name != actor {
				return b
			}
			return failing{b, wave, &left}
		}
	}
}

type failing struct {
	actors.Behavior
	wave uint64
	left *atomic.Int64
}

// Receive implements actors.Behavior.
func (f failing) Receive(env *protocol.Envelope) error {
	if env.Kind != protocol.KindSnapshot && env.Wave >= f.wave && f.left.Add(-1) >= 0 {
		panic("made to fail")
	}
	return f.Behavior.Receive(env)
}

// FailScene makes the scene's own actor panic at its nth envelope.
func FailScene(nth int64) func(*Options) {
	var seen atomic.Int64
	return func(o *Options) {
		o.wrap = func(name string, b actors.Behavior) actors.Behavior {
			if name != setup.ActorStage {
				return b
			}
			return failingScene{b, nth, &seen}
		}
	}
}

type failingScene struct {
	actors.Behavior
	nth  int64
	seen *atomic.Int64
}

// Receive implements actors.Behavior.
func (f failingScene) Receive(env *protocol.Envelope) error {
	if f.seen.Add(1) == f.nth {
		panic("made to fail")
	}
	return f.Behavior.Receive(env)
}

// FailAgentAt makes an agent panic at the first envelope of a kind of a wave or
// a later one: not only while it deliberates.
func FailAgentAt(id string, kind protocol.Kind, wave uint64) func(*Options) {
	return func(o *Options) {
		o.wrap = func(name string, b actors.Behavior) actors.Behavior {
			if name != id {
				return b
			}
			return failingAt{b, kind, wave}
		}
	}
}

type failingAt struct {
	actors.Behavior
	kind protocol.Kind
	wave uint64
}

// Receive implements actors.Behavior. Who is restored is not wrapped again.
func (f failingAt) Receive(env *protocol.Envelope) error {
	if env.Kind == f.kind && env.Wave >= f.wave {
		panic("made to fail")
	}
	return f.Behavior.Receive(env)
}

// Failures counts those that a test made.
type Failures struct{ asked, made atomic.Int64 }

func NewFailures() *Failures    { return &Failures{} }
func (f *Failures) Made() int64 { return f.made.Load() }

// EveryOther makes a service fail each second time that it is asked.
func (f *Failures) EveryOther(actor string) func(*Options) {
	return func(o *Options) {
		o.wrap = func(name string, b actors.Behavior) actors.Behavior {
			if name != actor {
				return b
			}
			return everyOther{b, f}
		}
	}
}

type everyOther struct {
	actors.Behavior
	failures *Failures
}

// Receive implements actors.Behavior.
func (e everyOther) Receive(env *protocol.Envelope) error {
	if env.Kind != protocol.KindSnapshot && e.failures.asked.Add(1)%2 == 1 {
		e.failures.made.Add(1)
		panic("made to fail")
	}
	return e.Behavior.Receive(env)
}
