package outside

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Kinds of the facts of a log (docs/formats/effects.md). Their actor is the agent that
// made the request. FactRequested is durable before the request leaves, FactAnswered
// before the agent receives the answer.
const (
	FactRequested = "effect.requested"
	FactAnswered  = "effect.answered"
)

const (
	requestedFields = 6
	answeredFields  = 5

	requestedSize = 96 // bytes, usually
)

func appendRequested(b []byte, e *Effect) []byte {
	b = msgp.AppendArrayHeader(b, requestedFields)
	b = appendPlace(b, e)
	b = msgp.AppendString(b, e.To)
	return msgp.AppendBool(b, e.MayRepeat)
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
	fields := uint32(requestedFields)
	switch r.Kind {
	case FactRequested:
	case FactAnswered:
		fields = answeredFields
	default:
		return e, nil, protocol.Errorf(protocol.KindUnknown, "effects: a fact of kind %q: this version does not know it; use the version that wrote the run", r.Kind)
	}
	in := protocol.NewReader(r.Data, r.Kind, fields)
	e = Effect{Agent: r.Actor, At: r.Time, Turn: in.Uint(), Request: int(in.Int()), Kind: in.Word(), Question: Question(in.String())}
	if r.Kind == FactRequested {
		e.To, e.MayRepeat = in.Word(), in.Bool()
	} else {
		answer = in.Raw()
	}
	return e, answer, in.End()
}
