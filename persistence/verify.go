package persistence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// Report is what Verify found.
type Report struct {
	Good   Wave    // last wave up to which everything is as it was written
	Facts  uint64  // that were read
	Blocks uint64  //
	Stored uint64  // bytes of the blocks' values
	Damage error   // the first damage of the facts; nil = none
	Index  []error // what the index has wrong; a repair makes it again
}

// maxIndexErrors bounds the report: a journal whose index is lost would
// otherwise list every block.
const maxIndexErrors = 20

// Verify reads the durable journal from end to end: checksums, order, every
// fact's bytes, the hash chain, and the index against the blocks. It calls
// progress, which may be nil, after every wave. Only what keeps it from reading
// at all is returned as its error.
func (j *Journal) Verify(ctx context.Context, progress func(Wave)) (Report, error) {
	v := &verifier{j: j, chain: sha256.New(), progress: progress}
	v.report.Good = j.Begin()
	v.r = &reader{j: j, q: Query{From: v.report.Good.Last + 1, To: j.Durable().Last}, good: v.report.Good}
	v.begin()
	if v.r.q.From > v.r.q.To {
		return v.report, nil
	}
	err := v.run(ctx)
	if _, ok := DamageOf(err); ok {
		v.report.Damage, err = err, nil
	}
	return v.report, err
}

type verifier struct {
	j        *Journal
	r        *reader
	chain    hash.Hash
	total    uint64
	span     Wave // the times of the wave's facts so far
	report   Report
	progress func(Wave)
}

func (v *verifier) begin() {
	v.chain.Reset()
	v.chain.Write(v.report.Good.Digest[:])
	v.total, v.span = v.report.Good.Total, Wave{}
}

func (v *verifier) run(ctx context.Context) (err error) {
	it, ok, err := v.r.span(format.FamilyBlock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ; ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return protocol.Errorf(protocol.KindCancelled, "persistence: verify scene %q after wave %d: %w", v.j.scene, v.report.Good.Number, err)
		}
		if err := v.block(it); err != nil {
			return err
		}
	}
	return v.r.complete(it)
}

func (v *verifier) block(it *pebbledb.Iter) error {
	value, err := it.Value()
	if err != nil {
		return keyDamage(v.j.scene, it.Key(), nil, v.report.Good, err)
	}
	blk, err := openBlock(it.Key(), value)
	if err == nil {
		err = v.r.follows(&blk.Header)
	}
	if err == nil {
		err = v.facts(&blk, len(value))
	}
	if err != nil {
		return keyDamage(v.j.scene, it.Key(), &blk.Header, v.report.Good, err)
	}
	v.r.prev = blk.Header
	v.report.Blocks++
	v.report.Facts += uint64(blk.Count)
	v.report.Stored += uint64(len(value))
	if blk.Closing {
		v.report.Good = waveOf(&blk.Header)
		v.report.Good.addTimes(v.span.MinTime, v.span.MaxTime)
		v.begin()
		if v.progress != nil {
			v.progress(v.report.Good)
		}
	}
	return nil
}

// facts checks a block's facts, its link of the chain and its index entry.
func (v *verifier) facts(blk *format.Block, stored int) error {
	raw, entry, err := indexEntry(blk, stored, v.j.store.opts.Traces)
	if err != nil {
		return err
	}
	v.span.addTimes(entry.MinTime, entry.MaxTime)
	v.chain.Write(raw)
	v.total += uint64(len(raw))
	if blk.Closing {
		if err := v.link(blk); err != nil {
			return err
		}
	}
	v.index(&entry)
	return nil
}

func (v *verifier) link(blk *format.Block) error {
	var sum Digest
	v.chain.Sum(sum[:0])
	if sum != Digest(blk.Digest) || v.total != blk.Total || blk.WaveFirst != v.report.Good.Last+1 {
		return protocol.Errorf(protocol.KindCorrupt, "wave %d from seq %d ends with digest %v after %d bytes; its facts, from seq %d, give %v after %d",
			blk.Wave, blk.WaveFirst, Digest(blk.Digest), blk.Total, v.report.Good.Last+1, sum, v.total)
	}
	return nil
}

func (v *verifier) index(want *format.Entry) {
	if len(v.report.Index) == maxIndexErrors {
		return
	}
	key := format.AppendKey(nil, v.j.scene, format.FamilyIndex, want.First)
	value, found, err := v.j.store.db.Get(key, nil)
	switch {
	case err != nil:
	case !found:
		err = protocol.Errorf(protocol.KindCorrupt, "it is missing")
	default:
		err = compareEntry(value, want)
	}
	if err != nil {
		v.report.Index = append(v.report.Index, keyDamage(v.j.scene, key, nil, v.report.Good, err))
	}
}

// compareEntry compares what is stored with what the facts give. The size of
// filters depends on the options of the writer, and so does whether and how it
// read traces.
func compareEntry(value []byte, want *format.Entry) error {
	have, err := format.ReadEntry(value, want.First)
	if err != nil {
		return err
	}
	if !have.SameFilters(want) {
		return protocol.Errorf(protocol.KindCorrupt, "its filters are not what the block's facts give")
	}
	have.Filter, have.Rule, have.Traces = want.Filter, want.Rule, want.Traces
	if !bytes.Equal(format.AppendEntry(nil, &have), format.AppendEntry(nil, want)) {
		return protocol.Errorf(protocol.KindCorrupt, "it is not what the block's facts give")
	}
	return nil
}

// indexEntry makes a block's index entry again from its facts.
func indexEntry(blk *format.Block, stored int, traces Traces) (raw []byte, e format.Entry, err error) {
	e = format.Entry{Header: blk.Header, Stored: stored}
	if raw, err = blk.Facts(); err != nil {
		return nil, e, err
	}
	summary := format.NewSummary(blk.Count, traces.Rule)
	err = format.Records(raw, blk.First, blk.Count, nil, newNames().intern, func(r protocol.Record) error {
		summary.Add(r.Time, r.Actor, r.Kind)
		if traces.Of != nil {
			traces.Of(r.Kind, r.Data, summary.AddTrace)
		}
		return nil
	})
	summary.Fill(&e, nil)
	return raw, e, err
}

// addEntry makes a block's index entry and puts it into the batch.
func (s *Store) addEntry(b *pebbledb.Batch, scene string, key, value []byte) error {
	blk, err := openBlock(key, value)
	if err != nil {
		return err
	}
	_, entry, err := indexEntry(&blk, len(value), s.opts.Traces)
	if err == nil {
		b.Set(format.AppendKey(nil, scene, format.FamilyIndex, blk.First), format.AppendEntry(nil, &entry))
	}
	return err
}
