// Package control is the machine that decides when the next wave of a run may begin, by the commands
// of an operator: pause, resume, step, pace, break (docs/formats/control.md).
//
// The stage asks before every wave ([State.Next]), while [State.On] says that a command
// is in force. Commands are no facts: a run that was paused, stepped and paced has the
// history of one that was not.
//
// # Promises
//
//  1. A wave in progress is never stopped: a pause is between two waves.
//  2. A step, and a breakpoint, end in a pause that names the reason.
//  3. A pace delays waves and never speeds them up; lost time is not made up.
//  4. Unknown commands, and fields of other commands, are refused.
package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// What a command does.
const (
	Status = "status" // nothing
	Pause  = "pause"
	Resume = "resume"
	Step   = "step"
	Pace   = "pace"
	Break  = "break"
)

// Bounds.
const (
	MaxBreaks = 64
	maxText   = 4096 // bytes of an expression or a name
	MaxPace   = 1e9
)

// Command is a wish. Do decides which fields it may have.
type Command struct {
	Do    string `json:"do"`
	Scene string `json:"scene,omitempty"` // "" = the only one of the run
	// A step ends after so many waves, so much scene time, at a moment of it (since the
	// start of the scene), after so many deliberations: whichever comes first. Without any
	// it is one wave.
	Waves int64             `json:"waves,omitempty"`
	For   protocol.Duration `json:"for,omitempty"`
	Until protocol.Duration `json:"until,omitempty"`
	Turns int64             `json:"turns,omitempty"`
	// Pace is the most scene time that passes in a second of the wall clock, in seconds; 0 =
	// as fast as it goes.
	Pace float64 `json:"pace,omitempty"`
	// A breakpoint is an expression over world and scene, or a kind of facts, or an agent
	// (the actor of facts), or both of these. Clear removes all.
	When  string `json:"when,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Agent string `json:"agent,omitempty"`
	Clear bool   `json:"clear,omitempty"`

	was bool   // of Commands: the expression held at the last wave
	why string // of Commands: why it is paused
}

// Check refuses commands that make no sense.
func (c *Command) Check() error {
	steps := c.Waves != 0 || c.For != 0 || c.Until != 0 || c.Turns != 0
	breaks := c.When+c.Kind+c.Agent != "" || c.Clear
	fault := func(format string, args ...any) error {
		return protocol.Errorf(protocol.KindInvalid, c.Do+": "+format, args...)
	}
	switch {
	case !slices.Contains([]string{Status, Pause, Resume, Step, Pace, Break}, c.Do):
		return protocol.Errorf(protocol.KindInvalid, "%q is no command: want pause, resume, step, pace, break, reload or status", c.Do)
	case steps && c.Do != Step:
		return fault("waves, for, until and turns are for step")
	case c.Pace != 0 && c.Do != Pace:
		return fault("a pace is for pace")
	case breaks && c.Do != Break:
		return fault("when, kind, agent and clear are for break")
	case c.Waves < 0 || c.For < 0 || c.Until < 0 || c.Turns < 0:
		return fault("waves, for, until and turns are not below 0")
	case !(c.Pace >= 0 && c.Pace <= MaxPace):
		return fault("%s: want 0 to %s seconds of scene time in a second", protocol.Decimal(c.Pace), protocol.Decimal(MaxPace))
	case len(c.When)+len(c.Kind)+len(c.Agent) > maxText:
		return fault("when, kind and agent have more than %d bytes", maxText)
	case c.Do == Break && !breaks:
		return fault("say where: when (an expression), kind or agent; or clear")
	case c.When != "" && c.Kind+c.Agent != "":
		return fault("an expression and a kind or agent are two breakpoints; give two commands")
	case c.Clear && c.When+c.Kind+c.Agent != "":
		return fault("clear removes all breakpoints; it has nothing beside it")
	}
	return nil
}

// Moment is where the run stands when the stage asks.
type Moment struct {
	Wall  time.Time
	Wave  uint64        // the last one
	Time  protocol.Time // of it
	Begun protocol.Time // of the scene
	Turns int64         // that have ended
	At    protocol.Time // of the wave that would begin; 0 = there is none yet
	Roots expr.Env      // of expressions
}

// Report says how a run is controlled.
type Report struct {
	State  string   `json:"state"`            // running, stepping, paused
	Why    string   `json:"why,omitempty"`    // it is paused
	Pace   float64  `json:"pace,omitempty"`   // 0 = as fast as it goes
	Breaks []string `json:"breaks,omitempty"` // as they were given
	// Where the run stands: the last wave, and its scene time since the start of the scene.
	Wave uint64            `json:"wave"`
	At   protocol.Duration `json:"at"`
}

// States of a report.
const (
	Running  = "running"
	Stepping = "stepping"
	Paused   = "paused"
)

// State is what people want of one scene. The zero value wants nothing.
type State struct {
	paused bool
	why    string
	step   *stepping
	pace   float64
	due    time.Time     // paced: not before
	last   protocol.Time // paced: time of the wave before; 0 = none
	breaks []point
	hit    string // the breakpoint that a fact of the last wave has met
}

// stepping is where a step ends.
type stepping struct {
	wave  uint64
	until protocol.Time // 0 = no moment
	turns int64         // 0 = no number
}

// point is a breakpoint.
type point struct {
	text        string
	when        *expr.Program // nil = kind and agent
	was         bool          // when held at the last wave
	kind, agent string
}

// On reports whether the stage has to ask.
func (s *State) On() bool { return s.paused || s.step != nil || s.pace > 0 || len(s.breaks) > 0 }

// Watches reports whether facts have to be shown to [State.Saw].
func (s *State) Watches() bool {
	return slices.ContainsFunc(s.breaks, func(p point) bool { return p.when == nil })
}

// Command takes a command that [Command.Check] has passed.
func (s *State) Command(c *Command, m Moment) error {
	switch c.Do {
	case Pause:
		s.pause(cmp.Or(c.why, "somebody paused it"))
	case Resume:
		s.goOn()
	case Step:
		s.goOn()
		s.step = stepOf(c, m)
	case Pace:
		s.pace = c.Pace
		s.due, s.last = time.Time{}, 0
	case Break:
		return s.breakAt(c)
	}
	return nil
}

func (s *State) pause(why string) {
	s.paused, s.why, s.step = true, why, nil
}

func (s *State) goOn() {
	s.paused, s.why, s.step, s.hit = false, "", nil, ""
	s.due, s.last = time.Time{}, 0
}

func stepOf(c *Command, m Moment) *stepping {
	x := &stepping{wave: ^uint64(0)}
	if c.Waves > 0 {
		x.wave = m.Wave + uint64(c.Waves)
	}
	if c.For > 0 {
		x.until = m.Time.Add(c.For.Std())
	}
	if at := m.Begun.Add(c.Until.Std()); c.Until > 0 && (x.until == 0 || at < x.until) {
		x.until = at
	}
	if c.Turns > 0 {
		x.turns = m.Turns + c.Turns
	}
	if c.Waves == 0 && x.until == 0 && x.turns == 0 {
		x.wave = m.Wave + 1
	}
	return x
}

func (s *State) breakAt(c *Command) error {
	if c.Clear {
		s.breaks = nil
		return nil
	}
	if len(s.breaks) >= MaxBreaks {
		return protocol.Errorf(protocol.KindLimit, "break: the scene has %d breakpoints; clear them", MaxBreaks)
	}
	p := point{kind: c.Kind, agent: c.Agent, text: strings.TrimSpace(c.Kind + " " + c.Agent)}
	if c.When != "" {
		program, err := expr.Compile(c.When, "world", "scene")
		if err != nil {
			return protocol.Errorf(protocol.KindInvalid, "break: when: %w", err)
		}
		p = point{when: program, text: c.When, was: c.was}
	}
	s.breaks = append(s.breaks, p)
	return nil
}

// Saw hears of a fact of the wave that is open.
func (s *State) Saw(kind, actor string) {
	for _, p := range s.breaks {
		if p.when == nil && s.hit == "" && (p.kind == "" || p.kind == kind) && (p.agent == "" || p.agent == actor) {
			s.hit = fmt.Sprintf("breakpoint %s: %s of %s", p.text, kind, actor)
		}
	}
}

// Next reports whether the next wave may begin; if not, ask again after wait, or after a
// command if wait is 0.
func (s *State) Next(m Moment) (ok bool, wait time.Duration) {
	s.look(m)
	if s.paused {
		return false, 0
	}
	return s.paced(m)
}

// look pauses the run at the end of a step and at a breakpoint.
func (s *State) look(m Moment) {
	hit := s.hit
	s.hit = ""
	for i := range s.breaks {
		p := &s.breaks[i]
		if p.when == nil {
			continue
		}
		holds, err := p.when.EvalBool(m.Roots) // what is not there yet is false
		holds = holds && err == nil
		if holds && !p.was {
			hit = cmp.Or(hit, "breakpoint "+p.text)
		}
		p.was = holds
	}
	switch x := s.step; {
	case s.paused:
	case hit != "":
		s.pause(hit)
	case x == nil:
	case m.Wave >= x.wave, x.turns > 0 && m.Turns >= x.turns, x.until > 0 && (m.At > x.until || m.Time >= x.until && m.At != m.Time):
		s.pause("the step ended")
	}
}

// paced says how long the next wave waits.
func (s *State) paced(m Moment) (ok bool, wait time.Duration) {
	if s.pace == 0 || m.At == 0 {
		return true, 0
	}
	if s.last == 0 { // it counts from the wave before
		s.due, s.last = m.Wall, m.Time
	}
	due := s.due.Add(time.Duration(min(float64(m.At.Sub(s.last))/s.pace, float64(maxWait))))
	if wait = due.Sub(m.Wall); wait > 0 {
		return false, wait
	}
	s.last = m.At
	if s.due = due; wait < -lag {
		s.due = m.Wall
	}
	return true, 0
}

const (
	maxWait = 24 * 365 * time.Hour
	lag     = 20 * time.Millisecond // a wave that began later than this delays those behind it
)

// Commands make, from the zero value and with the zero [Moment], a state that wants the same. A pace
// counts anew, and a wave that a breakpoint has seen already is not told again.
func (s *State) Commands() (list []Command) {
	if s.pace > 0 {
		list = append(list, Command{Do: Pace, Pace: s.pace})
	}
	for _, p := range s.breaks {
		c := Command{Do: Break, Kind: p.kind, Agent: p.agent}
		if p.when != nil {
			c.When, c.was = p.text, p.was
		}
		list = append(list, c)
	}
	switch x := s.step; {
	case s.paused:
		list = append(list, Command{Do: Pause, why: s.why})
	case x != nil:
		c := Command{Do: Step, Until: protocol.Duration(max(x.until, 0)), Turns: x.turns}
		if x.wave != ^uint64(0) {
			c.Waves = int64(x.wave)
		}
		list = append(list, c)
	}
	return list
}

// Report says how things stand.
func (s *State) Report() Report {
	r := Report{State: Running, Why: s.why, Pace: s.pace}
	switch {
	case s.paused:
		r.State = Paused
	case s.step != nil:
		r.State = Stepping
	}
	for _, p := range s.breaks {
		r.Breaks = append(r.Breaks, p.text)
	}
	return r
}

// For are the commands of a list that are for a scene.
func For(scene string, list []Command) []Command {
	return slices.DeleteFunc(slices.Clone(list), func(c Command) bool { return c.Scene != "" && c.Scene != scene })
}
