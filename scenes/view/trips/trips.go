// Package trips lists the agents that left a scene for another one, and those that came from one
// (engine/travel), each with its outcome.
//
// The caller opens the run (scenes/view/inspect). A scene knows only its own part: an agent that
// left it counts as travelling until the answer of the other scene arrives.
package trips

import (
	"errors"
	"io"
	"slices"

	"tavernsim/engine/secret"
	"tavernsim/engine/travel"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/view/inspect"
)

// Query chooses trips that began here, or came here, within the span. What became of them is
// said as far as the span goes.
type Query struct {
	inspect.Span
	Agent string
	Limit int // 0 = all
}

// What became of a trip.
const (
	OnTheWay   = "on_the_way"
	Arrived    = "arrived"
	Returned   = "returned"
	TurnedAway = "turned_away"
)

// Trip is a ticket from this scene or to it.
type Trip struct {
	Seq     uint64 `json:"seq"` // of the fact that it left, or came
	Wave    uint64 `json:"wave"`
	Time    string `json:"time"`
	Agent   string `json:"agent"`
	From    string `json:"from"`
	To      string `json:"to"`
	Number  uint64 `json:"number"`
	Arrives string `json:"arrives,omitempty"` // of those that left here
	State   string `json:"state"`
	Closed  string `json:"closed,omitempty"` // when this scene heard what became of it
	Turns   uint64 `json:"turns,omitempty"`  // that the agent had before, wherever; of one that was turned away nobody here knows it
	Unread  int64  `json:"unread,omitempty"`
	Tasks   int64  `json:"tasks,omitempty"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"`
}

// List hands over the trips of a scene, in the order in which they began or came here. Of those
// that follow a trip that is on its way, it holds as many as travel.MaxTrips and what the
// scene is told meanwhile.
func List(s *inspect.Scene, q Query, yield func(Trip) error) error {
	if err := s.Known(q.Agent); err != nil {
		return err
	}
	query, err := s.Query(q.Span, persistence.Query{Kinds: []string{travel.FactDeparted, travel.FactReached, travel.FactReturned, travel.FactArrived, travel.FactTurnedAway}})
	if err != nil {
		return err
	}
	l := &listing{scene: s, agent: q.Agent, left: q.Limit, yield: yield}
	err = s.Scan(query, l.fact)
	if err == nil {
		err = l.give(true)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// listing is a walk over the facts of travel.
type listing struct {
	scene *inspect.Scene
	agent string // only this one; "" = all
	held  []Trip // from the oldest that is on its way on
	wave  uint64
	left  int
	yield func(Trip) error
}

func (l *listing) fact(r protocol.Record) error {
	fact, err := l.scene.Fact(r)
	if err != nil {
		return err
	}
	switch x := fact.(type) {
	case *travel.Departed:
		return l.began(r, x.Agent, Trip{From: l.scene.ID, To: x.To, Number: x.Number, Arrives: x.Arrives.String(), State: OnTheWay, Turns: x.Turns, Unread: x.Unread, Tasks: x.Tasks, By: x.By, Reason: secret.Text(x.Reason)})
	case *travel.Arrived:
		return l.began(r, x.Agent, Trip{From: x.From, To: l.scene.ID, Number: x.Number, State: Arrived, Turns: x.Turns})
	case *travel.TurnedAway:
		return l.hold(r, Trip{Agent: x.Agent, From: x.From, To: l.scene.ID, Number: x.Number, State: TurnedAway, Error: secret.Text(x.Error)})
	case *travel.Reached:
		return l.closed(r, x.To, x.Number, Arrived, "")
	case *travel.Returned:
		return l.closed(r, x.To, x.Number, Returned, x.Error)
	}
	return nil
}

func (l *listing) began(r protocol.Record, agent uint32, t Trip) error {
	made, err := l.scene.Made()
	if err != nil {
		return err
	}
	t.Agent = made.Name(agent)
	return l.hold(r, t)
}

// hold takes a trip in, behind those that began before it.
func (l *listing) hold(r protocol.Record, t Trip) error {
	if l.agent != "" && t.Agent != l.agent {
		return nil
	}
	wave, err := l.scene.WaveOf(r.Seq, l.wave)
	if err != nil {
		return err
	}
	t.Seq, t.Wave, t.Time, l.wave = r.Seq, wave.Number, r.Time.String(), wave.Number
	l.held = append(l.held, t)
	return l.give(false)
}

// closed notes what became of a trip that began here. One before the span is not shown.
func (l *listing) closed(r protocol.Record, to string, number uint64, state, why string) error {
	i := slices.IndexFunc(l.held, func(t Trip) bool { return t.From == l.scene.ID && t.To == to && t.Number == number })
	if i < 0 {
		return nil
	}
	t := &l.held[i]
	t.State, t.Closed, t.Error = state, r.Time.String(), secret.Text(why)
	return l.give(false)
}

// give hands over the trips of which nothing more comes; all of them at the end.
func (l *listing) give(all bool) error {
	n := 0
	for ; n < len(l.held) && (all || l.held[n].State != OnTheWay); n++ {
		if err := l.yield(l.held[n]); err != nil {
			return err
		}
		if l.left--; l.left == 0 {
			return io.EOF
		}
	}
	l.held = slices.Delete(l.held, 0, n)
	return nil
}
