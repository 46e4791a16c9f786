package tooltask

import (
	"slices"
	"time"

	"tavernsim/protocol"
)

// An agent that a person has taken over asks its player what it does, in each turn: the
// question is a task of [PlayTool], like other questions to people.

// PlayTool is the tool of the questions what an agent does that a person plays.
const PlayTool = "PlayAgent"

// What a turn of an agent does whose player is silent.
const (
	SilentPasses = "pass" // nothing
	SilentPlays  = "play" // its core workflow decides
)

// Bounds of the time-out of a player, and the one of who names none.
const (
	PlayTimeout    = 5 * time.Minute
	MaxPlayTimeout = 30 * 24 * time.Hour
)

// Player plays an agent.
type Player struct {
	Agent     string
	By        string
	Wait      string // hold, run
	OnTimeout string // pass, play
	Timeout   time.Duration
}

// TakenOver records that a person plays an agent from now on. The same person may say it again:
// then the agent has a turn.
type TakenOver struct {
	Player Player
	Reason string
}

// Released records that nobody plays an agent any more.
type Released struct {
	Agent  string
	By     string // who said so; "" = nobody, see Reason
	Reason string // also left, forked
}

// Kinds of these facts.
const (
	FactTakenOver = "agent.taken_over"
	FactReleased  = "agent.released"
)

// FactKind implements protocol.Fact.
func (*TakenOver) FactKind() string { return FactTakenOver }

func (*Released) FactKind() string { return FactReleased }

func (*TakenOver) fact() {}
func (*Released) fact()  {}

// Answers implements protocol.Answering: the agent observes that somebody has acted for it.
func (f *Released) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.Agent, Kind: "released"}, true
}

// Told implements protocol.Answering.
func (f *Released) Told() map[string]any { return map[string]any{"by": f.By, "reason": f.Reason} }

// Seat asks that a person plays an agent, or no longer does.
type Seat struct {
	Player  Player // of a release Agent and By
	Release bool
	Reason  string
}

// PlayerOf is who plays an agent; nil = nobody does.
func (s *State) PlayerOf(agent string) *Player {
	if i := slices.IndexFunc(s.Players, func(p Player) bool { return p.Agent == agent }); i >= 0 {
		return &s.Players[i]
	}
	return nil
}

// WaitsForPlayer reports whether the player of an agent has not said what it does.
func (s *State) WaitsForPlayer(agent string) bool { return s.playing(agent) != nil }

func (s *State) playing(agent string) *Task {
	for t := range s.Asked(agent) {
		if t.Tool == PlayTool {
			return t
		}
	}
	return nil
}

// Played reports whether a task that has ended asked the player of an agent.
func (s *State) Played(agent, id string) bool {
	return slices.ContainsFunc(s.Past, func(p Past) bool { return p.ID == id && p.Agent == agent && p.Tool == PlayTool })
}

// Unseatable says why a person cannot take an agent over, or release it; "" = it can be.
func (s *State) Unseatable(x *Seat) string {
	p := s.PlayerOf(x.Player.Agent)
	switch {
	case x.Release && p == nil:
		return "nobody plays it"
	case !x.Release && p != nil && p.By != x.Player.By:
		return p.By + " plays it; it must be released first"
	}
	return ""
}

// seat decides that a person plays an agent, or no longer does. A question that is open then
// ends.
func (s *State) seat(x *Seat, now protocol.Time) []Fact {
	switch id := x.Player.Agent; {
	case s.Unseatable(x) != "":
		return []Fact{&Refused{ID: PlayTool, Agent: id, Message: s.Unseatable(x)}}
	case !x.Release:
		return []Fact{&TakenOver{Player: x.Player, Reason: x.Reason}}
	default:
		return s.Release(id, x.Player.By, x.Reason, now)
	}
}

// Release gives the facts by which nobody plays an agent any more.
func (s *State) Release(agent, by, reason string, now protocol.Time) (list []Fact) {
	if s.PlayerOf(agent) == nil {
		return nil
	}
	list = append(list, &Released{Agent: agent, By: by, Reason: reason})
	if t := s.playing(agent); t != nil {
		list = append(list, t.settled(&Settle{Status: Dismissed, By: by}, now))
	}
	return list
}

// sit folds who plays an agent.
func (s *State) sit(p Player) {
	s.rise(p.Agent)
	s.Players = append(slices.Clip(s.Players), p)
}

// rise folds that nobody plays an agent.
func (s *State) rise(agent string) {
	s.Players = slices.DeleteFunc(slices.Clone(s.Players), func(p Player) bool { return p.Agent == agent })
	if len(s.Players) == 0 {
		s.Players = nil
	}
}

func (x *Seat) value() map[string]any {
	p := &x.Player
	return map[string]any{
		"do": "seat", "agent": p.Agent, "by": p.By, "wait": p.Wait, "on_timeout": p.OnTimeout, "timeout": int64(p.Timeout), "release": x.Release, "reason": x.Reason,
	}
}

func readSeat(m map[string]any) *Seat {
	text := func(name string) string { s, _ := m[name].(string); return s }
	timeout, _ := m["timeout"].(int64)
	release, _ := m["release"].(bool)
	return &Seat{Player{text("agent"), text("by"), text("wait"), text("on_timeout"), time.Duration(timeout)}, release, text("reason")}
}
