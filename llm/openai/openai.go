package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
)

// Provider asks one model at one endpoint.
type Provider struct {
	to      *endpoint.Endpoint
	dialect endpoint.Dialect
	model   string
	stream  bool
	closed  atomic.Bool
}

// New makes a provider of a model, by the endpoint's name of it.
func New(to *endpoint.Endpoint, model string, stream bool) *Provider {
	return &Provider{to: to, dialect: to.Dialect, model: model, stream: stream}
}

// Name implements llm.Provider: the endpoint's.
func (p *Provider) Name() string { return p.to.Name }

// Close implements llm.Provider.
func (p *Provider) Close() error {
	p.closed.Store(true)
	return nil
}

// Complete implements llm.Provider.
func (p *Provider) Complete(ctx context.Context, q protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	if p.closed.Load() {
		return protocol.ModelAnswer{}, p.to.Failed(llm.OutcomeClosed, "the provider is closed")
	}
	names := endpoint.NewNames(&q)
	body, err := p.encode(&q, names)
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	reply, err := p.to.Do(ctx, endpoint.Ask{Path: "/chat/completions", Body: body, Stream: p.stream, Timeout: q.Timeout})
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	defer reply.Close()
	r := &reading{Provider: p, names: names, origin: protocol.ModelOrigin{Endpoint: p.to.Name, Attempts: 1}}
	streamed := strings.HasPrefix(reply.Header.Get("Content-Type"), "text/event-stream") // some servers do not stream although asked
	if streamed {
		err = r.streamed(reply, sink)
	} else {
		err = r.whole(reply)
	}
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	answer, err := r.end(len(body))
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	answer.Latency = time.Since(reply.Began)
	if !streamed {
		return answer, llm.Deliver(&answer, sink)
	}
	return answer, llm.Deliver(&protocol.ModelAnswer{Calls: answer.Calls}, sink)
}

// whole reads an answer that came at once.
func (r *reading) whole(reply *endpoint.Reply) error {
	data, err := reply.ReadAll()
	if err != nil {
		return err
	}
	var c completion
	if err := json.Unmarshal(data, &c); err != nil || len(c.Choices) == 0 {
		return r.unreadable(data, err)
	}
	r.origin.FirstChunk = time.Since(reply.Began)
	_, _, err = r.take(&c)
	return err
}

// streamed reads an answer in parts. It has its end if the server said why it stopped,
// or that it is done.
func (r *reading) streamed(reply *endpoint.Reply, sink llm.Sink) error {
	done, parts := false, 0
	for e, err := range reply.Events() {
		if err != nil {
			return err
		}
		if bytes.Equal(e.Data, []byte("[DONE]")) {
			done = true
			break
		}
		var c completion
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return r.unreadable(e.Data, err)
		}
		if parts++; parts == 1 {
			r.origin.FirstChunk = time.Since(reply.Began)
		}
		text, reasoning, err := r.take(&c)
		if err != nil {
			return err
		}
		if sink != nil && text+reasoning != "" {
			if err := sink(llm.Chunk{Text: r.to.Hide(text), Reasoning: r.to.Hide(reasoning)}); err != nil {
				return err
			}
		}
	}
	switch {
	case parts == 0 && !done:
		return r.to.Failed(llm.OutcomeTruncated, "the stream has no event")
	case r.finish == "" && !done:
		return r.to.Failed(llm.OutcomeTruncated, "the stream ended without its end")
	}
	return nil
}
