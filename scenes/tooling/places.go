package tooling

import (
	"context"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/hook"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/tools/toolreplay"
)

// places is the executor of questions of turns to hooks. Without services it answers at once:
// with Replay what was answered then, else that nothing changes.
func (s *Set) places() outside.Entry {
	e := outside.Entry{Kind: effect.KindHook, Executor: (*asking)(s), AtOnce: atOnce + s.hooks.AtOnce()}
	if s.mode() != Live {
		e.Executor = &quiet{asking: (*asking)(s)}
	}
	return e
}

// asking asks the hooks of a place, one after the other.
type asking Set

// Name implements outside.Executor.
func (*asking) Name() string { return "hooks" }

// MayRepeat implements outside.Executor.
func (*asking) MayRepeat(*effect.Ask) bool { return true }

// Do implements outside.Executor.
func (x *asking) Do(ctx context.Context, q *effect.Ask) effect.Answered {
	a, err := x.hooks.Answer(ctx, q)
	if err != nil {
		return effect.Answered{Err: err}
	}
	v, _, err := (*Set)(x).held().Store().Value(a.Value())
	return effect.Answered{Output: v, Err: err}
}

// quiet asks nobody.
type quiet struct{ *asking }

// Answer implements outside.Instant.
func (x *quiet) Answer(q *effect.Ask) effect.Answered {
	s := (*Set)(x.asking)
	if s.mode() != Replay {
		return effect.Answered{Output: (&hook.Answer{}).Value()}
	}
	at := placeOf(q)
	e, ok := s.opt.Recorded.Find(toolreplay.Question(effect.KindHook, q.Call), at)
	if !ok {
		s.replayed.missed.Add(1)
		return effect.Answered{Err: protocol.Errorf(protocol.KindNotFound, "%s", s.opt.Recorded.Missed(at, q.Call))}
	}
	s.replayed.given.Add(1)
	return given(e)
}

// Do implements outside.Executor.
func (x *quiet) Do(_ context.Context, q *effect.Ask) effect.Answered { return x.Answer(q) }
