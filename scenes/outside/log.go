package outside

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/schedule/chain"
	"tavernsim/llm/gate"
	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// Options of a log.
type Options struct {
	// Ended is the last turn of an agent whose end was durable when the log was
	// opened. Entries of this turn and of earlier ones are obsolete.
	Ended func(agent string) uint64
	// Now is the moment of the last durable wave on the virtual clock; 0 = the scene has another
	// clock. Entries of later turns may be those of shadows.
	Now protocol.Time
	// Ahead: shadows make requests, too.
	Ahead bool
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
	maxBatch         = 1024 // flights of one commit, with a fact or two each
)

// Log is the open log of one scene.
//
// Facts wait in a queue for the log's own goroutine, which appends all that wait as one
// wave. So the agents that make requests at one moment share a commit. Nobody who gives
// a fact to the log waits for it: the log calls back when the fact is durable.
type Log struct {
	opts    Options
	journal Journal
	wake    chan struct{} // holds an element while the queue may have facts
	running sync.WaitGroup
	failed  atomic.Bool
	dropped uint64 // bytes of the journal at the last drop; owned by the log's goroutine

	mu    sync.Mutex // guards the following fields
	table table
	queue []*Flight // whose newest fact is to be kept
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

// Flight is a request in flight. The caller of [Log.Begin] must call Answer or Fail
// once.
type Flight struct {
	log    *Log
	effect *Effect
	place  *place

	// The newest fact, first of the request, then of the answer. kept is called once,
	// unless the log fails first.
	data []byte
	seq  uint64
	kept func(error)
	// A request that needs no note before it leaves; it is kept with the answer. nil = it is kept already.
	asked []byte

	answered bool // the newest fact is the answer's
	head     int  // bytes of it before the answer
	spent    Most // by the answer, under a budget
	began    time.Time

	// The log's lock guards the following fields.
	paused time.Duration // of the time since it began: between attempts
	over   bool          // answer or err is set
	landed chan struct{} // closed when it is over; nil while nobody has joined
	answer protocol.Raw
	err    error
}

// Open takes over the journal of a scene's effects and reads the entries of open turns.
func Open(journal Journal, opts Options) (*Log, error) {
	opts.DropBytes = cmp.Or(opts.DropBytes, defaultDropBytes)
	if opts.Observe == nil {
		opts.Observe = func(string, string) {}
	}
	l := &Log{opts: opts, journal: journal, wake: make(chan struct{}, 1), table: newTable(), dropped: journal.Begin().Total}
	// Entries of a turn that has not ended are never dropped, however old they are.
	if err := l.table.fold(journal, journal.Begin().Number+1, opts.Ended); err != nil {
		return nil, errors.Join(protocol.Errorf(protocol.KindOf(err), "log of effects: %w", err), journal.Close())
	}
	if opts.Now != 0 {
		l.table.later(opts.Now)
	}
	l.table.ahead = opts.Ahead
	wake := l.wake
	l.running.Go(func() { l.run(wake) })
	return l, nil
}

// Agents are those with an open turn that has asked for something.
func (l *Log) Agents() []string {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.agents()
}

// Knows reports whether Find may have the answer to a request. It does not wait.
func (l *Log) Knows(e *Effect) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, _ := l.table.decide(e)
	return !v.out()
}

// answers reports whether the answer to a request is kept, or is still to come under a budget, and has been counted: no shadow
// asked, and no shadow of an earlier process may have. The question is asked for if its place is known at all.
func (l *Log) answers(e *Effect, question func() Question) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.table.find(e)
	counted := p != nil && (p.most != nil && (p.answer > 0 || p.kept() && !p.most.none()) || p.answer > 0 && !p.timed && e.Kind == effect.KindModel)
	return counted && p.question == question()
}

// foretells reports whether the answer to a request of a shadow is kept.
func (l *Log) foretells(e *Effect, question, foretold func() Question) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.table.find(e)
	return p != nil && p.answer > 0 && p.at == e.At && (p.question == foretold() || p.question == question())
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
	if v.out() {
		l.mu.Unlock()
		return nil, false, nil
	}
	seq, f := p.answer, p.flight
	if v == displaced { // what it took counts beside what this one is told
		p.lost, p.most = append(slices.Clip(p.lost), p.charged()...), nil
	}
	foretold := (v == reuse || v == join) && l.table.use(e, p)
	l.mu.Unlock()
	if foretold {
		l.opts.Observe(e.Kind, "foretold")
	}
	answer, err = l.settle(ctx, e, v, seq, f)
	return answer, true, err
}

// Begin keeps a request before it is carried out. It returns at once; kept is called
// when the request is durable, or cannot be. nil = it need not be carried out, as Find
// says. A request that need not be noted may leave at once: it is kept with its answer, and kept is not called
// ([Flight.MayLeave]). One that is too large for a fact may not, so that it fails before it is carried out.
func (l *Log) Begin(e *Effect, kept func(error)) *Flight {
	l.mu.Lock()
	v, _ := l.table.decide(e)
	if !v.out() {
		l.mu.Unlock()
		return nil
	}
	wasted := l.table.shadows.Wasted
	f := &Flight{log: l, effect: e, place: l.table.request(e, l.journal.Durable().Number+1), data: appendRequested(e.room, e), kept: kept, began: time.Now()}
	f.place.flight = f
	if e.Ahead {
		l.table.shadows.Asked++
	}
	wasted = l.table.shadows.Wasted - wasted
	l.mu.Unlock()
	if e.Ahead {
		l.opts.Observe(e.Kind, "ahead")
	}
	if wasted > 0 {
		l.opts.Observe(e.Kind, "wasted")
	}
	l.opts.Observe(e.Kind, v.String())
	if e.noted() || format.CheckFact(e.Agent, FactRequested, f.data) != nil {
		l.keep(f)
	} else {
		f.asked, f.data = slices.Clip(f.data), f.data[len(f.data):]
	}
	return f
}

// MayLeave reports whether the request needs no note before it leaves.
func (f *Flight) MayLeave() bool { return f.asked != nil }

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
	case late:
		return nil, protocol.Errorf(protocol.KindCancelled, "request %d of turn %d: the turn itself has asked something else, or is over", e.Request, e.Turn)
	}
	return nil, e.unknown("the process ended while it was out")
}

// Answer keeps an answer, as appendTo encodes it. It returns at once; then is called when
// the answer is durable and may be delivered, or cannot be.
func (f *Flight) Answer(appendTo func([]byte) []byte, then func(error)) {
	head := appendAnsweredHead(f.data[:0], f.effect)
	f.data, f.answered, f.head, f.kept = appendTo(head), true, len(head), then
	f.log.keep(f)
}

// done is called when the newest fact is durable, or cannot be.
func (f *Flight) done(err error) {
	switch {
	case err != nil && f.answered:
		f.Fail(err)
	case f.answered:
		f.log.opts.Observe(f.effect.Kind, "answered")
		f.land(f.data[f.head:], nil)
	}
	f.kept(err)
}

// Move keeps that another endpoint takes the request over. It returns at once; kept is called
// when that is durable, or cannot be.
func (f *Flight) Move(most *Most, kept func(error)) {
	e := *f.effect
	e.Most = most
	f.effect, f.data, f.kept = &e, appendRequested(f.data[:0], &e), kept
	f.log.mu.Lock()
	f.place.most = most
	f.log.mu.Unlock()
	f.log.keep(f)
}

// TakeBack keeps that nobody has a request under a budget, which has no answer: each of its attempts has failed at no cost, and it
// waits for another one. The caller calls Fail next. It returns at once.
func (f *Flight) TakeBack() {
	f.Move(&Most{Endpoint: f.effect.Most.Endpoint, Moved: true}, func(error) {})
}

// Passed notes that the request passed a gate, and how long it waited there, before it was made or between two
// attempts. Less than a millisecond is none.
func (f *Flight) Passed(g *gate.Gate, d time.Duration, between bool) {
	if d < time.Millisecond {
		d = 0
	}
	places := g.Places()
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	f.place.took.Passed(g.Name(), places, d)
	if between {
		f.paused += d
	}
}

// Fail ends a flight without an answer. Nothing is kept, as after a kill.
func (f *Flight) Fail(err error) { f.land(nil, err) }

// land answers the callers that joined the flight.
func (f *Flight) land(answer protocol.Raw, err error) {
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	if f.over {
		return
	}
	f.answer, f.err, f.over = answer, err, true
	f.place.flight, f.place.took.Took = nil, time.Since(f.began)-f.paused
	if f.landed != nil {
		close(f.landed)
	}
}

// wait returns what becomes of a flight.
func (f *Flight) wait(ctx context.Context) (protocol.Raw, error) {
	f.log.mu.Lock()
	if f.landed == nil && !f.over {
		f.landed = make(chan struct{})
	}
	over, landed := f.over, f.landed
	f.log.mu.Unlock()
	if !over {
		select {
		case <-landed:
		case <-ctx.Done():
			return nil, cancelled(ctx)
		}
	}
	return f.answer, f.err
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

// keep queues the newest fact of a flight. It wakes the log within the lock: once the
// fact is taken, the log may be closed. It may have been closed before, if the call of the
// flight ended meanwhile.
func (l *Log) keep(f *Flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, f)
	select {
	case l.wake <- struct{}{}:
	default: // the log's goroutine will look, or the log is closed
	}
}

// Lost lists the requests of a turn under a budget that were made before a kill, or a failure of
// the agent, and whose answers were not kept; and what requests took in whose place others have been made.
func (l *Log) Lost(agent string, turn uint64) []Lost {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.lost(turnKey{agent, turn})
}

// Out lists the requests of a turn under a budget that are out, with the most that they take, and what those took whose answers
// are kept.
func (l *Log) Out(agent string, turn uint64) []Lost {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.out(turnKey{agent, turn})
}

// Left lists what a turn under a budget has taken and no answer of it says: the requests that are lost, and those that it has not
// made in its last deliberation, by their numbers.
func (l *Log) Left(agent string, turn uint64, made func(request int) bool) []Lost {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.table.left(turnKey{agent, turn}, made)
}

// Open gives what requests under budgets of the open turn of an agent took: those that are lost, and those whose answers are kept
// or still to come, with the most that these take. over = the turn is not begun again: all are lost.
func (l *Log) Open(agent string, over bool) (lost, spent []Lost) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.table.open(agent) {
		if over {
			lost = append(lost, l.table.left(k, func(int) bool { return false })...)
		} else {
			lost, spent = append(lost, l.table.lost(k)...), append(spent, l.table.spent(k)...)
		}
	}
	return lost, spent
}

// Shadows counts what shadows asked for since the log was opened.
func (l *Log) Shadows() Shadows {
	if l == nil {
		return Shadows{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.table.shadows
	s.Barrier += l.table.longest
	return s
}

// Ended records the wave of the scene that holds the end of a turn, and gives how long the requests of
// the turn were under way in this process.
func (l *Log) Ended(agent string, turn, wave uint64) chain.Times {
	if l == nil {
		return chain.Times{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	took, wasted := l.table.end(turnKey{agent, turn}, wave)
	for _, kind := range wasted {
		l.opts.Observe(kind, "wasted")
	}
	return took
}

// GivenUp records the wave from which the open turns of an agent are over: it never deliberates again,
// or was removed.
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
	l.mu.Lock()
	close(l.wake)
	l.wake = nil // what comes now is of calls that have ended: nobody waits for it
	l.mu.Unlock()
	l.running.Wait()
	return l.journal.Close()
}
