// Package toolmock answers calls of tools by rules, without carrying anything out: the
// file tools/mock.yaml of a project (docs/formats/tool.md).
//
// # Promises
//
//  1. The same call of the same turn gets the same answer, in any order and however often.
//  2. A faulty file gives faults with their places, never a panic.
//
// # Not here
//
// Time: a latency is part of an answer, and the caller waits for it.
package toolmock

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/expr"
	"tavernsim/engine/glob"
	"tavernsim/engine/stub"
	"tavernsim/engine/template"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools"
)

// Mock answers calls. It is immutable.
type Mock struct {
	rules     []rule
	otherwise *answer
	more      map[string]*Mock // by tool: what answers for it if no rule does
}

// With adds a mock that answers for some tools if no rule of m does. m may be nil.
func (m *Mock) With(tools []string, other *Mock) *Mock {
	all := &Mock{}
	if m != nil {
		*all = *m
	}
	if all.more = maps.Clone(all.more); all.more == nil {
		all.more = map[string]*Mock{}
	}
	for _, id := range tools {
		all.more[id] = other
	}
	return all
}

// Names reports whether a rule names a tool: its match has a pattern for it.
func (m *Mock) Names(tool string) bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.rules, func(q rule) bool { return len(q.named) > 0 && q.tool.Match(tool) }) || m.more[tool].Names(tool)
}

// Named calls each with the patterns of tools that rules name, and their places in the file.
func (m *Mock) Named(each func(pattern string, steps ...string)) {
	for i := range m.rules {
		for k, pattern := range m.rules[i].named {
			each(pattern, "rules", strconv.Itoa(i), "match", "tool", strconv.Itoa(k))
		}
	}
}

type rule struct {
	name        string
	named       []string // the patterns of tool
	tool, agent glob.List
	params      []stub.Wanted
	when        *expr.Program
	chance      *float64
	choice      stub.Choice
	answers     []answer
	latency     *Latency
	failures    *Failures
}

type answer struct {
	output  stub.Maker
	fail    protocol.ErrorKind
	message *template.Template
}

// Read reads a file and reports its faults; nil = it has some.
func Read(doc *source.Document, report *source.Report) *Mock {
	before := report.Total()
	script := &Script{}
	d := source.Decoder{Rules: Rules(), Shorthand: Shorthand(), Report: report}
	if !d.Decode(doc, script) {
		return nil
	}
	c := &compiler{Compiler: stub.Compiler{Roots: roots(), Fault: func(steps []string, suggestion, message string) {
		n, _ := doc.Root.Find(steps...)
		report.At(doc, n.Pos, source.Path(steps...), message, suggestion)
	}}}
	m := &Mock{}
	for i := range script.Rules {
		m.rules = append(m.rules, c.rule(script, i))
	}
	c.times(script.Latency, script.Failures, nil)
	if script.Otherwise != nil {
		m.otherwise = new(c.answer(script.Otherwise, []string{"otherwise"}))
	}
	if report.Total() > before {
		return nil
	}
	return m
}

// Asked is a call, and who makes it.
type Asked struct {
	Agent string
	Turn  uint64
	Draw  protocol.Draw
}

// Answer answers one attempt of a call. The latency is how long it takes.
func (m *Mock) Answer(c *tools.Call, by Asked) (r tools.Result, latency time.Duration) {
	e := &env{call: c, by: by, draw: by.Draw.Sub(uint64(c.Attempt))}
	latency, _ = c.Tool.Latency()
	for i := range m.rules {
		q := &m.rules[i]
		e.rule = uint64(i) + 1
		holds, err := q.holds(e)
		if err != nil {
			return tools.Fail(protocol.KindInvalid, "mock: rule "+q.name+": "+err.Error()), latency
		}
		if !holds {
			continue
		}
		if q.latency != nil {
			latency = q.latency.draw(e.stream(useLatency))
		}
		if kind := q.failures.draw(e.stream(useFailure)); kind != "" {
			return q.failures.result(kind), latency
		}
		return q.answers[q.choice.Of(e.stream(useWeight))].result(e, "rule "+q.name), latency
	}
	if other := m.more[c.Tool.ID]; other != nil {
		return other.Answer(c, by)
	}
	if m.otherwise == nil {
		return tools.Fail(protocol.KindUnknown, "mock: no rule is for this call, and there is no otherwise"), latency
	}
	return m.otherwise.result(e, "otherwise"), latency
}

// Uses of chance, each with a stream of its own within its rule.
const (
	useDraw = iota + 1
	useChance
	useWeight
	useLatency
	useFailure
)

// env is what rules see of a call.
type env struct {
	call *tools.Call
	by   Asked
	draw protocol.Draw
	rule uint64
}

func roots() []string { return []string{"tool", "params", "agent", "turn", "attempt", "draw"} }

// Lookup implements expr.Env and template.Source.
func (e *env) Lookup(root string) (any, bool) {
	switch root {
	case "tool":
		return e.call.Tool.ID, true
	case "params":
		return e.call.Params, true
	case "agent":
		return e.by.Agent, true
	case "turn":
		return int64(e.by.Turn), true
	case "attempt":
		return int64(e.call.Attempt), true
	case "draw":
		d := e.stream(useDraw)
		return d.Float64(), true
	}
	return nil, false
}

func (e *env) stream(use uint64) protocol.Draw { return e.draw.Sub(e.rule, use) }

func (q *rule) holds(e *env) (bool, error) {
	if !q.tool.Match(e.call.Tool.ID) || !q.agent.Match(e.by.Agent) {
		return false, nil
	}
	for i := range q.params {
		if !q.params[i].Holds(e.call.Params) {
			return false, nil
		}
	}
	if q.when != nil {
		if ok, err := q.when.EvalBool(e); err != nil || !ok {
			return false, err
		}
	}
	if q.chance != nil {
		d := e.stream(useChance)
		return d.Float64() < *q.chance, nil
	}
	return true, nil
}

func (a *answer) result(e *env, where string) tools.Result {
	if a.fail == "" {
		v, err := a.output(e)
		if err != nil {
			return tools.Fail(protocol.KindInvalid, "mock: "+where+": "+err.Error())
		}
		return tools.Output(v)
	}
	message := "as the mock says"
	if a.message != nil {
		b, err := a.message.AppendFrom(nil, e, nil)
		if err != nil {
			return tools.Fail(protocol.KindInvalid, "mock: "+where+": "+err.Error())
		}
		message = string(b)
	}
	return failure(a.fail, message)
}

// failure makes the result of a failed attempt; one that was sent and got no answer is lost.
func failure(kind protocol.ErrorKind, message string) tools.Result {
	r := tools.Fail(kind, message)
	r.Lost = kind == protocol.KindTimeout
	r.Unsent = kind == tools.KindRateLimited
	return r
}

func (l *Latency) draw(d protocol.Draw) time.Duration {
	if l.Max <= 0 {
		return l.Fixed.Std()
	}
	return (l.Min.Std() + time.Duration(d.Float64()*float64(l.Max-l.Min))).Truncate(time.Microsecond)
}

func (f *Failures) draw(d protocol.Draw) protocol.ErrorKind {
	if f == nil {
		return ""
	}
	return protocol.ErrorKind(stub.Drawn(d, []stub.Chance{
		{P: f.Transient, Name: string(protocol.KindTransient)}, {P: f.RateLimited, Name: string(tools.KindRateLimited)}, {P: f.Timeout, Name: string(protocol.KindTimeout)},
	}))
}

func (f *Failures) result(kind protocol.ErrorKind) tools.Result {
	r := failure(kind, "as the failures of the mock say")
	if kind == tools.KindRateLimited {
		r.Error.RetryAfter = f.RetryAfter
	}
	return r
}

type compiler struct{ stub.Compiler }

func (c *compiler) rule(s *Script, i int) rule {
	def, steps := &s.Rules[i], []string{"rules", strconv.Itoa(i)}
	q := rule{
		name: cmp.Or(def.Name, strconv.Itoa(i+1)), named: def.Match.Tool, tool: glob.NewList(def.Match.Tool), agent: glob.NewList(def.Match.Agent), params: stub.WantedOf(def.Match.Params, true), chance: def.Match.Chance,
		latency: cmp.Or(def.Latency, s.Latency), failures: cmp.Or(def.Failures, s.Failures),
	}
	if (def.Answer != nil) == (len(def.Answers) > 0) {
		c.Faultf(steps, "", "want answer, or answers with one or more")
	}
	if def.Answer != nil {
		q.answers = append(q.answers, c.answer(def.Answer, stub.Down(steps, "answer")))
		q.choice.Add(def.Answer.Weight)
	}
	for k := range def.Answers {
		q.answers = append(q.answers, c.answer(&def.Answers[k], stub.Down(steps, "answers", strconv.Itoa(k))))
		q.choice.Add(def.Answers[k].Weight)
	}
	if q.choice.Never() {
		c.Faultf(stub.Down(steps, "answers"), "", "every weight is 0")
	}
	for _, l := range [][]string{def.Match.Tool, def.Match.Agent} {
		for _, p := range l {
			if strings.ContainsAny(p, `[\`) {
				c.Faultf(stub.Down(steps, "match"), "", "%q is no pattern; want * for any text and ? for one character", p)
			}
		}
	}
	if def.Match.When != "" {
		q.when = c.Expression(def.Match.When, stub.Down(steps, "match", "when"))
	}
	c.times(def.Latency, def.Failures, steps)
	return q
}

func (c *compiler) times(l *Latency, f *Failures, steps []string) {
	if l != nil && (l.Fixed != 0 && (l.Min != 0 || l.Max != 0) || l.Max < l.Min || min(l.Fixed, l.Min) < 0) {
		c.Faultf(stub.Down(steps, "latency"), "", "want fixed, or min and max with max not below min")
	}
	if f != nil && f.Transient+f.RateLimited+f.Timeout > 1 {
		c.Faultf(stub.Down(steps, "failures"), "", "the probabilities add up to more than 1")
	}
}

func (c *compiler) answer(def *Answer, steps []string) answer {
	a := answer{fail: protocol.ErrorKind(def.Fail), output: c.Value(def.Output, stub.Down(steps, "output")), message: c.Template(def.Message, stub.Down(steps, "message"))}
	if def.Fail != "" && def.Output != nil {
		c.Faultf(stub.Down(steps, "fail"), "keep one of the two", "an answer that fails has no output")
	}
	return a
}

// Simulate makes a call of a mock: pauses and latencies are added up, and none passes.
func (m *Mock) Simulate(c *tools.Call, by Asked, o tools.Options) tools.Result {
	return tools.Simulate(c, o, func(attempt *tools.Call) (tools.Result, time.Duration) { return m.Answer(attempt, by) })
}
