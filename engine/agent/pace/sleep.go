package pace

import (
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agenda/pause"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// MaxSleep is a century: a longer sleep is a mistake, and would overflow the clock.
const MaxSleep = 100 * 365 * 24 * time.Hour

// MaxTypes bounds the types of events by which one sleep is ended.
const MaxTypes = 32

// Asked is what a call of SleepTool asks for.
type Asked struct {
	For   time.Duration // 0 = no time was given: until something else wakes
	Above protocol.Priority
	Sleep
}

// Times are the parameters of SleepTool of which every model is told.
func Times() []tool.Param {
	return []tool.Param{
		tool.Optional("seconds", "number", "how long; until an event when it is missing"),
		tool.OneOf("wake_on", "lowest priority of an event that wakes; high when it is missing", "low", "normal", "high", "critical"),
	}
}

// Params are all of its parameters. Models are told of them if the profile says how its agents rest: prompts of
// others stay as they were.
func Params() []tool.Param {
	return append(Times(),
		tool.Optional("wake_types", "array", "types of events that wake whatever their priority; a.b.* is every type below a.b"),
		tool.Optional("wake_when", "string", "expression over world, self, goals and now that wakes when it holds"))
}

// Ask reads the parameters. With zero a sleep of no time is one without end, as for older programs.
func Ask(p tool.Params, zero bool) (a Asked, err error) {
	a.Above = protocol.High
	if above := p.Text("wake_on"); above != "" {
		if a.Above, err = protocol.ParsePriority(above); err != nil {
			return a, err
		}
	}
	if seconds, given := protocol.Number(p["seconds"]); given && !(zero && seconds == 0) {
		if !(seconds > 0 && seconds <= MaxSleep.Seconds()) {
			return a, protocol.Errorf(protocol.KindInvalid, "seconds %s: want more than 0 and at most %s, or leave it out to sleep until something else wakes", protocol.Decimal(seconds), protocol.Decimal(MaxSleep.Seconds()))
		}
		a.For = protocol.Seconds(seconds)
	}
	if a.Types, err = p.Texts("wake_types"); err != nil {
		return a, err
	}
	if a.Types = slices.Compact(slices.Sorted(slices.Values(a.Types))); len(a.Types) > MaxTypes {
		return a, protocol.Errorf(protocol.KindLimit, "wake_types: %d types; the limit is %d", len(a.Types), MaxTypes)
	}
	for _, t := range a.Types {
		if fault := eventtype.Check(strings.TrimSuffix(t, ".*")); fault != "" {
			return a, protocol.Errorf(protocol.KindInvalid, "wake_types: %q %s", t, fault)
		}
	}
	if when := p.Text("wake_when"); when != "" {
		var private bool
		if a.When, err = (goal.Condition{Expr: when}).Compiled(); err == nil {
			private, err = a.When.Own()
		}
		if err != nil {
			return a, protocol.Errorf(protocol.KindInvalid, "wake_when: %w", err)
		}
		if private && !slices.Contains(a.Types, cast.TypeState) { // only an order changes it while the agent sleeps
			a.Types = append(a.Types, cast.TypeState)
			slices.Sort(a.Types)
		}
	}
	return a, nil
}

// Watched lists places of the world with those that the condition reads, as patterns.
func (s *Sleep) Watched(patterns []string) []string {
	patterns = append(slices.Clip(patterns), s.When.Watched()...)
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// Look is when an agent looks at the condition without a change of the world; 0 = never. One that has just
// fallen asleep does at the next moment, for the world may have changed before the agent watched it. Later it
// does when the hour may let the condition hold.
func (s *Sleep) Look(again bool, now protocol.Time, env expr.Env) protocol.Time {
	switch {
	case s.When.Expr == "":
		return 0
	case !again:
		return now
	}
	return s.When.Flips(now, env)
}

// Waking counts the events that wake: those of a priority and above, and of its types.
func (s *Sleep) Waking(events []*protocol.Envelope, above protocol.Priority) (n int) {
	for _, e := range events {
		if e.Priority >= above || pause.Matches(s.Types, e.Type) {
			n++
		}
	}
	return n
}

// Kinds of observations.
const (
	Reached = "ceiling_reached"
	Woke    = "woken"
)

// Woken is what an agent observes whose condition holds.
func (s *Sleep) Woken() map[string]any { return map[string]any{"when": s.When.Expr} }
