package ledger

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

// TestTimers_random holds the index to a plain list that is searched from the
// start, and every shared copy to what it held when it was made.
func TestTimers_random(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "a\x00", "ab"})
	rapid.Check(t, func(t *rapid.T) {
		var timers Timers
		plain := map[string]Timer{}
		var kept []Timers
		var held []string
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			path := world.P(rapid.SliceOfN(name, 1, 3).Draw(t, "path")...)
			id := TimerID(path, rapid.Bool().Draw(t, "element"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "op"))
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0:
				_, want := plain[id]
				delete(plain, id)
				if got := timers.Clear(id); got != want {
					t.Fatalf("cleared %q: %v", id, got)
				}
			case 1:
				kept, held = append(kept, timers.Share()), append(held, fmt.Sprint(timers.Changes()))
			default:
				x := Timer{Path: path, Until: protocol.Time(rapid.Int64Range(-3, 3).Draw(t, "until"))}
				plain[id] = x
				timers.Set(id, x)
			}
			checkTimers(t, &timers, plain, path)
		}
		for i := range kept {
			if fmt.Sprint(kept[i].Changes()) != held[i] {
				t.Fatal("a shared copy changed")
			}
		}
	})
}

func checkTimers(t *rapid.T, timers *Timers, plain map[string]Timer, path world.Path) {
	var below []string
	for id, x := range plain {
		if len(x.Path) >= len(path) && slices.Equal(x.Path[:len(path)], path) {
			below = append(below, id)
		}
	}
	if got, ok := timers.First(); ok != (len(plain) > 0) || ok && got.Until != earliest(plain) {
		t.Fatalf("first is %v of %v", got, plain)
	}
	slices.Sort(below)
	if got := timers.Below(path, true); !slices.Equal(got, below) || timers.Len() != len(plain) {
		t.Fatalf("below %q: %q; want %q", path, got, below)
	}
}

func earliest(plain map[string]Timer) protocol.Time {
	least := protocol.Time(1 << 60)
	for _, x := range plain {
		least = min(least, x.Until)
	}
	return least
}

// TestKeys_bounds: the oldest is forgotten beyond the number and the age, also
// when one was used again.
func TestKeys_bounds(t *testing.T) {
	var k Keys
	add := func(id string, at int) {
		k.Add(KeyRecord{ID: id, OpID: fmt.Sprintf("%04d", at), Time: protocol.Time(at)}, 3, 100*time.Nanosecond)
	}
	list := func() string {
		var out []string
		for _, r := range k.Records() {
			out = append(out, r.ID)
		}
		return strings.Join(out, " ")
	}
	for i, step := range []struct {
		id   string
		at   int
		want string
	}{{"a", 1, "a"}, {"b", 2, "a b"}, {"c", 3, "a b c"}, {"a", 4, "b c a"}, {"d", 5, "c a d"}, {"e", 104, "a d e"}, {"f", 110, "e f"}} {
		if add(step.id, step.at); list() != step.want {
			t.Errorf("step %d: %s; want %s", i, list(), step.want)
		}
	}
	if _, ok := k.Seen("e", 204, 100); !ok {
		t.Error("an age of exactly the limit counts")
	}
	if _, ok := k.Seen("e", 205, 100); ok {
		t.Error("too old")
	}
	loaded := LoadKeys(k.Records())
	if fmt.Sprint(loaded.Records()) != fmt.Sprint(k.Records()) || loaded.Len() != 2 {
		t.Error("loading loses something")
	}
	shared := k.Share()
	copied := shared.Frozen()
	add("g", 120)
	copied.Add(KeyRecord{ID: "h", OpID: "h", Time: 121}, 9, time.Hour)
	if shared.Len() != 2 || copied.Len() != 3 {
		t.Error("a shared copy changed")
	}
}
