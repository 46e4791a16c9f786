// Package replies checks whether a person may answer an open question of a scene, or play one of its
// agents. It reads the state of the service of tasks, and keeps no state.
package replies

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/order"
	"tavernsim/engine/panel"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
)

// People are those of a scene, as an order finds them.
type People struct {
	Tasks tooltask.State
	// Players are those who may answer for an agent on a panel; none = everybody.
	Players func(agent, panel string) []string
}

// Unseatable says why a person cannot take an agent over, or release it; "" = it can be. here =
// the agent is in the scene.
func (p *People) Unseatable(x *tooltask.Seat, here bool) string {
	if !here {
		return "it is not in the scene now"
	}
	if why := p.Tasks.Unseatable(x); why != "" {
		return why
	}
	if players := p.Players(x.Player.Agent, ""); len(players) > 0 && !slices.Contains(players, x.Player.By) {
		return fmt.Sprintf("%q may not play it; %s may (by)", protocol.Short(x.Player.By, 80), protocol.Short(strings.Join(players, ", "), 400))
	}
	return ""
}

// Unanswerable says why somebody cannot end a question, with an answer or without; "" = it can
// be ended.
func (p *People) Unanswerable(id string, answered bool, value protocol.Raw, by string) string {
	t := p.Tasks.Task(id)
	switch {
	case t == nil:
		for _, past := range p.Tasks.Past {
			if past.ID == id {
				return "it has ended already (" + past.Status + ")"
			}
		}
		return "there is none that is open with this id"
	case t.Kind != tooltask.KindPerson:
		return "it is a call of " + t.Tool + ", which no person answers"
	case !answered:
		return ""
	}
	q := t.Question()
	if why := panel.NotFor(p.Players(t.Agent, q.Panel), by); why != "" {
		return why
	}
	if q.Schema != nil {
		if err := CheckAnswer(q.Schema, value); err != nil {
			return "the answer does not fit: " + err.Error()
		}
	}
	return ""
}

// Fits says why a reply cannot end a question for which a deliberation waits; nil = it can. It
// makes a value of the reply's.
func Fits(q *panel.Asked, r *panel.Reply) (err error) {
	if r.Cancel {
		r.Value = nil
		return nil
	}
	if why := panel.NotFor(q.Players, r.By); why != "" {
		return protocol.Errorf(protocol.KindDenied, "%s", why)
	}
	if r.Value, err = protocol.NormalizeBounded(r.Value); err != nil {
		return protocol.Errorf(protocol.KindInvalid, "the answer: %w", err)
	}
	raw := protocol.Encode(r.Value)
	if len(raw) > order.MaxAnswer {
		return protocol.Errorf(protocol.KindLimit, "the answer has %d bytes; at most %d", len(raw), order.MaxAnswer)
	}
	if q.Schema != nil {
		if err := CheckAnswer(q.Schema, raw); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the answer does not fit: %w", err)
		}
	}
	return nil
}

// CheckAnswer holds an answer against the schema of its question, with every violation.
func CheckAnswer(schema any, value protocol.Raw) error {
	check, err := project.CompileSchema(schema)
	if err != nil {
		return err
	}
	v, err := value.Value()
	if err != nil {
		return err
	}
	return check(v)
}
