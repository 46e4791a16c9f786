package audit_test

import (
	"testing"

	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/inspect"
)

// A change that somebody else ordered has him as its author, with his reason; one that he ordered in vain, and the
// agent made itself, is its own.
func TestOrdered(t *testing.T) {
	type row struct{ By, Of, Path, Reason string }
	var got []row
	for _, c := range list(t, runOf(t, "testdata/orders.txtar", "court", runner.Options{}), audit.Query{What: []string{inspect.WhatPrivate, inspect.WhatGoal}, Agent: "bo"}) {
		if (c.Of != "") != (c.Through != "") {
			t.Errorf("%s of %q through %q", c.Path, c.Of, c.Through)
		}
		got = append(got, row{c.By, c.Of, c.Path, c.Reason})
	}
	want := []row{
		{"king", "bo", "gate", "enemy"}, {"king", "bo", "alarm", "fire"}, {"king", "bo", "guard", ""},
		{"bo", "", "alarm", ""}, {"bo", "", "seen", ""}, {"bo", "", "guard", ""},
		{"bo", "", "guard", ""},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}
