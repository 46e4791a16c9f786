package agentfact

import (
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/talk"
	"tavernsim/protocol"
)

// AnswerOfModel is the fact of a model's answer, without the calls that it has.
func AnswerOfModel(x *effect.Answered) ModelAnswered {
	m := &x.Model
	f := ModelAnswered{
		Model: m.Model, Text: m.Text, Finish: m.Finish, Latency: m.Latency, Request: int64(x.Number), Reasoning: m.Reasoning,
		Input: m.Usage.Input, Output: m.Usage.Output, CacheRead: m.Usage.CacheRead, ReasoningTokens: m.Usage.Reasoning, Origin: effect.OriginOf(m),
	}
	if x.Err != nil {
		f.Error, f.ErrorKind = x.Err.Error(), protocol.KindOf(x.Err)
	}
	return f
}

// AnswerOfCall is the fact of a call's answer, without its output. took is its latency, also on the realtime clock.
func AnswerOfCall(x *effect.Answered, took time.Duration) *CallAnswered {
	f := &CallAnswered{Kind: x.Kind, Request: int64(x.Number), Latency: took, Artifacts: x.Artifacts, Carried: x.Carried, Hooks: x.Hooks}
	if x.Err != nil {
		f.Error, f.ErrorKind = x.Err.Error(), protocol.KindOf(x.Err)
	}
	return f
}

// Answered implements Recorded.
func (f *ModelAnswered) Answered() (x *effect.Answered, ok bool) {
	x = &effect.Answered{Kind: effect.KindModel, Number: int(f.Request), Model: protocol.ModelAnswer{
		Model: f.Model, Text: f.Text, Reasoning: f.Reasoning, Finish: f.Finish, Latency: f.Latency,
		Usage: protocol.Usage{Input: f.Input, Output: f.Output, CacheRead: f.CacheRead, Reasoning: f.ReasoningTokens},
	}}
	f.Origin.Give(&x.Model)
	x.Model.Calls, ok = talk.ReadCalls(f.Calls)
	if x.Err = effect.Failure(f.ErrorKind, f.Error); x.Err != nil {
		ok = ok && f.Request > 0
	}
	return x, ok
}

func (f *CallAnswered) Answered() (x *effect.Answered, ok bool) {
	v, err := f.Output.Value()
	return &effect.Answered{Kind: f.Kind, Number: int(f.Request), Output: v, Latency: f.Latency, Artifacts: f.Artifacts, Carried: f.Carried, Hooks: f.Hooks, Err: effect.Failure(f.ErrorKind, f.Error)}, err == nil
}

func (f *HookAnswered) Answered() (x *effect.Answered, ok bool) {
	v, err := f.Output.Value()
	return &effect.Answered{Kind: effect.KindHook, Number: int(f.Request), Output: v, Err: effect.Failure(f.ErrorKind, f.Error)}, err == nil
}
