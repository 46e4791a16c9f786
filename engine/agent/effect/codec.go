package effect

import (
	"slices"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent/talk"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

const (
	originFields      = 8  // one more with Served, two more with a Cost, three more with a Budget
	modelAnswerFields = 10 // of an Answered; and one more with an Origin
	callAnswerFields  = 5  // and those of [tool.Left]
)

// AppendMsg implements protocol.Appender, in the form of the log of effects, which
// keeps the kind separately. It panics if Output is not a value of package protocol.
func (x *Answered) AppendMsg(b []byte) []byte {
	if x.Kind != KindModel {
		b = msgp.AppendArrayHeader(b, callAnswerFields+tool.Left(x.Artifacts, x.Carried, x.Hooks))
		b = protocol.AppendInt(b, int64(x.Number))
		b = protocol.AppendValue(b, x.Output)
		b = appendFailure(protocol.AppendInt(b, int64(x.Latency)), x.Err)
		return tool.AppendLeft(b, x.Artifacts, x.Carried, x.Hooks)
	}
	origin := OriginOf(&x.Model)
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
	kind, text := failed(err)
	return msgp.AppendString(msgp.AppendString(b, string(kind)), text)
}

// failed is the kind and the text of a failure.
func failed(err error) (protocol.ErrorKind, string) {
	if err == nil {
		return "", ""
	}
	return protocol.KindOf(err), err.Error()
}

// Settle makes of an answer what [ReadAnswered] makes of its bytes: whoever is given it need
// not read them. It changes the calls of the answer, not their parameters. Its values are
// those of package protocol.
func (x *Answered) Settle() {
	x.Err = Failure(failed(x.Err))
	if x.Kind != KindModel {
		x.Model = protocol.ModelAnswer{}
		if len(x.Artifacts) == 0 {
			x.Artifacts = nil
		}
		return
	}
	x.Output, x.Artifacts, x.Latency, x.Carried, x.Hooks = nil, nil, 0, false, nil
	m := &x.Model
	if len(m.Calls) == 0 {
		m.Calls = nil
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		*c = protocol.Call{ID: c.ID, Tool: c.Tool, Params: c.Params, Broken: c.Broken, Origin: protocol.OriginNative}
		if c.Broken != "" {
			c.Params = nil
		} else if c.Params == nil {
			c.Params = map[string]any{}
		}
	}
	o := m.Origin
	if o == nil {
		m.Usage.CacheWrite, m.Usage.Estimated = 0, false
		return
	}
	o.FirstChunk, o.Reused = 0, false
	if !o.Priced && o.Budget == nil {
		o.Cost = 0
	}
	if len(o.Served) == 0 {
		o.Served = nil
	}
}

// ReadAnswered decodes the answer to a request of that kind.
func ReadAnswered(kind string, raw protocol.Raw) (*Answered, error) {
	x := &Answered{Kind: kind}
	if kind != KindModel {
		r := protocol.NewReader(raw, "answer", callAnswerFields+tool.MaxLeft, callAnswerFields+2, callAnswerFields+1, callAnswerFields)
		x.Number = int(r.Int())
		output := r.Raw()
		x.Latency = time.Duration(r.Int())
		x.Err = readFailure(r)
		x.Artifacts, x.Carried, x.Hooks = tool.ReadLeft(r, callAnswerFields+1)
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
		r.Fields("call", 3)
		c := protocol.Call{ID: r.String(), Tool: r.String(), Origin: protocol.OriginNative}
		params, err := r.Raw().Value()
		if err != nil {
			return nil, err
		}
		talk.SetParams(&c, params)
		x.Model.Calls = append(x.Model.Calls, c)
	}
	x.Model.Finish = protocol.FinishReason(r.Word())
	r.Fields("usage", 4)
	x.Model.Usage = protocol.Usage{Input: r.Int(), Output: r.Int(), CacheRead: r.Int(), Reasoning: r.Int()}
	x.Model.Latency = time.Duration(r.Int())
	x.Err = readFailure(r)
	if r.Has(modelAnswerFields + 1) {
		ReadOrigin(r).Give(&x.Model)
	}
	return x, r.End()
}

func readFailure(r *protocol.Reader) error {
	kind := protocol.ErrorKind(r.Word())
	return Failure(kind, r.String())
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

// ReadOrigin reads what AppendMsg writes.
func ReadOrigin(r *protocol.Reader) *Origin {
	n := r.Fields("origin", originFields, originFields+1, originFields+2, originFields+3)
	o := &Origin{Endpoint: r.Word(), ID: r.String(), Fingerprint: r.Word(), Question: r.String()}
	o.Attempts, o.Refused, o.CacheWrite, o.Estimated = r.Int(), r.String(), r.Int(), r.Bool()
	if n > originFields {
		if o.Served = slices.Clone(r.Raw()); msgp.IsNil(o.Served) {
			o.Served = nil
		}
	}
	if o.Priced = n > originFields+1; o.Priced {
		o.Cost = r.Int()
	}
	if n > originFields+2 {
		n := r.Fields("budget", budgetFields, budgetFields+1)
		o.Budget = &protocol.ModelBudget{Ledger: r.Word(), Saved: r.Bool(), Lost: r.Int(), LostNano: r.Int()}
		if o.Priced = r.Bool(); n > budgetFields {
			o.Budget.Cut = r.Bool()
		}
	}
	return o
}
