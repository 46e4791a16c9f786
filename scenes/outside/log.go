package outside

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

// Options of a log.
type Options struct {
	// Ended is the last turn of an agent whose end was durable when the log was
	// opened. Entries of this turn and of earlier ones are obsolete.
	Ended func(agent string) uint64
	// Failed is called once, on a goroutine of the log, if the log cannot be written.
	// It must return soon. May be nil.
	Failed func(error)
	// Observe gets the outcome of each request: requested, repeated, reused, joined
	// or unknown, and answered. May be nil.
	Observe func(kind, outcome string)
	// DropBytes bounds the bytes of facts between two drops of obsolete entries;
	// 0 = 16 MiB.
	DropBytes uint64
}

const (
	defaultDropBytes = 16 << 20
	maxBatch         = 1024 // facts of one commit
)

// Log is the open log of one scene.
//
// Requests run on their callers' goroutines. Facts go through the channel in to the
// log's own goroutine, which appends all waiting facts as one wave. So the agents that
// make requests at one moment share a commit.
type Log struct {
	opts    Options
	journal Journal
	in      chan *entry
	running sync.WaitGroup
	failed  atomic.Bool
	dropped uint64 // bytes of the journal at the last drop; owned by the log's goroutine

	mu    sync.Mutex // guards the following fields
	table table
}

// Journal is the part of *persistence.Journal that a log uses.
type Journal interface {
	Begin() persistence.Wave
	Durable() persistence.Wave
	Scan(q persistence.Query, yield func(protocol.Record) error) error
	Append(at protocol.Time, actor, kind string, data []byte) (uint64, error)
	CloseWave(done func(persistence.Wave, error)) (uint64, error)
	Sync(ctx context.Context) (persistence.Wave, error)
	Forget(wave uint64) error
	Err() error
	Close() error
}

// entry is a fact that waits to be kept.
type entry struct {
	effect *Effect
	kind   string
	data   []byte
	seq    uint64
	kept   chan error // gets one element, unless the log fails first
}

// Flight is a request in flight. The caller of [Log.Begin] must call Answer or Fail
// once.
type Flight struct {
	log    *Log
	effect *Effect
	place  *place

	landed chan struct{} // closed when answer or err is set
	answer protocol.Raw
	err    error
}

// Open takes over the journal of a scene's effects and reads the entries of open turns.
func Open(journal Journal, opts Options) (*Log, error) {
	if opts.DropBytes == 0 {
		opts.DropBytes = defaultDropBytes
	}
	if opts.Observe == nil {
		opts.Observe = func(string, string) {}
	}
	l := &Log{opts: opts, journal: journal, in: make(chan *entry), table: newTable(), dropped: journal.Begin().Total}
	if err := l.restore(); err != nil {
		return nil, errors.Join(protocol.Errorf(protocol.KindOf(err), "log of effects: %w", err), journal.Close())
	}
	l.running.Go(l.run)
	return l, nil
}

// restore folds the log. Entries of a turn that has not ended are never dropped,
// however old they are.
func (l *Log) restore() error {
	wave := l.journal.Begin().Number + 1
	return l.journal.Scan(persistence.Query{}, func(r protocol.Record) error { return l.apply(r, wave) })
}

func (l *Log) apply(r protocol.Record, wave uint64) error {
	e, _, err := readFact(r)
	if err != nil || (l.opts.Ended != nil && e.Turn <= l.opts.Ended(e.Agent)) {
		return err
	}
	if r.Kind == FactRequested {
		l.table.request(&e, wave)
		return nil
	}
	l.table.answered(&e, r.Seq)
	return nil
}

// Knows reports whether Find may have the answer to a request. It does not wait.
func (l *Log) Knows(e *Effect) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, _ := l.table.decide(e)
	return !v.out()
}

// Find answers a request that need not be carried out: its answer is kept, or it is in
// flight already, or it fails because it must not be repeated. false = the caller
// carries it out, with Begin.
func (l *Log) Find(ctx context.Context, e *Effect) (answer protocol.Raw, found bool, err error) {
	if l == nil {
		return nil, false, nil
	}
	l.mu.Lock()
	v, p := l.table.decide(e)
	seq, f := p.state()
	l.mu.Unlock()
	if v.out() {
		return nil, false, nil
	}
	answer, err = l.settle(ctx, e, v, seq, f)
	return answer, true, err
}

// Begin keeps a request before it is carried out. The flight is nil if there is an
// answer or an error already, as from Find.
func (l *Log) Begin(ctx context.Context, e *Effect) (f *Flight, answer protocol.Raw, err error) {
	l.mu.Lock()
	v, p := l.table.decide(e)
	seq, other := p.state()
	if v.out() {
		f = &Flight{log: l, effect: e, place: l.table.request(e, l.journal.Durable().Number+1), landed: make(chan struct{})}
		f.place.flight = f
	}
	l.mu.Unlock()
	if f == nil {
		answer, err = l.settle(ctx, e, v, seq, other)
		return nil, answer, err
	}
	l.opts.Observe(e.Kind, v.String())
	if err := l.keep(ctx, e, FactRequested, appendRequested(nil, e)); err != nil {
		f.Fail(err)
		return nil, nil, err
	}
	return f, nil, nil
}

// settle answers a request that is not carried out.
func (l *Log) settle(ctx context.Context, e *Effect, v verdict, seq uint64, f *Flight) (protocol.Raw, error) {
	l.opts.Observe(e.Kind, v.String())
	switch v {
	case reuse:
		return l.read(seq)
	case join:
		return f.wait(ctx)
	case displaced:
		return nil, e.unknown("another request was made in its place before the process ended")
	}
	return nil, e.unknown("the process ended while it was out")
}

// Answer keeps the answer. If it returns no error, the answer may be delivered.
func (f *Flight) Answer(ctx context.Context, answer protocol.Raw) error {
	l := f.log
	if err := l.keep(ctx, f.effect, FactAnswered, appendAnswered(nil, f.effect, answer)); err != nil {
		f.Fail(err)
		return err
	}
	l.opts.Observe(f.effect.Kind, "answered")
	f.land(answer, nil)
	return nil
}

// Fail ends a flight without an answer. Nothing is kept, as after a kill.
func (f *Flight) Fail(err error) { f.land(nil, err) }

// land answers the callers that joined the flight.
func (f *Flight) land(answer protocol.Raw, err error) {
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	f.answer, f.err = answer, err
	f.place.flight = nil
	close(f.landed)
}

func (f *Flight) wait(ctx context.Context) (protocol.Raw, error) {
	select {
	case <-f.landed:
		return f.answer, f.err
	case <-ctx.Done():
		return nil, cancelled(ctx)
	}
}

func cancelled(ctx context.Context) error {
	return protocol.Errorf(protocol.KindCancelled, "effects: %w", context.Cause(ctx))
}

// read reads a kept answer.
func (l *Log) read(seq uint64) (answer protocol.Raw, err error) {
	err = l.journal.Scan(persistence.Query{From: seq, To: seq}, func(r protocol.Record) error {
		_, raw, err := readFact(r)
		answer = bytes.Clone(raw)
		return err
	})
	return answer, err
}

// keep returns when a fact is durable. If the log cannot be written, it waits until ctx
// is done.
func (l *Log) keep(ctx context.Context, e *Effect, kind string, data []byte) error {
	x := &entry{effect: e, kind: kind, data: data, kept: make(chan error, 1)}
	l.in <- x
	select {
	case err := <-x.kept:
		return err
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

// Ended records the wave of the scene that holds the end of a turn.
func (l *Log) Ended(agent string, turn, wave uint64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.end(turnKey{agent, turn}, wave)
}

// GivenUp records the wave from which an agent never deliberates again.
func (l *Log) GivenUp(agent string, wave uint64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.giveUp(agent, wave)
}

// Kept records that a wave of the scene is durable.
func (l *Log) Kept(wave uint64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.kept(wave)
}

// Close closes the log and its journal. It empties a log without open turns.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	close(l.in)
	l.running.Wait()
	return l.journal.Close()
}
