package persistence

import (
	"crypto/sha256"
	"hash"
	"time"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
)

// writer turns staged blocks into stored ones. It is one goroutine per journal, or
// the goroutine that appends to a direct one; everything in it is its own.
type writer struct {
	j      *Journal
	chain  hash.Hash     // over the digest before and the wave's facts so far
	last   Wave          // last wave that was closed
	wave   Wave          // that is being written; its number is 0 before its first block
	hashed chan struct{} // one element when the goroutine that hashes is done
	value  []byte
	entry  []byte
	bloom  []byte
	key    []byte

	unsynced uint64 // facts of closed waves for which no sync was asked
}

func newWriter(j *Journal, last Wave) *writer {
	return &writer{j: j, chain: sha256.New(), last: last, hashed: make(chan struct{}, 1)}
}

// run takes blocks until work is closed. After a failure it takes them all the
// same, so that nobody waits for ever.
func (w *writer) run() {
	defer close(w.j.acks)
	for t := range w.j.work {
		if a := w.take(t); t.closing {
			w.j.acks <- a
		}
	}
}

// take stores the block of a task.
func (w *writer) take(t task) *ack {
	a := &ack{task: t, wave: w.last, started: time.Now()}
	if t.block != nil {
		if w.j.Err() == nil {
			a.batch = w.store(t)
		}
		a.wave = w.last
		w.recycle(t.block)
	}
	return a
}

// recycle gives a block back, without the memory of an unusually large fact.
func (w *writer) recycle(b *staged) {
	if cap(b.facts) > 4*w.j.store.opts.BatchBytes {
		b.facts = nil
	}
	b.facts, b.count, b.singly = b.facts[:0], 0, b.singly[:0]
	b.summary.Reset()
	w.j.free <- b
}

// store hands a block to the database. One that asks for a sync comes back as a
// batch to wait for.
func (w *writer) store(t task) *pebbledb.Batch {
	hdr := w.seal(t)
	e := format.Entry{Header: *hdr, Stored: len(w.value)}
	for _, f := range t.block.singly {
		w.j.store.opts.Traces.Of(f.kind, t.block.facts[f.from:f.to], t.block.summary.AddTrace)
	}
	w.bloom = t.block.summary.Fill(&e, w.bloom)
	w.entry = format.AppendEntry(w.entry[:0], &e)
	w.wave.addTimes(e.MinTime, e.MaxTime)

	batch := w.j.store.db.NewBatch()
	w.key = format.AppendKey(w.key[:0], w.j.scene, format.FamilyBlock, hdr.First)
	batch.Set(w.key, w.value)
	w.key = format.AppendKey(w.key[:0], w.j.scene, format.FamilyIndex, hdr.First)
	batch.Set(w.key, w.entry)
	if t.note != nil {
		w.key = format.AppendKey(w.key[:0], w.j.scene, format.FamilyNote, hdr.Last())
		batch.Set(w.key, format.AppendNote(nil, t.note))
	}
	durable := t.closing && w.syncs(t)
	batch.Start(durable)
	w.j.store.opts.Observer.BlockStored(w.j.scene, hdr.Count, hdr.Raw, len(w.value)+len(w.entry))
	if t.closing {
		w.last, w.wave = w.wave, Wave{}
	}
	if durable {
		return batch
	}
	if err := batch.Wait(); err != nil {
		w.j.fail(err)
	}
	return nil
}

// syncs reports whether the end of a wave asks for a sync.
func (w *writer) syncs(t task) bool {
	w.unsynced += t.facts
	if t.later && w.unsynced < syncFacts {
		return false
	}
	w.unsynced = 0
	return true
}

// hashBeside is how many bytes of facts are worth a second core: to hash takes
// about as long as to compress, and is the most that a writer does.
const hashBeside = 32 << 10

// seal takes the block's facts into the chain, and makes of them the bytes that
// are stored.
func (w *writer) seal(t task) *format.Header {
	b := t.block
	w.enter(t)
	hdr := &format.Header{First: b.first, Wave: t.wave, Count: b.count, Raw: len(b.facts), Closing: t.closing}
	if len(b.facts) < hashBeside {
		w.chain.Write(b.facts)
		w.value = format.PackBlock(w.value[:0], hdr, b.facts)
	} else {
		go w.hash(b.facts)
		w.value = format.PackBlock(w.value[:0], hdr, b.facts)
		<-w.hashed
	}
	if t.closing {
		w.chain.Sum(w.wave.Digest[:0])
		hdr.WaveFirst, hdr.Total, hdr.Digest = t.waveFirst, w.wave.Total, format.Digest(w.wave.Digest)
	}
	w.value = format.SealBlock(w.value, 0, hdr)
	return hdr
}

// hash runs beside the writer, which owns the chain and waits for it.
func (w *writer) hash(facts []byte) {
	w.chain.Write(facts)
	w.hashed <- struct{}{}
}

// enter counts the block to its wave, and begins the wave with its first block.
func (w *writer) enter(t task) {
	if w.wave.Number == 0 {
		w.wave = Wave{Number: t.wave, First: t.waveFirst, Total: w.last.Total}
		w.chain.Reset()
		w.chain.Write(w.last.Digest[:])
	}
	w.wave.Last = t.block.first + uint64(t.block.count) - 1
	w.wave.Total += uint64(len(t.block.facts))
}
