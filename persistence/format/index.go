package format

import (
	"encoding/binary"
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
func (e *Entry) MayHoldActor(actor string) bool {
	if len(e.Filter) == 0 {
		return true
	}
	lo, hi := actorBits(actor, uint32(len(e.Filter)*8-1))
	return e.Filter[lo/8]&(1<<(lo%8)) != 0 && e.Filter[hi/8]&(1<<(hi%8)) != 0
}

// actorBits are the two bits of an actor in a filter of mask+1 bits. They are
// the low bits of two halves of one hash, so that a filter folded in two holds
// what one of half the size would.
func actorBits(actor string, mask uint32) (lo, hi uint32) {
	h := xxh3.HashString(actor)
	return uint32(h) & mask, uint32(h>>32) & mask
}

// AppendEntry appends an index entry.
func AppendEntry(b []byte, e *Entry) []byte {
	start := len(b)
	flags := blockFlags(&e.Header)
	if e.Kinds == nil {
		flags |= flagAnyKind
	}
	b = append(b, indexMagic...)
	b = append(b, Version, flags, 0, byte(len(e.Kinds)), 0)
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
	b = append(b, e.Filter...)
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b[start:]))
}

// ReadEntry reads the index entry of the block that begins at seq first. The
// filter is a slice of value.
func ReadEntry(value []byte, first uint64) (Entry, error) {
	var e Entry
	if len(value) < indexFixed+checksumSize || string(value[:3]) != indexMagic {
		return e, corrupt("index entry: %d bytes beginning %x; want at least %d beginning %q", len(value), clip(value), indexFixed+checksumSize, indexMagic)
	}
	if value[3] == 0 || value[3] > Version {
		return e, newer("index entry", value[3])
	}
	end := len(value) - checksumSize
	if have, want := xxh3.Hash(value[:end]), binary.BigEndian.Uint64(value[end:]); have != want {
		return e, corrupt("index entry: checksum %016x; it says %016x", have, want)
	}
	flags := value[4]
	if flags&^(flagClosing|flagAnyKind) != 0 || value[5]|value[7] != 0 || value[6] > MaxKinds {
		return e, corrupt("index entry: flags %x; version %d does not know them", value[4:8], Version)
	}
	e.First = first
	e.readFixed(value)
	rest := value[indexFixed:end]
	if flags&flagClosing != 0 {
		if len(rest) < closingSize {
			return e, corrupt("index entry: %d bytes; want %d of the wave's end", len(rest), closingSize)
		}
		e.readClosing(rest)
		rest = rest[closingSize:]
	}
	return e, e.readTail(rest, int(value[6]), flags&flagAnyKind != 0)
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

func (e *Entry) readTail(b []byte, kinds int, anyKind bool) error {
	if anyKind != (kinds == 0) {
		return corrupt("index entry: %d kinds and the mark for any kind %v", kinds, anyKind)
	}
	for i := range kinds {
		if len(b) < 1 || len(b) < 1+int(b[0]) {
			return corrupt("index entry: kind %d of %d is cut", i+1, kinds)
		}
		kind := string(b[1 : 1+b[0]])
		if i > 0 && kind <= e.Kinds[i-1] {
			return corrupt("index entry: kind %q after %q; want byte order", kind, e.Kinds[i-1])
		}
		e.Kinds, b = append(e.Kinds, kind), b[1+b[0]:]
	}
	if n := len(b); n > MaxFilter || n&(n-1) != 0 {
		return corrupt("index entry: actor filter of %d bytes; want a power of two up to %d", n, MaxFilter)
	}
	e.Filter = b
	return nil
}
