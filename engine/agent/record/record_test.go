package record

import (
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// Promise 1: a value that cannot be read again says why.
func TestValue(t *testing.T) {
	var out outbox.Box
	deep := any("x")
	for range 2 * protocol.MaxNested {
		deep = []any{deep}
	}
	for _, c := range []struct{ in, want any }{{"x", "x"}, {tool.RequestID("a/1.1"), map[string]any{"request_id": "a/1.1"}}, {tool.TaskID("a/1.1"), map[string]any{"task_id": "a/1.1"}}, {deep, nil}} {
		got, err := Value(c.in, &out).Value()
		if text, isText := got.(string); err != nil || c.want != nil && !protocol.Equal(got, c.want) || c.want == nil && (!isText || text == "") {
			t.Errorf("%v: %v, %v", c.in, got, err)
		}
	}
}

// Promise 2, for one call that is observed anyway, one of an earlier round, and one of this.
func TestObserve(t *testing.T) {
	var out outbox.Box
	var l Calls
	l.Show(false) // there is none
	for i, shown := range []bool{false, true, false} {
		l.Add(&protocol.Call{Params: map[string]any{"n": int64(i)}}, &protocol.CallResult{Status: protocol.CallOK}, false, i > 0, &out)
		if l.Show(shown); i == 0 {
			l.Seen()
		}
	}
	l.Observe()
	for i, f := range out.Facts {
		if c := f.(*agentfact.CallMade); c.Observe != (i == 2) || (c.Params != nil) != (i > 0) {
			t.Errorf("%d: %+v", i, c)
		}
	}
	if l.Clear(); len(l.made)+len(l.shown) > 0 || cap(l.made) == 0 {
		t.Error(l)
	}
}
