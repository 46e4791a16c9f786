package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/faulty"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/replay"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// choice is what a request keeps: the models that it may come to, and at which it is.
// Nobody changes one that a request has.
type choice struct {
	plan  []candidate
	at    int
	named string        // the model that the request names
	steps []llm.Step    // to the present one
	many  bool          // there was something to choose
	spent time.Duration // simulated, by the models that failed

	replayed *choice // of a replay with the recorded answer of this request: what was chosen without it, for budgets
}

// candidate is a model that may answer.
type candidate struct {
	name     string
	leaf     llm.Provider  // nil = what follows answers
	entry    *replay.Entry // a recorded answer
	err      error         // nobody answers
	steps    []llm.Step    // from the place in the plan where it is named
	faults   []*faulted    // outermost first
	exact    bool          // the answer of this request in an earlier run, to which nothing is added
	patience time.Duration
	next     []edge // for its failures, in order

	like     *likeness     // the surrogate that found the entry, or audits
	audit    *replay.Entry // its answer, to be compared with the model's
	distance int64         // of its situation, in thousandths
}

// edge is a fallback and the candidate that it leads to.
type edge struct {
	*modelfile.Fallback
	entry int64 // from 1
	to    int
}

// planner lays out what may answer a request. The conditions of all routes that it may
// come to are decided now, as the asking agent is.
type planner struct {
	set  *Set
	q    *protocol.ModelRequest
	plan []candidate
	many bool
}

func (s *Set) choose(q *protocol.ModelRequest) *choice {
	p := &planner{set: s, q: q}
	named := cmp.Or(q.Model, s.name)
	at := p.add(named, candidate{})
	c := &choice{plan: p.plan, at: at, named: named, steps: p.plan[at].steps, many: p.many}
	e, ok := p.recall(0, at, s.answers)
	if !ok {
		return c
	}
	exact := &choice{plan: []candidate{{name: named, entry: e, exact: true}}, named: named, many: p.many}
	if s.replays {
		exact.replayed = c
	}
	return exact
}

// add adds what may answer in the place of a model and gives the number of the first.
// x has what the models around it say.
func (p *planner) add(name string, x candidate) int {
	switch n := p.set.nodes[name].(type) {
	case *route:
		p.many = true
		return p.addRoute(n, x)
	case *faulted:
		x.faults = append(slices.Clip(x.faults), n)
		return p.add(n.Model, x)
	case *recorded:
		return p.addRecorded(n, x)
	case *likeness:
		p.many = true
		return p.addLikeness(n, x)
	}
	x.name = name
	x.leaf, x.err = p.set.pick(name)
	return p.put(x)
}

func (p *planner) put(x candidate) int {
	p.plan = append(p.plan, x)
	return len(p.plan) - 1
}

func (p *planner) addRoute(r *route, x candidate) int {
	i, err := r.first(p.q)
	if err != nil {
		x.name, x.err = r.name, err
		return p.put(x)
	}
	outer := x.next
	for k := len(r.Fallback) - 1; k >= 0; k-- { // each has those behind it
		f := &r.Fallback[k]
		y := x
		y.steps, y.next = nil, slices.Clip(x.next)
		x.next = slices.Insert(slices.Clone(x.next), 0, edge{f, int64(k + 1), p.add(f.Use, y)})
	}
	if len(x.next) > len(outer) && r.Patience > 0 {
		x.patience = r.Patience.Std()
	}
	x.steps = append(slices.Clip(x.steps), llm.Step{Model: r.Route.Route[i].Use, Entry: int64(i + 1)})
	return p.add(r.Route.Route[i].Use, x)
}

func (p *planner) addRecorded(n *recorded, x candidate) int {
	from, many := len(p.plan), p.many
	at := p.add(n.Model, x)
	e, ok := p.recall(from, at, n.answers)
	if !ok && n.OnMiss == modelfile.MissAsk {
		return at
	}
	name := p.plan[at].name
	var no error
	if a := p.set.asks[p.plan[at].name]; a != nil && !ok {
		no = a.fits(a.filled(p.q))
	}
	p.plan, p.many = p.plan[:from], many // what is recorded tells its own choice
	x.name = name
	if x.entry, x.err = e, no; !ok && no == nil {
		x.err = missed(n.name+": "+n.Answers, n.answers, p.q, "(on_miss: ask would ask "+n.Model+")")
	}
	return p.put(x)
}

// addLikeness lets a surrogate answer, if a decision is near enough. In an audit the model
// answers, and the surrogate only if the model fails.
func (p *planner) addLikeness(n *likeness, x candidate) int {
	here := x
	x.steps = append(slices.Clip(x.steps), llm.Step{Model: n.Model})
	e, distance, ok := n.index.Nearest(p.q, func(e *replay.Entry) bool { return fits(e, p.q) })
	if !ok || distance > n.most {
		return p.add(n.Model, x)
	}
	here.name, here.entry, here.like, here.distance = n.name, e, n, distance
	at := p.put(here)
	if draw := p.q.Draw.Sub(auditDraws, protocol.HashString(n.name)); draw.Float64() >= n.Audit {
		return at
	}
	x.like, x.audit, x.distance = n, e, distance
	x.next = slices.Insert(slices.Clone(x.next), 0, edge{&modelfile.Fallback{Use: n.name}, 0, at})
	return p.add(n.Model, x)
}

// auditDraws separates the chance of audits from what else a request draws.
const auditDraws = 1 << 34

// first is the first entry whose condition holds.
func (r *route) first(q *protocol.ModelRequest) (int, error) {
	env := asking{q}
	for i, when := range r.when {
		if when == nil {
			return i, nil
		}
		ok, err := when.EvalBool(env)
		if err != nil {
			return 0, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: fmt.Sprintf("%s: route %d: %v", r.name, i+1, err), Cause: err}
		}
		if ok {
			return i, nil
		}
	}
	return 0, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: r.name + ": no condition holds"} // Check refuses such a file
}

// asking is what a condition reads.
type asking struct{ q *protocol.ModelRequest }

// Lookup implements expr.Env.
func (e asking) Lookup(root string) (any, bool) {
	switch root {
	case "purpose":
		return string(e.q.Purpose), true
	case "events":
		return protocol.ListOf(e.q.Events), true
	case "variables":
		return e.q.Variables, true
	case "budget":
		return map[string]any{"left": 1 - e.q.BudgetUsed}, true
	}
	if e.q.Asker != nil {
		return e.q.Asker.Lookup(root)
	}
	switch root { // nobody deliberates: somebody tries the model
	case "self":
		return map[string]any{"instance_id": e.q.Agent, "profile_id": e.q.Profile}, true
	case "goals":
		return []any{}, true
	}
	return nil, false
}

// present is the candidate that is to answer.
func (c *choice) present() *candidate { return &c.plan[c.at] }

// instant reports whether the candidate answers without waiting.
func (x *candidate) instant() bool {
	_, ok := x.leaf.(llm.Instant)
	return x.leaf == nil || ok
}

// took is the simulated time of a failure. For a model at an endpoint it is the same
// whether the endpoint failed or its gate refused the request.
func (x *candidate) took(d time.Duration) time.Duration {
	if a, ok := x.leaf.(*asked); ok {
		return a.Latency.Of(0, d)
	}
	return d
}

// after is the choice after a failure of the present candidate; false = there is none.
// spent is the time of all models so far.
func (c *choice) after(err error, spent time.Duration) (*choice, bool) {
	if c.present().exact {
		return c.elsewhere(err, spent)
	}
	o := llm.OutcomeOf(err)
	for _, e := range c.present().next {
		if !e.Takes(o) {
			continue
		}
		n := *c
		n.at, n.spent = e.to, c.spent+c.present().took(max(0, spent-c.spent))
		n.steps = append(append(slices.Clip(c.steps), llm.Step{Model: e.Use, Entry: e.entry, After: string(o)}), c.plan[e.to].steps...)
		return &n, true
	}
	return nil, false
}

// elsewhere is the choice after a budget had no room for a request that is replayed: the recorded answer is
// that of the model which had it.
func (c *choice) elsewhere(err error, spent time.Duration) (*choice, bool) {
	if c.replayed == nil || llm.OutcomeOf(err) != llm.OutcomeBudget {
		return nil, false
	}
	next, ok := c.replayed.after(err, spent)
	n := *c
	n.replayed = next
	return &n, ok
}

// answer lets the present candidate answer; ask asks a model.
func (c *choice) answer(of *protocol.ModelRequest, ask func(llm.Provider, *protocol.ModelRequest) (protocol.ModelAnswer, error)) (a protocol.ModelAnswer, err error) {
	x := c.present()
	if x.exact {
		return recordedAnswer(x.entry, c.replayed != nil)
	}
	q := *of
	q.Model = x.name
	var fault *faulty.Fault
	for i := 0; fault == nil && i < len(x.faults) && x.err == nil; i++ {
		if fault = x.faults[i].Faults.Draw(x.faults[i].name, &q); fault != nil {
			err = fault.Fails(x.faults[i].name, &q)
		}
	}
	switch {
	case err != nil:
		if p, ok := x.leaf.(*asked); ok {
			a.Origin = p.origin(&q)
		}
	case x.err != nil:
		err = x.err
	case x.entry != nil:
		if a, err = recordedAnswer(x.entry, false); x.like != nil { // it costs nothing, and came from no endpoint
			a.Usage, a.Origin = protocol.Usage{}, nil
		}
	default:
		a, err = ask(x.leaf, &q)
	}
	if err == nil && fault != nil {
		fault.Spoil(&a)
	}
	c.mark(&a, err)
	return a, err
}

// mark says how the answer came about, and adds the time of the models before.
func (c *choice) mark(a *protocol.ModelAnswer, err error) {
	if f, ok := errors.AsType[*llm.Failure](err); ok && a.Latency == 0 {
		a.Latency = f.Latency
	}
	a.Latency += c.spent
	if !c.many {
		return
	}
	x := c.present()
	served := &llm.Served{Model: x.name, By: llm.ByLLM, Steps: c.steps}
	if _, script := x.leaf.(*scripted.Model); script {
		served.By = llm.ByRule
	}
	switch {
	case x.like == nil:
	case x.entry != nil:
		served.By, served.Distance = llm.BySurrogate, x.distance
	case err == nil:
		served.Distance, served.Audit = x.distance, llm.Differed
		if x.like.agrees(x.audit, a) {
			served.Audit = llm.Agreed
		}
	}
	o := protocol.ModelOrigin{}
	if a.Origin != nil {
		o = *a.Origin
	}
	if kept := llm.ServedOf(o.Served); kept != nil && kept.By == llm.ByStore {
		served.By = llm.ByStore
	}
	o.Served, a.Origin = served.Raw(), &o
}

// Route implements llm.Router.
func (s *Set) Route(q *protocol.ModelRequest) llm.Route {
	c, ok := q.Chosen.(*choice)
	if !ok || c.named != cmp.Or(q.Model, s.name) {
		q.Chosen = nil
		if len(s.nodes) == 0 || s.nodes[cmp.Or(q.Model, s.name)] == nil {
			p, err := s.pick(q.Model)
			_, instant := p.(llm.Instant)
			return llm.Route{Instant: instant && err == nil, Endpoint: endpointOf(p)}
		}
		c = s.choose(q)
		q.Chosen = c
	}
	return c.route()
}

func (c *choice) route() llm.Route {
	x := c.present()
	return llm.Route{Instant: x.instant(), Endpoint: endpointOf(x.leaf), Patience: x.patience}
}

// endpointOf is the endpoint that a model is at; "" = it is at none.
func endpointOf(p llm.Provider) string {
	if a, ok := p.(*asked); ok && a.Provider != nil {
		return a.name
	}
	return ""
}

// Next implements llm.Router.
func (s *Set) Next(q *protocol.ModelRequest, failed *protocol.ModelAnswer, err error) (llm.Route, bool) {
	c, ok := q.Chosen.(*choice)
	if !ok {
		return llm.Route{}, false
	}
	if c, ok = c.after(err, failed.Latency); ok {
		q.Chosen = c
		return c.route(), true
	}
	return llm.Route{}, false
}

// AppendChoice implements llm.Router.
func (s *Set) AppendChoice(b []byte, q *protocol.ModelRequest) []byte {
	c, ok := q.Chosen.(*choice)
	if !ok {
		return b
	}
	b = fmt.Appendf(b, "%d %d %q", c.at, c.spent, c.named)
	for i := range c.plan {
		x := &c.plan[i]
		b = fmt.Appendf(b, "\n%q %t %t %d %v", x.name, x.entry != nil, x.exact, x.distance, x.steps)
		for _, e := range x.next {
			b = fmt.Appendf(b, " %d:%d", e.entry, e.to)
		}
	}
	return b
}

// Now implements llm.Router.
func (s *Set) Now(q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	c, ok := q.Chosen.(*choice)
	if !ok {
		p, err := s.pick(q.Model)
		if err != nil {
			return protocol.ModelAnswer{}, err
		}
		s.tell(q.Model)
		return p.(llm.Instant).Answer(q)
	}
	return s.now(c, q)
}

func (s *Set) now(c *choice, q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	a, err := c.answer(q, func(p llm.Provider, q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		s.tell(q.Model)
		return p.(llm.Instant).Answer(q)
	})
	if errors.Is(err, errMissed) {
		s.counts.miss(place(q))
	}
	if x := c.present(); x.entry != nil && x.like == nil && a.Origin != nil {
		a.Origin.Reused = true
		s.counts.reused.Add(1)
		s.counts.answered(a.Origin)
	}
	return a, err
}

// complete lets the chosen model answer. One that is instant takes its time.
func (s *Set) complete(ctx context.Context, c *choice, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	if c.present().instant() {
		a, err := s.now(c, q)
		if late := llm.Wait(ctx, c.named, a.Latency-c.spent); late != nil {
			return protocol.ModelAnswer{}, late
		}
		return a, cmp.Or(err, llm.Deliver(&a, sink))
	}
	if len(c.present().faults) == 0 {
		return c.answer(q, func(p llm.Provider, q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			return p.Complete(ctx, q, sink)
		})
	}
	a, err := c.answer(q, func(p llm.Provider, q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		return p.Complete(ctx, q, nil)
	})
	return a, cmp.Or(err, llm.Deliver(&a, sink))
}

// all answers a request that no shell routes: models follow each other here, without
// gates.
func (s *Set) all(q *protocol.ModelRequest, answer func(c *choice) (protocol.ModelAnswer, error)) (protocol.ModelAnswer, error) {
	for c := s.choose(q); ; {
		a, err := answer(c)
		if err == nil {
			return a, nil
		}
		n, ok := c.after(err, a.Latency)
		if !ok {
			return a, err
		}
		c = n
	}
}
