package endpoint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// Reader reads one answer in the format of a protocol.
type Reader interface {
	// Whole reads an answer that came at once.
	Whole(body []byte) error
	// Part reads one event of a stream and gives what is new in it; io.EOF is the
	// stream's end.
	Part(e Event) (llm.Chunk, error)
	// Ended reports whether the server said why the model stopped.
	Ended() bool
	// Answer is what was read. question is the size of the request in bytes.
	Answer(question int) (protocol.ModelAnswer, error)
}

// Complete posts a question and lets the reader read the answer. The sink is given what
// comes, or the whole answer if the server does not stream. What a filter of the server
// stopped is an answer.
func (e *Endpoint) Complete(ctx context.Context, ask Ask, r Reader, sink llm.Sink) (protocol.ModelAnswer, error) {
	began := time.Now()
	first, streamed, err := e.exchange(ctx, ask, r, sink)
	var filtered *Filtered
	if err != nil && !errors.As(err, &filtered) {
		return protocol.ModelAnswer{}, err
	}
	a, err := r.Answer(len(ask.Body))
	if filtered != nil {
		a.Finish, a.Calls, err = protocol.FinishFiltered, nil, nil
	}
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	Unique(a.Calls)
	Count(&a.Usage, len(ask.Body), len(a.Text)+len(a.Reasoning))
	o := protocol.ModelOrigin{}
	if a.Origin != nil {
		o = *a.Origin
	}
	if filtered != nil {
		o.Refused = filtered.Message
	}
	a.Latency = time.Since(began)
	o.Endpoint, o.Attempts, o.FirstChunk = e.Name, 1, cmp.Or(first, a.Latency)
	a.Origin = &o
	if !streamed {
		return a, llm.Deliver(&a, sink)
	}
	return a, llm.Deliver(&protocol.ModelAnswer{Calls: a.Calls}, sink)
}

// exchange posts a question and gives the answer to the reader.
func (e *Endpoint) exchange(ctx context.Context, ask Ask, r Reader, sink llm.Sink) (first time.Duration, streamed bool, err error) {
	reply, err := e.Do(ctx, ask)
	if err != nil {
		return 0, false, err
	}
	defer reply.Close()
	if strings.HasPrefix(reply.Header.Get("Content-Type"), "text/event-stream") { // some servers do not stream although asked
		first, err = reply.streamed(r, sink)
		return first, true, err
	}
	return 0, false, reply.whole(r)
}

func (r *Reply) whole(to Reader) error {
	data, err := r.ReadAll()
	if err != nil {
		return err
	}
	return to.Whole(data)
}

// streamed reads an answer in parts. It has its end if the server said why the model
// stopped, or that it is done.
func (r *Reply) streamed(to Reader, sink llm.Sink) (first time.Duration, err error) {
	parts := 0
	for e, err := range r.Events() {
		if err != nil {
			return first, err
		}
		if parts++; parts == 1 {
			first = time.Since(r.Began)
		}
		chunk, err := to.Part(e)
		if errors.Is(err, io.EOF) {
			return first, nil
		}
		if err != nil {
			return first, err
		}
		if sink != nil && chunk.Text+chunk.Reasoning != "" {
			if err := sink(llm.Chunk{Text: r.endpoint.Hide(chunk.Text), Reasoning: r.endpoint.Hide(chunk.Reasoning)}); err != nil {
				return first, err
			}
		}
	}
	switch {
	case parts == 0:
		return first, r.endpoint.Failed(llm.OutcomeTruncated, "the stream has no event")
	case !to.Ended():
		return first, r.endpoint.Failed(llm.OutcomeTruncated, "the stream ended without its end")
	}
	return first, nil
}
