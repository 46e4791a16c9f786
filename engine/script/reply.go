package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/cast"
	"tavernsim/engine/tooltask"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Kinds of actions whose answer comes later, as the value of a variable.
const (
	KindAsk = "ask" // people are asked
	KindRun = "run" // a workflow of the scene runs
)

// answerPrefix begins the ids of questions of the scene to people; the name of the variable
// that takes the answer follows.
const answerPrefix = "ask/"

// noResult stands for no variable in such an id.
const noResult = "-"

// AnswerID is the id of a question of the scene whose answer a variable takes; "" = none does.
func AnswerID(result, request string) string {
	if result == "" {
		result = noResult
	}
	return answerPrefix + result + "/" + request
}

// CheckResult says why a variable cannot take an answer.
func CheckResult(name string) error {
	if name == noResult || strings.Contains(name, "/") {
		return protocol.Errorf(protocol.KindInvalid, "result %q: a variable that takes an answer has no / in its name and is not %s", protocol.Short(name, 80), noResult)
	}
	return nil
}

// replies puts the answers of people into the variables that wait for them.
func (l *looking) replies() error {
	for _, e := range l.in.Events {
		if e.Type != tooltask.TypeAnswered || e.Source != cast.Scene {
			continue
		}
		v, err := e.Body.Value()
		m, _ := v.(map[string]any)
		id, _ := m["task_id"].(string)
		rest, asked := strings.CutPrefix(id, answerPrefix)
		name, _, _ := strings.Cut(rest, "/")
		if _, declared := l.Variables[name]; err != nil || !asked || !declared {
			continue
		}
		why := "answer " + id
		if n := len(protocol.Encode(m)); n > MaxValue {
			m = map[string]any{"task_id": id, "status": "error", "error": fmt.Sprintf("the answer has %d bytes; a variable has at most %d", n, MaxValue)}
		}
		if err := l.decide(&Set{Variable: name, Value: protocol.Encode(m), Why: why}); err != nil {
			return err
		}
	}
	return nil
}

// replying checks the fields of an action whose answer comes later, and notes what it needs.
func (c *compiler) replying(a *action, static map[string]any, dynamic map[string]bool, steps []any) {
	for _, name := range []string{"result", "workflow"} {
		if dynamic[name] {
			c.fault(append(slices.Clone(steps), name), "write it as it is", "%s is no expression: it is checked before the scene begins", name)
			return
		}
	}
	if name, _ := static["result"].(string); name != "" {
		if _, ok := c.def.Variables[name]; !ok {
			c.fault(append(slices.Clone(steps), "result"), source.Suggest(name, protocol.SortedKeys(c.def.Variables)), "there is no variable %q: declare it in variables", name)
		}
		if a.kind == KindAsk {
			c.p.Types[tooltask.TypeAnswered] = true
		}
	}
	if ref, _ := static["workflow"].(string); a.kind == KindRun && ref != "" {
		inputs, _ := static["inputs"].(map[string]any)
		if id := c.Workflow(append(slices.Clone(steps), "workflow"), ref, protocol.SortedKeys(inputs), inputs != nil || !dynamic["inputs"]); id != "" {
			a.fields.Fields["workflow"].Literal = id
			c.p.Runs = append(c.p.Runs, id)
		}
	}
}

// sets refuses variables that are not declared.
func (c *compiler) sets(fields map[string]any, steps []any) {
	for _, name := range protocol.SortedKeys(fields) {
		if _, ok := c.def.Variables[name]; !ok {
			c.fault(append(slices.Clone(steps), name), cmp.Or(source.Suggest(name, protocol.SortedKeys(c.def.Variables)), "declare it in variables"), "there is no variable %q", name)
		}
	}
}
