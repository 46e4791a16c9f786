package direct

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/cast"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// TypeRun is the event by which the scene's own agent is asked to run a workflow. It counts
// only if the scene itself publishes it.
const TypeRun = "scene.run"

// OutputResult is the output of a workflow that is its answer to whoever has it run.
const OutputResult = "result"

// MaxResult bounds such an answer, in encoded bytes.
const MaxResult = 60 << 10

// Run is a workflow of the scene that is to run.
type Run struct {
	Workflow string
	Inputs   map[string]any // of the workflow, by name
	Result   string         // variable of the script that takes what comes of it; "" = none
}

// CheckInputs refuses names of inputs that a workflow does not have.
func CheckInputs(p *workflow.Plan, names []string) error {
	for _, name := range names {
		if p.Input(name) < 0 {
			return protocol.Errorf(protocol.KindNotFound, "the workflow %s has no input %q; it has %s", p.ID(), protocol.Short(name, 80), cmp.Or(strings.Join(p.Inputs(), ", "), "none"))
		}
	}
	return nil
}

// Draft is the event that asks scene, the id of the scene's own agent.
func (r *Run) Draft(scene string) *protocol.Draft {
	inputs := map[string]any{}
	maps.Copy(inputs, r.Inputs)
	return &protocol.Draft{
		EventHeader: protocol.EventHeader{Type: TypeRun, Source: scene, Targets: []string{scene}, RequiresAck: true}, TTL: -1,
		Body: protocol.Encode(map[string]any{"workflow": r.Workflow, "inputs": inputs, "result": r.Result}),
	}
}

// ReadRun reads such an event; nil = it is another one, or scene has not published it.
func ReadRun(e *protocol.Envelope, scene string) *Run {
	if e.Type != TypeRun || e.Source != scene {
		return nil
	}
	v, err := e.Body.Value()
	m, _ := v.(map[string]any)
	id, _ := m["workflow"].(string)
	if err != nil || id == "" {
		return nil
	}
	inputs, _ := m["inputs"].(map[string]any)
	result, _ := m["result"].(string)
	return &Run{id, inputs, result}
}

// Given are the inputs with the event itself, for a workflow that takes it.
func (r *Run) Given(event any) map[string]any {
	given := map[string]any{"event": event}
	maps.Copy(given, r.Inputs)
	return given
}

// Told is the change of the script that says what came of the workflow: id is that of the
// request, by asks. nil = nobody wants to know.
func (r *Run) Told(id, by string, value any, err error) *cast.Request {
	if r.Result == "" {
		return nil
	}
	if err == nil {
		err = protocol.CheckNested(value)
	}
	if n := len(protocol.Encode(value)); err == nil && n > MaxResult {
		err = protocol.Errorf(protocol.KindLimit, "the output %s has %d bytes; at most %d", OutputResult, n, MaxResult)
	}
	said := map[string]any{"status": "done", "value": value}
	if err != nil {
		said = map[string]any{"status": "failed", "error": protocol.Short(err.Error(), cast.MaxReason)}
	}
	return &cast.Request{ID: id, By: by, Reason: r.Workflow, Do: protocol.Encode([]any{map[string]any{"set": map[string]any{r.Result: said}}})}
}

// Heard are the inputs that an event, as its workflow gets it, gives the inputs of these names: the fields of its
// payload, the whole payload, and the event. No field is a core input: whoever publishes an event does not say what
// the world is like (§5.4).
func Heard(event map[string]any, names, core []string) map[string]any {
	given := map[string]any{}
	fields, _ := event["payload"].(map[string]any)
	for _, name := range names {
		if v, has := fields[name]; has && !slices.Contains(core, name) {
			given[name] = v
		}
	}
	given["payload"], given["event"] = event["payload"], event
	return given
}
