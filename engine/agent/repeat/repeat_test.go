package repeat

import (
	"testing"
	"time"

	"tavernsim/protocol"
)

// Promise 1: ids do not count, what is called does, and how long it may take.
func TestBody(t *testing.T) {
	body := func(timeout time.Duration, calls ...protocol.Call) string {
		return Body(len(calls), func(i int) (protocol.Call, time.Duration) { return calls[i], timeout })
	}
	mint := protocol.Call{ID: "a/1", RequestID: "r", Block: 1, Tool: "Buy", Params: map[string]any{"what": "mint"}}
	same := mint
	same.ID, same.Block = "a/2", 4
	other := mint
	other.Params = map[string]any{"what": "sage"}
	if body(0, mint) != body(0, same) || body(0, mint) == body(0, other) || body(0, mint) == body(time.Second, mint) || body(0, mint) == body(0, mint, mint) {
		t.Error("bodies that say the same differ, or others do not")
	}
	if mint.ID != "a/1" {
		t.Error("the call was changed")
	}
}

// Promise 2, §3.3: a block is found for an hour; calls of an earlier answer under the same
// id are other ones.
func TestFind(t *testing.T) {
	now := protocol.Time(3 * time.Hour)
	list := []Answered{{ID: "r", Body: "x", At: now.Add(-2 * time.Hour)}, {ID: "r", Body: "x", At: now.Add(-time.Hour)}, {ID: "q", Body: "y", At: now}}
	for _, c := range []struct {
		id, body    string
		earlier     int
		same, other bool
	}{{"r", "x", 3, true, true}, {"r", "z", 3, false, true}, {"r", "z", 1, false, false}, {"q", "y", 0, true, false}, {"p", "x", 3, false, false}} {
		same, other := Find(list, c.earlier, c.id, c.body, now)
		if (same != nil) != c.same || other != c.other {
			t.Errorf("%+v: %v %v", c, same, other)
		}
	}
	if same, _ := Find(list[:1], 1, "r", "x", now); same != nil {
		t.Error("a block of two hours ago was found")
	}
}

// A result says that it is repeated, with what it said before.
func TestResult(t *testing.T) {
	r := Result(map[string]any{"status": string(protocol.CallFailed), "error": "no mint", "kind": "not_found", "output": "sage"})
	out, _ := r.Output.(map[string]any)
	if r.Status != protocol.CallFailed || r.Error.Message != "no mint" || r.Error.Kind != protocol.KindNotFound || out["repeated"] != true || out["output"] != "sage" {
		t.Errorf("%+v", r)
	}
}
