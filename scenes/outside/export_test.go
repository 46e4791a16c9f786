package outside

import (
	"context"

	"tavernsim/engine/agent/effect"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// ToReturn is how long an executor may take to return.
const ToReturn = toReturn

// Span is what the journal of a log begins and ends with.
func (l *Log) Span() (durable, begin persistence.Wave) {
	return l.journal.Durable(), l.journal.Begin()
}

// Do carries a request out by out, as a call does. An error of out is no answer.
func (l *Log) Do(ctx context.Context, e *Effect, out func(context.Context) (protocol.Raw, error)) (protocol.Raw, error) {
	kept := make(chan error, 1)
	f := l.Begin(e, func(err error) { kept <- err })
	if f == nil {
		answer, _, err := l.Find(ctx, e)
		return answer, err
	}
	wait := func() error {
		select {
		case err := <-kept:
			return err
		case <-ctx.Done():
			return cancelled(ctx)
		}
	}
	var err error
	if !f.MayLeave() {
		err = wait()
	}
	var answer protocol.Raw
	if err == nil {
		answer, err = out(ctx)
	}
	if err == nil {
		f.Answer(func(b []byte) []byte { return protocol.AppendRaw(b, answer) }, func(err error) { kept <- err })
		err = wait()
	}
	if err != nil {
		f.Fail(err)
		return nil, err
	}
	return answer, nil
}

// Samples are encoded facts.
func Samples() []protocol.Raw {
	e := &Effect{Agent: "elara", Turn: 7, Request: 1, Kind: "model", To: "fake", Question: Hash([]byte("q")), MayRepeat: true}
	under := *e
	under.Most = &Most{Endpoint: "cloud", Tokens: 1541, Nano: 320000}
	return []protocol.Raw{appendRequested(nil, e), appendRequested(nil, &under), protocol.AppendRaw(appendAnsweredHead(nil, e), protocol.Encode("Good day."))}
}

// Reencode reads a fact and writes it again.
func Reencode(kind string, b []byte) ([]byte, error) {
	e, answer, err := readFact(protocol.Record{Kind: kind, Data: b})
	if err != nil {
		return nil, err
	}
	if kind == FactRequested {
		return appendRequested(nil, &e), nil
	}
	return protocol.AppendRaw(appendAnsweredHead(nil, &e), answer), nil
}

// TextOf reads a fact, and the text of the answer in it, or of its failure.
func TextOf(r protocol.Record) (e Effect, text string, err error) {
	e, answer, err := readFact(r)
	if err != nil || answer == nil {
		return e, "", err
	}
	x, err := effect.ReadAnswered(e.Kind, answer)
	if err != nil {
		return e, "", err
	}
	if x.Err != nil {
		return e, x.Err.Error(), nil
	}
	if text, ok := x.Output.(string); ok {
		return e, text, nil
	}
	return e, x.Model.Text, nil
}
