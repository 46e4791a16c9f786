package lease

import (
	"fmt"
	"slices"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Bounds of leases.
const (
	MaxTime  = time.Hour // longest time a lease may be asked for
	MaxPaths = 64        // of one lease
	MaxHeld  = 10_000    // leases of one document
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

// FactKind implements protocol.Fact.
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

// Told implements protocol.Answering.
func (f *Released) Told() map[string]any { return map[string]any{"lock": f.ID} }

// Leases are the leases of one document, a value like the document.
type Leases struct{ held []Lease } // in the order in which they began

// Held lists the leases that are live.
func (l Leases) Held(now protocol.Time) []Lease {
	return slices.DeleteFunc(slices.Clone(l.held), func(h Lease) bool { return h.Until <= now })
}

// Acquire decides about a new lease.
func (l Leases) Acquire(now protocol.Time, want Lease, d time.Duration) (*Leased, error) {
	if err := want.check(d); err != nil {
		return nil, err
	}
	live := l.Held(now)
	if len(live) >= MaxHeld {
		return nil, faultf(world.CodeLimit, "lease %q: %d leases are held; the limit is %d", want.ID, len(live), MaxHeld)
	}
	for _, h := range live {
		if h.Holder == want.Holder {
			return nil, faultf(world.CodeConflict, "lease %q: %q already holds lease %q until %s; release it first", want.ID, h.Holder, h.ID, h.Until)
		}
		for _, p := range want.Paths {
			if err := h.blocks(p); err != nil {
				return nil, err
			}
		}
	}
	want.Until = now.Add(d)
	return &Leased{Time: now, Lease: want}, nil
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
	for _, own := range h.Paths {
		if world.Overlap(own, p) {
			return faultf(world.CodeConflict, "path %q: %q is leased by %q until %s; ask again later", p.String(), own.String(), h.Holder, h.Until)
		}
	}
	return nil
}

// Release decides about the end of a lease that the holder gives back.
func (l Leases) Release(now protocol.Time, id, holder string) (*Released, error) {
	for _, h := range l.Held(now) {
		if h.ID == id && h.Holder == holder {
			return &Released{Time: now, ID: id, Holder: holder}, nil
		}
	}
	return nil, faultf(world.CodeInvalid, "lease %q: %q holds no such lease; it may have expired", id, holder)
}

// Expire lists the leases whose time is over.
func (l Leases) Expire(now protocol.Time) []*Released {
	var out []*Released
	for _, h := range l.held {
		if h.Until <= now {
			out = append(out, &Released{Time: now, ID: h.ID, Holder: h.Holder, Expired: true})
		}
	}
	return out
}

// Next is the first moment at which a lease expires; 0 when none is held.
func (l Leases) Next() protocol.Time {
	var first protocol.Time
	for _, h := range l.held {
		if first == 0 || h.Until < first {
			first = h.Until
		}
	}
	return first
}

// Apply folds a fact; facts of other kinds change nothing.
func (l Leases) Apply(f protocol.Fact) Leases {
	switch x := f.(type) {
	case *Leased:
		return Leases{append(slices.Clone(l.held), x.Lease)}
	case *Released:
		return Leases{slices.DeleteFunc(slices.Clone(l.held), func(h Lease) bool { return h.ID == x.ID && h.Holder == x.Holder })}
	}
	return l
}

// Empty reports whether nothing is held, live or not.
func (l Leases) Empty() bool { return len(l.held) == 0 }

// Check implements world.Locks: it refuses a write that meets somebody else's
// live lease.
func (l Leases) Check(now protocol.Time, by string, p world.Path) error {
	for _, h := range l.held {
		if h.Holder == by || h.Until <= now {
			continue
		}
		if err := h.blocks(p); err != nil {
			return err
		}
	}
	return nil
}

// AppendMsg appends the leases as they are kept: a list of [id, holder, paths,
// until].
func (l Leases) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, uint32(len(l.held)))
	for i := range l.held {
		b = l.held[i].appendMsg(b)
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
		var h Lease
		if err := h.read(r); err != nil {
			return Leases{}, err
		}
		l.held = append(l.held, h)
	}
	return l, r.End()
}

func (h *Lease) read(r *protocol.Reader) (err error) {
	r.Fields(4)
	h.ID, h.Holder = r.String(), r.String()
	n, _ := r.Count(1)
	h.Paths = make([]world.Path, n)
	for i := range h.Paths {
		if h.Paths[i], err = world.ReadPath(r.Raw()); err != nil {
			return err
		}
	}
	h.Until = protocol.Time(r.Int())
	return r.Err()
}
