package surrogate

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/llm/replay"
	"tavernsim/protocol"
)

func entry(turn uint64, profile, situation, text string) *replay.Entry {
	return &replay.Entry{Scene: "s", Agent: "bo", Turn: turn, Request: 1, Profile: profile, Purpose: protocol.PurposeDeliberate, Situation: situation, Text: text}
}

func asks(profile, text string) *protocol.ModelRequest {
	return &protocol.ModelRequest{Profile: profile, Purpose: protocol.PurposeDeliberate, Messages: []protocol.ModelMessage{{Role: protocol.RoleSystem, Text: "you are a guard"}, {Role: protocol.RoleUser, Text: text}}}
}

func any(*replay.Entry) bool { return true }

// Promise 1: the same answer in any order of the entries.
func TestAnyOrder(t *testing.T) {
	words := []string{"the", "market", "is", "open", "rain", "gold", "7", "12", "狼", "来"}
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) (s string) {
			for range rapid.IntRange(1, 8).Draw(t, name) {
				s += rapid.SampledFrom(words).Draw(t, "word") + " "
			}
			return s
		}
		var list []*replay.Entry
		for i := range rapid.IntRange(1, 20).Draw(t, "entries") {
			list = append(list, entry(uint64(i+1), "guard", text("situation"), fmt.Sprint(i)))
		}
		q := asks("guard", text("question"))
		first, far, ok := New(list).Nearest(q, any)
		second, again, ok2 := New(rapid.Permutation(list).Draw(t, "order")).Nearest(q, any)
		if first != second || far != again || ok != ok2 || far < 0 || far > 1000 {
			t.Fatalf("%v at %d, then %v at %d", first, far, second, again)
		}
	})
}

// Entries that differ in their native calls alone have an order, too.
func TestAnyOrderOfCalls(t *testing.T) {
	list := make([]*replay.Entry, 20)
	for i := range list {
		list[i] = entry(1, "guard", "the gate is open", "")
		list[i].Calls = []replay.Call{{ID: "c", Tool: fmt.Sprint("walk", i)}}
	}
	first, _, _ := New(list).Nearest(asks("guard", "the gate is open"), any)
	slices.Reverse(list)
	if second, _, _ := New(list).Nearest(asks("guard", "the gate is open"), any); first != second {
		t.Errorf("%v, then %v", first.Calls, second.Calls)
	}
}

// Promises 2 and 3: profile, purpose and failures; the same words are at distance 0.
func TestNearest(t *testing.T) {
	failed := entry(5, "guard", "the gate is shut and wolves howl", "broken")
	failed.Error = "no"
	other := asks("guard", "the gate is open")
	other.Purpose = protocol.PurposeReflect
	x := New([]*replay.Entry{
		entry(1, "guard", "the gate is open\n", "greet"), entry(2, "guard", "the gate is shut and a wolf howls", "hide"), entry(3, "baker", "the gate is shut and wolves howl", "bake"), failed, entry(4, "guard", "", "nothing"),
	})
	if x.Len() != 3 {
		t.Errorf("%d decisions", x.Len())
	}
	for _, c := range []struct {
		q        *protocol.ModelRequest
		want     string
		low, top int64
	}{
		{asks("guard", "The gate is OPEN!"), "greet", 0, 0},
		{asks("guard", "the gate is shut and wolves howl"), "hide", 1, 600},
		{asks("guard", "zzz"), "greet", 1000, 1000},
		{asks("smith", "the gate is open"), "", 1000, 1000},
		{other, "", 1000, 1000},
	} {
		e, distance, ok := x.Nearest(c.q, any)
		if ok != (c.want != "") || ok && e.Text != c.want || distance < c.low || distance > c.top {
			t.Errorf("%+v: %+v at %d, want %q", c.q, e, distance, c.want)
		}
	}
	if e, _, _ := x.Nearest(asks("guard", "the gate is open"), func(e *replay.Entry) bool { return e.Text != "greet" }); e.Text != "hide" {
		t.Errorf("one that does not fit was taken: %+v", e)
	}
}

func TestApart(t *testing.T) {
	got := []int64{Apart("", ""), Apart("a b", "b a"), Apart("a b", "a c"), Apart("a", "b"), Apart("a", "")}
	if want := []int64{0, 0, 500, 1000, 1000}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
