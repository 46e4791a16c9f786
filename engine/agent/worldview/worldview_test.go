package worldview

import (
	"fmt"
	"testing"

	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

func view(t *testing.T) *View {
	doc, err := world.FromValue(map[string]any{"inn": map[string]any{"beds": int64(2)}}, 7)
	if err != nil {
		t.Fatal(err)
	}
	return &View{Document: doc}
}

func request(v *View, p tool.Params) (q worldstate.Request, err error) {
	q.Change.ID = "a/1.1"
	err = v.Request(&q, p, &outbox.Box{Agent: "a", Turn: 1}, &world.Paths{})
	return q, err
}

// Promise 1, with reads of one value, of a pattern, and of nothing.
func TestRequestsNameWhatWasRead(t *testing.T) {
	v := view(t)
	for _, path := range []string{"inn.beds", "inn.*", "inn.stable"} {
		out, err := v.Read(tool.Params{"path": path})
		if (err != nil) != (path == "inn.stable") || err == nil && out == nil {
			t.Errorf("%s: %v, %v", path, out, err)
		}
	}
	q, err := request(v, tool.Params{"path": "inn.beds", "value": int64(1), "check_reads": true, "reads": "road.*"})
	var got []string
	for _, r := range q.Change.Reads {
		got = append(got, fmt.Sprint(r.Path, "@", r.Version))
	}
	if err != nil || fmt.Sprint(got) != "[inn.beds@7 inn@7 inn.stable@7 road@7]" {
		t.Error(got, err)
	}
	for range 2 * maxReads {
		_, _ = v.Read(tool.Params{"path": "inn"})
	}
	if _, err := request(v, tool.Params{"path": "inn.beds", "check_reads": true}); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
	if v.Clear(); len(v.asked) > 0 || cap(v.asked) == 0 || v.Document != nil {
		t.Errorf("%+v", v)
	}
}

// Promise 2: a transaction does not begin again.
func TestTransactionsFollowEachOther(t *testing.T) {
	v := view(t)
	for i, group := range []string{"x", "x", "", "y", "x"} {
		q, err := request(v, tool.Params{"path": "inn.beds", "transaction": group})
		if (err != nil) != (i == 4) || err == nil && group != "" && q.Change.Group != "a/1/"+group {
			t.Errorf("%d: %q, %v", i, q.Change.Group, err)
		}
	}
}

func TestFaultyRequests(t *testing.T) {
	for _, p := range []tool.Params{
		{}, {"path": "a", "unlock": "b"}, {"path": "a", "op": "merged"}, {"path": "a", "answer": "maybe"}, {"unlock": "b", "reason": "c"}, {"lock": map[string]any{"paths": "a"}},
		{"commands": map[string]any{}}, {"commands": map[string]any{"set": map[string]any{"self.a": int64(1)}}},
	} {
		if _, err := request(view(t), p); protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%v: %v", p, err)
		}
	}
}
