package persistence

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// Journal is the open journal of one scene.
//
// A fact goes from Append into the open block; a full block goes through work
// to the writer, which hashes and compresses it and starts its batch; the batch
// that closes a wave goes through acks to the acker, which waits until it is
// durable and answers. Blocks come back through free. The channels are the
// bounds; Close closes work, the writer closes acks. A direct journal has neither
// goroutine: who closes a wave does all of this.
type Journal struct {
	store *Store
	scene string

	// Owned by the one who appends.

	open      *staged // nil while no fact is staged
	nextSeq   uint64
	wave      uint64 // number of the wave that is being filled
	waveFirst uint64
	note      []byte // for the wave that is being filled; nil = none
	shut      bool

	work    chan task
	free    chan *staged
	acks    chan *ack
	ahead   ahead    // waves that are closed and not answered
	lazy    bool     // waves that nobody waits for share a sync
	direct  *writer  // nil = the writer has a goroutine; owned by the one who appends
	answers *answers // of a direct journal
	running sync.WaitGroup

	failure atomic.Pointer[error]
	staged  atomic.Uint64 // last seq that was handed to the writer

	mu        sync.Mutex // guards what follows
	head      format.Head
	durable   Wave
	followers followers

	saving sync.Mutex // held while a snapshot is saved: one at a time
}

// staged is a block that is being filled or written. It belongs to the goroutine
// that took it from a channel.
type staged struct {
	first   uint64
	count   int
	facts   []byte
	summary *format.Summary
	singly  []single // facts whose traces are not in the summary; those of sheaves are
}

// single is a fact that was appended by itself. The writer reads its traces, which for a fact that
// names many takes longer than to append it.
type single struct {
	kind     string
	from, to int // of the block: its data
}

// task is work for the writer. Without a block it only passes through, so that
// its answer keeps its place.
type task struct {
	block     *staged
	wave      uint64
	closing   bool
	waveFirst uint64
	facts     uint64 // of the wave that it closes
	later     bool   // nobody waits for the wave: its sync may wait for others
	note      []byte // that is kept with the wave; nil = none
	done      func(Wave, error)
	closedAt  time.Time
}

func newJournal(s *Store, scene string, head format.Head, last Wave, direct bool) *Journal {
	j := &Journal{
		store: s, scene: scene, head: head, durable: last,
		nextSeq: last.Last + 1, wave: last.Number + 1, waveFirst: last.Last + 1,
		work:  make(chan task, s.opts.StagedBlocks),
		free:  make(chan *staged, s.opts.StagedBlocks),
		acks:  make(chan *ack, max(s.opts.OpenWaves, maxSmallWaves)),
		ahead: newAhead(s.opts), lazy: s.opts.Durability == Power,
	}
	j.staged.Store(last.Last)
	if s.opts.ReadOnly {
		j.followers.over = true
		j.fail(protocol.Errorf(protocol.KindDenied, "persistence: journal of scene %q: the store is open for reading only", scene))
		return j
	}
	for range s.opts.StagedBlocks {
		j.free <- &staged{summary: format.NewSummary(s.opts.BatchFacts, s.opts.Traces.Rule)}
	}
	if direct {
		j.direct, j.answers = newWriter(j, last), &answers{j: j}
		return j
	}
	j.running.Go(func() { newWriter(j, last).run() })
	j.running.Go(j.answer)
	return j
}

// Durable is the last durable wave. Reading ends with it.
func (j *Journal) Durable() Wave {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

// Begin is the wave before the first one that is kept: its number and last seq
// are 0 unless facts were dropped.
func (j *Journal) Begin() Wave {
	j.mu.Lock()
	defer j.mu.Unlock()
	return beginning(j.head)
}

// Pending is the number of facts that were handed over for writing and are not
// durable yet.
func (j *Journal) Pending() uint64 {
	last := j.Durable().Last
	return max(j.staged.Load(), last) - last
}

// Err is the reason why the journal takes nothing more, or nil.
func (j *Journal) Err() error {
	if p := j.failure.Load(); p != nil {
		return *p
	}
	return nil
}

func (j *Journal) fail(err error) { j.failure.CompareAndSwap(nil, &err) }

// Append stages one fact of the open wave and returns its seq. It copies data
// and keeps the strings until their block is written. It waits when
// Options.StagedBlocks blocks are waiting for the database.
func (j *Journal) Append(at protocol.Time, actor, kind string, data []byte) (uint64, error) {
	if p := j.failure.Load(); p != nil {
		return 0, *p
	}
	if len(actor) > format.MaxActor || len(kind) > format.MaxKind || len(data) > format.MaxData {
		err := format.CheckFact(actor, kind, data)
		return 0, protocol.Errorf(protocol.KindOf(err), "persistence: journal of scene %q: append: %w", j.scene, err)
	}
	b := j.open
	// A full block waits for the next fact or the wave's end, so that the block
	// that closes a wave is never empty.
	if b != nil && (b.count == j.store.opts.BatchFacts || len(b.facts)+format.FactSize(actor, kind, data) > j.store.opts.BatchBytes) {
		j.hand(task{})
		b = nil
	}
	if b == nil {
		b = j.begin()
	}
	b.facts = format.AppendFact(b.facts, at, actor, kind, data)
	b.summary.Add(at, actor, kind)
	if j.store.opts.Traces.Of != nil {
		b.singly = append(b.singly, single{kind, len(b.facts) - len(data), len(b.facts)})
	}
	b.count++
	j.nextSeq++
	return j.nextSeq - 1, nil
}

// AppendSheaf appends the facts of a sheaf, as Append does one by one. It copies the facts and keeps
// the strings.
func (j *Journal) AppendSheaf(s *format.Sheaf) error {
	if p := j.failure.Load(); p != nil {
		return *p
	}
	opts := &j.store.opts
	if s.Count > opts.BatchFacts || len(s.Facts) > opts.BatchBytes { // no block holds it
		return s.Each(func(f format.Fact) error {
			_, err := j.Append(f.Time, string(f.Actor), string(f.Kind), f.Data)
			return err
		})
	}
	if b := j.open; b != nil && (b.count+s.Count > opts.BatchFacts || len(b.facts)+len(s.Facts) > opts.BatchBytes) {
		j.hand(task{})
	}
	b := j.open
	if b == nil {
		b = j.begin()
	}
	b.facts = append(b.facts, s.Facts...)
	b.summary.AddSheaf(s)
	b.count += s.Count
	j.nextSeq += uint64(s.Count)
	return nil
}

// begin takes a free block.
func (j *Journal) begin() *staged {
	var b *staged
	select {
	case b = <-j.free:
	default:
		start := time.Now()
		b = <-j.free
		j.store.opts.Observer.Waited(j.scene, time.Since(start))
	}
	b.first = j.nextSeq
	j.open = b
	return b
}

// hand gives the open block to the writer. work has room for every block.
func (j *Journal) hand(t task) {
	t.block, t.wave, t.waveFirst = j.open, j.wave, j.waveFirst
	j.open = nil
	j.staged.Store(j.nextSeq - 1)
	j.pass(t)
}

// pass gives a task to the writer, or carries it out.
func (j *Journal) pass(t task) {
	if j.direct == nil {
		j.work <- t
		return
	}
	if a := j.direct.take(t); t.closing {
		j.answers.take(a)
	}
}

// CloseWave ends the wave. done, which may be nil, is called once: with the wave
// when it and every wave before it is durable, or with what keeps it from
// becoming so. Calls come in the order of waves, from a goroutine of the
// journal; done must be quick and must not call Append, CloseWave or Close.
//
// A wave without facts is no wave: done gets the last wave that is one.
// CloseWave waits when too many waves are not answered (Options.OpenWaves). It
// returns the number of the wave; when it returns an error, done is not called.
func (j *Journal) CloseWave(done func(Wave, error)) (uint64, error) {
	return j.closeWave(task{done: done})
}

// Note keeps data with the open wave: it is durable exactly if the wave is. It is no
// fact and not in the digest. The journal takes data over. Only one who has appended a
// fact to the wave calls it.
func (j *Journal) Note(data []byte) { j.note = data }

// CloseWaveLater is CloseWave for one who goes on and waits for nothing: at level
// power the wave's sync is made when 1,024 facts share it, when somebody else
// waits for a sync, or after 20 ms. At the other levels it is CloseWave.
func (j *Journal) CloseWaveLater(done func(Wave, error)) (uint64, error) {
	return j.closeWave(task{done: done, later: j.lazy})
}

func (j *Journal) closeWave(t task) (uint64, error) {
	if err := j.Err(); err != nil {
		return 0, err
	}
	t.closing, t.closedAt, t.facts = true, time.Now(), j.nextSeq-j.waveFirst
	if waited := j.ahead.enter(t.facts); waited > 0 {
		j.store.opts.Observer.Waited(j.scene, waited)
	}
	if j.open == nil {
		j.pass(t)
		return j.wave - 1, nil
	}
	t.note, j.note = j.note, nil
	j.hand(t)
	j.wave++
	j.waveFirst = j.nextSeq
	return j.wave - 1, nil
}

// Sync ends the wave and waits until it is durable. When ctx ends first the wave
// is closed all the same and may become durable later.
func (j *Journal) Sync(ctx context.Context) (Wave, error) {
	type answer struct {
		wave Wave
		err  error
	}
	answered := make(chan answer, 1)
	if _, err := j.CloseWave(func(w Wave, err error) { answered <- answer{w, err} }); err != nil {
		return Wave{}, err
	}
	select {
	case a := <-answered:
		return a.wave, a.err
	case <-ctx.Done():
		return Wave{}, protocol.Errorf(protocol.KindCancelled, "persistence: journal of scene %q: wait for wave %d: %w", j.scene, j.wave-1, ctx.Err())
	}
}

// Close answers every closed wave, drops the facts of the open one and ends the
// journal's goroutines. It waits up to 2 s for those that follow. Reading goes on to work until the store is closed. The
// second Close does nothing.
func (j *Journal) Close() error {
	if j.shut {
		return nil
	}
	j.shut = true
	readOnly := j.store.opts.ReadOnly
	if !readOnly {
		close(j.work)
		j.running.Wait()
		j.endFollowing()
	}
	err := j.Err()
	j.fail(protocol.Errorf(protocol.KindCancelled, "persistence: journal of scene %q: closed", j.scene))
	j.store.forget(j.scene)
	if readOnly {
		return nil
	}
	return err
}
