package goal

import (
	"time"

	"tavernsim/protocol"
)

// MaxSpan bounds deadlines, recurrences and patience.
const MaxSpan = 100 * 365 * 24 * time.Hour

// Asked is a goal as a call or an event asks for it, whose parameters are bound. A goal
// that is new is active. More is left as it is.
func Asked(have Goal, found bool, p map[string]any) (Goal, error) {
	g := have
	g.ID = text(p, "id")
	if !found {
		g.Priority = 0.5
	}
	if s := text(p, "description"); s != "" {
		g.Description = s
	}
	if f, ok := protocol.Number(p["priority"]); ok {
		g.Priority = f
	}
	switch status := text(p, "status"); status {
	case Pending, Active, Completed, Failed:
		g.Status = status
	case "":
		if !found {
			g.Status = Active
		}
	default:
		return g, protocol.Errorf(protocol.KindInvalid, "status %q: want pending, active, completed or failed", status)
	}
	if v := p["details"]; v != nil {
		g.Details = protocol.Encode(v)
	}
	return g, nil
}

// AskedMore is the rest of a goal as a call or an event asks for it. What is not named stays.
func AskedMore(have *More, p map[string]any, now protocol.Time) (*More, error) {
	m := More{}
	if have != nil {
		m = *have
	}
	if m.Taken == 0 {
		m.Taken, m.Moved = now, now
	}
	for name, into := range map[string]*string{"parent": &m.Parent, "why": &m.Why, "completes_by": &m.CompletesBy} {
		if s := text(p, name); s != "" {
			*into = s
		}
	}
	if m.CompletesBy != "" && m.CompletesBy != ByAll && m.CompletesBy != ByAny {
		return nil, protocol.Errorf(protocol.KindInvalid, "completes_by %q: want all or any", m.CompletesBy)
	}
	if f, ok := protocol.Number(p["progress"]); ok {
		if !(f >= 0 && f <= 1) {
			return nil, protocol.Errorf(protocol.KindInvalid, "progress %v: want 0 to 1", f)
		}
		if n := Millionths(f); n != m.Progress {
			m.Progress, m.Moved = n, now
		}
	}
	if err := m.spans(p, now); err != nil {
		return nil, err
	}
	if err := m.lists(p); err != nil {
		return nil, err
	}
	return m.Sealed()
}

func (m *More) spans(p map[string]any, now protocol.Time) error {
	for _, x := range []struct {
		name string
		into *time.Duration
	}{{"deadline_seconds", &m.Within}, {"recurs_seconds", &m.Recurs}} {
		f, ok := protocol.Number(p[x.name])
		if !ok {
			continue
		}
		if !(f >= 0 && f <= MaxSpan.Seconds()) {
			return protocol.Errorf(protocol.KindInvalid, "%s %s: want 0 to %s", x.name, protocol.Decimal(f), protocol.Decimal(MaxSpan.Seconds()))
		}
		*x.into = protocol.Seconds(f)
	}
	if _, ok := protocol.Number(p["deadline_seconds"]); ok {
		if m.Deadline = 0; m.Within > 0 {
			m.Taken, m.Deadline = now, now.Add(m.Within)
		}
	}
	return nil
}

func (m *More) lists(p map[string]any) (err error) {
	if v := p["exclusive"]; v != nil {
		if m.Exclusive, err = texts("exclusive", v); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		name string
		into *[]Condition
	}{{"preconditions", &m.Preconditions}, {"completion_criteria", &m.Completion}, {"failure_criteria", &m.Failure}} {
		if v := p[x.name]; v != nil {
			if *x.into, err = Conditions(x.name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Conditions reads a list of conditions; one alone is a list of one.
func Conditions(name string, v any) ([]Condition, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) > MaxConditions {
		return nil, protocol.Errorf(protocol.KindLimit, "%s: %d conditions; the limit is %d", name, len(list), MaxConditions)
	}
	out := make([]Condition, len(list))
	for i, e := range list {
		var c Condition
		switch x := e.(type) {
		case string:
			c.Text = x
		case map[string]any:
			c.Expr = text(x, "expr")
			if c.Expr == "" || len(x) != 1 {
				return nil, protocol.Errorf(protocol.KindInvalid, "%s, item %d: want text, or an object with the one field expr", name, i)
			}
		default:
			return nil, protocol.Errorf(protocol.KindInvalid, "%s, item %d: want text, or an object with the one field expr", name, i)
		}
		if err := c.Check(); err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "%s, item %d: %w", name, i, err)
		}
		out[i] = c
	}
	return out, nil
}

func texts(name string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) > MaxExclusive {
		return nil, protocol.Errorf(protocol.KindLimit, "%s: %d items; the limit is %d", name, len(list), MaxExclusive)
	}
	out := make([]string, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok || s == "" {
			return nil, protocol.Errorf(protocol.KindInvalid, "%s, item %d: want text", name, i)
		}
		out[i] = s
	}
	return out, nil
}

func text(p map[string]any, name string) string {
	s, _ := p[name].(string)
	return s
}
