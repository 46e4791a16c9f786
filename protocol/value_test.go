package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNormalize(t *testing.T) {
	at := time.Date(2025, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	for _, c := range []struct{ in, want any }{
		{nil, nil}, {true, true}, {"x", "x"}, {int64(1), int64(1)}, {1.5, 1.5}, {float32(0.5), 0.5},
		{int(1), int64(1)}, {int8(-1), int64(-1)}, {int16(2), int64(2)}, {int32(3), int64(3)},
		{uint(1), int64(1)}, {uint8(2), int64(2)}, {uint16(3), int64(3)}, {uint32(4), int64(4)}, {uint64(5), int64(5)},
		{json.Number("12"), int64(12)}, {json.Number("1e3"), 1000.0}, {json.Number("0.25"), 0.25},
		{at, "2025-01-02T02:04:05.000000006Z"},
		{[]any{1, "a"}, []any{int64(1), "a"}},
		{map[string]any{"a": []any{uint8(1)}}, map[string]any{"a": []any{int64(1)}}},
		{map[any]any{1: 2, "b": nil}, map[string]any{"1": int64(2), "b": nil}},
	} {
		got, err := Normalize(c.in)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%#v became %#v, %v; want %#v", c.in, got, err, c.want)
		}
	}
}

// What is a value already is not copied, and the original is never written.
func TestNormalizeShares(t *testing.T) {
	inner := map[string]any{"n": int64(1)}
	v := map[string]any{"a": inner, "b": []any{inner}}
	got, err := Normalize(v)
	if err != nil || !same(v, got) {
		t.Error("a value was copied", err)
	}
	mixed := map[string]any{"a": inner, "b": []any{1}}
	got, err = Normalize(mixed)
	if err != nil || !same(inner, got.(map[string]any)["a"]) {
		t.Error("the part that is a value was copied", err)
	}
	if mixed["b"].([]any)[0] != 1 {
		t.Error("the original was written")
	}
}

func TestNormalizeRefuses(t *testing.T) {
	for want, in := range map[string]any{
		"value at /a/1: protocol.Link is no value": map[string]any{"a": []any{nil, Link{}}},
		"value at the top: NaN has no JSON form":   math.NaN(),
		"value at /x: +Inf has no JSON form":       map[string]any{"x": math.Inf(1)},
		"does not fit 64 signed bits":              []any{uint64(math.MaxUint64)},
		"number 1e999":                             json.Number("1e999"),
		"[]uint8 is no value":                      []byte("x"),
	} {
		if _, err := Normalize(in); err == nil || KindOf(err) != KindInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b any
		same bool
	}{
		{int64(1), 1.0, true}, {1.0, int64(1), true}, {int64(1), 1.5, false}, {int64(1), "1", false}, {nil, nil, true}, {nil, false, false},
		{[]any{int64(1)}, []any{1.0}, true}, {[]any{}, []any{nil}, false}, {[]any{}, map[string]any{}, false},
		{map[string]any{"a": []any{"x"}}, map[string]any{"a": []any{"x"}}, true},
		{map[string]any{"a": nil}, map[string]any{"b": nil}, false},
	} {
		if Equal(c.a, c.b) != c.same || Equal(c.b, c.a) != c.same {
			t.Errorf("%v and %v", c.a, c.b)
		}
	}
}

func TestPriorities(t *testing.T) {
	for _, p := range Priorities() {
		if got, err := ParsePriority(p.String()); err != nil || got != p {
			t.Errorf("%v became %v, %v", p, got, err)
		}
	}
	if p, err := ParsePriority(""); p != Normal || err != nil {
		t.Error(p, err)
	}
	if _, err := ParsePriority("urgent"); KindOf(err) != KindInvalid {
		t.Error(err)
	}
	if l := Priorities(); l[0] != Critical || l[3] != Low {
		t.Error("most urgent first:", l)
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2000, 1, 1, 0, 0, 0, 500, time.UTC)
	x := TimeOf(at)
	if !x.Std().Equal(at) || x.Add(time.Second).Sub(x) != time.Second || x.String() != "2000-01-01T00:00:00.0000005Z" || Time(0).String() != "-" {
		t.Error(x.Std(), x)
	}
}

// Errors keep their kind and their cause through wrapping.
func TestErrors(t *testing.T) {
	err := fmt.Errorf("outer: %w", Errorf(KindNotFound, "open %s: %w", "x", fs.ErrNotExist))
	if KindOf(err) != KindNotFound || !errors.Is(err, fs.ErrNotExist) || err.Error() != "outer: open x: file does not exist" {
		t.Error(err)
	}
	if KindOf(errors.New("x")) != KindInternal || KindOf(nil) != KindInternal {
		t.Error("an error without a kind is a defect")
	}
}

// Intern gives back what it was given, known or not.
func TestIntern(t *testing.T) {
	for _, s := range []string{"", "world", "events", "knowledge", "agent.turn_ended", "some.event", "RequestWorldStateUpdateTool", "x"} {
		if Intern([]byte(s)) != s {
			t.Errorf("%q became %q", s, Intern([]byte(s)))
		}
	}
	for _, word := range []string{"agent.turn_ended", "event.routed", "ok", "world"} {
		b := []byte(word)
		if n := testing.AllocsPerRun(100, func() { _ = Intern(b) }); n > 0 {
			t.Errorf("%q costs %v allocations", word, n)
		}
	}
}

// Chance depends on its key alone; streams that are derived do not touch.
func TestDraw(t *testing.T) {
	a, b := NewDraw(1, 2, 3), NewDraw(1, 2, 3)
	for range 10 {
		if a.Uint64() != b.Uint64() {
			t.Fatal("equal keys, other numbers")
		}
	}
	x, y, z := NewDraw(5, 1, 2), NewDraw(5, 2, 1), NewDraw(1, 2)
	sub := z.Sub(5)
	if x.Uint64() == y.Uint64() || sub.Uint64() == z.Uint64() {
		t.Error("other keys, equal numbers")
	}
	// The first numbers are pinned: a run must give the same facts for ever.
	pinned := NewDraw(42, HashString("agent"), 7)
	if got := fmt.Sprint(pinned.IntN(1000), pinned.IntN(1000), pinned.IntN(1000)); got != pinnedDraws {
		t.Errorf("the stream moved: %s, was %s", got, pinnedDraws)
	}
	counts := make([]int, 10)
	d := NewDraw(9)
	for range 100_000 {
		counts[d.IntN(10)]++
		if f := d.Float64(); f < 0 || f >= 1 {
			t.Fatal(f)
		}
	}
	for i, n := range counts {
		if n < 9_600 || n > 10_400 { // more than four deviations
			t.Errorf("%d came %d times of 100,000", i, n)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("IntN(0)")
		}
	}()
	d.IntN(0)
}

const pinnedDraws = "890 377 607"

func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := KindEvent; k <= KindWaits; k++ {
		if k.String() == "" { // no longer in use
			continue
		}
		if s := k.String(); s == "unknown" || s == "none" || seen[s] {
			t.Errorf("kind %d is called %q", k, s)
		}
		seen[k.String()] = true
	}
	if Kind(200).String() != "unknown" {
		t.Error(Kind(200))
	}
}

// A value that is not too deep has room around it in what is kept.
func TestCheckNested(t *testing.T) {
	for levels, fits := range map[int]bool{0: true, MaxNested: true, MaxNested + 1: false, 10_000: false} {
		list, object := any(int64(1)), any("x")
		for range levels {
			list, object = []any{list}, map[string]any{"a": object}
		}
		for _, v := range []any{list, object, []any{}} {
			if _, err := NormalizeBounded(v); (err == nil) != (fits || len(fmt.Sprint(v)) == 2) {
				t.Errorf("%d levels: %v", levels, err)
			}
		}
		around := []any{map[string]any{"a": []any{list}}}
		if _, err := Encode(around).Value(); fits && err != nil {
			t.Errorf("%d levels and three around them: %v", levels, err)
		}
	}
}
