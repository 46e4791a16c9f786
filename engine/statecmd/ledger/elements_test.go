package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// element draws values of which some are equal, and some are parts of others.
func element(counted bool) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		number := func() any {
			return rapid.SampledFrom([]any{int64(0), int64(1), 1.0, math.Copysign(0, -1), int64(2), int64(1 << 60), int64(1<<60 + 1), float64(1 << 60), int64(math.MaxInt64)}).Draw(t, "number")
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return number()
		case 1:
			return []any{number()}
		}
		m := map[string]any{}
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "fields") {
			m[k] = number()
		}
		if counted && rapid.IntRange(0, 3).Draw(t, "counted") == 0 {
			m[world.CounterKey] = int64(7)
		}
		return m
	})
}

// An index of the elements finds what a search from the start finds.
func TestExpiring_random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(element(true), 0, 12).Draw(t, "list")
		index, left := newPlaces(list), slices.Clone(list)
		for range rapid.IntRange(0, 12).Draw(t, "times") {
			want := element(false).Draw(t, "want")
			at := -1
			for i, v := range left {
				fits, same := Matches(want, v)
				if same || fits && at < 0 {
					at = i
				}
				if same {
					break
				}
			}
			if got := index.take(want); got != at {
				t.Fatalf("%v is at %d of %v; want %d", want, got, left, at)
			}
			if at >= 0 {
				left = slices.Delete(left, at, at+1)
			}
		}
	})
}

// Elements that expire are looked for in one walk of their list, in whatever order.
func TestExpiringLooksOnce(t *testing.T) {
	const n = 2000
	for name, keep := range map[string]func(i int) any{
		"whole":     func(i int) any { return map[string]any{"id": int64(i), "n": int64(1)} },
		"by fields": func(i int) any { return map[string]any{"id": int64(i)} },
		"none":      func(i int) any { return map[string]any{"id": int64(-1 - i)} },
	} {
		t.Run(name, func(t *testing.T) {
			var list []any
			for i := range n {
				list = append(list, map[string]any{"id": int64(i), "n": int64(1)})
			}
			doc, err := world.FromValue(map[string]any{"l": list}, 0)
			if err != nil {
				t.Fatal(err)
			}
			e, path := doc.Edit(1), world.P("l")
			var x Expiring
			for i := n - 1; i >= 0; i-- {
				at := x.Find(e, &Timer{Path: path, Element: protocol.Encode(keep(i))})
				if at != i && name != "none" || at >= 0 && name == "none" {
					t.Fatalf("element %d is at %d", i, at)
				}
				if at >= 0 {
					if err := e.Apply(world.OpDelete, path.At(at), nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			if s := x.lists[pathKey(path)]; s.looked > (looks+1)*n {
				t.Errorf("%d looks at %d elements", s.looked, n)
			}
		})
	}
}

// Take gives what a search of all timers gives.
func TestLeaving_random(t *testing.T) {
	list := world.P("l")
	rapid.Check(t, func(t *rapid.T) {
		held := rapid.SliceOfN(element(true), 0, 8).Draw(t, "list")
		var timers Timers
		var plain []Timer
		for i, v := range rapid.SliceOfN(element(false), 0, 8).Draw(t, "timers") {
			x := Timer{Path: list, Element: protocol.Encode(v), Until: 1, OpID: fmt.Sprint(i)}
			plain = append(plain, x)
			timers.Set(TimerID(list, true, x.OpID), x)
			timers.Set(TimerID(world.P("m"), true, x.OpID), Timer{Path: world.P("m"), Element: x.Element, Until: 1, OpID: x.OpID})
		}
		leaving := timers.Leave(list, func(yield func(int, any) bool) {
			for i, v := range held {
				if !yield(i, v) {
					return
				}
			}
		})
		left := slices.Clone(held)
		for len(left) > 0 {
			i := rapid.IntRange(0, len(left)-1).Draw(t, "leaves")
			at := take(plain, left, left[i])
			want := ""
			if at >= 0 {
				want = TimerID(list, true, plain[at].OpID)
				plain = slices.Delete(plain, at, at+1)
			}
			got := leaving.Take(left[i], protocol.Encode(without(left[i])))
			if got != want {
				t.Fatalf("%v of %v takes %q; want %q of %v", left[i], left, got, want, plain)
			}
			timers.Clear(got)
			left = slices.Delete(left, i, i+1)
		}
		if timers.Any(list) != (len(plain) > 0) {
			t.Fatalf("there are timers: %v; want %v", timers.Any(list), plain)
		}
	})
}

// take is what Take does, by the rule: the elements are those that are there, v too.
func take(timers []Timer, there []any, v any) int {
	count := func(want any) (spare int) {
		for i := range timers {
			if x, _ := timers[i].Element.Value(); equal(x, want) {
				spare++
			}
		}
		for _, e := range there {
			if _, same := Matches(want, e); same {
				spare--
			}
		}
		return spare
	}
	found := slices.IndexFunc(timers, func(x Timer) bool { return bytes.Equal(x.Element, protocol.Encode(without(v))) })
	if found >= 0 {
		return found
	}
	for i := range timers {
		want, _ := timers[i].Element.Value()
		fits, same := Matches(want, v)
		if same {
			return i
		}
		if fits && found < 0 && count(want) > 0 {
			found = i
		}
	}
	return found
}

// without is a value without its counters.
func without(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	m = maps.Clone(m)
	delete(m, world.CounterKey)
	return m
}
