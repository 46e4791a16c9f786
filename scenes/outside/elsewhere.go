package outside

import (
	"slices"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/llm"
)

// next chooses another model after a failure. One at an endpoint whose budget has no room for
// the request has failed by that.
func next(router llm.Router, q *effect.Ask, x *effect.Answered, barred []string) (to llm.Route, ok bool) {
	for {
		if to, ok = router.Next(&q.Model, &x.Model, x.Err); !ok || to.Endpoint == "" || !slices.Contains(barred, to.Endpoint) {
			return to, ok
		}
		spent := x.Model.Latency
		*x = refused(budget.OfEndpoint+to.Endpoint, "budget of endpoint "+to.Endpoint+": it has no room for the request, which another model could not answer", x.Model.Origin)
		x.Model.Latency = spent
	}
}

// now lets an instant model answer, and after its failure those that the provider chooses
// then. more = the next one is not instant, and has not been asked.
func now(router llm.Router, q *effect.Ask, barred []string) (x effect.Answered, to llm.Route, more bool) {
	for {
		if x = answered(router.Now(&q.Model)); x.Err == nil {
			return x, to, false
		}
		var again bool
		if to, again = next(router, q, &x, barred); !again || !to.Instant {
			return x, to, again
		}
	}
}

// now answers a request to a model that is instant; false = the chosen model is not, or
// its latency has to pass.
func (x *executor) now(q *effect.Ask, to *effect.Answered, realtime bool, barred []string) bool {
	chosen, router := x.route(q)
	if !chosen.Instant {
		return false
	}
	first, more := q.Model.Chosen, false
	if *to, _, more = now(router, q, barred); realtime && (to.Err != nil || to.Model.Latency > 0) {
		q.Model.Chosen = first
	}
	return !more
}

// mayHaveCost reports whether a failed attempt under a budget may have taken what was reserved
// for the request: nothing is left for another model.
func mayHaveCost(x *effect.Answered) bool {
	o := x.Model.Origin
	return o != nil && o.Budget != nil && o.Budget.Lost > 0
}

// elsewhere lets another model answer after a failure for good, if the provider chooses
// one. The request goes on as a call of its own, with the same place in the log: the first
// call may still have its slot at the gate of the first model.
func (c *call) elsewhere(x *effect.Answered) bool {
	m, ok := c.to.Executor.(model)
	if !ok || x.Err == nil || c.ctx.Err() != nil || mayHaveCost(x) {
		return false
	}
	router, ok := m.Provider.(llm.Router)
	if !ok {
		return false
	}
	n := &call{runner: c.runner, to: c.to, from: c.from, ask: c.ask, ctx: c.ctx, made: c.made, then: c.then, effect: c.effect, free: true}
	if n.chosen, ok = next(router, &n.ask, x, c.from.Barred); !ok {
		return false
	}
	n.ask.Wait, n.ask.Model.Attempt = 0, 0
	c.mu.Lock()
	n.flight, ok = c.flight, c.phase == waits
	c.become(ended)
	c.mu.Unlock()
	if !ok {
		return true // the deliberation has ended in the meantime
	}
	c.unshare(true)
	c.unwatch()
	c.runner.watch.Elsewhere(c.ask.Model.Model, llm.OutcomeOf(x.Err))
	n.watchContext()
	if n.chosen.Instant && n.from.Virtual {
		y, to, more := now(router, &n.ask, n.from.Barred)
		if n.chosen = to; !more {
			n.move(finds, waits)
			n.settle(&y)
			return true
		}
	}
	most := n.most(n.flight != nil, n.from.Bound)
	switch changes := most != nil && n.from.Ahead == nil && n.chosen.Endpoint != c.chosen.Endpoint; {
	case changes && n.flight != nil:
		n.moves(most)
		return true
	case changes && n.effect != nil: // nothing was sent, so the log does not have it
		n.effect.Most = most
	}
	n.enter()
	return true
}

// moves lets the log keep that another endpoint takes the request over, before that gets it.
func (c *call) moves(most *Most) {
	c.move(finds, hands)
	c.flight.Move(most, func(err error) {
		switch {
		case err == nil && c.move(hands, finds):
			go c.enter()
		case err != nil && c.move(hands, ended):
			c.drop(c.flight, err)
		}
	})
	c.look()
}
