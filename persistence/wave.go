package persistence

import (
	"encoding/hex"

	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// Digest is a link of a journal's hash chain.
type Digest format.Digest

// String is the digest in hexadecimal, after the name of its algorithm.
func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// Wave is one closed wave of a journal. The zero Wave, but for its digest, is
// the beginning of a journal.
type Wave struct {
	Number  uint64 // from 1
	First   uint64 // seq of its first fact
	Last    uint64 // seq of its last fact
	MinTime protocol.Time
	MaxTime protocol.Time
	Total   uint64 // bytes of all facts of the journal up to its end, uncompressed
	Digest  Digest // of the chain up to its end
}

func waveOf(h *format.Header) Wave {
	return Wave{Number: h.Wave, First: h.WaveFirst, Last: h.Last(), Total: h.Total, Digest: Digest(h.Digest)}
}

// beginning is the wave before the first one that a journal holds.
func beginning(h format.Head) Wave {
	return Wave{Number: h.Wave, Last: h.Seq, First: h.Seq + 1, Total: h.Total, Digest: Digest(h.Digest)}
}
