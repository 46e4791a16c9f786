package scenes

import (
	"sync/atomic"

	"tavernsim/actors"
	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
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

// Services names the services that the projects of the tests ask, and that a test may
// make fail. All services have one shell.
func Services() []string {
	return []string{machines.ActorWorld, "$knowledge", "$events"}
}

// Largest bounds the states of passive agents.
func Largest(n int) func(*Options) { return func(o *Options) { o.largest = n } }

// InFront calls f before every envelope that an actor handles. Agents that are
// restored are left alone.
func InFront(f func(actor string, env *protocol.Envelope)) func(*Options) {
	return func(o *Options) {
		o.wrap = func(name string, b actors.Behavior) actors.Behavior { return watched{b, name, f} }
	}
}

type watched struct {
	actors.Behavior
	name string
	f    func(string, *protocol.Envelope)
}

// Receive implements actors.Behavior.
func (w watched) Receive(env *protocol.Envelope) error {
	w.f(w.name, env)
	return w.Behavior.Receive(env)
}

// FailService makes a service panic, so many times, when it is asked to decide
// in a wave from the given one on.
func FailService(actor string, wave uint64, times int64) func(*Options) {
	var left atomic.Int64
	left.Store(times)
	return InFront(func(name string, env *protocol.Envelope) {
		if name == actor && env.Kind != protocol.KindSnapshot && env.Wave >= wave && left.Add(-1) >= 0 {
			panic("made to fail")
		}
	})
}

// FailScene makes the scene's own actor panic at its nth envelope.
func FailScene(nth int64) func(*Options) {
	var seen atomic.Int64
	return InFront(func(name string, _ *protocol.Envelope) {
		if name == setup.ActorStage && seen.Add(1) == nth {
			panic("made to fail")
		}
	})
}

// KeptLate lets the scene hear that a wave is durable only with the wave behind it, as from a disk that is slow.
func KeptLate(wave uint64) func(*Options) {
	return func(o *Options) {
		o.wrap = func(_ string, b actors.Behavior) actors.Behavior {
			if _, is := b.(*stage); is {
				return late{b, wave}
			}
			return b
		}
	}
}

type late struct {
	actors.Behavior
	wave uint64
}

// Receive implements actors.Behavior.
func (l late) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindAnswer {
		if kept, err := carried[keptWave](env); err != nil || kept.wave == l.wave {
			return err
		}
	}
	return l.Behavior.Receive(env)
}

// FailAgentAt makes an agent panic at the first envelope of a kind of a wave or
// a later one: not only while it deliberates.
func FailAgentAt(id string, kind protocol.Kind, wave uint64) func(*Options) {
	return InFront(func(name string, env *protocol.Envelope) {
		if name == id && env.Kind == kind && env.Wave >= wave {
			panic("made to fail")
		}
	})
}

// FailAt makes actors panic at their nth envelope, in each life of the scene.
func FailAt(nth map[string]int64) func(*Options) {
	left := map[string]*atomic.Int64{}
	for name, n := range nth {
		left[name] = &atomic.Int64{}
		left[name].Store(n)
	}
	return InFront(func(name string, env *protocol.Envelope) {
		if n := left[name]; n != nil && env.Kind != protocol.KindSnapshot && n.Add(-1) == 0 {
			panic("made to fail")
		}
	})
}

// Failures counts those that a test made.
type Failures struct{ asked, made atomic.Int64 }

func NewFailures() *Failures    { return &Failures{} }
func (f *Failures) Made() int64 { return f.made.Load() }

// EveryOther makes a service fail each second time that it is asked.
func (f *Failures) EveryOther(actor string) func(*Options) {
	return InFront(func(name string, env *protocol.Envelope) {
		if name == actor && env.Kind != protocol.KindSnapshot && f.asked.Add(1)%2 == 1 {
			f.made.Add(1)
			panic("made to fail")
		}
	})
}

// Damage changes what a passive agent keeps into what nobody can read.
func (r *Run) Damage(agent string) {
	o, _ := r.scene.Ordinal(agent)
	r.scene.seats.Lay(o, []byte("\xc1"))
}

// Stays reports whether an agent that has heard an event cannot be passive.
func Stays(m *agent.Machine) bool { return (&agentShell{machine: m}).stays() }

// TaskAnswers is how many answers of tasks are kept.
func (r *Run) TaskAnswers() int {
	r.scene.tasks.mu.Lock()
	defer r.scene.tasks.mu.Unlock()
	return len(r.scene.tasks.answers)
}

// FailAfterOrder makes the scene's own actor panic when the wave of an order is closed and the order has no
// receipt: after the wave is durable, or before. came is called when the scene has got an order.
func FailAfterOrder(durable bool, came func()) func(*Options) {
	return func(o *Options) {
		o.wrap = func(name string, b actors.Behavior) actors.Behavior {
			st, is := b.(*stage)
			if !is {
				return b
			}
			var given *receipts.Given
			return watched{b, name, func(_ string, env *protocol.Envelope) {
				if in, _ := carried[machines.Input](env); given == nil {
					if order, is := in.(*machines.Order); is {
						came()
						given, _ = st.orders.Take(order.Intervened)
					}
					return
				}
				if wave := st.orders.Wave(given); wave > 0 && wave <= st.machine.Agenda.Wave && (wave <= st.journal.Durable().Number) == durable {
					panic("made to fail")
				}
			}}
		}
	}
}
