package agentfact

import (
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// The facts of every deliberation have hand-written msgpack methods, for speed. The
// bytes equal those of the codec.

const (
	turnEndedFields     = 24 // and more with calls of tools
	toolFields          = 5
	turnEndedOld        = 21 // of facts written before events were delivered again
	stateUpdatedFields  = 3
	callMadeFields      = 8
	modelAnsweredFields = 13 // and one more with an Origin
	modelAnsweredOld    = 8  // of facts written before the request's number was kept
	saidFields          = 1
	callAnsweredFields  = 6 // one more with artifacts, two more if it was carried out
)

// AppendMsg implements protocol.Appender.
func (f *TurnEnded) AppendMsg(b []byte) []byte {
	n := uint32(turnEndedFields)
	tools := f.ToolCalls+f.ToolRefused > 0
	if tools {
		n += toolFields
	}
	b = msgp.AppendArrayHeader(b, n)
	b = msgp.AppendUint32(b, f.Agent)
	b = msgp.AppendUint64(b, f.Turn)
	b = msgp.AppendUint64(b, f.Wave)
	b = msgp.AppendString(b, string(f.Outcome))
	b = msgp.AppendString(b, f.Error)
	b = msgp.AppendUint64(b, f.Through)
	for _, n := range [...]int64{f.Perceived, f.Seen, f.Calls, f.ModelCalls, f.TokensIn, f.TokensOut, int64(f.Elapsed), int64(f.SleepUntil)} {
		b = protocol.AppendInt(b, n)
	}
	b = msgp.AppendBool(b, f.Asleep)
	b = protocol.AppendInt(b, int64(f.WakeAbove))
	b = protocol.AppendInt(b, f.Reflections)
	b = protocol.AppendInt(b, f.ModelFailed)
	b = protocol.AppendInt(b, f.Expired)
	b = protocol.AppendInt(b, f.Dropped)
	b = msgp.AppendBool(b, f.Changed)
	b = protocol.AppendInt(b, int64(f.WakeAt))
	b = protocol.AppendInt(b, int64(f.Urgency))
	b = protocol.AppendInt(b, f.Lost)
	if tools {
		for _, n := range [...]int64{f.ToolCalls, int64(f.ToolTime), f.ToolBytes, f.ToolCost, f.ToolRefused} {
			b = protocol.AppendInt(b, n)
		}
	}
	return b
}

func readTurnEnded(raw protocol.Raw) (*TurnEnded, error) {
	r := protocol.NewReader(raw, FactTurnEnded, turnEndedFields+toolFields, turnEndedFields, turnEndedOld)
	f := &TurnEnded{
		Agent: r.Uint32(), Turn: r.Uint(), Wave: r.Uint(), Outcome: Outcome(r.Word()), Error: r.Word(), Through: r.Uint(),
		Perceived: r.Int(), Seen: r.Int(), Calls: r.Int(), ModelCalls: r.Int(), TokensIn: r.Int(), TokensOut: r.Int(),
		Elapsed: time.Duration(r.Int()), SleepUntil: protocol.Time(r.Int()), Asleep: r.Bool(), WakeAbove: r.Priority(), Reflections: r.Int(), ModelFailed: r.Int(), Expired: r.Int(), Dropped: r.Int(), Changed: r.Bool(),
	}
	if r.Has(turnEndedFields) {
		f.WakeAt, f.Urgency, f.Lost = protocol.Time(r.Int()), r.Priority(), r.Int()
	}
	if r.Has(turnEndedFields + toolFields) {
		f.ToolCalls, f.ToolTime, f.ToolBytes, f.ToolCost, f.ToolRefused = r.Int(), time.Duration(r.Int()), r.Int(), r.Int(), r.Int()
	}
	return f, r.End()
}

func (f *StateUpdated) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, stateUpdatedFields)
	b = msgp.AppendString(b, f.Path)
	b = msgp.AppendString(b, f.Op)
	return protocol.AppendRaw(b, f.Value)
}

func readStateUpdated(raw protocol.Raw) (*StateUpdated, error) {
	r := protocol.NewReader(raw, FactStateUpdated, stateUpdatedFields)
	f := &StateUpdated{Path: r.String(), Op: r.Word(), Value: r.Raw()}
	return f, r.End()
}

func (f *CallMade) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, callMadeFields)
	for _, s := range [...]string{f.ID, f.Tool, string(f.Origin)} {
		b = msgp.AppendString(b, s)
	}
	b = protocol.AppendRaw(b, f.Params)
	b = msgp.AppendString(b, string(f.Status))
	b = protocol.AppendRaw(b, f.Output)
	b = msgp.AppendString(b, f.Error)
	return msgp.AppendBool(b, f.Observe)
}

func readCallMade(raw protocol.Raw) (*CallMade, error) {
	r := protocol.NewReader(raw, FactCallMade, callMadeFields)
	f := &CallMade{
		ID: r.String(), Tool: r.Word(), Origin: protocol.Origin(r.Word()), Params: r.Raw(),
		Status: protocol.CallStatus(r.Word()), Output: r.Raw(), Error: r.Word(), Observe: r.Bool(),
	}
	return f, r.End()
}

func (f *ModelAnswered) AppendMsg(b []byte) []byte {
	if f.Origin == nil {
		b = msgp.AppendArrayHeader(b, modelAnsweredFields)
	} else {
		b = msgp.AppendArrayHeader(b, modelAnsweredFields+1)
	}
	b = msgp.AppendString(b, f.Model)
	b = msgp.AppendString(b, f.Text)
	b = protocol.AppendRaw(b, f.Calls)
	b = msgp.AppendString(b, string(f.Finish))
	for _, n := range [...]int64{f.Input, f.Output, int64(f.Latency)} {
		b = protocol.AppendInt(b, n)
	}
	b = msgp.AppendString(b, f.Error)
	b = protocol.AppendInt(b, f.Request)
	b = msgp.AppendString(b, string(f.ErrorKind))
	b = msgp.AppendString(b, f.Reasoning)
	b = protocol.AppendInt(b, f.CacheRead)
	b = protocol.AppendInt(b, f.ReasoningTokens)
	if f.Origin == nil {
		return b
	}
	return f.Origin.AppendMsg(b)
}

func readModelAnswered(raw protocol.Raw) (*ModelAnswered, error) {
	r := protocol.NewReader(raw, FactModelAnswered, modelAnsweredFields+1, modelAnsweredFields, modelAnsweredOld)
	f := &ModelAnswered{
		Model: r.Word(), Text: r.String(), Calls: r.Raw(), Finish: protocol.FinishReason(r.Word()),
		Input: r.Int(), Output: r.Int(), Latency: time.Duration(r.Int()), Error: r.Word(),
	}
	if r.Has(modelAnsweredFields) {
		f.Request, f.ErrorKind, f.Reasoning = r.Int(), protocol.ErrorKind(r.Word()), r.String()
		f.CacheRead, f.ReasoningTokens = r.Int(), r.Int()
	}
	if r.Has(modelAnsweredFields + 1) {
		f.Origin = effect.ReadOrigin(r)
	}
	return f, r.End()
}

func (f *CallAnswered) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, callAnsweredFields+tool.Left(f.Artifacts, f.Carried, f.Hooks))
	b = protocol.AppendInt(msgp.AppendString(b, f.Kind), f.Request)
	b = protocol.AppendRaw(b, f.Output)
	b = protocol.AppendInt(b, int64(f.Latency))
	b = msgp.AppendString(msgp.AppendString(b, string(f.ErrorKind)), f.Error)
	return tool.AppendLeft(b, f.Artifacts, f.Carried, f.Hooks)
}

func readCallAnswered(raw protocol.Raw) (*CallAnswered, error) {
	r := protocol.NewReader(raw, FactCallAnswered, callAnsweredFields+tool.MaxLeft, callAnsweredFields+2, callAnsweredFields+1, callAnsweredFields)
	f := &CallAnswered{Kind: r.Word(), Request: r.Int(), Output: r.Raw(), Latency: time.Duration(r.Int()), ErrorKind: protocol.ErrorKind(r.Word()), Error: r.String()}
	f.Artifacts, f.Carried, f.Hooks = tool.ReadLeft(r, callAnsweredFields+1)
	return f, r.End()
}

func (f *Said) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, saidFields)
	return msgp.AppendString(b, f.Text)
}

func readSaid(raw protocol.Raw) (*Said, error) {
	r := protocol.NewReader(raw, FactSaid, saidFields)
	f := &Said{Text: r.String()}
	return f, r.End()
}
