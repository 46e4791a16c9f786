package scripted

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/expr"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Fault is something wrong with a script; Steps lead to it from the top.
type Fault struct {
	Steps      []string
	Message    string
	Suggestion string
}

// roots are the names that expressions and templates read.
func roots() []string {
	return []string{"agent", "draw", "events", "json", "last", "model", "now", "profile", "prompt", "purpose", "round", "scene", "tools", "variables"}
}

// Compile makes a model of a decoded script. With faults the model is nil.
func Compile(s *Script) (*Model, []Fault) {
	c := &compiler{funcs: functions()}
	m := &Model{name: cmp.Or(s.Name, "scripted"), timeout: cmp.Or(time.Duration(s.Timeout), defaultTimeout)}
	latency, failures := c.latency(s.Latency, "latency"), c.failures(s.Failures, "failures")
	for i := range s.Rules {
		m.rules = append(m.rules, c.rule(i, &s.Rules[i], latency, failures))
	}
	if s.Otherwise != nil {
		r := &rule{name: "otherwise", index: len(s.Rules), latency: latency, failures: failures}
		r.answers = []answer{c.answer(s.Otherwise, "otherwise")}
		r.total = 1
		m.rules = append(m.rules, r)
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	m.byProfile.Store(&map[string][]*rule{})
	if s.Otherwise == nil { // the embedded script has one, so this ends
		m.fallback = c.fallback()
	}
	return m, c.faults
}

const defaultTimeout = 30 * time.Second

type compiler struct {
	funcs  map[string]template.Func
	faults []Fault
}

// fallback is the embedded script, which a test holds to be sound.
func (c *compiler) fallback() *Model {
	m, err := Default()
	if err != nil {
		panic(err)
	}
	return m
}

func (c *compiler) fault(steps []string, suggestion, format string, args ...any) {
	c.faults = append(c.faults, Fault{Steps: steps, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func down(steps []string, more ...string) []string {
	return append(steps[:len(steps):len(steps)], more...)
}

func (c *compiler) rule(i int, def *Rule, latency *Latency, failures *failures) *rule {
	steps := []string{"rules", strconv.Itoa(i)}
	r := &rule{name: cmp.Or(def.Name, "rule "+strconv.Itoa(i+1)), index: i, latency: latency, failures: failures}
	if def.Latency != nil {
		r.latency = c.latency(def.Latency, down(steps, "latency")...)
	}
	if def.Failures != nil {
		r.failures = c.failures(def.Failures, down(steps, "failures")...)
	}
	c.match(&def.Match, r, down(steps, "match"))
	switch {
	case def.Answer != nil && def.Answers != nil:
		c.fault(down(steps, "answers"), "keep one of the two", "the rule has answer and answers")
	case def.Answer != nil:
		r.answers = []answer{c.answer(def.Answer, down(steps, "answer")...)}
	case len(def.Answers) == 0:
		c.fault(steps, "add an answer", "the rule has no answer")
	}
	for j := range def.Answers {
		r.answers = append(r.answers, c.answer(&def.Answers[j], down(steps, "answers", strconv.Itoa(j))...))
	}
	for j := range r.answers {
		r.total += r.answers[j].weight
	}
	if len(r.answers) > 0 && r.total <= 0 {
		c.fault(down(steps, "answers"), "", "every weight is 0")
	}
	return r
}

func (c *compiler) match(def *Match, r *rule, steps []string) {
	r.agent, r.profile, r.scene, r.model, r.purpose = globs(def.Agent), globs(def.Profile), globs(def.Scene), globs(def.Model), globs(def.Purpose)
	r.events, r.allEvents, r.tools = globs(def.Events), globs(def.AllEvents), globs(def.Tools)
	r.json, r.round, r.chance = def.JSON, def.Round, def.Chance
	for _, path := range protocol.SortedKeys(def.Variables) {
		want := def.Variables[path]
		list, isList := want.([]any)
		if !isList {
			list = []any{want}
		}
		r.variables = append(r.variables, variable{path: strings.Split(path, "."), whole: path, any: list})
	}
	r.contains = def.PromptContains
	for i, src := range def.PromptMatches {
		re, err := regexp.Compile(src)
		if err != nil {
			c.fault(down(steps, "prompt_matches", strconv.Itoa(i)), "", "the regular expression does not compile: %v", err)
		}
		r.matches = append(r.matches, re)
	}
	if def.When != "" {
		r.when = c.expression(def.When, down(steps, "when"))
	}
}

func (c *compiler) expression(src string, steps []string) *expr.Program {
	p, err := expr.Compile(src, roots()...)
	if err != nil {
		c.fault(steps, "", "the expression does not compile: %v", err)
	}
	return p
}

func (c *compiler) answer(def *Answer, steps ...string) answer {
	a := answer{weight: 1, finish: protocol.FinishReason(def.Finish), fail: def.Fail}
	if def.Weight != nil {
		a.weight = *def.Weight
	}
	if def.Fail != "" && (def.Text != "" || def.JSON != nil || def.Calls != nil) {
		c.fault(down(steps, "fail"), "", "an answer that fails says nothing; want fail alone")
	}
	if def.Text != "" && def.JSON != nil {
		c.fault(down(steps, "json"), "keep one of the two", "the answer has text and json")
	}
	a.text = c.template(def.Text, down(steps, "text"))
	a.reasoning = c.template(def.Reasoning, down(steps, "reasoning"))
	if def.JSON != nil {
		a.json = c.value(def.JSON, down(steps, "json"))
	}
	for i := range def.Calls {
		a.calls = append(a.calls, c.call(&def.Calls[i], down(steps, "calls", strconv.Itoa(i))))
	}
	if a.finish == "" {
		a.finish = protocol.FinishStop
		if len(a.calls) > 0 {
			a.finish = protocol.FinishToolCalls
		}
	}
	return a
}

func (c *compiler) call(def *Call, steps []string) call {
	out := call{tool: c.template(def.Tool, down(steps, "tool"))}
	if def.When != "" {
		out.when = c.expression(def.When, down(steps, "when"))
	}
	if def.Params != nil {
		out.params = c.value(def.Params, down(steps, "params"))
	}
	return out
}

// template compiles text; nil for no text.
func (c *compiler) template(src string, steps []string) *template.Template {
	if src == "" {
		return nil
	}
	t, err := template.Compile(strings.Join(steps, "."), src, template.Funcs(c.funcs), template.Roots(roots()...))
	if err != nil {
		c.fault(steps, "", "%v", err)
		return nil
	}
	return t
}

func (c *compiler) latency(def *Latency, steps ...string) *Latency {
	if def == nil {
		return nil
	}
	if problem, remedy := def.Check(); problem != "" {
		c.fault(steps, remedy, "%s", problem)
	}
	return def
}

func (c *compiler) failures(def *Failures, steps ...string) *failures {
	if def == nil {
		return nil
	}
	if sum := def.Timeout + def.ServerError + def.RateLimited + def.BadOutput; sum > 1 {
		c.fault(steps, "", "the probabilities add up to %v; want at most 1", sum)
	}
	return &failures{Failures: *def, retryAfter: cmp.Or(time.Duration(def.RetryAfter), time.Second)}
}
