package scripted

import (
	"regexp"
	"slices"

	"tavernsim/engine/expr"
	"tavernsim/engine/glob"
	"tavernsim/engine/stub"
	"tavernsim/protocol"
)

// rule is a compiled rule. It is immutable.
type rule struct {
	name  string
	index int // place in the script; keys its chance

	agent, profile, scene, model glob.List
	purpose                      glob.List
	events, allEvents, tools     glob.List
	json                         *bool
	round                        *int
	variables                    []stub.Wanted
	contains                     []string
	matches                      []*regexp.Regexp
	when                         *expr.Program
	chance                       *float64

	answers  []answer
	choice   stub.Choice
	latency  *Latency
	failures *failures
}

// holds tests a rule, what is cheap first. The profile was tested before.
func (r *rule) holds(e *env) (bool, error) {
	req := e.req
	switch {
	case !r.agent.Match(req.Agent), !r.scene.Match(req.Scene), !r.model.Match(req.Model), !r.purpose.Match(string(req.Purpose)):
		return false, nil
	case r.json != nil && *r.json != req.JSON:
		return false, nil
	case r.round != nil && *r.round != e.round():
		return false, nil
	}
	for i := range r.variables {
		if !r.variables[i].Holds(req.Variables) {
			return false, nil
		}
	}
	if !r.hears(req.Events) || !r.offered(req.Tools) {
		return false, nil
	}
	return r.holdsDeep(e)
}

// holdsDeep tests what reads the prompt, evaluates or draws.
func (r *rule) holdsDeep(e *env) (bool, error) {
	if len(r.contains) > 0 && !slices.ContainsFunc(r.contains, e.promptContains) {
		return false, nil
	}
	if len(r.matches) > 0 && !slices.ContainsFunc(r.matches, e.promptMatches) {
		return false, nil
	}
	e.at(r.index, useMatch)
	if r.when != nil {
		ok, err := r.when.EvalBool(e)
		if err != nil || !ok {
			return false, err
		}
	}
	if r.chance != nil {
		draw := e.stream(r.index, useChance)
		return draw.Float64() < *r.chance, nil
	}
	return true, nil
}

func (r *rule) hears(events []string) bool {
	if len(r.events) > 0 && !slices.ContainsFunc(events, func(t string) bool { return r.events.Match(t) }) {
		return false
	}
	for i := range r.allEvents {
		if !slices.ContainsFunc(events, r.allEvents[i].Match) {
			return false
		}
	}
	return true
}

func (r *rule) offered(tools []protocol.ToolSpec) bool {
	return len(r.tools) == 0 || slices.ContainsFunc(tools, func(t protocol.ToolSpec) bool { return r.tools.Match(t.Name) })
}
