// Package person has the requests of an agent to people: the question of a call of
// PanelInteractionTool, and the question to the person who plays the agent.
//
// The machine in engine/agent hands the requests to the service of tasks (engine/tooltask);
// answers come as events.
package person

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/panel"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// AskTool is the tool whose call waits for the answer, and returns it.
const AskTool = "PanelAskTool"

// AskSpec describes it.
func AskSpec() protocol.ToolSpec {
	return tool.Spec(AskTool, "Asks the user through an application panel, and waits for the answer, which it returns.", questionParams()...)
}

// Spec describes PanelInteractionTool.
func Spec() protocol.ToolSpec {
	return tool.Spec(tooltask.PanelTool, "Asks the user through an application panel. The answer comes as the event panel.interaction_result.", Params()...)
}

// Params are those of a question, whoever asks.
func Params() []tool.Param {
	return append(questionParams(), tool.OneOf("wait", "hold = time stands until the answer, run = it goes on", tooltask.WaitHold, tooltask.WaitRun))
}

func questionParams() []tool.Param {
	return []tool.Param{
		tool.Optional("panel", "string", "instance name of the panel"),
		tool.Required("action", "string", "what the panel shows: text, choice, confirm, form, show, or an action of the panel"),
		tool.Optional("payload", "", "data for the panel"),
		tool.Optional("schema", "object", "JSON Schema of the answer, if the action has none"),
		tool.Optional("to", "string", "who is asked"),
		tool.Optional("timeout_seconds", "number", "how long an answer is waited for; 300 when it is missing"),
	}
}

// Bounds of a time-out, in seconds.
const (
	panelTimeout    = 300
	maxPanelTimeout = 30 * 24 * 3600
)

// MaxTimeout is the longest time that an answer is waited for.
const MaxTimeout = maxPanelTimeout * time.Second

// Ask makes the question of a call. complete is agent.Definition.Panel; open are the questions
// of the agent that have no answer.
func Ask(p tool.Params, complete func(*panel.Question) error, open int) (t tooltask.Task, err error) {
	q, timeout, err := Question(p, complete)
	if err != nil {
		return t, err
	}
	wait := cmp.Or(p.Text("wait"), tooltask.WaitHold)
	if err := CheckWait(wait); err != nil {
		return t, err
	}
	if open >= tooltask.MaxAsked {
		return t, protocol.Errorf(protocol.KindLimit, "%d questions of yours are open; no more are", open)
	}
	asked := tooltask.Question{Panel: q.Panel, Action: q.Action, To: p.Text("to"), Wait: wait, Payload: q.Payload, Schema: q.Schema}
	if h := q.Headless; h != nil {
		asked.Headless, asked.Default = true, h.Value
	}
	return task(tooltask.PanelTool, &asked, timeout), nil
}

// CheckWait refuses what wait cannot be.
func CheckWait(wait string) error {
	if wait != tooltask.WaitHold && wait != tooltask.WaitRun {
		return protocol.Errorf(protocol.KindInvalid, "wait %q: want %s or %s", wait, tooltask.WaitHold, tooltask.WaitRun)
	}
	return nil
}

// Question reads the parameters of a call. complete is agent.Definition.Panel.
func Question(p tool.Params, complete func(*panel.Question) error) (q panel.Question, timeout time.Duration, err error) {
	if complete == nil {
		return q, 0, protocol.Errorf(protocol.KindUnknown, "no application panel is connected to this run")
	}
	seconds := p.Number("timeout_seconds", panelTimeout)
	if !(seconds > 0 && seconds <= maxPanelTimeout) {
		return q, 0, protocol.Errorf(protocol.KindInvalid, "timeout_seconds %v: want more than 0, at most %d", seconds, maxPanelTimeout)
	}
	q = panel.Question{Panel: p.Text("panel"), Action: p.Text("action"), Payload: p["payload"], Schema: p["schema"]}
	return q, protocol.Seconds(seconds), complete(&q)
}

func task(name string, q *tooltask.Question, timeout time.Duration) tooltask.Task {
	return tooltask.Task{Kind: tooltask.KindPerson, Tool: name, Params: q.Encode(), URIs: tooltask.EncodeURIs(nil, nil), Timeout: timeout}
}

// Action is the action of the question what an agent does.
const Action = "act"

// maxShown bounds what a player is shown of a turn, in encoded bytes.
const maxShown = 256 << 10

// Perceived lists what a player is always shown. What else the core workflow of the agent takes
// is shown, too, but for what is made for models alone, or costs a search.
func Perceived() []string {
	return []string{"incoming_events", "observations", "active_goals", "private_state", "available_capabilities", "now"}
}

// hidden are inputs of core workflows that no player is shown. Episodes and summary are those of
// engine/agent/memory, which is above this package.
func hidden(name string) bool {
	return slices.Contains([]string{"knowledge", "conversation", "round", "tools", "episodes", "summary", "turn", "world_version"}, name)
}

// Act makes the question what an agent does. core are the inputs that its core workflow takes,
// input gives their values.
func Act(p *tooltask.Player, core []string, input func(name string) any) tooltask.Task {
	payload, left, size := map[string]any{}, []any{}, 0
	names := Perceived()
	for _, name := range core {
		if !slices.Contains(names, name) && !hidden(name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		v := input(name)
		n := len(protocol.Encode(v))
		if size+n > maxShown || protocol.CheckNested(v) != nil {
			left = append(left, name)
			continue
		}
		payload[name], size = v, size+n
	}
	if len(left) > 0 {
		payload["left_out"] = left // too large together, or nested too deep; simd inspect shows it
	}
	q := tooltask.Question{Action: Action, To: p.By, Wait: p.Wait, Payload: payload, Schema: Schema()}
	return task(tooltask.PlayTool, &q, p.Timeout)
}

// Schema is that of what a player says: nothing, a text as a model would answer, or the output
// decision of a core workflow.
func Schema() any {
	list := func() any { return map[string]any{"type": []any{"array", "object"}} }
	return map[string]any{
		"type": []any{"null", "string", "object"},
		"properties": map[string]any{
			"say": map[string]any{"type": "string"}, "calls": list(), "tools": list(), "skills": list(), "events": list(),
			"private_state": map[string]any{"type": "object"}, "world": list(), "goals": list(),
			"reflect": map[string]any{"type": []any{"boolean", "string"}}, "sleep": map[string]any{"type": "object"},
		},
		"additionalProperties": false,
	}
}

// Unknown says which fields of a decision are none.
func Unknown(decision map[string]any) (problems []string) {
	known := "say calls tools skills events private_state world goals reflect sleep"
	for _, k := range protocol.SortedKeys(decision) {
		if !strings.Contains(" "+known+" ", " "+k+" ") {
			problems = append(problems, fmt.Sprintf("decision field %q is unknown; known are %s", k, strings.ReplaceAll(known, " ", ", ")))
		}
	}
	return problems
}

// Played is what came of a question what an agent does.
type Played struct {
	Answered bool
	Value    any
}

// Outputs are what a core workflow would give for a text, or for a decision, by the names of
// these outputs; false = the agent's own decides. p plays the agent; nil = nobody does.
func (x *Played) Outputs(p *tooltask.Player, response, decision string) (outputs map[string]any, plays bool) {
	if x == nil || !x.Answered && (p == nil || p.OnTimeout == tooltask.SilentPlays) {
		return nil, false
	}
	switch v := x.Value.(type) {
	case string:
		return map[string]any{response: v}, true
	case map[string]any:
		return map[string]any{decision: v}, true
	}
	return nil, true
}

// Results takes the answers of the player of an agent out of the events that it perceives; nil
// = there is none. The last answer counts.
func Results(events []*protocol.Envelope, tasks *tooltask.State, agent string) (rest []*protocol.Envelope, played *Played) {
	rest = events
	for i, e := range events {
		p := result(e, tasks, agent)
		if p == nil {
			if played != nil {
				rest = append(rest, e)
			}
			continue
		}
		if played == nil {
			rest = slices.Clone(events[:i])
		}
		if played == nil || p.Answered || !played.Answered {
			played = p
		}
	}
	return rest, played
}

func result(e *protocol.Envelope, tasks *tooltask.State, agent string) *Played {
	if e.Type != tooltask.TypeAnswered || len(tasks.Past) == 0 {
		return nil
	}
	v, err := e.Body.Value()
	m, _ := v.(map[string]any)
	id, _ := m["task_id"].(string)
	if err != nil || !tasks.Played(agent, id) {
		return nil
	}
	return &Played{Answered: m["status"] == tooltask.Answered, Value: m["value"]}
}
