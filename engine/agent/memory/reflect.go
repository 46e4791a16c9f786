package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// Triggers say what begins a reflection. A zero field begins none.
type Triggers struct {
	GoalEnded   bool
	BeforeSleep bool
	Failures    int64 // turns in a row in which something failed
	Importance  int64 // of the episodes since the last reflection, added up
	Every       int64 // turns
	MinInterval time.Duration
	MaxPerDay   int64 // of a day of the scene; 0 = no bound
}

// after is what happened since the last reflection when a turn has ended.
func (s Since) after(t *Turn, number uint64, at protocol.Time, state map[string]any) Since {
	failures := s.Failures + 1
	if !t.failed {
		failures = 0
	}
	if !t.reflected {
		s.Turns, s.Failures, s.Importance = s.Turns+1, failures, s.Importance+t.importance
		return s
	}
	if today := day(at); s.Count == 0 || today != s.Day {
		s.Day, s.Count = today, 0
	}
	return Since{Turn: number, At: at, Day: s.Day, Count: s.Count + 1, State: state}
}

// MayReflect says why no reflection may begin now; nil = one may.
func (m *Mind) MayReflect(r *Rules, now protocol.Time) error {
	if r == nil || r.Reflect == nil || m == nil {
		return nil
	}
	s, x := &m.since, r.Reflect
	if next := s.At.Add(x.MinInterval); s.Turn != 0 && now < next {
		return protocol.Errorf(protocol.KindLimit, "the last reflection was at %s; the next one may begin at %s (reflection.min_interval)", s.At, next)
	}
	if x.MaxPerDay > 0 && s.Count >= x.MaxPerDay && s.Day == day(now) {
		return protocol.Errorf(protocol.KindLimit, "%d reflections today; more begin tomorrow (reflection.max_per_day)", s.Count)
	}
	return nil
}

// Trigger says why the agent reflects at the end of a turn; "" = it does not.
func (m *Mind) Trigger(r *Rules, t *Turn, now protocol.Time, asleep bool) string {
	x := r.Reflect
	if x == nil || m.MayReflect(r, now) != nil {
		return ""
	}
	s := m.Since()
	failures, importance := s.Failures+1, s.Importance+t.importance
	switch {
	case x.GoalEnded && len(t.ended) > 0:
		return "goal ended: " + strings.Join(t.ended, ", ")
	case x.Failures > 0 && t.failed && failures >= x.Failures:
		return fmt.Sprintf("%d failures in a row", failures)
	case x.Importance > 0 && importance >= x.Importance:
		return fmt.Sprintf("importance %d", importance)
	case x.Every > 0 && s.Turns+1 >= x.Every:
		return fmt.Sprintf("%d turns", s.Turns+1)
	case x.BeforeSleep && asleep:
		return "before sleep"
	}
	return ""
}

// Inputs are what a reflection gets of a turn beside the inputs of every deliberation: the
// episodes since the last reflection, with that of the turn, those of the goals that ended
// in the turn, and the private state as it was then. text is what the episodes say.
func (m *Mind) Inputs(t *Turn, number uint64, now protocol.Time, goals []goal.Goal, told goal.Told) (given map[string]any, text string) {
	list, ended, then, s := []any{}, []any{}, map[string]any{}, m.Since()
	tell := func(e *Episode) { list, text = append(list, e.Value()), text+e.Text+"\n" }
	for _, e := range m.Episodes() {
		if e.Turn > s.Turn {
			tell(e)
		}
	}
	if e, ok := t.episode(number, now); ok {
		tell(e)
	}
	for i := range goals {
		if slices.Contains(t.ended, goals[i].ID) {
			ended = append(ended, told.Value(&goals[i]))
		}
	}
	if s.State != nil {
		then = s.State
	}
	return map[string]any{Base: list, "goals_ended": ended, "state_then": then}, text
}

// NearLessons is how many lessons a reflection is shown.
const NearLessons = 5

// day is the day of the scene, in days since 1970 (UTC).
func day(at protocol.Time) int64 {
	const long = int64(24 * time.Hour)
	d := int64(at) / long
	if int64(at)%long < 0 {
		d--
	}
	return d
}
