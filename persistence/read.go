package persistence

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// Query chooses facts of durable waves. The zero value chooses all.
type Query struct {
	From  uint64        // first seq; 0 = from the first that is kept
	To    uint64        // last seq; 0 = to the end
	Since protocol.Time // at or after; 0 = any
	Until protocol.Time // before; 0 = any
	Actor string        // "" = any
	Kinds []string      // any of; empty = any
	Trace string        // that the fact belongs to, as Options.Traces reads it; "" = any
}

// Read calls yield for every fact of the durable waves from seq from on, in
// order, and ends with yield's error. A record's data is good for ever; it is a
// slice of a whole block, so what is kept for long is better copied.
func (j *Journal) Read(from uint64, yield func(protocol.Record) error) error {
	return j.Scan(Query{From: from}, yield)
}

// Scan calls yield for the facts that q chooses, in order. With a time, an actor,
// kinds or a trace it passes over blocks that the index rules out.
func (j *Journal) Scan(q Query, yield func(protocol.Record) error) error {
	if q.Trace != "" && j.store.opts.Traces.Of == nil {
		return protocol.Errorf(protocol.KindUnknown, "persistence: journal of scene %q: facts of trace %q: the store was opened without a way to read traces (Options.Traces)", j.scene, q.Trace)
	}
	end, begin := j.Durable(), j.Begin()
	q.From, q.To = max(q.From, 1), min(orMax(q.To), end.Last)
	if q.From <= begin.Last {
		if q.From > 1 {
			return protocol.Errorf(protocol.KindNotFound, "persistence: journal of scene %q: read from seq %d: facts up to %d were dropped", j.scene, q.From, begin.Last)
		}
		q.From = begin.Last + 1
	}
	if q.From > q.To {
		return nil
	}
	r := &reader{j: j, q: q, yield: yield, good: begin, names: newNames()}
	if q.Since == 0 && q.Until == 0 && q.Actor == "" && len(q.Kinds) == 0 && q.Trace == "" {
		return r.all()
	}
	return r.chosen()
}

func orMax(seq uint64) uint64 {
	if seq == 0 {
		return math.MaxUint64
	}
	return seq
}

// reader is one walk over a journal.
type reader struct {
	j     *Journal
	q     Query
	yield func(protocol.Record) error
	good  Wave // last wave whose end was seen
	prev  format.Header
	names *names
}

// span is the range of keys of a family in which the wanted facts lie.
func (r *reader) span(f format.Family) (*pebbledb.Iter, bool, error) {
	lower, _ := format.Range(r.j.scene, f)
	it, err := r.j.store.db.NewIter(lower, format.AppendKey(nil, r.j.scene, f, r.q.To+1))
	if err != nil {
		return nil, false, err
	}
	ok := it.SeekLT(format.AppendKey(nil, r.j.scene, f, r.q.From+1))
	return it, ok || it.First(), nil
}

// all reads block after block.
func (r *reader) all() (err error) {
	it, ok, err := r.span(format.FamilyBlock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ; ok; ok = it.Next() {
		value, err := it.Value()
		if err != nil {
			return keyDamage(r.j.scene, it.Key(), nil, r.good, err)
		}
		if err := r.block(it.Key(), value); err != nil {
			return err
		}
	}
	return r.complete(it)
}

// complete ends a walk and reports the facts that it did not come to, because
// they are missing or cannot be read.
func (r *reader) complete(it *pebbledb.Iter) error {
	err := it.Close()
	next := r.q.From
	if r.prev.Count > 0 {
		next = r.prev.Last() + 1
	}
	if err == nil && next > r.q.To {
		return nil
	}
	if err == nil {
		err = protocol.Errorf(protocol.KindCorrupt, "facts %d to %d are missing", next, r.q.To)
	}
	return keyDamage(r.j.scene, format.AppendKey(nil, r.j.scene, format.FamilyBlock, next), nil, r.good, err)
}

// block checks that a block follows the one before and hands its facts over.
func (r *reader) block(key, value []byte) error {
	blk, err := openBlock(key, value)
	if err == nil {
		err = r.follows(&blk.Header)
	}
	if err != nil {
		return keyDamage(r.j.scene, key, &blk.Header, r.good, err)
	}
	r.prev = blk.Header
	if err := r.records(key, &blk); err != nil {
		return err
	}
	if blk.Closing {
		r.good = waveOf(&blk.Header)
	}
	return nil
}

// follows holds the order of blocks: no gap, no overlap, waves one by one.
func (r *reader) follows(h *format.Header) error {
	seq, wave := r.good.Last+1, r.good.Number+1
	switch {
	case r.prev.Count > 0:
		seq, wave = r.prev.Last()+1, r.prev.Wave
		if r.prev.Closing {
			wave++
		}
	case r.q.From > r.good.Last+1:
		// The walk begins in the middle: the first block only has to hold From.
		if h.First <= r.q.From && r.q.From <= h.Last() {
			return nil
		}
		return protocol.Errorf(protocol.KindCorrupt, "block of facts %d to %d where fact %d should be", h.First, h.Last(), r.q.From)
	}
	if h.First != seq || h.Wave != wave {
		return protocol.Errorf(protocol.KindCorrupt, "block begins at seq %d of wave %d where seq %d of wave %d should be", h.First, h.Wave, seq, wave)
	}
	return nil
}

func (r *reader) records(key []byte, blk *format.Block) error {
	// Fresh bytes for every block: the records are slices of them and may be kept.
	facts, err := blk.Facts()
	if err != nil {
		return keyDamage(r.j.scene, key, &blk.Header, r.good, err)
	}
	var stopped error
	err = format.Records(facts, blk.First, blk.Count, r.q.Kinds, r.names.intern, func(rec protocol.Record) error {
		if r.wants(&rec) {
			stopped = r.yield(rec)
		}
		return stopped
	})
	if err != nil && stopped == nil {
		return keyDamage(r.j.scene, key, &blk.Header, r.good, err)
	}
	return stopped
}

func (r *reader) wants(rec *protocol.Record) bool {
	q := &r.q
	return rec.Seq >= q.From && rec.Seq <= q.To &&
		(q.Since == 0 || rec.Time >= q.Since) && (q.Until == 0 || rec.Time < q.Until) &&
		(q.Actor == "" || rec.Actor == q.Actor) &&
		(q.Trace == "" || r.j.store.opts.Traces.has(rec, q.Trace))
}

// chosen walks the index and reads the blocks that it does not rule out.
func (r *reader) chosen() (err error) {
	it, ok, err := r.span(format.FamilyIndex)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ; ok; ok = it.Next() {
		e, err := r.j.entry(it, r.good)
		if err != nil {
			return err
		}
		if r.excludes(&e) {
			continue
		}
		if err := r.fetch(e.First); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) excludes(e *format.Entry) bool {
	q := &r.q
	if q.Since != 0 && e.MaxTime < q.Since || q.Until != 0 && e.MinTime >= q.Until {
		return true
	}
	if q.Actor != "" && !e.MayHoldActor(q.Actor) {
		return true
	}
	if q.Trace != "" && !e.MayHoldTrace(r.j.store.opts.Traces.Rule, q.Trace) {
		return true
	}
	return len(q.Kinds) > 0 && !slices.ContainsFunc(q.Kinds, e.MayHoldKind)
}

// fetch reads one block by its first seq.
func (r *reader) fetch(first uint64) error {
	key := format.AppendKey(nil, r.j.scene, format.FamilyBlock, first)
	value, found, err := r.j.store.db.Get(key, nil)
	if err == nil && !found {
		err = protocol.Errorf(protocol.KindCorrupt, "the index has a block that is missing")
	}
	if err != nil {
		return keyDamage(r.j.scene, key, nil, r.good, err)
	}
	blk, err := openBlock(key, value)
	if err != nil {
		return keyDamage(r.j.scene, key, &blk.Header, r.good, err)
	}
	return r.records(key, &blk)
}

// entry reads the index entry at which it stands.
func (j *Journal) entry(it *pebbledb.Iter, good Wave) (format.Entry, error) {
	value, err := it.Value()
	var e format.Entry
	if err == nil {
		var k format.Key
		if k, err = format.ParseKey(it.Key()); err == nil {
			e, err = format.ReadEntry(value, k.Seq)
		}
	}
	if err != nil {
		return e, keyDamage(j.scene, it.Key(), nil, good, err)
	}
	return e, nil
}

// Waves calls yield for the durable waves from number from on, in order. It
// reads the index only.
func (j *Journal) Waves(from uint64, yield func(Wave) error) (err error) {
	end := j.Durable()
	if from > end.Number || end.Number == 0 {
		return nil
	}
	start, err := j.seekWave(max(from, 1))
	if err != nil {
		return err
	}
	lower := format.AppendKey(nil, j.scene, format.FamilyIndex, start)
	it, err := j.store.db.NewIter(lower, format.AppendKey(nil, j.scene, format.FamilyIndex, end.Last+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var w Wave
	for ok := it.First(); ok; ok = it.Next() {
		e, err := j.entry(it, w)
		if err != nil {
			return err
		}
		w.addTimes(e.MinTime, e.MaxTime)
		if !e.Closing {
			continue
		}
		closed := waveOf(&e.Header)
		closed.MinTime, closed.MaxTime = w.MinTime, w.MaxTime
		w = Wave{}
		if closed.Number < from {
			continue
		}
		if err := yield(closed); err != nil {
			return err
		}
	}
	return nil
}

// Wave finds a durable wave by its number. The number of [Journal.Begin] finds
// that.
func (j *Journal) Wave(number uint64) (Wave, error) {
	begin, end := j.Begin(), j.Durable()
	switch {
	case number == end.Number:
		return end, nil
	case number == begin.Number:
		return begin, nil
	case number < begin.Number:
		return Wave{}, protocol.Errorf(protocol.KindNotFound, "persistence: journal of scene %q: wave %d: waves up to %d were dropped", j.scene, number, begin.Number)
	case number > end.Number:
		return Wave{}, protocol.Errorf(protocol.KindNotFound, "persistence: journal of scene %q: wave %d: the last durable one is %d", j.scene, number, end.Number)
	}
	var found Wave
	stop := errors.New("found")
	err := j.Waves(number, func(w Wave) error {
		found = w
		return stop
	})
	if errors.Is(err, stop) {
		err = nil
	}
	return found, err
}

// NoteAt finds the newest note of a durable wave that ends at seq or before, and the
// last seq of that wave. Without one, or if it is damaged, last is 0: every note can be
// made again from the facts.
func (j *Journal) NoteAt(seq uint64) (last uint64, note []byte, err error) {
	lower := format.AppendKey(nil, j.scene, format.FamilyNote, j.Begin().Last+1)
	it, err := j.store.db.NewIter(lower, format.AppendKey(nil, j.scene, format.FamilyNote, min(seq, j.Durable().Last)+1))
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !it.Last() {
		return 0, nil, nil
	}
	k, damage := format.ParseKey(it.Key())
	value, unread := it.Value()
	note, bad := format.ReadNote(value)
	if errors.Join(damage, unread, bad) != nil {
		return 0, nil, nil
	}
	return k.Seq, bytes.Clone(note), nil
}

// seekWave finds the first seq of a wave that is not after the end, by halving
// the range of seqs: waves grow with them.
func (j *Journal) seekWave(number uint64) (seq uint64, err error) {
	end := j.Durable()
	low, _ := format.Range(j.scene, format.FamilyIndex)
	it, err := j.store.db.NewIter(low, format.AppendKey(nil, j.scene, format.FamilyIndex, end.Last+1))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	// The block that holds seq lo has a wave below number, or is the first one.
	lo, hi := j.Begin().Last+1, end.Last
	for lo < hi {
		mid := lo + (hi-lo)/2
		if !it.SeekLT(format.AppendKey(nil, j.scene, format.FamilyIndex, mid+1)) {
			lo = mid + 1
			continue
		}
		e, err := j.entry(it, Wave{})
		if err != nil {
			return 0, err
		}
		if e.Wave < number {
			lo = max(mid+1, e.Last()+1)
		} else {
			hi = min(mid, e.First)
		}
	}
	return lo, nil
}

// names keeps one copy of every name that a walk meets, so that a million facts
// of one actor share its name. It forgets all when it has too many: a bound, not
// a promise.
type names struct{ seen map[string]string }

const maxNames = 1 << 18

func newNames() *names { return &names{seen: map[string]string{}} }

func (n *names) intern(b []byte) string {
	if s, ok := n.seen[string(b)]; ok {
		return s
	}
	if len(n.seen) == maxNames {
		clear(n.seen)
	}
	s := string(b)
	n.seen[s] = s
	return s
}
