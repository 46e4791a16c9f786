package openai

import (
	"sync"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/protocol"
)

// chat is the protocol, for one model.
type chat struct {
	to      *endpoint.Endpoint
	dialect endpoint.Dialect
	model   string
	stream  bool

	readings sync.Pool // of *reading, which are empty
}

// New makes a provider of a model, by the endpoint's name of it.
func New(to *endpoint.Endpoint, model string, stream bool) llm.Provider {
	return endpoint.NewModel(to, model, stream, &chat{to: to, dialect: to.Dialect, model: model, stream: stream})
}

// Path implements endpoint.Protocol.
func (*chat) Path() string { return "/chat/completions" }

// Ask implements endpoint.Protocol.
func (p *chat) Ask(q *protocol.ModelRequest) ([]byte, endpoint.Reader, error) {
	r, _ := p.readings.Get().(*reading)
	if r == nil {
		r = new(reading)
	}
	r.chat, r.asked, r.names = p, q, toolcall.Of(q)
	body, err := p.encode(q, &r.names)
	return body, r, err
}

func (p *chat) bad(format string, args ...any) error {
	return p.to.Failed(llm.OutcomeBadRequest, format, args...)
}
