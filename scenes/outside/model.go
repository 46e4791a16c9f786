package outside

import (
	"context"
	"errors"
	"slices"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// Pictures reads a picture of a request to a model.
type Pictures func(q *protocol.ModelRequest, i *protocol.Image) ([]byte, error)

// Model is the executor of the kind [effect.KindModel]; it is [Instant] if the
// provider is. pictures may be nil: requests with pictures fail.
func Model(p llm.Provider, pictures Pictures) Executor {
	if i, ok := p.(llm.Instant); ok {
		return instantModel{model{p, pictures}, i}
	}
	return model{p, pictures}
}

type model struct {
	llm.Provider
	pictures Pictures
}

// Do implements Executor.
func (m model) Do(ctx context.Context, q *effect.Ask) (x effect.Answered) {
	if m.pictures != nil && slices.ContainsFunc(q.Model.Messages, func(x protocol.ModelMessage) bool { return x.Images != nil }) {
		q.Model.Picture = func(i *protocol.Image) ([]byte, error) { return m.pictures(&q.Model, i) }
	}
	x.Model, x.Err = m.Complete(ctx, &q.Model, nil)
	tookTime(&x)
	return x
}

// gateOf is the gate of the endpoint that gets a request; nil = the provider has none.
func (m model) gateOf(q *effect.Ask) (g *gate.Gate, tokens int64) {
	if p := gate.Of(m.Provider); p != nil {
		return p.Gate(&q.Model)
	}
	return nil, 0
}

// failed is the answer to a request whose endpoint gave none. It names the question, as a failure of the endpoint does,
// so that a record of the run has it.
func (c *call) failed(err error) *effect.Answered {
	x := &effect.Answered{Err: err}
	m, ok := c.to.Executor.(model)
	if !ok {
		return x
	}
	if p, ok := gate.Of(m.Provider).(interface {
		Failed(*protocol.ModelRequest) protocol.ModelAnswer
	}); ok {
		if x.Model = p.Failed(&c.ask.Model); x.Model.Origin != nil {
			x.Model.Origin.Attempts = int64(c.Attempts())
		}
	}
	return x
}

// classOf is the class of a request of a scene. The agent decides nothing else by a
// reflection or a summary, so others leave before it; see [Urgency] for what is urgent.
func classOf(scene limit.Class, q *effect.Ask) limit.Class {
	if q.Model.Purpose == protocol.PurposeReflect || q.Model.Purpose == protocol.PurposeSummarise {
		return limit.Background
	}
	return scene
}

// bound is the most that a request takes, of the model that is chosen now.
func (m model) bound(q *effect.Ask) llm.Bound {
	if r, ok := m.Provider.(llm.Router); ok {
		r.Route(&q.Model)
	}
	return llm.BoundOf(m.Provider, &q.Model)
}

// route lets a provider with several models choose one. It is called before anything else
// is asked about the request, on the goroutine of the agent; afterwards nothing reads the
// agent any more.
func (x *executor) route(q *effect.Ask) (to llm.Route, router llm.Router) {
	if m, ok := x.Executor.(model); ok {
		if router, ok = m.Provider.(llm.Router); ok {
			to = router.Route(&q.Model)
		}
	}
	q.Model.Asker = nil
	return to, router
}

// MayRepeat implements Executor.
func (m model) MayRepeat(q *effect.Ask) bool { return llm.MayRepeat(m.Provider, &q.Model) }

type instantModel struct {
	model
	instant llm.Instant
}

// Answer implements Instant.
func (m instantModel) Answer(q *effect.Ask) effect.Answered {
	return answered(m.instant.Answer(&q.Model))
}

func answered(a protocol.ModelAnswer, err error) effect.Answered {
	x := effect.Answered{Model: a, Err: err}
	tookTime(&x)
	return x
}

// tookTime lets the answer of a failed request have its simulated latency.
func tookTime(x *effect.Answered) {
	if f, ok := errors.AsType[*llm.Failure](x.Err); ok && x.Model.Latency == 0 {
		x.Model.Latency = f.Latency
	}
}
