package order

import (
	"strconv"
	"strings"

	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/person"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/script"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// Kinds of changes by which the scene asks: people, or its own workflows. What comes of them
// is a variable of the script.
const (
	kindAsk = script.KindAsk
	kindRun = script.KindRun
)

// asking are those of a plan.
type asking interface {
	Change
	// requests are what a service is asked for.
	requests(sc Cast, q *cast.Request) ([]protocol.Sequenced, error)
	// result is the variable of the script that takes what comes of it; "" = none.
	result() string
}

// Ask asks people something through a panel, as the scene.
type Ask struct {
	params tool.Params
}

// Run lets the scene's own agent run a workflow.
type Run struct{ direct.Run }

func askSpecs() []protocol.ToolSpec {
	result := tool.Optional("result", "string", "variable of the script that takes what comes of it")
	return []protocol.ToolSpec{
		tool.Spec(kindAsk, "Asks people through a panel, as the scene.", append(person.Params(), result)...),
		tool.Spec(kindRun, "Lets the scene run a workflow.",
			tool.Required("workflow", "string", "its id"),
			tool.Optional("inputs", "object", "values of its inputs, by their names"), result),
	}
}

func (r *reader) asks(kind string, p tool.Params) error {
	var c asking = &Ask{p}
	if kind == kindRun {
		inputs, _ := p["inputs"].(map[string]any)
		c = &Run{direct.Run{Workflow: p.Text("workflow"), Inputs: inputs, Result: p.Text("result")}}
	}
	if err := script.CheckResult(c.result()); err != nil {
		return err
	}
	r.plan.Stage = append(r.plan.Stage, c)
	return nil
}

// Results are the variables of the script that take what comes of a plan.
func (p *Plan) Results() (names map[string]any) {
	for _, c := range p.Stage {
		if x, asks := c.(asking); asks && x.result() != "" {
			if names == nil {
				names = map[string]any{}
			}
			names[x.result()] = nil
		}
	}
	return names
}

func (a *Ask) result() string { return a.params.Text("result") }
func (r *Run) result() string { return r.Result }

// Check implements Change.
func (a *Ask) Check(sc Cast) error {
	complete, open := sc.Asking()
	_, err := person.Ask(a.params, complete, open)
	return err
}

func (r *Run) Check(sc Cast) error { return sc.Runs(r.Workflow, r.Inputs) }

func (a *Ask) requests(sc Cast, q *cast.Request) ([]protocol.Sequenced, error) {
	complete, open := sc.Asking()
	t, err := person.Ask(a.params, complete, open)
	if err != nil {
		return nil, err
	}
	t.ID, t.Agent = script.AnswerID(a.result(), q.ID), cast.Scene
	return []protocol.Sequenced{{To: tooltask.Service, Data: (&tooltask.Request{Task: t}).AppendMsg(nil)}}, nil
}

func (r *Run) requests(Cast, *cast.Request) ([]protocol.Sequenced, error) {
	return []protocol.Sequenced{{To: bus.Service, Data: r.Draft(cast.Scene).AppendMsg(nil)}}, nil
}

// facts leaves none of the stage: those of the services follow.
func (a *Ask) facts(sc Scene, q *cast.Request) []protocol.Fact { return deliver(a, sc, q) }
func (r *Run) facts(sc Scene, q *cast.Request) []protocol.Fact { return deliver(r, sc, q) }

func deliver(c asking, sc Scene, q *cast.Request) []protocol.Fact {
	list, err := c.requests(sc, q)
	if err == nil { // it was checked
		sc.Request(list)
	}
	return nil
}

// refused tells the script that nobody is asked, by the variable that waits for the answer;
// nil = none does.
func refused(change map[string]any, id, by string, why error) *cast.Request {
	for kind, fields := range change {
		m, _ := fields.(map[string]any)
		name, _ := m["result"].(string)
		if kind != kindAsk && kind != kindRun || name == "" {
			continue
		}
		said := map[string]any{"status": "refused", "error": protocol.Short(why.Error(), cast.MaxReason)}
		return &cast.Request{ID: id, By: by, Do: protocol.Encode([]any{map[string]any{kindSet: map[string]any{name: said}}})}
	}
	return nil
}

// numbered is a request with a number of its own.
func numbered(id string, i int) string { return strings.Join([]string{id, strconv.Itoa(i)}, ".") }
