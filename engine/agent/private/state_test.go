package private

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/statecmd"
	"tavernsim/engine/statecmd/command"
	"tavernsim/protocol"
)

// twins are a state that changes, and one that only folds the facts of the changes.
type twins struct {
	engine     *Engine
	live, fold State
	now        protocol.Time
	batches    int
}

// change makes one plain change.
func (w *twins) change(t *rapid.T, path, op string, value any) {
	parsed, err := ParsePath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := w.engine.Change(w.live, path, parsed, op, protocol.Encode(value))
	if err != nil {
		return
	}
	folded, err := w.engine.Change(w.fold, path, parsed, op, protocol.Encode(value))
	if err != nil {
		t.Fatalf("%s %s: the fold refuses it: %v", op, path, err)
	}
	w.live, w.fold = next, folded
}

// command carries out one state command.
func (w *twins) command(t *rapid.T, fields map[string]any) {
	batch, err := command.DecodeValue([]any{fields})
	if err != nil {
		t.Fatal(err)
	}
	w.batches++
	dec, next, err := w.engine.Decide(w.live, statecmd.Input{Now: w.now, Batch: batch, BatchID: strconv.Itoa(w.batches), TurnID: "1", By: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	w.live = next
	w.apply(t, dec.Facts)
}

// expire removes what has expired.
func (w *twins) expire(t *rapid.T) {
	facts, next, err := w.engine.Expire(w.live, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.live = next
	w.apply(t, facts)
}

func (w *twins) apply(t *rapid.T, facts []protocol.Fact) {
	for _, f := range facts {
		next, err := w.engine.Apply(w.fold, f.(*statecmd.Committed))
		if err != nil {
			t.Fatal(err)
		}
		w.fold = next
	}
}

// Promises 1 and 2. Whatever changes a state, a fold of the facts comes to the same
// one, and a state that somebody holds stays as it was.
func TestStateIsItsFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engine, err := NewEngine(nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		w := &twins{engine: engine}
		keys := rapid.SampledFrom([]string{"a", "b", "c"})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			before, bytesBefore := w.live, stored(t, w.live)
			key, n := keys.Draw(t, "key"), rapid.Int64Range(0, 9).Draw(t, "n")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				w.change(t, key, OpSet, n)
			case 1:
				w.change(t, key, OpDelete, nil)
			case 2:
				w.command(t, map[string]any{"action": "set", "key": Prefix + key, "value": n})
			case 3:
				w.command(t, map[string]any{"action": "set", "key": Prefix + key, "value": n, "options": map[string]any{"ttl": n + 1}})
			case 4:
				w.now = w.now.Add(3e9)
				w.expire(t)
			}
			if !bytes.Equal(stored(t, before), bytesBefore) {
				t.Fatal("a state that was held has changed")
			}
			if live, fold := stored(t, w.live), stored(t, w.fold); !bytes.Equal(live, fold) {
				t.Fatalf("%v, the fold %v\n%x\n%x", w.live.Private, w.fold.Private, live, fold)
			}
			if w.live.Size() != w.fold.Size() {
				t.Fatalf("%d bytes, the fold %d", w.live.Size(), w.fold.Size())
			}
		}
	})
}

// stored is a state in bytes.
func stored(t *rapid.T, s State) []byte {
	b := protocol.AppendValue(nil, s.Private)
	if s.Memory() == nil {
		return b
	}
	b, err := s.Memory().AppendSnapshot(b)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Promise 3: plain changes leave nothing beside the object, a first command does.
func TestMemoryBeginsWithACommand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engine, err := NewEngine(nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		w := &twins{engine: engine}
		w.change(t, "a", OpSet, int64(1))
		w.expire(t)
		if w.live.Memory() != nil {
			t.Error("a plain change has left something")
		}
		w.command(t, map[string]any{"action": "add", "key": Prefix + "a", "value": int64(2)})
		if w.live.Memory() == nil || w.live.Private["a"] != int64(3) {
			t.Errorf("%v, memory %v", w.live.Private, w.live.Memory())
		}
		restored := State{Private: w.live.Private}.WithMemory(*w.live.Memory())
		if !bytes.Equal(stored(t, restored), stored(t, w.live)) {
			t.Error("a restored state differs")
		}
	})
}

// A whole state that the check refuses is not reached by commands, nor one above the limit.
func TestCommandsAreChecked(t *testing.T) {
	refuse := protocol.Errorf(protocol.KindInvalid, "a must be below 5")
	engine, err := NewEngine(func(state map[string]any) error {
		if n, _ := state["a"].(int64); n >= 5 {
			return refuse
		}
		return nil
	}, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value any
		want  statecmd.Status
	}{{int64(4), "applied"}, {int64(5), "rejected"}, {strings.Repeat("x", 100), "rejected"}} {
		batch, err := command.DecodeValue([]any{map[string]any{"action": "set", "key": Prefix + "a", "value": c.value}})
		if err != nil {
			t.Fatal(err)
		}
		dec, next, err := engine.Decide(State{Private: map[string]any{"a": int64(1)}}, statecmd.Input{Batch: batch, BatchID: "1", TurnID: "1", By: "ada"})
		if err != nil || len(dec.Results) != 1 || dec.Results[0].Status != c.want {
			t.Errorf("%v: %+v, %v; want %s", c.value, dec.Results, err, c.want)
		}
		if changed := next.Private["a"] != int64(1); changed != (c.want == "applied") {
			t.Errorf("%v: the state is %v", c.value, next.Private)
		}
	}
}
