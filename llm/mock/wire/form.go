package wire

import (
	"cmp"
	"strings"
)

// Protocol says how a request is written.
type Protocol uint8

// The protocols.
const (
	Chat       Protocol = iota // chat completions of OpenAI
	Messages                   // messages of Anthropic
	Embeddings                 // embeddings of OpenAI
)

// Form says which form of which protocol an answer has; a set of them is a sum.
type Form uint8

// The forms.
const (
	ChatPlain Form = 1 << iota
	ChatStream
	MessagesPlain
	MessagesStream
	Vectors

	Streams = ChatStream | MessagesStream
	Spoken  = ChatPlain | MessagesPlain | Streams // by a model
	All     = Spoken | Vectors
)

// FormOf is the form that a question wants.
func FormOf(p Protocol, stream bool) Form {
	switch {
	case p == Embeddings:
		return Vectors
	case p == Messages && stream:
		return MessagesStream
	case p == Messages:
		return MessagesPlain
	case stream:
		return ChatStream
	}
	return ChatPlain
}

// Refusal is the form in which a request for a path, without its version, is refused. Paths below that of messages are
// of that protocol, whose clients read no other form.
func Refusal(p Protocol, path string) Form {
	if strings.HasPrefix(path, "messages/") {
		return MessagesPlain
	}
	return FormOf(p, false)
}

// Anthropic reports whether the form is one of messages.
func (f Form) Anthropic() bool { return f&(MessagesPlain|MessagesStream) != 0 }

// Streaming reports whether the form is a stream.
func (f Form) Streaming() bool { return f&Streams != 0 }

// ContentType of an answer of this form.
func (f Form) ContentType() string {
	if f.Streaming() {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

// Problem is an answer that is an error, in the words of both families. Zero fields
// of Anthropic are those of OpenAI.
type Problem struct {
	Status, AnthropicStatus int
	Kind, AnthropicKind     string
	Code                    string // of OpenAI; "" = null
	Text                    string
}

// Wrong is the problem of a request that is not what was expected.
func Wrong(status int, text string) Problem {
	p := Problem{Status: status, Kind: "invalid_request_error", Text: text}
	if status == 404 {
		p.AnthropicKind = "not_found_error"
	}
	return p
}

// For is the status and the body of the problem. id may be empty.
func (b Problem) For(f Form, id string) (status int, body string) {
	var p Page
	if !f.Anthropic() {
		p.Add(`{"error":{"message":`)
		p.text(b.Text)
		p.Add(`,"type":"`, b.Kind, `","param":null,"code":`)
		if b.Code == "" {
			p.Add("null}}")
		} else {
			p.Add(`"`, b.Code, `"}}`)
		}
		return b.Status, string(p.Body)
	}
	p.Add(`{"type":"error","error":{"type":"`, cmp.Or(b.AnthropicKind, b.Kind), `","message":`)
	p.text(b.Text)
	p.Add("}")
	if id != "" {
		p.Add(`,"request_id":"req_`, id, `"`)
	}
	p.Add("}")
	return cmp.Or(b.AnthropicStatus, b.Status), string(p.Body)
}

// Event is the problem as an event within a stream.
func (b Problem) Event(f Form) string {
	_, body := b.For(f, "")
	if f.Anthropic() {
		return "event: error\ndata: " + body + "\n\n"
	}
	return "data: " + body + "\n\n"
}
