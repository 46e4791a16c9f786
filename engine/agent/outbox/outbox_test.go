package outbox

import (
	"strings"
	"testing"

	"tavernsim/protocol"
)

// Promise 1: values are encoded behind each other.
func TestEncodedStays(t *testing.T) {
	b := Box{Agent: "a-1", Turn: 3}
	first := b.Encode("one")
	b.Request("$world", func(to []byte) []byte { return protocol.AppendValue(to, strings.Repeat("x", 1<<12)) })
	_ = append(first, 1)
	if v, err := first.Value(); err != nil || v != "one" {
		t.Error(v, err)
	}
	if v, err := b.Requests[0].Data.Value(); err != nil || len(v.(string)) != 1<<12 {
		t.Error(v, err)
	}
	if id := b.NextID(); id != "a-1/3.2" || b.Name("/", "x") != "a-1/3/x" {
		t.Error(id)
	}
}

// Promise 2: the first excess is what the owner is told.
func TestBudget(t *testing.T) {
	var b Box
	b.Budget.Max = 10
	if !b.Spend(10) || b.Over != nil {
		t.Fatal(b.Over)
	}
	if b.Encode("x"); protocol.KindOf(b.Over) != protocol.KindLimit || b.Spend(0) {
		t.Error(b.Over)
	}
}

// Promise 3.
func TestClear(t *testing.T) {
	b := Box{Agent: "a"}
	for range 2 {
		b.Note(nil)
		b.Encode("x")
		b.Clear()
		if cap(b.Facts) == 0 || cap(b.arena) == 0 || len(b.Facts)+len(b.arena) > 0 || b.Agent != "" {
			t.Fatalf("%+v", b)
		}
	}
	b.Encode(strings.Repeat("x", maxKept+1))
	if b.Clear(); b.arena != nil {
		t.Error("a large buffer is kept")
	}
}
