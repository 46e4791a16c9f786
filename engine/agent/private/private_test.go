package private

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

func TestPatch(t *testing.T) {
	state := map[string]any{"n": int64(1), "f": 1.5, "big": 1.5e308, "s": "x", "list": []any{int64(1), map[string]any{"a": "b"}}, "deep": map[string]any{"m": map[string]any{}}}
	for _, c := range []struct {
		path, op string
		value    any
		want     any // at path; nil = nothing there
		err      string
	}{
		{"n", OpSet, "new", "new", ""},
		{"n", OpAdd, int64(2), int64(3), ""},
		{"n", OpAdd, 0.5, 1.5, ""},
		{"f", OpAdd, int64(1), 2.5, ""},
		{"new", OpAdd, int64(2), int64(2), ""},
		{"s", OpAdd, int64(1), nil, "add at s needs two numbers"},
		{"n", OpAdd, "1", nil, "needs two numbers"},
		{"big", OpAdd, 1.5e308, nil, "the sum at big is too large for a number"},
		{"list", OpPush, "y", []any{int64(1), map[string]any{"a": "b"}, "y"}, ""},
		{"new.list", OpPush, "y", []any{"y"}, ""},
		{"n", OpPush, "y", nil, "push to n, which is no list"},
		{"n", OpDelete, nil, nil, ""},
		{"nothing", OpDelete, nil, nil, ""},
		{"list[0]", OpDelete, nil, map[string]any{"a": "b"}, ""},
		{"list[-1].a", OpSet, "c", "c", ""},
		{"list.1.a", OpSet, "c", "c", ""},
		{"list[7]", OpSet, "c", nil, "no such list element"},
		{"n.x", OpSet, "c", nil, "leads through x, which is no object"},
		{"deep", OpMerge, map[string]any{"z": nil}, map[string]any{"m": map[string]any{}, "z": nil}, ""},
		{"deep", OpMerge, "x", nil, "merge at deep needs an object"},
		{"n", OpMerge, map[string]any{}, nil, "merge into n, which is no object"},
		{"deep.m.a.b.c", OpSet, int64(1), int64(1), ""},
		{"n", "dance", nil, nil, `operation "dance"; want set, add, push, delete or merge`},
	} {
		path, err := world.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		before := string(protocol.Encode(state))
		next, err := Patch(state, path, c.op, c.value)
		if string(protocol.Encode(state)) != before {
			t.Fatalf("%s %s changed the original", c.op, c.path)
		}
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || protocol.KindOf(err) != protocol.KindInvalid {
				t.Errorf("%s %s: %v, want %q", c.op, c.path, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.op, c.path, err)
			continue
		}
		got, found := Lookup(next, path)
		if c.want == nil && c.op == OpDelete {
			if found && c.path != "list[0]" {
				t.Errorf("%s is still %v", c.path, got)
			}
		} else if !protocol.Equal(got, c.want) {
			t.Errorf("%s %s gave %v, want %v", c.op, c.path, got, c.want)
		}
	}
}

// The whole state stays an object, and is emptied by delete.
func TestPatchTheWhole(t *testing.T) {
	state := map[string]any{"n": int64(1)}
	if next, err := Patch(state, nil, OpMerge, map[string]any{"m": int64(2)}); err != nil || len(next) != 2 {
		t.Error(next, err)
	}
	if next, err := Patch(state, nil, OpDelete, nil); err != nil || len(next) != 0 {
		t.Error(next, err)
	}
	if _, err := Patch(state, nil, OpSet, "x"); err == nil || !strings.Contains(err.Error(), "must stay an object") {
		t.Error(err)
	}
	if next, err := Patch(nil, nil, OpMerge, map[string]any{"m": int64(2)}); err != nil || len(next) != 1 {
		t.Error(next, err)
	}
}

// Integers that would overflow become floating point and never wrap.
func TestAddNeverWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		v, err := add(a, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := protocol.Number(v)
		if want := float64(a) + float64(b); got != want && int64(want) != v {
			if _, whole := v.(int64); !whole || got-want > 2048 || want-got > 2048 {
				t.Fatalf("%d + %d = %v", a, b, v)
			}
		}
	})
}

// A series of changes gives the state that the facts fold to, and the one that a
// naive twin has that copies everything each time.
func TestPatchLikeItsTwin(t *testing.T) {
	paths := []string{"a", "b", "a.x", "a.y.z", "list", "list[0]", "list[-1]"}
	rapid.Check(t, func(t *rapid.T) {
		state, twin := map[string]any{}, map[string]any{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			text := rapid.SampledFrom(paths).Draw(t, "path")
			op := rapid.SampledFrom([]string{OpSet, OpAdd, OpPush, OpDelete, OpMerge}).Draw(t, "op")
			value := rapid.SampledFrom([]any{int64(1), "t", []any{int64(2)}, map[string]any{"x": int64(3)}, nil}).Draw(t, "value")
			path, err := world.ParsePath(text)
			if err != nil {
				t.Fatal(err)
			}
			next, err := Patch(state, path, op, value)
			copied, _ := protocol.Encode(twin).Value()
			other, otherErr := Patch(copied.(map[string]any), path, op, value)
			if (err == nil) != (otherErr == nil) {
				t.Fatalf("%v, the twin %v", err, otherErr)
			}
			if err != nil {
				continue
			}
			state, twin = next, other
			if !protocol.Equal(state, twin) {
				t.Fatalf("%s %s: %v, the twin %v", op, text, state, twin)
			}
		}
	})
}
