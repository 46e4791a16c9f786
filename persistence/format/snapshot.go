package format

import (
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

const (
	snapshotMagic = "SJS"
	tagChunk      = 'C'
	tagPiece      = 'P' // a chunk of a piece of one state, of which the next chunk has more
	tagEnd        = 'E'
	chunkHead     = 1 + 4 + 4 + 4
	endSize       = 1 + 8 + 8 + 4 + checksumSize
	chunkTarget   = 1 << 20 // bytes of states at which a chunk is full
)

// Manifest says what a snapshot is a snapshot of.
type Manifest struct {
	Scene  string
	Wave   uint64
	Seq    uint64 // last of the wave
	Digest Digest // of the chain up to the wave
}

// Totals counts what a snapshot holds.
type Totals struct {
	Entries uint64
	Raw     uint64 // bytes of actors and states
	Chunks  uint32
}

// SnapshotWriter writes a snapshot file. It buffers one chunk.
type SnapshotWriter struct {
	w      io.Writer
	most   int    // bytes of a piece of a state
	raw    []byte // entries of the open chunk
	packed []byte
	count  int
	totals Totals
	sums   xxh3.Hasher // over the checksums so far
	size   int64
}

// NewSnapshotWriter writes the file's head.
func NewSnapshotWriter(w io.Writer, m Manifest) (*SnapshotWriter, error) {
	if err := CheckScene(m.Scene); err != nil {
		return nil, err
	}
	sw := &SnapshotWriter{w: w, most: MaxData, raw: make([]byte, 0, chunkTarget+chunkTarget/4)}
	b := append([]byte(snapshotMagic), Version, byte(len(m.Scene)))
	b = append(b, m.Scene...)
	b = binary.BigEndian.AppendUint64(b, m.Wave)
	b = binary.BigEndian.AppendUint64(b, m.Seq)
	b = append(b, m.Digest[:]...)
	return sw, sw.write(b)
}

// write appends the checksum of b to it and writes both.
func (sw *SnapshotWriter) write(b []byte) error {
	b = binary.BigEndian.AppendUint64(b, xxh3.Hash(b))
	_, _ = sw.sums.Write(b[len(b)-checksumSize:])
	n, err := sw.w.Write(b)
	sw.size += int64(n)
	return err
}

// Add appends one actor's state.
func (sw *SnapshotWriter) Add(actor string, state []byte) error {
	if actor == "" {
		return protocol.Errorf(protocol.KindInvalid, "a state of nobody: every state has the name of its actor")
	}
	if len(actor) > MaxActor || len(state) > MaxState {
		return protocol.Errorf(protocol.KindLimit, "state of actor %.40q: %d bytes of actor, %d of state; the limits are %d and %d", actor, len(actor), len(state), MaxActor, MaxState)
	}
	for ; len(state) > sw.most; state = state[sw.most:] {
		if err := sw.piece(actor, state[:sw.most]); err != nil {
			return err
		}
	}
	sw.entry(actor, state)
	sw.totals.Entries++
	if len(sw.raw) < chunkTarget {
		return nil
	}
	return sw.flush(tagChunk)
}

func (sw *SnapshotWriter) entry(actor string, state []byte) {
	sw.raw = appendLen(sw.raw, len(actor))
	sw.raw = append(sw.raw, actor...)
	sw.raw = appendLen(sw.raw, len(state))
	sw.raw = append(sw.raw, state...)
	sw.count++
}

// piece writes a piece of a state that is not the last.
func (sw *SnapshotWriter) piece(actor string, state []byte) error {
	if err := sw.flush(tagChunk); err != nil {
		return err
	}
	sw.entry(actor, state)
	return sw.flush(tagPiece)
}

func (sw *SnapshotWriter) flush(tag byte) error {
	if sw.count == 0 {
		return nil
	}
	b := append(sw.packed[:0], tag)
	b = binary.BigEndian.AppendUint32(b, uint32(sw.count))
	b = binary.BigEndian.AppendUint32(b, uint32(len(sw.raw)))
	room := s2.MaxEncodedLen(len(sw.raw))
	if cap(b) < chunkHead+room+checksumSize {
		b = append(make([]byte, 0, chunkHead+room+checksumSize), b...)
	}
	packed := s2.Encode(b[chunkHead:chunkHead+room], sw.raw)
	if len(packed) >= len(sw.raw) {
		packed = append(b[chunkHead:chunkHead], sw.raw...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(packed)))
	sw.packed = b[:chunkHead+len(packed)]
	sw.totals.Raw += uint64(len(sw.raw))
	sw.totals.Chunks++
	sw.raw, sw.count = sw.raw[:0], 0
	return sw.write(sw.packed)
}

// Close writes the last chunk and the end, without which the file is not a
// snapshot. It does not close what it writes to.
func (sw *SnapshotWriter) Close() error {
	if err := sw.flush(tagChunk); err != nil {
		return err
	}
	b := []byte{tagEnd}
	b = binary.BigEndian.AppendUint64(b, sw.totals.Entries)
	b = binary.BigEndian.AppendUint64(b, sw.totals.Raw)
	b = binary.BigEndian.AppendUint32(b, sw.totals.Chunks)
	_, _ = sw.sums.Write(b)
	b = binary.BigEndian.AppendUint64(b, sw.sums.Sum64())
	n, err := sw.w.Write(b)
	sw.size += int64(n)
	return err
}

// Size is the number of bytes written so far.
func (sw *SnapshotWriter) Size() int64 { return sw.size }

// snapshotReader reads one piece after the other and knows where it is.
type snapshotReader struct {
	r      io.Reader
	buf    []byte
	sums   xxh3.Hasher
	offset int64

	actor string // whose state has begun; "" = nobody's
	begun []byte // of that state, unless nobody wants it
	size  int    // of what has come of it
}

// ReadSnapshot reads a whole snapshot file and hands over every state in the
// order in which it was written. A state's bytes are good for ever; those of
// one chunk share memory. Damage that lies behind them is found after they have
// been handed over: read once with a nil yield before relying on any.
func ReadSnapshot(r io.Reader, yield func(actor string, state []byte) error) (Manifest, Totals, error) {
	sr := &snapshotReader{r: r}
	m, err := sr.manifest()
	if err != nil {
		return m, Totals{}, err
	}
	var totals Totals
	for {
		at := sr.offset
		more, err := sr.piece(&totals, yield)
		if err != nil {
			return m, totals, protocol.Errorf(protocol.KindOf(err), "snapshot of wave %d at offset %d: %w", m.Wave, at, err)
		}
		if !more {
			return m, totals, nil
		}
	}
}

func (sr *snapshotReader) take(n int) ([]byte, error) {
	if cap(sr.buf) < n {
		sr.buf = make([]byte, n)
	}
	b := sr.buf[:n]
	got, err := io.ReadFull(sr.r, b)
	sr.offset += int64(got)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, corrupt("snapshot: cut at offset %d, %d bytes before the end of a piece", sr.offset, n-got)
	}
	return b, err
}

func (sr *snapshotReader) manifest() (Manifest, error) {
	var m Manifest
	b, err := sr.take(5)
	if err != nil {
		return m, err
	}
	if string(b[:3]) != snapshotMagic {
		return m, corrupt("snapshot: begins %x; want %q", b[:3], snapshotMagic)
	}
	if b[3] == 0 || b[3] > Version {
		return m, newer("snapshot", b[3], Version)
	}
	head := append([]byte(nil), b...)
	n := int(b[4])
	if b, err = sr.take(n + 8 + 8 + DigestSize + checksumSize); err != nil {
		return m, err
	}
	head = append(head, b...)
	if err := sr.verify(head); err != nil {
		return m, err
	}
	m.Scene = string(b[:n])
	m.Wave = binary.BigEndian.Uint64(b[n:])
	m.Seq = binary.BigEndian.Uint64(b[n+8:])
	copy(m.Digest[:], b[n+16:])
	return m, CheckScene(m.Scene)
}

// verify checks the checksum at the end of a piece.
func (sr *snapshotReader) verify(piece []byte) error {
	end := len(piece) - checksumSize
	if have, want := xxh3.Hash(piece[:end]), binary.BigEndian.Uint64(piece[end:]); have != want {
		return corrupt("checksum %016x over %d bytes; it says %016x", have, end, want)
	}
	_, _ = sr.sums.Write(piece[end:])
	return nil
}

func (sr *snapshotReader) piece(totals *Totals, yield func(string, []byte) error) (more bool, err error) {
	b, err := sr.take(chunkHead)
	if err != nil {
		return false, err
	}
	switch b[0] {
	case tagChunk, tagPiece:
		return true, sr.chunk(b, totals, yield)
	case tagEnd:
		return false, sr.end(b, totals)
	}
	return false, corrupt("piece begins %02x; want a chunk %02x or the end %02x", b[0], tagChunk, tagEnd)
}

func (sr *snapshotReader) chunk(b []byte, totals *Totals, yield func(string, []byte) error) error {
	head := [chunkHead]byte(b)
	count, raw, stored := binary.BigEndian.Uint32(b[1:]), binary.BigEndian.Uint32(b[5:]), binary.BigEndian.Uint32(b[9:])
	if raw > MaxPayload+chunkTarget || stored > raw {
		return corrupt("chunk of %d bytes stored in %d; want at most %d and no more stored", raw, stored, MaxPayload+chunkTarget)
	}
	rest, err := sr.take(int(stored) + checksumSize)
	if err != nil {
		return err
	}
	piece := append(head[:], rest...)
	if err := sr.verify(piece); err != nil {
		return err
	}
	states, err := unpack(piece[chunkHead:chunkHead+int(stored)], int(raw))
	if err != nil {
		return err
	}
	totals.Raw += uint64(raw)
	totals.Chunks++
	if head[0] == tagPiece && count == 1 {
		return eachState(states, 1, func(actor, state []byte) error { return sr.more(actor, state, yield != nil) })
	} else if head[0] == tagPiece {
		return corrupt("%d states in the chunk of a piece", count)
	}
	totals.Entries += uint64(count)
	return eachState(states, int(count), func(actor, state []byte) error {
		if sr.actor != "" {
			if err := sr.more(actor, state, yield != nil); err != nil {
				return err
			}
			state, sr.actor, sr.begun, sr.size = sr.begun, "", nil, 0
		}
		if yield == nil {
			return nil
		}
		return yield(string(actor), state)
	})
}

// more takes a piece of a state.
func (sr *snapshotReader) more(actor, state []byte, wanted bool) error {
	if sr.actor != "" && sr.actor != string(actor) {
		return corrupt("a state of %q within that of %q", actor, sr.actor)
	}
	if sr.actor, sr.size = string(actor), sr.size+len(state); sr.size > MaxState {
		return corrupt("the state of %q has more than %d bytes", actor, MaxState)
	}
	if wanted {
		sr.begun = append(sr.begun, state...)
	}
	return nil
}

func unpack(packed []byte, raw int) ([]byte, error) {
	if len(packed) == raw {
		return packed, nil
	}
	if n, err := s2.DecodedLen(packed); err != nil || n != raw {
		return nil, corrupt("chunk unpacks to %d bytes, %v; its head says %d", n, err, raw)
	}
	states, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, corrupt("chunk: %w", err)
	}
	return states, nil
}

func eachState(b []byte, count int, yield func(actor, state []byte) error) error {
	for i := range count {
		actor, rest, err := readBytes(b, MaxActor, "actor")
		if err != nil {
			return corrupt("state %d of %d: %w", i+1, count, err)
		}
		state, rest, err := readBytes(rest, MaxData, "state")
		if err != nil {
			return corrupt("state %d of %d: %w", i+1, count, err)
		}
		b = rest
		if err := yield(actor, state); err != nil {
			return err
		}
	}
	if len(b) > 0 {
		return corrupt("chunk: %d bytes after the last of %d states", len(b), count)
	}
	return nil
}

func (sr *snapshotReader) end(b []byte, totals *Totals) error {
	if sr.actor != "" {
		return corrupt("it ends within the state of %q", sr.actor)
	}
	piece := append([]byte(nil), b...)
	rest, err := sr.take(endSize - chunkHead)
	if err != nil {
		return err
	}
	piece = append(piece, rest...)
	_, _ = sr.sums.Write(piece[:endSize-checksumSize])
	if have, want := sr.sums.Sum64(), binary.BigEndian.Uint64(piece[endSize-checksumSize:]); have != want {
		return corrupt("checksum of all pieces %016x; the end says %016x", have, want)
	}
	said := Totals{Entries: binary.BigEndian.Uint64(piece[1:]), Raw: binary.BigEndian.Uint64(piece[9:]), Chunks: binary.BigEndian.Uint32(piece[17:])}
	if said != *totals {
		return corrupt("end counts %+v; the chunks hold %+v", said, *totals)
	}
	if n, _ := io.ReadFull(sr.r, make([]byte, 1)); n > 0 {
		return corrupt("bytes after the end at offset %d", sr.offset)
	}
	return nil
}
