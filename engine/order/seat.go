package order

import (
	"cmp"
	"fmt"
	"slices"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// Kinds of changes by which people play agents.
const (
	takeOver = "take_over"
	release  = "release"
)

// ofPeople are the kinds of changes that are orders alone.
func ofPeople() []string { return []string{"answer", "cancel", "review", takeOver, "take", release} }

// Seat is an agent that a person takes over, or releases.
type Seat struct{ tooltask.Seat }

// By is the seat with its person.
func (s *Seat) By(person string) *tooltask.Seat {
	x := s.Seat
	x.Player.By = person
	return &x
}

func (r *reader) seat(kind string, p tool.Params) error {
	s := Seat{tooltask.Seat{Release: kind == release, Reason: r.reason, Player: tooltask.Player{Agent: p.Text("agent")}}}
	if !s.Release {
		most := tooltask.MaxPlayTimeout.Seconds()
		seconds := p.Number("timeout_seconds", tooltask.PlayTimeout.Seconds())
		if !(seconds > 0 && seconds <= most) {
			return fmt.Errorf("timeout_seconds %v: want more than 0, at most %.0f", seconds, most)
		}
		s.Player.Timeout = protocol.Seconds(seconds)
		for name, words := range map[string][2]string{"wait": {tooltask.WaitHold, tooltask.WaitRun}, "on_timeout": {tooltask.SilentPasses, tooltask.SilentPlays}} {
			if text := p.Text(name); text != "" && !slices.Contains(words[:], text) {
				return fmt.Errorf("%s %q: want %s or %s", name, text, words[0], words[1])
			}
		}
		s.Player.Wait, s.Player.OnTimeout = cmp.Or(p.Text("wait"), tooltask.WaitHold), cmp.Or(p.Text("on_timeout"), tooltask.SilentPasses)
	}
	if slices.ContainsFunc(r.plan.Seats, func(x Seat) bool { return x.Player.Agent == s.Player.Agent }) {
		return fmt.Errorf("the order takes over or releases %s already", protocol.Short(s.Player.Agent, 80))
	}
	r.plan.Seats = append(r.plan.Seats, s)
	return nil
}

// CheckSeats refuses that people take agents over before the scene runs: who gives the order
// must be named, the agents be among members, and people be asked.
func (p *Plan) CheckSeats(by string, asks bool, member func(agent string) bool) error {
	for i := range p.Seats {
		s := &p.Seats[i]
		switch {
		case !member(s.Player.Agent):
			return protocol.Errorf(protocol.KindNotFound, "the scene has no agent %q", protocol.Short(s.Player.Agent, 80))
		case s.Release:
		case !asks:
			return protocol.Errorf(protocol.KindConflict, "%s: nobody can be asked in this run; it began without --interactive", takeOver)
		case by == "":
			return protocol.Errorf(protocol.KindInvalid, "%s: say who plays the agent (by)", takeOver)
		}
	}
	return nil
}
