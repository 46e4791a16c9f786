package machines

import (
	"cmp"
	"time"

	"tavernsim/protocol"
)

// DefaultSnapshotFacts applies if a policy sets no number of facts. Recovery then
// folds about two million facts at most.
const DefaultSnapshotFacts = 2_000_000

// SnapshotPolicy decides when the next snapshot is due: when one of its parts holds.
type SnapshotPolicy struct {
	Facts int64         // since the last one; 0 = DefaultSnapshotFacts, below 0 = never
	Every time.Duration // scene time since the last one; 0 = never
	Bytes int64         // of facts since the last one, before compression; 0 = never
}

// SnapshotMark is where a scene stands.
type SnapshotMark struct {
	Facts int64
	Time  protocol.Time
	Bytes uint64 // of durable facts, before compression
}

// WithDefaults fills in the defaults.
func (p SnapshotPolicy) WithDefaults() SnapshotPolicy {
	p.Facts = cmp.Or(p.Facts, DefaultSnapshotFacts)
	return p
}

// Or is p with the parts that other sets.
func (p SnapshotPolicy) Or(other SnapshotPolicy) SnapshotPolicy {
	return SnapshotPolicy{cmp.Or(other.Facts, p.Facts), cmp.Or(other.Every, p.Every), cmp.Or(other.Bytes, p.Bytes)}
}

// Validate refuses impossible values.
func (p SnapshotPolicy) Validate() error {
	switch {
	case p.Every < 0:
		return protocol.Errorf(protocol.KindInvalid, "snapshots every %s: want a positive time", p.Every)
	case p.Bytes < 0:
		return protocol.Errorf(protocol.KindInvalid, "snapshots every %d bytes: want a positive size", p.Bytes)
	}
	return nil
}

// Due reports whether a snapshot is due. It is not if there are no facts since the
// last one, however much time has passed.
func (p SnapshotPolicy) Due(last, now SnapshotMark) bool {
	facts := now.Facts - last.Facts
	switch {
	case facts <= 0:
		return false
	case p.Facts > 0 && facts >= p.Facts:
		return true
	case p.Every > 0 && now.Time.Sub(last.Time) >= p.Every:
		return true
	}
	return p.Bytes > 0 && now.Bytes-min(last.Bytes, now.Bytes) >= uint64(p.Bytes)
}
