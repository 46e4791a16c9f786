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
	// opened; what it and the turns before it asked is dead.
	Ended func(agent string) uint64
	// Failed hears, once and on a goroutine of the log, why nothing is kept any
	// more. It must be quick. May be nil.
	Failed func(error)
	// Observe hears what became of each request: requested, repeated, reused,
	// joined or unknown, and answered. May be nil.
	Observe func(kind, outcome string)
	// DropBytes is how many bytes of facts may come before what is dead is
	// dropped; 0 = 16 MiB.
	DropBytes uint64
}

const (
	defaultDropBytes = 16 << 20
	maxBatch         = 1024 // facts of one commit
)

// Log is the open log of one scene.
//
// Requests run on their callers' goroutines. Facts go through in to the log's own
// goroutine, which appends what has come together and closes a wave over it: one
// commit for all agents that ask at that moment.
type Log struct {
	opts    Options
	journal Journal
	in      chan *entry
	running sync.WaitGroup
	failed  atomic.Bool
	dropped uint64 // bytes of the journal at the last drop; owned by the log's goroutine

	mu    sync.Mutex // guards what follows
	table table
}

// Journal keeps a log. *persistence.Journal is one.
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

// entry is a fact on its way into the journal.
type entry struct {
	effect *Effect
	kind   string
	data   []byte
	seq    uint64
	kept   chan error // gets one element, unless the log fails first
}

// Flight is a request that is out. Whoever got it from [Log.Begin] owes it one
// Answer or Fail.
type Flight struct {
	log    *Log
	effect *Effect
	place  *place

	landed chan struct{} // closed when answer or err is set
	answer protocol.Raw
	err    error
}

// Open takes the journal of a scene's effects, reads what it holds of open turns,
// and owns it from then on.
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

// restore folds the log. How old a fact is does not count until its turn has
// ended: until then nothing is dropped.
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

// Find gives the answer to a request that needs not be carried out: it is kept,
// it is out and answered soon, or it fails because nobody may ask again. false =
// carry it out, by Begin.
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

// Begin keeps a request that is to be carried out; the flight is nil when it has
// its answer already, or its error, as from Find.
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

// settle answers what is not carried out.
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

// Answer keeps the answer. When it returns without an error everybody may hear it.
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

// Fail says that there is no answer: nothing is kept, as when the process had
// ended.
func (f *Flight) Fail(err error) { f.land(nil, err) }

// land lets those go on who joined the flight.
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

// read finds one answer again.
func (l *Log) read(seq uint64) (answer protocol.Raw, err error) {
	err = l.journal.Scan(persistence.Query{From: seq, To: seq}, func(r protocol.Record) error {
		_, raw, err := readFact(r)
		answer = bytes.Clone(raw)
		return err
	})
	return answer, err
}

// keep returns when a fact is durable. When the log cannot be written it waits
// for the end of ctx.
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

// Ended notes that a wave of the scene keeps the end of a turn.
func (l *Log) Ended(agent string, turn, wave uint64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.end(turnKey{agent, turn}, wave)
}

// GivenUp notes that an agent never deliberates again.
func (l *Log) GivenUp(agent string, wave uint64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.giveUp(agent, wave)
}

// Kept notes that a wave of the scene is durable.
func (l *Log) Kept(wave uint64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.table.kept(wave)
}

// Close ends the log and its journal. A log of which nothing is open any more is
// emptied.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	close(l.in)
	l.running.Wait()
	return l.journal.Close()
}
