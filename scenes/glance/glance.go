// Package glance assembles a view of one agent of a running scene from the scene's actors,
// between two waves, without reading the journal.
//
// The stage begins a [Look] and fills in the state of the scene and of the agent on the agenda; the agent's
// actor and the event channel fill in the rest. Each part has one owner, and the last owner gives the answer.
//
// On the virtual clock the view equals a fold of the facts up to [Seen.Wave]. On the realtime clock
// it shows the agent between two of its steps, possibly in the middle of a turn. The wave may not be
// durable yet: a kill may undo it. A look changes nothing, is no fact, and costs the scene three
// messages.
//
// # Not here
//
// The folder in the run directory (scenes/run/orders), and the view for people (scenes/view/inspect).
package glance

import (
	"context"
	"sync/atomic"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/protocol"
)

// Seen is one agent between two waves.
type Seen struct {
	Wave     uint64        `json:"wave"` // the last one
	Now      protocol.Time `json:"now"`  // of it
	WaitsFor []string      `json:"waits_for,omitempty"`
	agenda.Standing
	Subscriptions []bus.Subscription `json:"subscriptions"`
	Raw           []byte             `json:"state"` // as in a snapshot
}

// Look is one on its way.
type Look struct {
	Agent uint32

	seen   Seen
	owed   atomic.Int32 // parts that nobody has filled in
	answer chan *Seen
	failed chan error
}

// parts of a look: the stage's, the agent's, the event channel's.
const parts = 3

// New begins a look at an agent.
func New(agent uint32) *Look {
	l := &Look{Agent: agent, answer: make(chan *Seen, 1), failed: make(chan error, parts)}
	l.owed.Store(parts)
	return l
}

// message is the type of messages that ask for a part of a look.
const message = "look"

// Message asks an actor for its part.
func (l *Look) Message(kind protocol.Kind) *protocol.Envelope {
	e := &protocol.Envelope{EventHeader: protocol.EventHeader{Type: message}, Kind: kind}
	e.Body.SetValue(l)
	return e
}

// Asks reads such a message; nil = it is another one.
func Asks(env *protocol.Envelope) *Look {
	if env.Type != message {
		return nil
	}
	v, _ := env.Body.Value()
	l, _ := v.(*Look)
	return l
}

// Stands fills in the part of the stage; false = the agent is not there, which is the answer.
func (l *Look) Stands(a *agenda.State, name func(uint32) string) bool {
	if a.Away(l.Agent) {
		l.failed <- protocol.Errorf(protocol.KindNotFound, "%s is not in the scene now", name(l.Agent))
		return false
	}
	l.Fill(func(s *Seen) error {
		s.Wave, s.Now, s.Standing = a.Wave, a.Now, a.Standing(l.Agent)
		for _, o := range s.Standing.WaitsFor {
			s.WaitsFor = append(s.WaitsFor, name(o))
		}
		return nil
	})
	return true
}

// Fill lets an owner write its part, once. The last one gives the answer.
func (l *Look) Fill(part func(*Seen) error) {
	if err := part(&l.seen); err != nil {
		l.failed <- err
		return
	}
	if l.owed.Add(-1) == 0 {
		l.answer <- &l.seen
	}
}

// Wait returns the answer. over is closed when the scene has stopped.
func (l *Look) Wait(ctx context.Context, over <-chan struct{}) (*Seen, error) {
	select {
	case seen := <-l.answer:
		return seen, nil
	case err := <-l.failed:
		return nil, err
	case <-over:
		return nil, protocol.Errorf(protocol.KindConflict, "a look at an agent: the scene has stopped")
	case <-ctx.Done():
		return nil, protocol.Errorf(protocol.KindCancelled, "a look at an agent: no wave has ended: %w", ctx.Err())
	}
}

// MaxWaiting bounds the looks that wait for the end of a wave; one more is refused.
const MaxWaiting = 64

// Queue holds the looks that wait. It is the stage's.
type Queue []*Look

// Add puts a look behind the others.
func (q *Queue) Add(l *Look) {
	if len(*q) >= MaxWaiting {
		l.failed <- protocol.Errorf(protocol.KindLimit, "%d looks wait for the end of a wave", MaxWaiting)
		return
	}
	*q = append(*q, l)
}

// Take takes the first if it may; nil = there is none.
func (q *Queue) Take(may bool) *Look {
	if !may || len(*q) == 0 {
		return nil
	}
	l := (*q)[0]
	if *q = (*q)[1:]; len(*q) == 0 {
		*q = nil
	}
	return l
}
