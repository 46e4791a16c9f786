package persistence

import (
	"crypto/sha256"
	"hash"
	"time"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
)

// writer turns staged blocks into stored ones. It is one goroutine per journal;
// everything in it is its own.
type writer struct {
	j     *Journal
	chain hash.Hash // over the digest before and the wave's facts so far
	last  Wave      // last wave that was closed
	wave  Wave      // that is being written; its number is 0 before its first block
	value []byte
	entry []byte
	bloom []byte
	key   []byte
}

func newWriter(j *Journal, last Wave) *writer {
	w := &writer{j: j, chain: sha256.New(), last: last}
	return w
}

// run takes blocks until work is closed. After a failure it takes them all the
// same, so that nobody waits for ever.
func (w *writer) run() {
	defer close(w.j.acks)
	for t := range w.j.work {
		a := ack{task: t, wave: w.last, started: time.Now()}
		if t.block != nil {
			if w.j.Err() == nil {
				a.batch = w.store(t)
			}
			a.wave = w.last
			w.recycle(t.block)
		}
		if t.closing {
			w.j.acks <- a
		}
	}
}

// recycle gives a block back, without the memory of an unusually large fact.
func (w *writer) recycle(b *staged) {
	if cap(b.facts) > 4*w.j.store.opts.BatchBytes {
		b.facts = nil
	}
	b.facts, b.count = b.facts[:0], 0
	b.summary.Reset()
	w.j.free <- b
}

// store hands a block to the database. A block that closes its wave comes back
// as a batch to wait for.
func (w *writer) store(t task) *pebbledb.Batch {
	hdr := w.hash(t)
	w.value = format.AppendBlock(w.value[:0], hdr, t.block.facts)
	e := format.Entry{Header: *hdr, Stored: len(w.value)}
	w.bloom = t.block.summary.Fill(&e, w.bloom)
	w.entry = format.AppendEntry(w.entry[:0], &e)
	w.wave.addTimes(e.MinTime, e.MaxTime)

	batch := w.j.store.db.NewBatch()
	w.key = format.AppendKey(w.key[:0], w.j.scene, format.FamilyBlock, hdr.First)
	batch.Set(w.key, w.value)
	w.key = format.AppendKey(w.key[:0], w.j.scene, format.FamilyIndex, hdr.First)
	batch.Set(w.key, w.entry)
	batch.Start(t.closing)
	w.j.store.opts.Observer.BlockStored(w.j.scene, hdr.Count, hdr.Raw, len(w.value)+len(w.entry))
	if t.closing {
		w.last, w.wave = w.wave, Wave{}
		return batch
	}
	if err := batch.Wait(); err != nil {
		w.j.fail(err)
	}
	return nil
}

// hash takes the block's facts into the chain and makes its header.
func (w *writer) hash(t task) *format.Header {
	b := t.block
	if w.wave.Number == 0 {
		w.wave = Wave{Number: t.wave, First: t.waveFirst, Total: w.last.Total}
		w.chain.Reset()
		w.chain.Write(w.last.Digest[:])
	}
	w.chain.Write(b.facts)
	w.wave.Last = b.first + uint64(b.count) - 1
	w.wave.Total += uint64(len(b.facts))
	hdr := &format.Header{First: b.first, Wave: t.wave, Count: b.count, Raw: len(b.facts), Closing: t.closing}
	if t.closing {
		w.chain.Sum(w.wave.Digest[:0])
		hdr.WaveFirst, hdr.Total, hdr.Digest = t.waveFirst, w.wave.Total, format.Digest(w.wave.Digest)
	}
	return hdr
}

// ack is a closed wave on its way to its answer.
type ack struct {
	task
	wave    Wave
	batch   *pebbledb.Batch // nil for a wave without facts and after a failure
	started time.Time
}

// answer waits for one wave after the other and answers. It is the journal's
// second goroutine.
func (j *Journal) answer() {
	for a := range j.acks {
		err := j.settle(a)
		<-j.slots
		if a.done == nil {
			continue
		}
		if err != nil {
			a.done(Wave{}, err)
			continue
		}
		a.done(a.wave, nil)
	}
}

func (j *Journal) settle(a ack) error {
	if a.batch != nil {
		if err := a.batch.Wait(); err != nil {
			j.fail(err)
		}
	}
	if err := j.Err(); err != nil {
		return err
	}
	if a.block == nil {
		return nil
	}
	j.mu.Lock()
	j.durable = a.wave
	j.mu.Unlock()
	now := time.Now()
	j.store.opts.Observer.WaveKept(j.scene, a.wave, now.Sub(a.started), now.Sub(a.closedAt))
	return nil
}
