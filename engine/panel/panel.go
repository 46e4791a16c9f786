// Package panel has the definitions of application panels (seed 004 §3.7), and the questions
// that agents ask through them. Engine/tooltask decides about answers.
package panel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Panel is a definition, panels/ID/panel_definition.json.
type Panel struct {
	ID               string            `json:"id"`
	Name             string            `json:"name,omitempty"`
	Description      string            `json:"description,omitempty"`
	Version          string            `json:"version,omitempty"`
	SchemaVersion    string            `json:"schema_version,omitempty"`
	UI               *UI               `json:"ui,omitempty"`
	Actions          map[string]Action `json:"actions,omitempty"`
	Subscribes       []string          `json:"subscribes,omitempty"`
	Publishes        []string          `json:"publishes,omitempty"`
	WorkflowBindings []Binding         `json:"workflow_bindings,omitempty"`
	Headless         any               `json:"headless,omitempty"`
}

// UI is a panel's own page.
type UI struct {
	Entry   string `json:"entry,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
}

// Action is something that a panel can be asked for.
type Action struct {
	Title         string         `json:"title,omitempty"`
	PayloadSchema map[string]any `json:"payload_schema,omitempty"`
	AnswerSchema  map[string]any `json:"answer_schema,omitempty"`
}

// Binding is a workflow that a panel knows by a name.
type Binding struct {
	Name       string `json:"name"`
	WorkflowID string `json:"workflow_id"`
}

// Headless is what becomes of a question when nobody can answer.
type Headless struct {
	Given    bool // Value is the answer, or that of the workflow; else the call is refused
	Value    any
	Workflow string // id; "" = Value
}

// Headless reads the field of this name.
func (p *Panel) HeadlessPolicy() (h Headless, err error) {
	switch x := p.Headless.(type) {
	case nil:
		return h, nil
	case string:
		if x == "refuse" {
			return h, nil
		}
	case map[string]any:
		if id, ok := x["workflow"].(string); ok && id != "" && len(x) == 1 {
			return Headless{Given: true, Workflow: id}, nil
		}
		if v, ok := x["default"]; ok && len(x) == 1 {
			return Headless{Given: true, Value: v}, nil
		}
	}
	return h, protocol.Errorf(protocol.KindInvalid, "want refuse, {default: VALUE} or {workflow: ID}")
}

// Question is what an agent asks a person.
type Question struct {
	Panel   string // as the scene names it; "" = its first one
	Action  string
	Payload any
	Schema  any // of the answer; nil = anything

	// Headless: nobody can answer, and this is the answer.
	Headless *Headless
}

// BuiltIn gives the schema of the answer of an action that every panel has; ok = it is one.
func BuiltIn(action string, payload any) (schema any, ok bool, err error) {
	fields, _ := payload.(map[string]any)
	switch action {
	case "text":
		return map[string]any{"type": "string"}, true, nil
	case "confirm":
		return map[string]any{"type": "boolean"}, true, nil
	case "show":
		return map[string]any{"type": "null"}, true, nil
	case "choice":
		options, _ := fields["options"].([]any)
		if len(options) == 0 {
			return nil, true, protocol.Errorf(protocol.KindInvalid, "payload.options: a choice wants a list of what can be chosen")
		}
		one := map[string]any{"enum": options}
		if many, _ := fields["multiple"].(bool); many {
			return map[string]any{"type": "array", "items": one, "uniqueItems": true}, true, nil
		}
		return one, true, nil
	case "form":
		if fields["schema"] == nil {
			return nil, true, protocol.Errorf(protocol.KindInvalid, "payload.schema: a form wants the JSON Schema of its answer")
		}
		return fields["schema"], true, nil
	case "file":
		schema, err = fileSchema(fields)
		return schema, true, err
	}
	return nil, false, nil
}

// ActionNames are the actions of a panel and those that every panel has, but for file, which is
// younger than runs whose errors say them.
func (p *Panel) ActionNames() string {
	names := slices.Sorted(maps.Keys(p.Actions))
	return strings.Join(append(names, "text", "choice", "confirm", "form", "show"), ", ")
}

// Unknown is the error about an action that a panel does not have.
func (p *Panel) Unknown(action string) error {
	return protocol.Errorf(protocol.KindNotFound, "%s", fmt.Sprintf("the panel %s has no action %q; it has %s", p.ID, protocol.Short(action, 80), p.ActionNames()))
}

// NotFor says why somebody may not answer a question that is for players; "" = it may be
// answered. A question without players is for everybody.
func NotFor(players []string, by string) string {
	if len(players) == 0 || slices.Contains(players, by) {
		return ""
	}
	return fmt.Sprintf("%q may not answer it; %s may (by)", protocol.Short(by, 80), protocol.Short(strings.Join(players, ", "), 400))
}

// WaitTurn is Asked.Wait of a question for whose answer a deliberation waits.
const WaitTurn = "turn"

// Reply is what a person says to such a question.
type Reply struct {
	By     string `json:"by"`
	Value  any    `json:"value"`
	Cancel bool   `json:"cancel,omitempty"` // the question ends without an answer
}

// Asked is an open question, as people are shown it.
type Asked struct {
	ID      string            `json:"id"`
	Scene   string            `json:"scene"`
	Agent   string            `json:"agent"`
	Panel   string            `json:"panel,omitempty"`
	Action  string            `json:"action"`
	Title   string            `json:"title,omitempty"` // of the action
	To      string            `json:"to,omitempty"`
	Players []string          `json:"players,omitempty"` // who may answer; none = everybody
	Wait    string            `json:"wait"`
	Payload any               `json:"payload,omitempty"`
	Schema  any               `json:"schema,omitempty"`
	Asked   Time              `json:"asked"`
	Due     Time              `json:"due,omitempty"`
	Timeout protocol.Duration `json:"timeout"`

	Bindings map[string]any `json:"bindings,omitempty"` // of the panel, as the scene writes them
}

// Time is a moment of the scene, a text in JSON.
type Time protocol.Time

func (t Time) String() string { return protocol.Time(t).String() }

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Time) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(text))
	*t = Time(protocol.TimeOf(at))
	return err
}
