package scenes

import (
	"errors"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Bodies of envelopes that only this package sends.

// requests gathers encoded requests for one machine. They are copied, so that
// the messages they came in can go.
type requests struct {
	buf   []byte
	count uint32
}

func (r *requests) add(data protocol.Raw) {
	r.buf = append(r.buf, data...)
	r.count++
}

// take makes the body of an envelope: the count, then the requests one after
// the other.
func (r *requests) take() protocol.Raw {
	body := msgp.AppendUint32(make([]byte, 0, len(r.buf)+5), r.count)
	body = append(body, r.buf...)
	*r = requests{}
	return body
}

// requestReader takes such a body apart again; the parts share its memory.
type requestReader struct {
	rest []byte
	left uint32
}

func readRequests(b protocol.Raw) (*requestReader, error) {
	n, rest, err := msgp.ReadUint32Bytes(b)
	if err != nil || int(n) > len(rest) {
		return nil, protocol.Errorf(protocol.KindCorrupt, "a list of %d requests in %d bytes", n, len(b))
	}
	return &requestReader{rest: rest, left: n}, nil
}

// next gives up to n requests; none = the end.
func (r *requestReader) next(n int) ([]protocol.Raw, error) {
	list := make([]protocol.Raw, min(n, int(r.left)))
	for i := range list {
		after, err := msgp.Skip(r.rest)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindCorrupt, "a request: %w", err)
		}
		list[i], r.rest = protocol.Raw(r.rest[:len(r.rest)-len(after)]), after
	}
	r.left -= uint32(len(list))
	return list, nil
}

// keptAnswer says what became of a wave on its way to the disk.
type keptAnswer struct {
	wave    uint64
	failure error
}

func appendKept(wave uint64, err error) protocol.Raw {
	b := msgp.AppendUint64(nil, wave)
	if err == nil {
		return msgp.AppendString(msgp.AppendString(b, ""), "")
	}
	return msgp.AppendString(msgp.AppendString(b, string(protocol.KindOf(err))), err.Error())
}

func readKept(b protocol.Raw) (a keptAnswer, err error) {
	var rest []byte
	var kind, text string
	if a.wave, rest, err = msgp.ReadUint64Bytes(b); err == nil {
		kind, rest, err = msgp.ReadStringBytes(rest)
	}
	if err == nil {
		text, _, err = msgp.ReadStringBytes(rest)
	}
	if text != "" {
		a.failure = &protocol.Error{Kind: protocol.ErrorKind(kind), Message: text}
	}
	return a, err
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

func encodeAnswer(codec *protocol.Codec, x *agent.Answered) (protocol.Raw, error) {
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

func decodeAnswer(codec *protocol.Codec, raw protocol.Raw) (*agent.Answered, error) {
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

func failureOf(err error) (*llm.Failure, bool) {
	var f *llm.Failure
	return f, errors.As(err, &f)
}
