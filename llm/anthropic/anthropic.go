package anthropic

import (
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/endpoint/toolcall"
	"tavernsim/protocol"
)

// messages is the protocol, for one model.
type messages struct {
	to     *endpoint.Endpoint
	model  string
	stream bool
}

// New makes a provider of a model, by the endpoint's name of it.
func New(to *endpoint.Endpoint, model string, stream bool) llm.Provider {
	return endpoint.NewModel(to, model, stream, &messages{to: to, model: model, stream: stream})
}

// Path implements endpoint.Protocol.
func (*messages) Path() string { return "/messages" }

// Ask implements endpoint.Protocol.
func (p *messages) Ask(q *protocol.ModelRequest) ([]byte, endpoint.Reader, error) {
	q = withAnswer(q)
	r := &reading{messages: p, asked: q, names: toolcall.Of(q)}
	body, err := p.encode(q, &r.names)
	return body, r, err
}
