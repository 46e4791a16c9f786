package outside

import (
	"errors"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Answered is what an agent is told of a call. It carries the simulated latency of a failed call, too.
func Answered(request int, answer protocol.ModelAnswer, err error) *agent.Answered {
	var f *llm.Failure
	if errors.As(err, &f) && answer.Latency == 0 {
		answer.Latency = f.Latency
	}
	return &agent.Answered{Request: request, Answer: answer, Err: err}
}

// modelAnswer is a model's answer on its way through a mailbox.
type modelAnswer struct {
	Request   int
	Model     string
	Text      string
	Reasoning string
	Calls     []modelCall
	Finish    protocol.FinishReason
	Usage     protocol.Usage
	Latency   time.Duration
	ErrorKind protocol.ErrorKind
	Error     string
}

type modelCall struct {
	ID     string
	Tool   string
	Params protocol.Raw
}

// EncodeAnswer writes it.
func EncodeAnswer(codec *protocol.Codec, x *agent.Answered) (protocol.Raw, error) {
	a := modelAnswer{
		Request: x.Request, Model: x.Answer.Model, Text: x.Answer.Text, Reasoning: x.Answer.Reasoning,
		Finish: x.Answer.Finish, Usage: x.Answer.Usage, Latency: x.Answer.Latency,
	}
	for _, c := range x.Answer.Calls {
		params, err := protocol.Normalize(c.Params)
		if err != nil {
			return nil, err
		}
		a.Calls = append(a.Calls, modelCall{ID: c.ID, Tool: c.Tool, Params: protocol.Encode(params)})
	}
	if x.Err != nil {
		a.ErrorKind, a.Error = protocol.KindOf(x.Err), x.Err.Error()
	}
	return codec.Marshal(&a)
}

// DecodeAnswer reads it.
func DecodeAnswer(codec *protocol.Codec, raw protocol.Raw) (*agent.Answered, error) {
	var a modelAnswer
	if err := codec.Unmarshal(raw, &a); err != nil {
		return nil, err
	}
	x := &agent.Answered{Request: a.Request, Answer: protocol.ModelAnswer{
		Model: a.Model, Text: a.Text, Reasoning: a.Reasoning, Finish: a.Finish, Usage: a.Usage, Latency: a.Latency,
	}}
	for _, c := range a.Calls {
		v, err := c.Params.Value()
		if err != nil {
			return nil, err
		}
		params, _ := v.(map[string]any)
		x.Answer.Calls = append(x.Answer.Calls, protocol.Call{ID: c.ID, Tool: c.Tool, Params: params, Origin: protocol.OriginNative})
	}
	if a.Error != "" {
		x.Err = &protocol.Error{Kind: a.ErrorKind, Message: a.Error}
	}
	return x, nil
}

// appendQuestion writes what the model reads of a request: equal questions are
// equal bytes. Time, chance and who asks do not belong to it.
func appendQuestion(b []byte, provider string, q *protocol.ModelRequest) []byte {
	b = msgp.AppendString(msgp.AppendString(b, provider), q.Model)
	b = msgp.AppendArrayHeader(b, uint32(len(q.Messages)))
	for i := range q.Messages {
		m := &q.Messages[i]
		b = msgp.AppendString(msgp.AppendString(msgp.AppendString(b, string(m.Role)), m.CallID), m.Text)
		b = msgp.AppendArrayHeader(b, uint32(len(m.Calls)))
		for k := range m.Calls {
			b = msgp.AppendString(msgp.AppendString(b, m.Calls[k].ID), m.Calls[k].Tool)
			b = appendAny(b, m.Calls[k].Params)
		}
	}
	b = msgp.AppendArrayHeader(b, uint32(len(q.Tools)))
	for i := range q.Tools {
		b = msgp.AppendString(msgp.AppendString(b, q.Tools[i].Name), q.Tools[i].Description)
		b = appendAny(b, q.Tools[i].Parameters)
	}
	b = msgp.AppendBool(msgp.AppendInt(b, q.MaxTokens), q.JSON)
	if q.Temperature != nil {
		b = msgp.AppendFloat64(b, *q.Temperature)
	}
	return protocol.AppendStrings(b, q.Stop)
}

// appendAny writes what a caller took for a value; what is none by its text.
func appendAny(b []byte, v any) []byte {
	n, err := protocol.Normalize(v)
	if err != nil {
		return msgp.AppendString(b, err.Error())
	}
	return protocol.AppendValue(b, n)
}
