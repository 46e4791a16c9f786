package lease

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/treap"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Bounds of leases.
const (
	MaxTime  = time.Hour // longest time a lease may be asked for
	MaxPaths = 64        // of one lease
	MaxHeld  = 1_000_000 // paths of the leases of one document
)

// Lease keeps others from writing at, above or below its paths until a moment
// of the scene's clock.
type Lease struct {
	ID     string
	Holder string
	Paths  []world.Path
	Until  protocol.Time
}

// Leased says that a lease began. Version 1 of this fact.
type Leased struct {
	Time  protocol.Time
	Lease Lease
}

// FactKind implements protocol.Fact.
func (*Leased) FactKind() string { return "world.leased" }

// Released says that a lease ended before or at its time. Version 1 of this
// fact.
type Released struct {
	Time    protocol.Time
	ID      string
	Holder  string
	Expired bool
}

func (*Released) FactKind() string { return "world.released" }

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{protocol.ByCodec[Leased](), protocol.ByCodec[Released]()}
}

// Answers implements protocol.Answering.
func (f *Leased) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.Lease.Holder, Kind: "world_leased", Wakes: true}, true
}

// Told implements protocol.Answering.
func (f *Leased) Told() map[string]any {
	paths := make([]any, len(f.Lease.Paths))
	for i, p := range f.Lease.Paths {
		paths[i] = p.String()
	}
	return map[string]any{"lock": f.Lease.ID, "paths": paths, "until": f.Lease.Until.String()}
}

// Answers implements protocol.Answering: who gave a lease back knows it.
func (f *Released) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.Holder, Kind: "world_lease_expired", Wakes: true}, f.Expired
}

func (f *Released) Told() map[string]any { return map[string]any{"lock": f.ID} }

// Leases are the leases of one document, a value like the document: a copy costs
// nothing, and a change some steps for each of its paths.
type Leases struct {
	began    tree // under one key, by number
	byHolder tree
	byPath   tree // a lease is under the stem of each of its paths
	last     uint64
	count    int
	paths    int // of all
}

// tree has leases by their numbers, in the order in which they began, and by their ends.
type (
	tree   = treap.Tree[*Lease]
	entry  = treap.Item[*Lease]
	search = treap.Search[*Lease]
)

// Held lists the leases that are live, in the order in which they began.
func (l Leases) Held(now protocol.Time) (out []Lease) {
	for x := range l.began.All {
		if x.Until > now {
			out = append(out, *x.Value)
		}
	}
	return out
}

// Of is the live lease of a holder.
func (l Leases) Of(holder string, now protocol.Time) (Lease, bool) {
	for x := range l.byHolder.At(holder) {
		if x.Until > now {
			return *x.Value, true
		}
	}
	return Lease{}, false
}

// Acquire decides about a new lease.
func (l Leases) Acquire(now protocol.Time, want Lease, d time.Duration) (*Leased, error) {
	if err := want.check(d); err != nil {
		return nil, err
	}
	if n := l.live(now); n+len(want.Paths) > MaxHeld {
		return nil, faultf(world.CodeLimit, "lease %q: leases with %d paths are held; with its own %d it would be more than %d", want.ID, n, len(want.Paths), MaxHeld)
	}
	s := search{Wanted: func(e *entry) bool { return e.Until > now }}
	s.At(l.byHolder, want.Holder)
	for _, p := range want.Paths {
		l.meet(&s, p, func(e *entry) bool { return e.Until > now && e.Value.meets(p) >= 0 })
	}
	if s.Found != nil {
		return nil, s.Found.Value.refuse(want)
	}
	want.Until = now.Add(d)
	return &Leased{Time: now, Lease: want}, nil
}

// live counts the paths of the leases that are live.
func (l Leases) live(now protocol.Time) int {
	n := l.paths
	for x := range l.began.Ended(now) {
		n -= len(x.Value.Paths)
	}
	return n
}

// refuse says how a lease is in the way of another.
func (h Lease) refuse(want Lease) error {
	if h.Holder == want.Holder {
		return faultf(world.CodeConflict, "lease %q: %q already holds lease %q until %s; release it first", want.ID, h.Holder, h.ID, h.Until)
	}
	for _, p := range want.Paths {
		if err := h.blocks(p); err != nil {
			return err
		}
	}
	return nil
}

// meet looks for a wanted lease among those that may have a path at, above or below p.
func (l Leases) meet(s *search, p world.Path, wanted func(*entry) bool) {
	s.Wanted = wanted
	var room [128]byte
	key := appendStem(room[:0], p)
	if len(key) == 0 {
		s.In(l.byPath, "", "")
		return
	}
	for i := 0; i < len(key); i += bytes.Index(key[i:], []byte(segmentEnd)) + len(segmentEnd) {
		s.At(l.byPath, string(key[:i])) // above it
	}
	from := string(key)
	key[len(key)-1]++ // the first key behind all that begin with it
	s.In(l.byPath, from, string(key))
}

// stem is a path in byPath: its names and positions, up to one that may be several
// places. Paths overlap only if the stem of one begins with that of the other.
func stem(p world.Path) string { return string(appendStem(nil, p)) }

// segmentEnd is behind each segment. A 0 within it becomes 0 2, so no segment is the beginning of another.
const segmentEnd = "\x00\x01"

// appendStem appends the stem of a path. A name of digits and its position are the same.
func appendStem(b []byte, p world.Path) []byte {
	for _, s := range p {
		switch {
		case s.Kind == world.Index && s.Pos >= 0:
			b = strconv.AppendInt(b, int64(s.Pos), 10)
		case s.Kind != world.Name:
			return b
		default:
			for i := range len(s.Key) {
				if b = append(b, s.Key[i]); s.Key[i] == 0 {
					b = append(b, 2)
				}
			}
		}
		b = append(b, segmentEnd...)
	}
	return b
}

func (h Lease) check(d time.Duration) error {
	if d <= 0 || d > MaxTime {
		return faultf(world.CodeInvalid, "lease %q: %v is no duration for a lease; want more than 0 and at most %v", h.ID, d, MaxTime)
	}
	if len(h.Paths) == 0 || len(h.Paths) > MaxPaths {
		return faultf(world.CodeInvalid, "lease %q: %d paths; want 1 to %d", h.ID, len(h.Paths), MaxPaths)
	}
	for _, p := range h.Paths {
		if err := p.CheckWrite(); err != nil {
			return faultf(world.CodeInvalidPath, "lease %q: %s", h.ID, err)
		}
	}
	return nil
}

func faultf(code world.Code, format string, args ...any) *world.Fault {
	return &world.Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (h Lease) blocks(p world.Path) error {
	i := h.meets(p)
	if i < 0 {
		return nil
	}
	return faultf(world.CodeConflict, "path %q: %q is leased by %q until %s; ask again later", p.String(), h.Paths[i].String(), h.Holder, h.Until)
}

// meets is the index of the first path at, above or below p; -1 = none is.
func (h Lease) meets(p world.Path) int {
	return slices.IndexFunc(h.Paths, func(own world.Path) bool { return world.Overlap(own, p) })
}

// Release decides about the end of a lease that the holder gives back.
func (l Leases) Release(now protocol.Time, id, holder string) (*Released, error) {
	for x := range l.byHolder.At(holder) {
		if x.Value.ID == id && x.Until > now {
			return &Released{Time: now, ID: id, Holder: holder}, nil
		}
	}
	return nil, faultf(world.CodeInvalid, "lease %q: %q holds no such lease; it may have expired", id, holder)
}

// Expire lists the leases whose time is over, in the order in which they began.
func (l Leases) Expire(now protocol.Time) (out []*Released) {
	for x := range l.began.Ended(now) {
		out = append(out, &Released{Time: now, ID: x.Value.ID, Holder: x.Value.Holder, Expired: true})
	}
	return out
}

// Next is the first moment at which a lease expires; 0 when none is held.
func (l Leases) Next() protocol.Time {
	at, _ := l.began.Until()
	return at
}

// Apply folds a fact; facts of other kinds change nothing.
func (l Leases) Apply(f protocol.Fact) Leases {
	switch x := f.(type) {
	case *Leased:
		return l.with(x.Lease)
	case *Released:
		return l.without(x.ID, x.Holder)
	}
	return l
}

func (l Leases) with(h Lease) Leases {
	l.last++
	l.count++
	l.paths += len(h.Paths)
	at := func(key string) entry { return entry{Key: key, Number: l.last, Until: h.Until, Value: &h} }
	l.began, l.byHolder = l.began.With(at("")), l.byHolder.With(at(h.Holder))
	for _, p := range h.Paths {
		l.byPath = l.byPath.With(at(stem(p)))
	}
	return l
}

// without ends the leases of a holder under an id.
func (l Leases) without(id, holder string) Leases {
	for {
		s := search{Wanted: func(e *entry) bool { return e.Value.ID == id }}
		if s.At(l.byHolder, holder); s.Found == nil {
			return l
		}
		n := s.Found.Number
		l.began, l.byHolder = l.began.Without("", n), l.byHolder.Without(holder, n)
		for _, p := range s.Found.Value.Paths {
			l.byPath = l.byPath.Without(stem(p), n)
		}
		l.count--
		l.paths -= len(s.Found.Value.Paths)
	}
}

// Empty reports whether nothing is held, live or not.
func (l Leases) Empty() bool { return l.count == 0 }

// Check implements world.Locks: it refuses a write that meets somebody else's
// live lease.
func (l Leases) Check(now protocol.Time, by string, p world.Path) error {
	var s search
	l.meet(&s, p, func(e *entry) bool { return e.Until > now && e.Value.Holder != by && e.Value.meets(p) >= 0 })
	if s.Found == nil {
		return nil
	}
	return s.Found.Value.blocks(p)
}

// AppendMsg appends the leases as they are kept: a list of [id, holder, paths,
// until].
func (l Leases) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, uint32(l.count))
	for x := range l.began.All {
		b = x.Value.appendMsg(b)
	}
	return b
}

func (h *Lease) appendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 4)
	b = msgp.AppendArrayHeader(msgp.AppendString(msgp.AppendString(b, h.ID), h.Holder), uint32(len(h.Paths)))
	for _, p := range h.Paths {
		b = p.AppendMsg(b)
	}
	return protocol.AppendInt(b, int64(h.Until))
}

// Read reads what AppendMsg wrote.
func Read(raw protocol.Raw) (l Leases, err error) {
	n, _, _ := msgp.ReadArrayHeaderBytes(raw) // the reader reports an error in it
	r := protocol.NewReader(raw, "leases", n)
	for range n {
		h := Lease{}
		h.read(r)
		if err := r.Err(); err != nil {
			return Leases{}, err
		}
		l = l.with(h)
	}
	return l, r.End()
}

func (h *Lease) read(r *protocol.Reader) {
	r.Fields("lease", 4)
	h.ID, h.Holder = r.String(), r.String()
	n, _ := r.Count(1)
	h.Paths = make([]world.Path, n)
	for i := range h.Paths {
		h.Paths[i] = world.ReadPath(r)
	}
	h.Until = protocol.Time(r.Int())
}
