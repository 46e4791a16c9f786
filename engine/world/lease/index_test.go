package lease

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// list are leases in the order in which they began, each looked at for each decision: what Leases decide is
// what a list decides.
type list []Lease

func (l list) live(now protocol.Time) list {
	return slices.DeleteFunc(slices.Clone(l), func(h Lease) bool { return h.Until <= now })
}

func (l list) acquire(now protocol.Time, want Lease) error {
	for _, h := range l.live(now) {
		if h.Holder == want.Holder {
			return h.refuse(want)
		}
		for _, p := range want.Paths {
			if err := h.blocks(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l list) check(now protocol.Time, by string, p world.Path) error {
	for _, h := range l.live(now) {
		if err := h.blocks(p); err != nil && h.Holder != by {
			return err
		}
	}
	return nil
}

func (l list) next() (first protocol.Time) {
	for _, h := range l {
		if first == 0 || h.Until < first {
			first = h.Until
		}
	}
	return first
}

func (l list) without(id, holder string) list {
	return slices.DeleteFunc(slices.Clone(l), func(h Lease) bool { return h.ID == id && h.Holder == holder })
}

func text(err error) string { return fmt.Sprint(err) }

var segments = rapid.OneOf(
	rapid.Map(rapid.SampledFrom([]string{"a", "b", "ab", "3", "03", "a\x00", "\x00\x01", "1234567890"}), func(s string) world.Segment { return world.Segment{Key: s} }),
	rapid.Map(rapid.SampledFrom([]int{0, 3, 1234567890, -1, -2}), func(n int) world.Segment { return world.Segment{Kind: world.Index, Pos: n} }),
	rapid.Just(world.Segment{Kind: world.Append}),
)

// Promises 1, 2 and 4, of leases whose index is looked at instead of each of them. Paths that name places of lists
// in several ways, leases that have expired and are not yet ended, and kept copies are among them.
func TestAgainstList(t *testing.T) {
	paths := rapid.Map(rapid.SliceOfN(segments, 1, 3), func(s []world.Segment) world.Path { return s })
	rapid.Check(t, func(t *rapid.T) {
		var l, kept Leases
		var naive list
		var before []byte
		at := now
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			by := fmt.Sprint("agent_", rapid.IntRange(0, 12).Draw(t, "by"))
			at = at.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "later")) * time.Second)
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1, 2:
				want := Lease{ID: fmt.Sprint(i % 7), Holder: by, Paths: rapid.SliceOfN(paths, 1, 3).Draw(t, "paths")}
				f, err := l.Acquire(at, want, time.Duration(rapid.IntRange(1, 20).Draw(t, "for"))*time.Second)
				if refused := naive.acquire(at, want); text(err) != text(refused) {
					t.Fatalf("acquire %v: %v, want %v", want, err, refused)
				}
				if err == nil {
					l, naive = l.Apply(f), append(naive, f.Lease)
				}
			case 3:
				for _, f := range l.Expire(at) {
					l, naive = l.Apply(f), naive.without(f.ID, f.Holder)
				}
				if len(naive) != len(naive.live(at)) {
					t.Fatal("leases that have expired stayed")
				}
			case 4:
				id := fmt.Sprint(rapid.IntRange(0, 6).Draw(t, "id"))
				f, err := l.Release(at, id, by)
				if had := len(naive.live(at).without(id, by)) < len(naive.live(at)); had != (err == nil) {
					t.Fatalf("release %s of %s: %v", id, by, err)
				}
				if err == nil {
					l, naive = l.Apply(f), naive.without(id, by)
				}
			case 5:
				if string(kept.AppendMsg(nil)) != string(before) && before != nil {
					t.Fatal("a copy changed")
				}
				kept, before = l, l.AppendMsg(nil)
			}
			p := paths.Draw(t, "path")
			if got, want := l.Check(at, by, p), naive.check(at, by, p); text(got) != text(want) {
				t.Fatalf("check %s: %v, want %v", p, got, want)
			}
			same(t, l, naive, at)
		}
	})
}

func same(t *rapid.T, l Leases, naive list, at protocol.Time) {
	held := 0
	for _, h := range naive.live(at) {
		held += len(h.Paths)
	}
	if l.Next() != naive.next() || l.Empty() != (len(naive) == 0) || l.live(at) != held {
		t.Fatalf("next %v, empty %t, %d paths live of %v", l.Next(), l.Empty(), l.live(at), naive)
	}
	if got := l.Held(at); fmt.Sprint(got) != fmt.Sprint([]Lease(naive.live(at))) {
		t.Fatalf("held %v, want %v", got, naive.live(at))
	}
	for _, h := range naive.live(at) {
		if own, ok := l.Of(h.Holder, at); !ok || own.ID != h.ID {
			t.Fatalf("%s has %v", h.Holder, own)
		}
	}
	if back, err := Read(l.AppendMsg(nil)); err != nil || string(back.AppendMsg(nil)) != string(l.AppendMsg(nil)) {
		t.Fatal("read again", err)
	}
}

// held are n leases, each of another holder at its own place.
func held(tb testing.TB, n int) (l Leases) {
	tb.Helper()
	for i := range n {
		l = l.Apply(&Leased{Lease: Lease{ID: fmt.Sprint(i), Holder: fmt.Sprintf("agent_%06d", i), Paths: []world.Path{world.P("agents", fmt.Sprintf("agent_%06d", i), "desk")}, Until: now.Add(time.Hour)}})
	}
	return l
}

// BenchmarkLeases: decisions beside more and more leases. "round" is the end and the beginning of a lease, folded;
// "above" a write that all leases stand in the way of.
func BenchmarkLeases(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		l := held(b, n)
		own, above := world.P("agents", "agent_000050", "desk", "lamp"), world.P("agents")
		each := func(name string, do func() bool) {
			b.Run(fmt.Sprintf("%s/held=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !do() {
						b.Fatal("decided otherwise")
					}
				}
			})
		}
		each("check", func() bool { return l.Check(now, "agent_000050", own) == nil })
		each("above", func() bool { return l.Check(now, "agent_000050", above) != nil })
		each("acquire", func() bool {
			_, err := l.Acquire(now, Lease{ID: "x", Holder: "x", Paths: []world.Path{world.P("agents", "x")}}, time.Minute)
			return err == nil
		})
		each("next", func() bool { return l.Next() != 0 && len(l.Expire(now)) == 0 })
		each("round", func() bool {
			f, err := l.Release(now, "50", "agent_000050")
			if err != nil {
				return false
			}
			return l.Apply(f).Apply(&Leased{Lease: Lease{ID: "50", Holder: "agent_000050", Paths: []world.Path{own}, Until: now.Add(time.Hour)}}).count == n
		})
	}
}

func TestPathsAreBounded(t *testing.T) {
	want := Lease{ID: "x", Holder: "ada", Paths: []world.Path{world.P("a"), world.P("b")}}
	full := Leases{}.with(Lease{ID: "old", Holder: "bob", Paths: want.Paths, Until: 5})
	full.paths += MaxHeld - 3
	if _, err := full.Acquire(1, want, time.Second); err == nil || !strings.Contains(err.Error(), "leases with 999999 paths are held; with its own 2 it would be more than 1000000") {
		t.Error(err)
	}
	if _, err := full.Acquire(5, want, time.Second); err != nil { // the old one has ended
		t.Error(err)
	}
	if l := full.without("old", "bob"); l.paths != MaxHeld-3 {
		t.Errorf("%d paths are counted after it was released", l.paths)
	}
}
