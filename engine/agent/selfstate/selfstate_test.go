package selfstate

import (
	"reflect"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Promises 1 and 2, for plain changes and commands.
func TestDraft(t *testing.T) {
	engine, err := private.NewEngine(func(m map[string]any) error {
		if m["bad"] != nil {
			return protocol.Errorf(protocol.KindInvalid, "bad")
		}
		return nil
	}, 200)
	if err != nil {
		t.Fatal(err)
	}
	first := private.State{Private: map[string]any{"n": int64(1)}}
	d, out := Draft{State: first, Engine: engine}, outbox.Box{Agent: "a", Turn: 1}
	folded := first
	for i, c := range []struct {
		p  tool.Params
		ok bool
	}{
		{tool.Params{"path": "n", "op": "add", "value": int64(2)}, true},
		{tool.Params{"value": map[string]any{"m": "x"}}, true},
		{tool.Params{"path": "bad", "value": int64(1)}, false},
		{tool.Params{"path": "long", "value": string(make([]byte, 300))}, false},
		{tool.Params{"path": "n", "commands": map[string]any{"self.n": int64(1)}}, false},
		{tool.Params{"commands": map[string]any{"set": map[string]any{"world.n": int64(1)}}}, false},
		{tool.Params{"commands": map[string]any{"set": map[string]any{"self.k": int64(4)}}}, true},
	} {
		before, facts := d.State, len(out.Facts)
		_, err := d.Update(c.p, int64(i), &out, nil)
		if (err == nil) != c.ok || (len(out.Facts) > facts) != c.ok || !c.ok && !reflect.DeepEqual(d.State, before) {
			t.Errorf("%v: %v, %d facts, %v", c.p, err, len(out.Facts), d.Private)
		}
		for _, f := range out.Facts[facts:] {
			folded = fold(t, engine, folded, f)
		}
		if !reflect.DeepEqual(folded.Private, d.Private) {
			t.Errorf("%v: %v, folded %v", c.p, d.Private, folded.Private)
		}
	}
	if got, err := d.Read(tool.Params{"path": "n"}, nil); got != int64(3) || err != nil || !out.Changed {
		t.Error(got, err)
	}
	if _, err := d.Read(tool.Params{"path": "gone"}, nil); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
}

func fold(t *testing.T, e *private.Engine, s private.State, f protocol.Fact) private.State {
	t.Helper()
	var next private.State
	var err error
	switch f := f.(type) {
	case *agentfact.StateUpdated:
		var path world.Path
		if path, err = private.ParsePath(f.Path, nil); err == nil {
			next, err = e.Change(s, f.Path, path, f.Op, f.Value)
		}
	case *statecmd.Committed:
		next, err = e.Apply(s, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}
