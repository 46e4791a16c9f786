package stub_test

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/stub"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// A field is found by its dotted path, or by all of it as one name.
func TestWanted(t *testing.T) {
	object := map[string]any{"n": int64(2), "town": map[string]any{"name": "Rome"}, "a.b": true, "a": map[string]any{"b": false}, "list": []any{"x", "y"}}
	for _, c := range []struct {
		name        string
		want        any
		holds, also bool // also: with whole
	}{
		{"n", 2.0, true, true}, {"n", "2", false, false}, {"n", []any{int64(1), int64(2)}, true, true}, {"n", []any{}, false, false},
		{"town.name", "Rome", true, true}, {"town.name.x", "Rome", false, false}, {"town.mayor", nil, false, false}, {"a.b", true, true, true}, {"a.b", false, false, false},
		{"list", []any{"x", "y"}, false, true}, {"list", []any{"x"}, false, false},
	} {
		for whole, holds := range map[bool]bool{false: c.holds, true: c.also} {
			list := stub.WantedOf(map[string]any{c.name: c.want}, whole)
			if got := list[0].Holds(object); got != holds {
				t.Errorf("%s wants %v, whole %v: %v", c.name, c.want, whole, got)
			}
		}
	}
}

// Answers come as often as their weights say; one with the weight 0 never does.
func TestChoice(t *testing.T) {
	var c stub.Choice
	for _, w := range []float64{3, 0, 1, 0} {
		c.Add(&w)
	}
	counts := make([]int, 4)
	for i := range uint64(4000) {
		counts[c.Of(protocol.NewDraw(i))]++
	}
	if counts[1]+counts[3] > 0 || counts[0] < 2900 || counts[0] > 3100 || c.Never() {
		t.Error(counts)
	}
	var none stub.Choice
	if zero := 0.0; none.Never() {
		t.Error("nothing was added")
	} else if none.Add(&zero); !none.Never() || none.Of(protocol.NewDraw(1)) != 0 {
		t.Error("the one answer has the weight 0")
	}
}

// Probabilities divide the draw in their order; what is left is nothing.
func TestDrawn(t *testing.T) {
	counts := map[string]int{}
	for i := range uint64(4000) {
		counts[stub.Drawn(protocol.NewDraw(i), []stub.Chance{{P: 0.25, Name: "a"}, {P: 0, Name: "b"}, {P: 0.5, Name: "c"}})]++
	}
	if counts["a"] < 900 || counts["a"] > 1100 || counts["c"] < 1900 || counts["c"] > 2100 || counts["b"] > 0 || len(counts) != 3 {
		t.Error(counts)
	}
}

// A value template keeps types, shares what is constant, and names every fault with its
// place.
func TestValues(t *testing.T) {
	var faults []string
	c := stub.Compiler{Roots: []string{"n", "who"}, Fault: func(steps []string, _, message string) { faults = append(faults, fmt.Sprint(steps, " ", message)) }}
	env := template.Map{"n": int64(4), "who": "ana"}
	made := c.Value(map[string]any{"n": "{{.n}}", "text": "{{.who}}!", "sum": map[string]any{"$expr": "n + 1"}, "list": []any{"{{.n}}", true, nil}}, []string{"output"})
	v, err := made(env)
	want := map[string]any{"n": int64(4), "text": "ana!", "sum": int64(5), "list": []any{int64(4), true, nil}}
	if err != nil || !protocol.Equal(v, want) || len(faults) > 0 {
		t.Errorf("%v %v %v", v, err, faults)
	}
	constant := c.Value([]any{"a", map[string]any{"b": 1}}, nil)
	a, _ := constant(env)
	b, _ := constant(env)
	if !protocol.Equal(a, []any{"a", map[string]any{"b": int64(1)}}) || &a.([]any)[0] != &b.([]any)[0] {
		t.Errorf("%v is made anew", a)
	}
	if _, err := c.Value(map[string]any{"$expr": "n.x.y"}, nil)(env); err == nil {
		t.Error("an expression over nothing has a value")
	}
	c.Value(map[string]any{"a": "{{", "b": []any{map[string]any{"$expr": "n +"}}, "c": map[string]any{"$expr": "n", "x": 1}, "d": "{{.other}}"}, []string{"output"})
	if len(faults) != 4 || !strings.HasPrefix(faults[1], "[output b 0 $expr] ") {
		t.Errorf("%d faults: %q", len(faults), faults)
	}
}
