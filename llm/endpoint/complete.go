package endpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/endpoint/hidden"
	"tavernsim/llm/endpoint/toolcall"
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
	// Answer is what was read, with its tokens counted ([Count]), also if it fails because
	// too little was read. question is the size of the request in bytes. The answer is the caller's; the
	// reader, which may read another one, is not any more.
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
	a := &protocol.ModelAnswer{}
	if err = e.answer(a, r, len(ask.Body), filtered); err != nil {
		return protocol.ModelAnswer{}, err
	}
	a.Latency = time.Since(began)
	a.Origin.FirstChunk = cmp.Or(first, a.Latency)
	if streamed {
		return *a, llm.Deliver(&protocol.ModelAnswer{Calls: a.Calls}, sink)
	}
	return *a, llm.Deliver(a, sink)
}

// answer gives what the reader has read of a question of so many bytes, without the
// secrets.
func (e *Endpoint) answer(a *protocol.ModelAnswer, r Reader, question int, filtered *Filtered) (err error) {
	*a, err = r.Answer(question)
	if filtered != nil {
		a.Finish, a.Calls, err = protocol.FinishFiltered, nil, nil
	}
	if err != nil {
		return err
	}
	toolcall.Unique(a.Calls)
	o := a.Origin
	if o == nil {
		o = new(protocol.ModelOrigin)
	}
	if filtered != nil {
		o.Refused = filtered.Message
	}
	o.Endpoint, o.Attempts = e.Name, 1
	a.Origin = o
	e.hide(a)
	for _, name := range []*string{&a.Model, &o.ID, &o.Fingerprint} {
		*name = protocol.Short(*name, maxName)
	}
	return nil
}

// maxName is how many bytes are kept of what a server calls itself and its answers. It decides nothing, and each fact has it.
const maxName = 200

// exchange posts a question and gives the answer to the reader.
func (e *Endpoint) exchange(ctx context.Context, ask Ask, r Reader, sink llm.Sink) (first time.Duration, streamed bool, err error) {
	reply, err := e.Do(ctx, ask)
	if err != nil {
		return 0, false, err
	}
	defer reply.Close()
	if reply.streams(ask.Stream) {
		first, err = reply.streamed(r, sink)
		return first, true, err
	}
	return 0, false, reply.whole(r)
}

// streams reports whether the answer comes in parts. Some servers do not stream although
// asked; others stream and do not say so, or say that it is JSON.
func (r *Reply) streams(asked bool) bool {
	kind := r.Header.Get("Content-Type")
	if strings.HasPrefix(kind, "text/event-stream") || asked && linesOfJSON(kind) {
		return true
	}
	if !asked || strings.Contains(kind, "html") {
		return false
	}
	if strings.Contains(kind, "json") {
		r.watch.whole() // it is most likely whole, and may be long in coming
	}
	b := bufio.NewReader(r.body)
	start, _ := b.Peek(1)
	r.body = struct {
		io.Reader
		io.Closer
	}{b, r.body}
	return len(start) == 1 && strings.Contains(":de", string(start)) // a comment, data or event
}

// linesOfJSON reports whether a type is of a JSON object in each line.
func linesOfJSON(kind string) bool {
	return strings.Contains(kind, "ndjson") || strings.Contains(kind, "jsonl")
}

func (r *Reply) whole(to Reader) error {
	data, err := r.ReadAll()
	if err != nil {
		return err
	}
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if rest = bytes.TrimSpace(rest); len(rest) == 0 || rest[0] != '{' || !json.Valid(first) {
		return to.Whole(data)
	}
	for line := range bytes.Lines(data) { // a stream that says that it is JSON
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := r.endpoint.foreign(line); err != nil {
			return err
		}
		switch _, err := to.Part(Event{Data: line}); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return r.ended(to)
}

// ended is the failure of a stream that ended without its end.
func (r *Reply) ended(to Reader) error {
	if to.Ended() {
		return nil
	}
	return r.endpoint.Failed(llm.OutcomeTruncated, "the stream ended without its end")
}

// streamed reads an answer in parts. It has its end if the server said why the model
// stopped, or that it is done.
func (r *Reply) streamed(to Reader, sink llm.Sink) (first time.Duration, err error) {
	parts, begun := 0, false
	defer func() {
		if f, ok := errors.AsType[*llm.Failure](err); ok {
			f.Begun = begun
		}
	}()
	shown := showing{sink: sink, text: hidden.Parts{Secrets: r.endpoint.secrets()}, reasoning: hidden.Parts{Secrets: r.endpoint.secrets()}}
	for e, err := range r.Events() {
		if err != nil && to.Ended() && llm.OutcomeOf(err).AskAgain() {
			return first, shown.end() // the model had said all: only the end of the stream is missing
		}
		if err != nil {
			return first, err
		}
		if parts++; parts == 1 {
			first = time.Since(r.Began)
			if err := r.endpoint.foreign(e.Data); err != nil {
				return first, err
			}
		}
		chunk, err := to.Part(e)
		switch {
		case errors.Is(err, io.EOF) || err != nil && e.Cut && to.Ended():
			return first, shown.end()
		case err != nil && e.Cut:
			return first, r.endpoint.Failed(llm.OutcomeTruncated, "the stream ended within an event")
		case err != nil:
			return first, cmp.Or(shown.end(), err) // what a filter stops is an answer
		}
		begun = begun || chunk != (llm.Chunk{})
		if err := shown.next(chunk); err != nil {
			return first, err
		}
	}
	switch {
	case parts == 0 && r.odd != "":
		return first, r.endpoint.Unreadable([]byte(r.odd), nil, "stream of events", "no line of it is of one")
	case parts == 0:
		return first, r.endpoint.Failed(llm.OutcomeTruncated, "the stream has no event")
	}
	if err := r.ended(to); err != nil {
		return first, err
	}
	return first, shown.end()
}

// showing gives a sink what comes, without the secrets.
type showing struct {
	sink            llm.Sink // may be nil
	text, reasoning hidden.Parts
}

func (s *showing) next(c llm.Chunk) error {
	if s.sink == nil {
		return nil
	}
	return s.show(s.text.Next(c.Text), s.reasoning.Next(c.Reasoning))
}

// end shows what was held back.
func (s *showing) end() error { return s.show(s.text.End(), s.reasoning.End()) }

func (s *showing) show(text, reasoning string) error {
	if s.sink == nil || text+reasoning == "" {
		return nil
	}
	return s.sink(llm.Chunk{Text: text, Reasoning: reasoning})
}
