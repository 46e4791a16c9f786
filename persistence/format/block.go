package format

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

const (
	blockMagic   = "SJB"
	headerSize   = 32
	closingSize  = 8 + 8 + DigestSize
	checksumSize = 8

	flagClosing    = 1
	flagCompressed = 2
)

// Header is what a block says about itself before its facts are decompressed.
type Header struct {
	First   uint64 // seq of its first fact
	Wave    uint64 // that its facts belong to
	Count   int    // of facts, at least 1
	Raw     int    // bytes of its facts
	Closing bool   // it is the last block of its wave

	// What follows is zero unless Closing.

	WaveFirst uint64 // seq of the wave's first fact
	Total     uint64 // bytes of all facts from the journal's first to this block's last
	Digest    Digest // of the chain, this wave included
}

// Last is the seq of the block's last fact.
func (h *Header) Last() uint64 { return h.First + uint64(h.Count) - 1 }

// AppendBlock appends a block that holds facts, which are h.Raw bytes long.
func AppendBlock(b []byte, h *Header, facts []byte) []byte {
	start := len(b)
	return SealBlock(PackBlock(b, h, facts), start, h)
}

// PackBlock appends the part of a block that does not depend on what only its
// wave's end knows: it compresses the facts. [SealBlock] is owed.
func PackBlock(b []byte, h *Header, facts []byte) []byte {
	start := len(b)
	b = append(b, blockMagic...)
	b = append(b, Version, blockFlags(h), 0, 0, 0)
	b = binary.BigEndian.AppendUint64(b, h.First)
	b = binary.BigEndian.AppendUint64(b, h.Wave)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Count))
	b = binary.BigEndian.AppendUint32(b, uint32(len(facts)))
	return appendPayload(b, start+4, facts)
}

// SealBlock ends the block that PackBlock began at start.
func SealBlock(b []byte, start int, h *Header) []byte {
	if h.Closing {
		b = binary.BigEndian.AppendUint64(b, h.WaveFirst)
		b = binary.BigEndian.AppendUint64(b, h.Total)
		b = append(b, h.Digest[:]...)
	}
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(b[start:]))
}

func blockFlags(h *Header) byte {
	if h.Closing {
		return flagClosing
	}
	return 0
}

// appendPayload appends raw compressed, or as it is where that is shorter, and
// marks the flags byte at b[flags] accordingly.
func appendPayload(b []byte, flags int, raw []byte) []byte {
	room := s2.MaxEncodedLen(len(raw))
	if cap(b)-len(b) < room+closingSize+checksumSize {
		grown := make([]byte, len(b), len(b)+room+closingSize+checksumSize)
		copy(grown, b)
		b = grown
	}
	packed := s2.Encode(b[len(b):len(b)+room], raw)
	if len(packed) < len(raw) {
		b[flags] |= flagCompressed
		return b[:len(b)+len(packed)]
	}
	return append(b, raw...)
}

// Block is a stored block whose frame and checksum have been verified.
type Block struct {
	Header
	payload    []byte
	compressed bool
}

// OpenBlock verifies a stored block's frame and checksum.
func OpenBlock(value []byte) (Block, error) {
	var blk Block
	closing, err := checkFrame(value)
	if err != nil {
		return blk, err
	}
	end := len(value) - checksumSize
	if have, want := xxh3.Hash(value[:end]), binary.BigEndian.Uint64(value[end:]); have != want {
		return blk, corrupt("block: checksum %016x over %d bytes; it says %016x", have, end, want)
	}
	blk.readHeader(value)
	if closing {
		end -= closingSize
		blk.readClosing(value[end:])
	}
	blk.payload, blk.compressed = value[headerSize:end], value[4]&flagCompressed != 0
	return blk, blk.check()
}

func checkFrame(value []byte) (closing bool, err error) {
	if len(value) < headerSize+checksumSize || string(value[:3]) != blockMagic {
		return false, corrupt("block: %d bytes beginning %x; want at least %d beginning %q", len(value), clip(value), headerSize+checksumSize, blockMagic)
	}
	if value[3] == 0 || value[3] > Version {
		return false, newer("block", value[3], Version)
	}
	if value[4]&^(flagClosing|flagCompressed) != 0 || value[5]|value[6]|value[7] != 0 {
		return false, corrupt("block: flags %x; version %d knows %02x and three zeros", value[4:8], Version, flagClosing|flagCompressed)
	}
	closing = value[4]&flagClosing != 0
	if closing && len(value) < headerSize+closingSize+checksumSize {
		return closing, corrupt("block: %d bytes; a closing block has at least %d", len(value), headerSize+closingSize+checksumSize)
	}
	return closing, nil
}

func (blk *Block) readHeader(value []byte) {
	blk.First = binary.BigEndian.Uint64(value[8:])
	blk.Wave = binary.BigEndian.Uint64(value[16:])
	blk.Count = int(binary.BigEndian.Uint32(value[24:]))
	blk.Raw = int(binary.BigEndian.Uint32(value[28:]))
}

func (blk *Block) readClosing(trailer []byte) {
	blk.Closing = true
	blk.WaveFirst = binary.BigEndian.Uint64(trailer)
	blk.Total = binary.BigEndian.Uint64(trailer[8:])
	copy(blk.Digest[:], trailer[16:])
}

// check refuses numbers that cannot be, so that nothing is allocated for them.
func (blk *Block) check() error {
	if blk.Count < 1 || blk.Count > MaxFacts || blk.Raw > MaxPayload || blk.First < 1 || blk.Wave < 1 {
		return corrupt("block: %d facts in %d bytes from seq %d of wave %d; want 1 to %d facts, at most %d bytes, seq and wave from 1",
			blk.Count, blk.Raw, blk.First, blk.Wave, MaxFacts, MaxPayload)
	}
	if blk.Closing && (blk.WaveFirst < 1 || blk.WaveFirst > blk.First) {
		return corrupt("block: begins at seq %d, its wave at %d; want a wave that begins before", blk.First, blk.WaveFirst)
	}
	size := len(blk.payload)
	if blk.compressed {
		n, err := s2.DecodedLen(blk.payload)
		if err != nil {
			return corrupt("block: compressed facts: %w", err)
		}
		size = n
	}
	if size != blk.Raw {
		return corrupt("block: %d bytes of facts; its header says %d", size, blk.Raw)
	}
	return nil
}

// Facts returns the facts' bytes. They share nothing with the stored block.
func (blk *Block) Facts() ([]byte, error) {
	if !blk.compressed {
		return bytes.Clone(blk.payload), nil
	}
	raw, err := s2.Decode(nil, blk.payload)
	if err != nil {
		return nil, corrupt("block: compressed facts: %w", err)
	}
	return raw, nil
}

// Records decodes facts, the bytes of n facts of which the first has seq first,
// and hands those of the kinds over; none = all. Names come through intern; data is a slice of
// facts.
func Records(facts []byte, first uint64, n int, kinds []string, intern func([]byte) string, yield func(protocol.Record) error) error {
	rest, actor := facts, ""
	for i := range n {
		f, next, err := ReadFact(rest)
		if err != nil {
			return corrupt("seq %d at offset %d of %d: %w", first+uint64(i), len(facts)-len(rest), len(facts), err)
		}
		rest = next
		if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return k == string(f.Kind) }) {
			continue
		}
		if actor != string(f.Actor) { // the facts of a turn follow one another
			actor = intern(f.Actor)
		}
		rec := protocol.Record{Seq: first + uint64(i), Time: f.Time, Actor: actor, Kind: intern(f.Kind), Data: f.Data}
		if err := yield(rec); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return corrupt("seq %d: %d bytes after the last of %d facts", first+uint64(n)-1, len(rest), n)
	}
	return nil
}
