package format

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

const (
	indexMagic = "SJI"
	indexFixed = 44

	flagAnyKind = 2 // more kinds than the entry lists
)

// Entry is what the index holds of one block: enough to know without reading it
// whether it can hold a fact that is looked for, and where its wave ends. It can
// be made again from the block.
type Entry struct {
	Header
	Stored  int // bytes of the block's value
	MinTime protocol.Time
	MaxTime protocol.Time
	Kinds   []string // distinct, in byte order; nil when there are more than MaxKinds
	Filter  []byte   // Bloom filter over actors, a power of two long; empty = any actor

	// An entry of version 2 says which traces its facts belong to. Rule names how
	// they were read from the facts, from 1; 0 = version 1, any trace.
	Rule   byte
	Traces []byte // Bloom filter over traces, a power of two long
}

// MayHoldKind says whether a fact of the kind can be in the block.
func (e *Entry) MayHoldKind(kind string) bool {
	if e.Kinds == nil {
		return true
	}
	_, found := slices.BinarySearch(e.Kinds, kind)
	return found
}

// MayHoldActor says whether a fact of the actor can be in the block. It is
// wrong with yes for about one absent actor in twenty, with no for none.
func (e *Entry) MayHoldActor(actor string) bool { return mayHold(e.Filter, xxh3.HashString(actor)) }

// MayHoldTrace says whether a fact of the trace, read from facts by the rule,
// can be in the block. It errs as MayHoldActor does.
func (e *Entry) MayHoldTrace(rule byte, trace string) bool {
	return e.Rule == 0 || e.Rule != rule || mayHold(e.Traces, xxh3.HashString(trace))
}

func mayHold(filter []byte, hash uint64) bool {
	if len(filter) == 0 {
		return true
	}
	lo, hi := filterBits(hash, uint32(len(filter)*8-1))
	return filter[lo/8]&(1<<(lo%8)) != 0 && filter[hi/8]&(1<<(hi%8)) != 0
}

// filterBits are the two bits of a name in a filter of mask+1 bits. They are the
// low bits of two halves of its hash, so that a filter folded in two holds what
// one of half the size would.
func filterBits(hash uint64, mask uint32) (lo, hi uint32) {
	return uint32(hash) & mask, uint32(hash>>32) & mask
}

// sameFilter compares two filters over the same names, which writers may make in
// different sizes: the larger one is folded.
func sameFilter(a, b []byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return true // any name
	}
	b = slices.Clone(b)
	for len(b) > len(a) {
		half := len(b) / 2
		for i, x := range b[half:] {
			b[i] |= x
		}
		b = b[:half]
	}
	return string(a) == string(b)
}

// SameFilters reports whether two entries of the same facts agree on actors and,
// where both know them by the same rule, on traces. An empty filter agrees with
// every other.
func (e *Entry) SameFilters(o *Entry) bool {
	return sameFilter(e.Filter, o.Filter) && (e.Rule != o.Rule || sameFilter(e.Traces, o.Traces))
}

// AppendEntry appends an index entry: of version 2 when it knows traces.
func AppendEntry(b []byte, e *Entry) []byte {
	start := len(b)
	flags := blockFlags(&e.Header)
	if e.Kinds == nil {
		flags |= flagAnyKind
	}
	b = append(b, indexMagic...)
	version, traces := byte(1), byte(0)
	if e.Rule != 0 {
		version, traces = 2, byte(bits.TrailingZeros(uint(len(e.Traces))))
	}
	b = append(b, version, flags, e.Rule, byte(len(e.Kinds)), traces)
	b = binary.BigEndian.AppendUint64(b, e.Wave)
	b = binary.BigEndian.AppendUint32(b, uint32(e.Count))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Raw))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Stored))
	b = binary.BigEndian.AppendUint64(b, uint64(e.MinTime))
	b = binary.BigEndian.AppendUint64(b, uint64(e.MaxTime))
	if e.Closing {
		b = binary.BigEndian.AppendUint64(b, e.WaveFirst)
		b = binary.BigEndian.AppendUint64(b, e.Total)
		b = append(b, e.Digest[:]...)
	}
	for _, k := range e.Kinds {
		b = append(b, byte(len(k)))
		b = append(b, k...)
	}
	if e.Rule != 0 {
		b = append(b, e.Traces...)
	}
	b = append(b, e.Filter...)
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b[start:]))
}

// ReadEntry reads the index entry of the block that begins at seq first. The
// filters are slices of value.
func ReadEntry(value []byte, first uint64) (Entry, error) {
	var e Entry
	if len(value) < indexFixed+checksumSize || string(value[:3]) != indexMagic {
		return e, corrupt("index entry: %d bytes beginning %x; want at least %d beginning %q", len(value), clip(value), indexFixed+checksumSize, indexMagic)
	}
	if value[3] == 0 || value[3] > IndexVersion {
		return e, newer("index entry", value[3], IndexVersion)
	}
	end := len(value) - checksumSize
	if have, want := xxh3.Hash(value[:end]), binary.BigEndian.Uint64(value[end:]); have != want {
		return e, corrupt("index entry: checksum %016x; it says %016x", have, want)
	}
	flags := value[4]
	if flags&^(flagClosing|flagAnyKind) != 0 || value[6] > MaxKinds || !tracesFit(value) {
		return e, corrupt("index entry: flags %x; version %d does not know them", value[4:8], value[3])
	}
	e.First, e.Rule = first, value[5]
	e.readFixed(value)
	rest := value[indexFixed:end]
	if flags&flagClosing != 0 {
		if len(rest) < closingSize {
			return e, corrupt("index entry: %d bytes; want %d of the wave's end", len(rest), closingSize)
		}
		e.readClosing(rest)
		rest = rest[closingSize:]
	}
	rest, err := e.readKinds(rest, int(value[6]), flags&flagAnyKind != 0)
	if err == nil {
		err = e.readFilters(rest, 1<<value[7])
	}
	return e, err
}

// tracesFit: version 1 knows no traces; version 2 has a rule and a filter.
func tracesFit(value []byte) bool {
	if value[3] == 1 {
		return value[5]|value[7] == 0
	}
	return value[5] != 0 && 1<<min(value[7], 62) <= MaxFilter // 1<<63 would be negative
}

func (e *Entry) readFixed(value []byte) {
	e.Wave = binary.BigEndian.Uint64(value[8:])
	e.Count = int(binary.BigEndian.Uint32(value[16:]))
	e.Raw = int(binary.BigEndian.Uint32(value[20:]))
	e.Stored = int(binary.BigEndian.Uint32(value[24:]))
	e.MinTime = protocol.Time(binary.BigEndian.Uint64(value[28:]))
	e.MaxTime = protocol.Time(binary.BigEndian.Uint64(value[36:]))
}

func (e *Entry) readClosing(b []byte) {
	e.Closing = true
	e.WaveFirst = binary.BigEndian.Uint64(b)
	e.Total = binary.BigEndian.Uint64(b[8:])
	copy(e.Digest[:], b[16:])
}

func (e *Entry) readKinds(b []byte, kinds int, anyKind bool) ([]byte, error) {
	if anyKind != (kinds == 0) {
		return b, corrupt("index entry: %d kinds and the mark for any kind %v", kinds, anyKind)
	}
	for i := range kinds {
		if len(b) < 1 || len(b) < 1+int(b[0]) {
			return b, corrupt("index entry: kind %d of %d is cut", i+1, kinds)
		}
		end := 1 + int(b[0])
		kind := string(b[1:end])
		if i > 0 && kind <= e.Kinds[i-1] {
			return b, corrupt("index entry: kind %q after %q; want byte order", kind, e.Kinds[i-1])
		}
		e.Kinds, b = append(e.Kinds, kind), b[end:]
	}
	return b, nil
}

func (e *Entry) readFilters(b []byte, traces int) error {
	if e.Rule != 0 {
		if len(b) < traces {
			return corrupt("index entry: trace filter: %d bytes; want %d", len(b), traces)
		}
		e.Traces, b = b[:traces], b[traces:]
	}
	if n := len(b); n > MaxFilter || n&(n-1) != 0 {
		return corrupt("index entry: actor filter of %d bytes; want a power of two up to %d", n, MaxFilter)
	}
	e.Filter = b
	return nil
}
