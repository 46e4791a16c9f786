package outside

import (
	"context"
	"errors"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Model is the executor of the kind [agent.KindModel]; it is [Instant] if the
// provider is.
func Model(p llm.Provider) Executor {
	if i, ok := p.(llm.Instant); ok {
		return instantModel{model{p}, i}
	}
	return model{p}
}

type model struct{ llm.Provider }

// Do implements Executor.
func (m model) Do(ctx context.Context, q *agent.Ask) agent.Answered {
	return answered(m.Complete(ctx, q.Model, nil))
}

// MayRepeat implements Executor.
func (m model) MayRepeat(q *agent.Ask) bool { return llm.MayRepeat(m.Provider, q.Model) }

type instantModel struct {
	model
	instant llm.Instant
}

// Answer implements Instant.
func (m instantModel) Answer(q *agent.Ask) agent.Answered { return answered(m.instant.Answer(q.Model)) }

// answered carries the simulated latency of a failed request, too.
func answered(a protocol.ModelAnswer, err error) agent.Answered {
	if err != nil && a.Latency == 0 {
		if f, ok := errors.AsType[*llm.Failure](err); ok {
			a.Latency = f.Latency
		}
	}
	return agent.Answered{Model: a, Err: err}
}
