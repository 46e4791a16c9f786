package seats

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"tavernsim/protocol"
)

// diskFile is a file in memory that can be full, and can fail.
type diskFile struct {
	data          []byte
	full, failing bool
	lies          bool          // it gives other bytes than were written
	room          int           // for so many segments; 0 = for all
	taken         map[int64]int // bytes at the place of each segment
	wrote, read   int
}

func (d *diskFile) WriteAt(b []byte, at int64) (int, error) {
	if d.full {
		return 0, errors.New("nothing is written to a disk that is nearly full")
	}
	if d.taken[at] = len(b); d.room > 0 && len(d.taken) > d.room {
		return 0, fmt.Errorf("write: %w", syscall.ENOSPC) // a part of it takes room
	}
	if end := int(at) + len(b); end > len(d.data) {
		d.data = append(d.data, make([]byte, end-len(d.data))...)
	}
	d.wrote++
	return copy(d.data[at:], b), nil
}

func (d *diskFile) ReadAt(b []byte, at int64) (int, error) {
	d.read++
	if d.failing {
		return 0, errors.New("input/output error")
	}
	n := copy(b, d.data[at:])
	if d.lies {
		b[n-1]++
	}
	return n, nil
}

func (d *diskFile) Discard(at, n int64) {
	delete(d.taken, at)
	if at < int64(len(d.data)) {
		clear(d.data[at:min(at+n, int64(len(d.data)))])
	}
}

func (d *diskFile) Close() error { return nil }

// memory makes segments of 64 KiB.
const memory, segment64 = 4 << 20, 64 << 10

func onDisk(n int) (*states, *diskFile, *[]error) {
	d, warned := &diskFile{taken: map[int64]int{}}, &[]error{}
	s := newStates(n, &Options{Memory: memory, File: func() (File, error) { return d, nil }, Warn: func(err error) { *warned = append(*warned, err) }})
	return &s, d, warned
}

// state makes one that tells whose it is and when it was written.
func state(o uint32, turn, size int) []byte {
	return append(fmt.Appendf(nil, "%d/%d:", o, turn), bytes.Repeat([]byte{byte(o + uint32(turn))}, size)...)
}

// Promises 1 and 3: whatever is put, dropped, moved to the file, compacted and viewed, everybody has
// the state that it had last, and what lies here stays within its bounds.
func TestStatesAreKept(t *testing.T) {
	const agents = 3000
	seed := uint64(time.Now().UnixNano())
	chance := rand.New(rand.NewPCG(seed, 0))
	s, d, warned := onDisk(agents)
	want := make([][]byte, agents)
	type moment struct {
		view view
		want [][]byte
	}
	var seen *moment
	for turn := range 25_000 {
		o := chance.Uint32N(agents)
		switch n := chance.IntN(100); {
		case n < 10:
			s.drop(o)
			want[o] = nil
		case n < 11 && seen == nil && chance.IntN(40) == 0:
			seen = &moment{s.view(), append([][]byte(nil), want...)}
			if seen.want[o] == nil { // it has an actor
				seen.want[o] = state(o, turn, 100)
				s.add(&seen.view, o, seen.want[o])
			}
			s.seal(&seen.view)
		case n < 12 && seen != nil && chance.IntN(40) == 0:
			for o, want := range seen.want {
				if got, err := seen.view.get(uint32(o)); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("seed %d, turn %d: a view has %.20q of %d, want %.20q; %v", seed, turn, got, o, want, err)
				}
			}
			s.close()
			seen = nil
		default:
			size := chance.IntN(5_000)
			if chance.IntN(200) == 0 {
				size = segment64/2 + chance.IntN(5*segment64) // most fit into no segment
			}
			want[o] = state(o, turn, size)
			s.put(o, want[o])
		}
		if got, err := s.get(o); err != nil || !bytes.Equal(got, want[o]) {
			t.Fatalf("seed %d, turn %d: %d has %.20q, want %.20q; %v", seed, turn, o, got, want[o], err)
		}
		if s.memory > memory+2*segment64 {
			t.Fatalf("seed %d, turn %d: %d bytes are written and %d living, %d in memory", seed, turn, s.written, s.living, s.memory)
		}
	}
	if seen != nil {
		s.close()
	}
	for o := range uint32(100) { // what was obsolete and viewed goes
		s.put(o, state(o, 0, 100))
		want[o] = state(o, 0, 100)
	}
	if s.written > 2*s.living+5*segment64 {
		t.Errorf("seed %d: %d bytes are written, and %d of them living", seed, s.written, s.living)
	}
	bytesOf := 0
	for o := range want {
		bytesOf += len(want[o])
		if got, err := s.get(uint32(o)); err != nil || !bytes.Equal(got, want[o]) {
			t.Fatalf("seed %d: %d has %.20q, want %.20q; %v", seed, o, got, want[o], err)
		}
	}
	held := 0 // in the file
	for i := range s.segments {
		if g := &s.segments[i]; g.data == nil && g.size > 0 {
			held += g.size
		}
	}
	for _, n := range d.taken {
		held -= n
	}
	if held != 0 {
		t.Errorf("seed %d: the file takes %d bytes more than lie in it", seed, -held)
	}
	if int(s.bytes) != bytesOf || d.wrote == 0 || d.read == 0 || len(*warned) > 0 {
		t.Errorf("seed %d: %d bytes, want %d; %d segments were written, %d read; warned of %v", seed, s.bytes, bytesOf, d.wrote, d.read, *warned)
	}
	for o := range want {
		s.drop(uint32(o))
	}
	if s.living != 0 || s.written > segment64 || s.memory > segment64 || s.bytes != 0 || len(s.large) > 0 || len(d.taken) > 0 {
		t.Errorf("seed %d: of nobody's state %d bytes are left, %d written, %d in memory", seed, s.living, s.written, s.memory)
	}
}

// Promise 4.
func TestFileDoesNotServe(t *testing.T) {
	fill := func(s *states, turn int) {
		for o := range uint32(2000) {
			s.put(o, state(o, turn, 4_000))
		}
	}
	t.Run("full", func(t *testing.T) {
		s, d, warned := onDisk(2000)
		d.full = true
		fill(s, 1)
		if len(*warned) != 1 || s.memory < 2000*4_000 {
			t.Errorf("%d bytes lie in memory; warned of %v, want one", s.memory, *warned)
		}
		d.full = false
		fill(s, 2)
		if s.memory > memory+2*segment64 {
			t.Errorf("%d bytes lie in memory when there is space again", s.memory)
		}
		for o := range uint32(2000) {
			if got, err := s.get(o); err != nil || !bytes.Equal(got, state(o, 2, 4_000)) {
				t.Fatalf("%d: %.20q, %v", o, got, err)
			}
		}
	})
	t.Run("not made", func(t *testing.T) { // there is nothing that it could give back
		s, _, warned := onDisk(2000)
		open := s.open
		s.open = func() (File, error) { return nil, syscall.ENOSPC }
		fill(s, 1)
		s.open = open
		fill(s, 2)
		if len(*warned) != 1 || s.memory > memory+2*segment64 {
			t.Errorf("%d bytes lie in memory; warned of %v, want one", s.memory, *warned)
		}
	})
	t.Run("no room", func(t *testing.T) { // which nothing has said before
		s, d, warned := onDisk(2000)
		fill(s, 1)
		seen := s.view()
		s.seal(&seen)
		d.room = len(d.taken)
		put := func(turn int) {
			for o := range uint32(100) {
				s.put(o, state(o, turn, 4_000))
			}
		}
		put(2)
		if len(d.taken) != d.room { // the view reads it
			t.Errorf("%d segments lie in the file, want %d", len(d.taken), d.room)
		}
		for o := range uint32(2000) {
			if got, err := seen.get(o); err != nil || !bytes.Equal(got, state(o, 1, 4_000)) {
				t.Fatalf("%d: %.20q, %v", o, got, err)
			}
		}
		d.room = 1
		s.close()
		put(3)
		if len(d.taken) > 0 || len(*warned) != 1 {
			t.Errorf("%d segments lie in the file; warned of %v, want one", len(d.taken), *warned)
		}
		fill(s, 4)
		if len(d.taken) > 0 || len(*warned) != 1 || s.memory < 2000*4_000 {
			t.Errorf("%d segments lie in the file and %d bytes in memory; warned of %v, want one", len(d.taken), s.memory, *warned)
		}
		for o := range uint32(2000) {
			if got, err := s.get(o); err != nil || !bytes.Equal(got, state(o, 4, 4_000)) {
				t.Fatalf("%d: %.20q, %v", o, got, err)
			}
		}
	})
	for name, kind := range map[string]protocol.ErrorKind{"failing": protocol.KindTransient, "lies": protocol.KindCorrupt} {
		t.Run(name, func(t *testing.T) {
			s, d, warned := onDisk(2000)
			fill(s, 1)
			d.failing, d.lies = name == "failing", name == "lies"
			if got, err := s.get(0); protocol.KindOf(err) != kind {
				t.Errorf("%.20q, %v; want an error of kind %s", got, err, kind)
			}
			if got, err := s.get(1999); err != nil || !bytes.Equal(got, state(1999, 1, 4_000)) {
				t.Errorf("%.20q, %v: it lies in memory", got, err)
			}
			chance := rand.New(rand.NewPCG(1, 1))
			for turn := range 8_000 { // nothing is moved out of what cannot be read, again and again
				s.put(chance.Uint32N(2000), state(0, turn, 4_000))
			}
			if d.read > 60 || len(*warned) > 2 {
				t.Errorf("it was read %d times; warned of %v", d.read, *warned)
			}
		})
	}
}

// What is put may lie in memory that is used again, whether it fits into a segment or not.
func TestPutCopies(t *testing.T) {
	s, _, _ := onDisk(2)
	buffer := make([]byte, 2*segment64)
	for o, size := range []int{10, len(buffer)} {
		want := state(uint32(o), 1, size-8)
		s.put(uint32(o), append(buffer[:0], want...))
		clear(buffer)
		if got, err := s.get(uint32(o)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("agent %d: %d bytes, %v; want %d", o, len(got), err, len(want))
		}
	}
}

// Promise 3: states that fit into no segment lie in the file like others.
func TestLargeStatesLieInTheFile(t *testing.T) {
	s, d, warned := onDisk(50)
	for turn := range 3 {
		for o := range uint32(50) {
			s.put(o, state(o, turn, 10*segment64))
			if s.memory > memory+2*segment64 {
				t.Fatalf("%d bytes lie in memory", s.memory)
			}
		}
	}
	for o := range uint32(50) {
		if got, err := s.get(o); err != nil || !bytes.Equal(got, state(o, 2, 10*segment64)) {
			t.Fatalf("%d: %d bytes, %v", o, len(got), err)
		}
	}
	if len(d.taken) == 0 || len(*warned) > 0 {
		t.Errorf("%d segments lie in the file; warned of %v", len(d.taken), *warned)
	}
}
