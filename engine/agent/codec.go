package agent

import (
	"slices"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent/talk"
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
	originFields        = 8  // one more with Served, two more with a Cost, three more with a Budget
	saidFields          = 1
	callAnsweredFields  = 6 // one more with artifacts
	artifactFields      = 4

	modelAnswerFields = 10 // of an Answered; and one more with an Origin
	callAnswerFields  = 5  // one more with artifacts
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

// AppendMsg implements protocol.Appender.
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

// AppendMsg implements protocol.Appender.
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

// AppendMsg implements protocol.Appender.
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

// AppendMsg implements protocol.Appender. What is not there at the end is left out.
func (o *Origin) AppendMsg(b []byte) []byte {
	n := originFields + min(1, len(o.Served))
	switch {
	case o.Budget != nil:
		n = originFields + 3
	case o.Priced:
		n = originFields + 2
	}
	b = msgp.AppendArrayHeader(b, uint32(n))
	for _, s := range [...]string{o.Endpoint, o.ID, o.Fingerprint, o.Question} {
		b = msgp.AppendString(b, s)
	}
	b = protocol.AppendInt(b, o.Attempts)
	b = msgp.AppendString(b, o.Refused)
	b = protocol.AppendInt(b, o.CacheWrite)
	b = msgp.AppendBool(b, o.Estimated)
	if n > originFields {
		b = protocol.AppendRaw(b, o.Served)
	}
	if n > originFields+1 {
		b = protocol.AppendInt(b, o.Cost)
	}
	if o.Budget != nil {
		b = appendBudget(b, o.Budget, o.Priced)
	}
	return b
}

const budgetFields = 5 // one more with Cut

func appendBudget(b []byte, x *protocol.ModelBudget, priced bool) []byte {
	n := uint32(budgetFields)
	if x.Cut {
		n++
	}
	b = msgp.AppendArrayHeader(b, n)
	b = msgp.AppendString(b, x.Ledger)
	b = msgp.AppendBool(b, x.Saved)
	b = protocol.AppendInt(protocol.AppendInt(b, x.Lost), x.LostNano)
	if b = msgp.AppendBool(b, priced); x.Cut {
		b = msgp.AppendBool(b, true)
	}
	return b
}

func readOrigin(r *protocol.Reader) *Origin {
	n := r.Fields(originFields, originFields+1, originFields+2, originFields+3)
	o := &Origin{Endpoint: r.Word(), ID: r.String(), Fingerprint: r.Word(), Question: r.String()}
	o.Attempts, o.Refused, o.CacheWrite, o.Estimated = r.Int(), r.String(), r.Int(), r.Bool()
	if n > originFields {
		o.Served = slices.Clone(r.Raw())
	}
	if o.Priced = n > originFields+1; o.Priced {
		o.Cost = r.Int()
	}
	if n > originFields+2 {
		n := r.Fields(budgetFields, budgetFields+1)
		o.Budget = &protocol.ModelBudget{Ledger: r.Word(), Saved: r.Bool(), Lost: r.Int(), LostNano: r.Int()}
		if o.Priced = r.Bool(); n > budgetFields {
			o.Budget.Cut = r.Bool()
		}
	}
	return o
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
		f.Origin = readOrigin(r)
	}
	return f, r.End()
}

// AppendMsg implements protocol.Appender.
func (f *CallAnswered) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, callAnsweredFields+uint32(min(1, len(f.Artifacts))))
	b = protocol.AppendInt(msgp.AppendString(b, f.Kind), f.Request)
	b = protocol.AppendRaw(b, f.Output)
	b = protocol.AppendInt(b, int64(f.Latency))
	b = msgp.AppendString(msgp.AppendString(b, string(f.ErrorKind)), f.Error)
	return appendArtifacts(b, f.Artifacts)
}

func readCallAnswered(raw protocol.Raw) (*CallAnswered, error) {
	r := protocol.NewReader(raw, FactCallAnswered, callAnsweredFields+1, callAnsweredFields)
	f := &CallAnswered{Kind: r.Word(), Request: r.Int(), Output: r.Raw(), Latency: time.Duration(r.Int()), ErrorKind: protocol.ErrorKind(r.Word()), Error: r.String()}
	if r.Has(callAnsweredFields + 1) {
		f.Artifacts = readArtifacts(r)
	}
	return f, r.End()
}

// appendArtifacts writes a last field, if there are any.
func appendArtifacts(b []byte, list []tool.Artifact) []byte {
	if len(list) == 0 {
		return b
	}
	b = msgp.AppendArrayHeader(b, uint32(len(list)))
	for i := range list {
		a := &list[i]
		b = msgp.AppendArrayHeader(b, artifactFields)
		b = protocol.AppendInt(msgp.AppendString(b, a.ID), a.Size)
		b = msgp.AppendString(msgp.AppendString(b, a.Type), a.Name)
	}
	return b
}

func readArtifacts(r *protocol.Reader) (list []tool.Artifact) {
	n, _ := r.Count(artifactFields)
	for range n {
		r.Fields(artifactFields)
		list = append(list, tool.Artifact{ID: r.String(), Size: r.Int(), Type: r.Word(), Name: r.String()})
	}
	return list
}

// AppendMsg implements protocol.Appender.
func (f *Said) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, saidFields)
	return msgp.AppendString(b, f.Text)
}

func readSaid(raw protocol.Raw) (*Said, error) {
	r := protocol.NewReader(raw, FactSaid, saidFields)
	f := &Said{Text: r.String()}
	return f, r.End()
}

// AppendMsg implements protocol.Appender, in the form of the log of effects, which
// keeps the kind separately. It panics if Output is not a value of package protocol.
func (x *Answered) AppendMsg(b []byte) []byte {
	if x.Kind != KindModel {
		b = msgp.AppendArrayHeader(b, callAnswerFields+uint32(min(1, len(x.Artifacts))))
		b = protocol.AppendInt(b, int64(x.Number))
		b = protocol.AppendValue(b, x.Output)
		b = appendFailure(protocol.AppendInt(b, int64(x.Latency)), x.Err)
		return appendArtifacts(b, x.Artifacts)
	}
	origin := originOf(&x.Model)
	if origin == nil {
		b = msgp.AppendArrayHeader(b, modelAnswerFields)
	} else {
		b = msgp.AppendArrayHeader(b, modelAnswerFields+1)
	}
	b = protocol.AppendInt(b, int64(x.Number))
	for _, s := range [...]string{x.Model.Model, x.Model.Text, x.Model.Reasoning} {
		b = msgp.AppendString(b, s)
	}
	if x.Model.Calls == nil {
		b = msgp.AppendNil(b)
	} else {
		b = msgp.AppendArrayHeader(b, uint32(len(x.Model.Calls)))
	}
	for i := range x.Model.Calls {
		c := &x.Model.Calls[i]
		b = msgp.AppendArrayHeader(b, 3)
		b = msgp.AppendString(msgp.AppendString(b, c.ID), c.Tool)
		b = talk.AppendParams(b, c)
	}
	b = msgp.AppendString(b, string(x.Model.Finish))
	b = msgp.AppendArrayHeader(b, 4)
	u := &x.Model.Usage
	for _, n := range [...]int64{u.Input, u.Output, u.CacheRead, u.Reasoning} {
		b = protocol.AppendInt(b, n)
	}
	b = appendFailure(protocol.AppendInt(b, int64(x.Model.Latency)), x.Err)
	if origin == nil {
		return b
	}
	return origin.AppendMsg(b)
}

func appendFailure(b []byte, err error) []byte {
	if err == nil {
		return msgp.AppendString(msgp.AppendString(b, ""), "")
	}
	return msgp.AppendString(msgp.AppendString(b, string(protocol.KindOf(err))), err.Error())
}

// ReadAnswered decodes the answer to a request of that kind.
func ReadAnswered(kind string, raw protocol.Raw) (*Answered, error) {
	x := &Answered{Kind: kind}
	if kind != KindModel {
		r := protocol.NewReader(raw, "answer", callAnswerFields+1, callAnswerFields)
		x.Number = int(r.Int())
		output := r.Raw()
		x.Latency = time.Duration(r.Int())
		x.Err = readFailure(r)
		if r.Has(callAnswerFields + 1) {
			x.Artifacts = readArtifacts(r)
		}
		if err := r.End(); err != nil {
			return nil, err
		}
		var err error
		x.Output, err = output.Value()
		return x, err
	}
	r := protocol.NewReader(raw, "answer", modelAnswerFields+1, modelAnswerFields)
	x.Number, x.Model.Model, x.Model.Text, x.Model.Reasoning = int(r.Int()), r.Word(), r.String(), r.String()
	n, _ := r.Count(3)
	for range n {
		r.Fields(3)
		c := protocol.Call{ID: r.String(), Tool: r.String(), Origin: protocol.OriginNative}
		params, err := r.Raw().Value()
		if err != nil {
			return nil, err
		}
		talk.SetParams(&c, params)
		x.Model.Calls = append(x.Model.Calls, c)
	}
	x.Model.Finish = protocol.FinishReason(r.Word())
	r.Fields(4)
	x.Model.Usage = protocol.Usage{Input: r.Int(), Output: r.Int(), CacheRead: r.Int(), Reasoning: r.Int()}
	x.Model.Latency = time.Duration(r.Int())
	x.Err = readFailure(r)
	if r.Has(modelAnswerFields + 1) {
		readOrigin(r).give(&x.Model)
	}
	return x, r.End()
}

func readFailure(r *protocol.Reader) error {
	kind := protocol.ErrorKind(r.Word())
	return recordedError(kind, r.String())
}
