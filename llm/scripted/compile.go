package scripted

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"tavernsim/engine/glob"
	"tavernsim/engine/stub"
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
	c := &compiler{}
	c.Compiler = stub.Compiler{Roots: roots(), Funcs: functions(), Fault: c.add}
	m := &Model{name: cmp.Or(s.Name, "scripted"), timeout: cmp.Or(time.Duration(s.Timeout), defaultTimeout)}
	latency, failures := c.latency(s.Latency, "latency"), c.failures(s.Failures, "failures")
	for i := range s.Rules {
		m.rules = append(m.rules, c.rule(i, &s.Rules[i], latency, failures))
	}
	if s.Otherwise != nil {
		r := &rule{name: "otherwise", index: len(s.Rules), latency: latency, failures: failures}
		r.answers = []answer{c.answer(s.Otherwise, "otherwise")}
		r.choice.Add(nil)
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
	stub.Compiler
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

func (c *compiler) add(steps []string, suggestion, message string) {
	c.faults = append(c.faults, Fault{Steps: steps, Message: message, Suggestion: suggestion})
}

func (c *compiler) rule(i int, def *Rule, latency *Latency, failures *failures) *rule {
	steps := []string{"rules", strconv.Itoa(i)}
	r := &rule{name: cmp.Or(def.Name, "rule "+strconv.Itoa(i+1)), index: i, latency: latency, failures: failures}
	if def.Latency != nil {
		r.latency = c.latency(def.Latency, stub.Down(steps, "latency")...)
	}
	if def.Failures != nil {
		r.failures = c.failures(def.Failures, stub.Down(steps, "failures")...)
	}
	c.match(&def.Match, r, stub.Down(steps, "match"))
	switch {
	case def.Answer != nil && def.Answers != nil:
		c.Faultf(stub.Down(steps, "answers"), "keep one of the two", "the rule has answer and answers")
	case def.Answer != nil:
		r.answers = []answer{c.answer(def.Answer, stub.Down(steps, "answer")...)}
		r.choice.Add(def.Answer.Weight)
	case len(def.Answers) == 0:
		c.Faultf(steps, "add an answer", "the rule has no answer")
	}
	for j := range def.Answers {
		r.answers = append(r.answers, c.answer(&def.Answers[j], stub.Down(steps, "answers", strconv.Itoa(j))...))
		r.choice.Add(def.Answers[j].Weight)
	}
	if r.choice.Never() {
		c.Faultf(stub.Down(steps, "answers"), "", "every weight is 0")
	}
	return r
}

func (c *compiler) match(def *Match, r *rule, steps []string) {
	r.agent, r.profile, r.scene, r.model, r.purpose = glob.NewList(def.Agent), glob.NewList(def.Profile), glob.NewList(def.Scene), glob.NewList(def.Model), glob.NewList(def.Purpose)
	r.events, r.allEvents, r.tools = glob.NewList(def.Events), glob.NewList(def.AllEvents), glob.NewList(def.Tools)
	r.json, r.round, r.chance = def.JSON, def.Round, def.Chance
	r.variables = stub.WantedOf(def.Variables, false)
	r.contains = def.PromptContains
	for i, src := range def.PromptMatches {
		re, err := regexp.Compile(src)
		if err != nil {
			c.Faultf(stub.Down(steps, "prompt_matches", strconv.Itoa(i)), "", "the regular expression does not compile: %v", err)
		}
		r.matches = append(r.matches, re)
	}
	if def.When != "" {
		r.when = c.Expression(def.When, stub.Down(steps, "when"))
	}
}

func (c *compiler) answer(def *Answer, steps ...string) answer {
	a := answer{finish: protocol.FinishReason(def.Finish), fail: def.Fail}
	if def.Fail != "" && (def.Text != "" || def.JSON != nil || def.Calls != nil) {
		c.Faultf(stub.Down(steps, "fail"), "", "an answer that fails says nothing; want fail alone")
	}
	if def.Text != "" && def.JSON != nil {
		c.Faultf(stub.Down(steps, "json"), "keep one of the two", "the answer has text and json")
	}
	a.text = c.Template(def.Text, stub.Down(steps, "text"))
	a.reasoning = c.Template(def.Reasoning, stub.Down(steps, "reasoning"))
	if def.JSON != nil {
		a.json = c.Value(def.JSON, stub.Down(steps, "json"))
	}
	for i := range def.Calls {
		a.calls = append(a.calls, c.call(&def.Calls[i], stub.Down(steps, "calls", strconv.Itoa(i))))
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
	out := call{tool: c.Template(def.Tool, stub.Down(steps, "tool"))}
	if def.When != "" {
		out.when = c.Expression(def.When, stub.Down(steps, "when"))
	}
	out.fixed = map[string]any{}
	if def.Params != nil {
		params, fixed := c.Shared(def.Params, stub.Down(steps, "params"))
		out.params = params
		out.fixed, _ = fixed.(map[string]any)
	}
	out.tokens = valueTokens(out.fixed)
	return out
}

func (c *compiler) latency(def *Latency, steps ...string) *Latency {
	if def == nil {
		return nil
	}
	if problem, remedy := def.Check(); problem != "" {
		c.Faultf(steps, remedy, "%s", problem)
	}
	return def
}

func (c *compiler) failures(def *Failures, steps ...string) *failures {
	if def == nil {
		return nil
	}
	if sum := def.Timeout + def.ServerError + def.RateLimited + def.BadOutput; sum > 1 {
		c.Faultf(steps, "", "the probabilities add up to %v; want at most 1", sum)
	}
	return &failures{Failures: *def, retryAfter: cmp.Or(time.Duration(def.RetryAfter), time.Second)}
}
