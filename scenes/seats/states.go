package seats

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"syscall"

	"github.com/zeebo/xxh3"

	"tavernsim/protocol"
)

// File holds the states of passive agents for which memory has no room. It is no part of the
// durability: [Options].File makes it empty for each scene, and no process reads it after the scene.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Discard gives back the room of n bytes that nobody reads any more, if the system can.
	Discard(at, n int64)
}

const (
	placeBits = 22 // of a place in a segment, and of the length of a record
	mostSize  = 1 << placeBits
	firstSize = 4 << 10 // of a segment at first
	headSize  = 12      // of a record: ordinal of the agent, length and hash of what follows
)

// row says where a record is: number of the segment, place in it, length of what follows its head.
type row uint64

const (
	declared row = 0       // the agent has no state: it is as declared
	pieced   row = ^row(0) // the state has several records, which large lists
)

func rowOf(segment uint32, place, length int) row {
	return row(segment)<<(2*placeBits) | row(place)<<placeBits | row(length)
}

func (r row) segment() uint32 { return uint32(r >> (2 * placeBits)) }
func (r row) place() int      { return int(r >> placeBits & (mostSize - 1)) }
func (r row) length() int     { return int(r & (mostSize - 1)) }

// segment is a piece of memory, or of the file.
type segment struct {
	data   []byte // nil = it lies in the file, at the place of its number
	size   int    // bytes that are written; 0 = nothing
	living int    // bytes of records of which a row knows
}

// states holds a packed state for each agent, or none. States are written once, one after the
// other in segments, of which the oldest lie in a file when memory is full. A segment goes when no row
// knows a record of it, and when half of what is written is obsolete, the records that are not are
// taken out of the emptiest one.
//
// It is not safe for use by several goroutines. A [view] of it is.
type states struct {
	rows     []row
	segments []segment
	unused   []uint32         // numbers of segments that are gone
	head     uint32           // the segment that is being filled
	large    map[uint32][]row // the records of states that fit into no segment

	bytes   int64 // of all states
	written int64 // of all records in segments
	living  int64 // of those of which a row knows
	memory  int64 // that segments take

	size  int   // of a segment, at most
	limit int64 // of memory; beyond it the file is used
	open  func() (File, error)
	file  File
	next  uint32      // the segment to look at first when one is moved to the file
	warn  func(error) // hears why the file does not serve
	told  bool        // that it cannot be written; on a disk that is nearly full it can now and then
	full  bool        // the disk had no room for the file, which is not written any more
	grows bool        // no segment can be read whose records move: each stays until it is obsolete
	views int         // while there is one, no segment goes
}

func newStates(n int, o *Options) states {
	size := mostSize
	if o.File != nil {
		size = int(max(firstSize, min(mostSize, o.Memory/64)))
	}
	return states{rows: make([]row, n), segments: make([]segment, 1), large: map[uint32][]row{}, size: size, limit: o.Memory, open: o.File, warn: o.Warn}
}

// put takes the state of an agent; an empty one is none.
func (s *states) put(o uint32, state []byte) {
	s.drop(o)
	if len(state) == 0 {
		return
	}
	s.bytes += int64(len(state))
	s.rows[o] = s.write(s.large, o, state, true)
	for s.views == 0 && !s.grows && s.written-s.living > s.living+4*int64(s.size) && s.compact() {
	}
}

// count adds to the bytes of a segment of which rows know.
func (s *states) count(r row, n int) {
	s.segments[r.segment()].living += n
	s.living += int64(n)
}

// write appends a state, in several records if it fits into no segment, and gives its row. It counts
// them, unless no row of s will know them.
func (s *states) write(large map[uint32][]row, o uint32, state []byte, known bool) row {
	var list []row
	for most := s.size - headSize; ; state = state[most:] {
		piece := state[:min(most, len(state))]
		r := s.record(o, piece)
		if known {
			s.count(r, headSize+len(piece))
		}
		if list == nil && len(piece) == len(state) {
			return r
		}
		if list = append(list, r); len(piece) == len(state) {
			large[o] = list
			return pieced
		}
	}
}

// record appends a record, of which no row knows.
func (s *states) record(o uint32, state []byte) row {
	n := headSize + len(state)
	if s.segments[s.head].size+n > s.size {
		s.begin()
	}
	g := &s.segments[s.head]
	if at := g.size + n; at > len(g.data) {
		grown := make([]byte, min(s.size, max(2*len(g.data), firstSize, at)))
		copy(grown, g.data[:g.size])
		s.memory += int64(len(grown) - len(g.data))
		g.data = grown
	}
	b := g.data[g.size : g.size+n]
	binary.LittleEndian.PutUint32(b, o)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(state)))
	binary.LittleEndian.PutUint32(b[8:], uint32(xxh3.Hash(state)))
	copy(b[headSize:], state)
	r := rowOf(s.head, g.size, len(state))
	g.size += n
	s.written += int64(n)
	return r
}

// begin makes room: the next record goes into another segment.
func (s *states) begin() {
	last := s.head
	if n := len(s.unused); n > 0 {
		s.head, s.unused = s.unused[n-1], s.unused[:n-1]
	} else {
		s.head = uint32(len(s.segments))
		s.segments = append(s.segments, segment{})
	}
	s.release(last)
	for s.open != nil && !s.full && s.memory > s.limit && s.move() {
	}
}

// release lets a segment go of which no row knows a record.
func (s *states) release(number uint32) {
	g := &s.segments[number]
	if g.living > 0 || g.size == 0 || number == s.head || s.views > 0 {
		return
	}
	s.written -= int64(g.size)
	s.memory -= int64(len(g.data))
	if g.data == nil {
		s.discard(number)
	}
	*g = segment{}
	s.unused = append(s.unused, number)
}

// move writes the next segment that lies in memory to the file.
func (s *states) move() bool {
	for range s.segments {
		number := s.next % uint32(len(s.segments))
		s.next = number + 1
		if g := &s.segments[number]; number != s.head && g.data != nil {
			err := s.store(number, g.data[:g.size])
			if err == nil {
				s.memory -= int64(len(g.data))
				g.data = nil
				return true
			}
			if !s.told {
				s.told = true
				s.warn(protocol.Errorf(protocol.KindTransient, "states of passive agents stay in memory while their file cannot be written: %w", err))
			}
			if s.views == 0 && s.file != nil && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
				s.retreat()
			}
			return false
		}
	}
	return false
}

func (s *states) store(number uint32, data []byte) error {
	if s.file == nil {
		f, err := s.open()
		if err != nil {
			return err
		}
		s.file = f
	}
	_, err := s.file.WriteAt(data, s.at(number))
	if err != nil {
		s.discard(number)
	}
	return err
}

// at is the place of a segment in the file.
func (s *states) at(number uint32) int64 { return int64(number) * int64(s.size) }

func (s *states) discard(number uint32) { s.file.Discard(s.at(number), int64(s.size)) }

// retreat is for a disk that is full and did not say so before, as with a quota: the file has taken the room
// of the journal. As much as should have been left comes back into memory, and the file is not written any
// more.
func (s *states) retreat() {
	s.full = true
	taken := int64(0)
	for i := len(s.segments) - 1; i >= 0 && taken < reserve; i-- { // the end of the file can go on every system
		g, number := &s.segments[i], uint32(i)
		if g.data != nil || g.size == 0 {
			continue
		}
		data, err := s.load(number)
		if err != nil {
			return // who needs it is told
		}
		g.data = data
		s.memory += int64(len(data))
		taken += int64(len(data))
		s.discard(number)
	}
}

// load reads a segment from the file.
func (s *states) load(number uint32) ([]byte, error) {
	data := make([]byte, s.segments[number].size)
	if n, err := s.file.ReadAt(data, s.at(number)); n < len(data) {
		return nil, err
	}
	return data, nil
}

// drop forgets the state of an agent.
func (s *states) drop(o uint32) {
	r := s.rows[o]
	s.rows[o] = declared
	switch r {
	case declared:
	case pieced:
		for _, r := range s.large[o] {
			s.forget(r)
		}
		delete(s.large, o)
	default:
		s.forget(r)
	}
}

// forget makes a record obsolete.
func (s *states) forget(r row) {
	s.bytes -= int64(r.length())
	s.count(r, -headSize-r.length())
	s.release(r.segment())
}

// get reads the state of an agent; nil = it has none. The bytes are the caller's.
func (s *states) get(o uint32) ([]byte, error) {
	return (&view{rows: s.rows, segments: s.segments, size: s.size, file: s.file, large: s.large}).get(o)
}

// intact reports whether a record is that of an agent as it was written.
func intact(b []byte, o uint32) bool {
	return binary.LittleEndian.Uint32(b) == o && binary.LittleEndian.Uint32(b[8:]) == uint32(xxh3.Hash(b[headSize:]))
}

// compact takes what is not obsolete out of the emptiest segment. It reports whether it could.
func (s *states) compact() bool {
	best, least := s.head, s.size
	for i := range s.segments {
		if g := &s.segments[i]; uint32(i) != s.head && g.size > 0 && g.living < least {
			best, least = uint32(i), g.living
		}
	}
	if best == s.head {
		return false
	}
	g := s.segments[best]
	data := g.data
	if data == nil {
		var err error
		if data, err = s.load(best); err != nil {
			s.warn(protocol.Errorf(protocol.KindTransient, "the file of passive agents only grows from now on, because it cannot be read: %w", err))
			s.grows = true
			return false
		}
	}
	for at := 0; at < g.size; {
		o, n := binary.LittleEndian.Uint32(data[at:]), int(binary.LittleEndian.Uint32(data[at+4:]))
		if n == 0 || n > len(data)-at-headSize || int(o) >= len(s.rows) {
			break // the file has other bytes than were written: whose state that is, is told when it is read
		}
		b := data[at : at+headSize+n]
		r := rowOf(best, at, n)
		if known := s.knows(o, r); known != nil && intact(b, o) {
			s.count(r, -len(b))
			*known = s.record(o, b[headSize:])
			s.count(*known, len(b))
		}
		at += len(b)
	}
	s.release(best)
	s.grows = s.segments[best].size > 0
	return !s.grows
}

// knows is where the place of a record of an agent is kept; nil = it is obsolete.
func (s *states) knows(o uint32, r row) *row {
	list := s.rows[o : o+1]
	if list[0] == pieced {
		list = s.large[o]
	}
	if i := slices.Index(list, r); i >= 0 {
		return &list[i]
	}
	return nil
}

// view opens what lies here now to another goroutine, which gets it when it is sealed. Until it is
// closed, no segment goes.
func (s *states) view() view {
	s.views++
	return view{rows: slices.Clone(s.rows), size: s.size, large: maps.Clone(s.large)}
}

// seal ends what is added to a view.
func (s *states) seal(v *view) { v.segments, v.file = slices.Clone(s.segments), s.file }

// add puts a state into a view alone.
func (s *states) add(v *view, o uint32, state []byte) {
	v.rows[o] = s.write(v.large, o, state, false)
}

// close ends a view.
func (s *states) close() {
	if s.views--; s.views > 0 {
		return
	}
	for i := range s.segments {
		s.release(uint32(i))
	}
}

// end closes the file, which nobody reads any more.
func (s *states) end() {
	if s.file != nil {
		_ = s.file.Close() // it is thrown away
	}
}

// view is what lay in states at one moment.
type view struct {
	rows     []row
	segments []segment
	size     int
	file     File
	large    map[uint32][]row
}

func (v *view) get(o uint32) ([]byte, error) {
	switch r := v.rows[o]; r {
	case declared:
		return nil, nil
	case pieced:
		n := 0
		for _, r := range v.large[o] {
			n += r.length()
		}
		whole := make([]byte, 0, n)
		for _, r := range v.large[o] {
			piece, err := v.read(o, r)
			if err != nil {
				return nil, err
			}
			whole = append(whole, piece...)
		}
		return whole, nil
	default:
		return v.read(o, r)
	}
}

// read reads what a record has behind its head.
func (v *view) read(o uint32, r row) ([]byte, error) {
	b := make([]byte, headSize+r.length())
	if g := &v.segments[r.segment()]; g.data != nil {
		copy(b, g.data[r.place():])
	} else if n, err := v.file.ReadAt(b, int64(r.segment())*int64(v.size)+int64(r.place())); n < len(b) {
		return nil, protocol.Errorf(protocol.KindTransient, "read the file of passive agents: %w", err)
	}
	if !intact(b, o) {
		return nil, protocol.Errorf(protocol.KindCorrupt, "the file of passive agents has other bytes than were written")
	}
	return b[headSize:], nil
}
