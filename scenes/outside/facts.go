package outside

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Kinds of the facts of a log (docs/formats/effects.md). Their actor is the agent that made the request.
const (
	// FactRequested is a request. If [Effect] says that it is noted, the fact is durable before the request leaves; otherwise
	// it becomes durable together with FactAnswered.
	FactRequested = "effect.requested"
	// FactAnswered is an answer. It is durable before the agent receives the answer.
	FactAnswered = "effect.answered"
)

const (
	requestedFields = 6 // one more under a budget
	mostFields      = 4
	answeredFields  = 5
)

func appendRequested(b []byte, e *Effect) []byte {
	n := uint32(requestedFields)
	if e.Most != nil {
		n++
	}
	b = msgp.AppendArrayHeader(b, n)
	b = appendPlace(b, e)
	b = msgp.AppendString(b, e.To)
	b = msgp.AppendBool(b, e.MayRepeat)
	if m := e.Most; m != nil {
		b = msgp.AppendArrayHeader(b, mostFields)
		b = msgp.AppendString(b, m.Endpoint)
		b = protocol.AppendInt(protocol.AppendInt(b, m.Tokens), m.Nano)
		b = msgp.AppendBool(b, m.Moved)
	}
	return b
}

// appendAnsweredHead writes what the answer follows.
func appendAnsweredHead(b []byte, e *Effect) []byte {
	b = msgp.AppendArrayHeader(b, answeredFields)
	return appendPlace(b, e)
}

func appendPlace(b []byte, e *Effect) []byte {
	b = msgp.AppendUint64(b, e.Turn)
	b = protocol.AppendInt(b, int64(e.Request))
	b = msgp.AppendString(b, e.Kind)
	return msgp.AppendString(b, string(e.Question))
}

// readFact decodes a fact of a log into its effect, and the answer if it has one.
func readFact(r protocol.Record) (e Effect, answer protocol.Raw, err error) {
	fields, older := uint32(requestedFields+1), uint32(requestedFields)
	switch r.Kind {
	case FactRequested:
	case FactAnswered:
		fields, older = answeredFields, answeredFields
	default:
		return e, nil, protocol.Errorf(protocol.KindUnknown, "effects: a fact of kind %q: this version does not know it; use the version that wrote the run", r.Kind)
	}
	in := protocol.NewReader(r.Data, r.Kind, fields, older)
	e = Effect{Agent: r.Actor, At: r.Time, Turn: in.Uint(), Request: int(in.Int()), Kind: in.Word(), Question: Question(in.String())}
	if r.Kind == FactRequested {
		e.To, e.MayRepeat = in.Word(), in.Bool()
		if in.Has(requestedFields + 1) {
			in.Fields("most", mostFields)
			e.Most = &Most{Endpoint: in.Word(), Tokens: in.Int(), Nano: in.Int(), Moved: in.Bool()}
		}
	} else {
		answer = in.Raw()
	}
	return e, answer, in.End()
}
