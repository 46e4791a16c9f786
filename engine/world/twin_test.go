package world

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// twin is the machine written as stupidly as possible: plain maps that are
// copied whole, and a log of every write that is searched from the start.
type twin struct {
	root    any
	version int64
	log     []twinWrite
}

type twinWrite struct {
	path    []string
	version int64
}

func deepCopy(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range x {
			m[k] = deepCopy(e)
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, e := range x {
			l[i] = deepCopy(e)
		}
		return l
	}
	return v
}

func (w *twin) versionOf(path []string) int64 {
	last := int64(0)
	for _, l := range w.log {
		n := min(len(l.path), len(path))
		if slices.Equal(l.path[:n], path[:n]) {
			last = max(last, l.version)
		}
	}
	return last
}

// commit does one request as a commit of its own and reports success.
func (w *twin) commit(r Request, path []string) bool {
	value, _ := r.Value.Value()
	if r.Expected != nil && w.versionOf(path) > *r.Expected {
		return false
	}
	root := deepCopy(w.root)
	var writes [][]string
	if !twinDo(root.(map[string]any), path, r.Op, value, nil, &writes) {
		return false
	}
	w.root = root
	w.version++
	for _, p := range writes {
		w.log = append(w.log, twinWrite{p, w.version})
	}
	return true
}

// twinDo works on objects and lists by name; a list is addressed by digits.
func twinDo(at map[string]any, path []string, op Op, value any, done []string, writes *[][]string) bool {
	key := path[0]
	done = append(slices.Clone(done), key)
	cur, ok := at[key]
	if len(path) > 1 {
		return twinDown(at, cur, ok, path, op, value, done, writes)
	}
	return twinEnd(cur, ok, op, value, done, writes, func(v any) { at[key] = v }, func() { delete(at, key) })
}

func twinDown(at map[string]any, cur any, ok bool, path []string, op Op, value any, done []string, writes *[][]string) bool {
	switch x := cur.(type) {
	case map[string]any:
		return twinDo(x, path[1:], op, value, done, writes)
	case []any:
		i, err := strconv.Atoi(path[1])
		if err != nil || i >= len(x) {
			return false
		}
		here := append(slices.Clone(done), path[1])
		if len(path) > 2 {
			wrap := map[string]any{path[1]: x[i]}
			ok := twinDown(wrap, x[i], true, path[1:], op, value, here, writes)
			x[i] = wrap[path[1]]
			return ok
		}
		return twinEnd(x[i], true, op, value, here, writes, func(v any) { x[i] = v }, func() {
			at[path[0]] = slices.Delete(x, i, i+1)
			*writes = [][]string{done} // what follows has moved
		})
	}
	if ok {
		return false
	}
	if op == OpDelete {
		return true
	}
	next := map[string]any{}
	if !twinDo(next, path[1:], op, value, done, writes) {
		return false
	}
	at[path[0]] = next
	return true
}

func twinEnd(cur any, ok bool, op Op, value any, done []string, writes *[][]string, set func(any), del func()) bool {
	*writes = [][]string{done}
	switch op {
	case OpSet:
		set(value)
	case OpDelete:
		if !ok {
			*writes = nil
			return true
		}
		del()
	case OpAdd:
		b, isInt := value.(int64)
		a, wasInt := cur.(int64)
		if !isInt || ok && !wasInt {
			return false
		}
		set(a + b)
	case OpPush:
		list, wasList := cur.([]any)
		if ok && !wasList {
			return false
		}
		if ok {
			*writes = [][]string{append(slices.Clone(done), fmt.Sprint(len(list)))}
		}
		set(append(list, value))
	case OpMerge:
		fields, isMap := value.(map[string]any)
		m, wasMap := cur.(map[string]any)
		if !isMap || ok && !wasMap {
			return false
		}
		if !ok {
			m = map[string]any{}
		}
		*writes = [][]string{append(slices.Clone(done), "\x00touched")}
		for k, v := range fields {
			m[k] = v
			*writes = append(*writes, append(slices.Clone(done), k))
		}
		set(m)
	}
	return true
}

func genValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch k := rapid.IntRange(0, 6).Draw(t, "type"); {
		case k == 0:
			return nil
		case k < 3 || depth == 0:
			return rapid.Int64Range(-200, 70000).Draw(t, "int")
		case k == 3:
			return rapid.SampledFrom([]string{"", "x", "日出"}).Draw(t, "text")
		case k == 4:
			l := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				l = append(l, genValue(depth-1).Draw(t, "e"))
			}
			return l
		}
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			m[genKey.Draw(t, "k")] = genValue(depth-1).Draw(t, "v")
		}
		return m
	})
}

var genKey = rapid.SampledFrom([]string{"a", "b", "c", "0", "1", "a.b", "物"})

// Promises 4 and 5. TestTwin_random: the machine and its twin agree on every value, refusal and
// version, and replay and snapshots keep every byte.
func TestTwin_random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &twin{root: map[string]any{}}
		doc, _ := FromValue(nil, 0)
		replayed := doc
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			names := rapid.SliceOfN(genKey, 1, 4).Draw(t, "path")
			r := Request{ID: "r", Path: P(names...),
				Op:    rapid.SampledFrom([]Op{OpSet, OpSet, OpAdd, OpPush, OpPush, OpMerge, OpDelete}).Draw(t, "op"),
				Value: protocol.Encode(genValue(2).Draw(t, "value"))}
			if rapid.Bool().Draw(t, "check") {
				v := max(0, doc.Version()-rapid.Int64Range(0, 6).Draw(t, "age"))
				r.Expected = &v
			}
			dec := Machine{}.Decide(doc, Commit{Requests: each(r)})
			_, refused := dec.Facts[0].(*Refused)
			if ok := w.commit(r, names); ok == refused {
				t.Fatalf("%s %v: twin ok=%v, machine %+v", r.Op, r.Path, ok, dec.Facts[0])
			}
			doc = dec.Next
			for _, f := range dec.Facts {
				replayed, _ = Apply(replayed, f)
			}
			compareTwin(t, w, doc)
			loaded, err := ReadSnapshot(replayed.AppendSnapshot(nil))
			if err != nil || !bytes.Equal(loaded.AppendSnapshot(nil), doc.AppendSnapshot(nil)) {
				t.Fatalf("replay or snapshot differs: %v", err)
			}
			probe := rapid.SliceOfN(genKey, 1, 4).Draw(t, "probe")
			if got, want := doc.VersionOf(P(probe...)), w.versionOf(probe); got != want && !through(doc, probe) {
				t.Fatalf("version of %v: %d; twin %d (%s)", probe, got, want, doc.AppendJSON(nil))
			}
		}
	})
}

// through reports whether a path leads through a scalar or past the end of a
// list, where the twin's plain comparison of names says nothing.
func through(d *Document, names []string) bool {
	p := P(names...)
	for i := range p {
		v, ok := d.Get(p[:i])
		if _, isMap := v.(map[string]any); ok && !isMap {
			return true
		}
	}
	return false
}

func compareTwin(t *rapid.T, w *twin, doc *Document) {
	if want := protocol.Encode(w.root); !bytes.Equal(doc.AppendMsg(nil), want) || doc.Size() != len(want) {
		t.Fatalf("document %s (size %d); twin %v (size %d)", doc.AppendJSON(nil), doc.Size(), w.root, len(want))
	}
	if !bytes.Equal(protocol.Encode(doc.Value()), doc.AppendMsg(nil)) {
		t.Fatal("the materialised value is stale")
	}
	if doc.Version() != w.version {
		t.Fatalf("version %d; twin %d", doc.Version(), w.version)
	}
}

// TestWide_random drives one object across the border between slice and tree in
// both directions, and one list across chunks, inside commits of many requests.
func TestWide_random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, _ := FromValue(map[string]any{"o": map[string]any{}, "l": []any{}}, 0)
		object, list := map[string]any{}, []any{}
		kept := []*Document{}
		values := []string{}
		for commit := range rapid.IntRange(1, 8).Draw(t, "commits") {
			var reqs []Request
			grow := rapid.IntRange(0, 3).Draw(t, "grow")
			for i := range rapid.IntRange(1, 60).Draw(t, "requests") {
				key := fmt.Sprint("k", rapid.IntRange(0, 80).Draw(t, "key"))
				v := protocol.Encode(int64(commit*1000 + i))
				switch k := rapid.IntRange(0, 4).Draw(t, "kind"); {
				case k == 0:
					reqs = append(reqs, Request{Op: OpPush, Path: P("l"), Value: v})
					list = append(list, int64(commit*1000+i))
				case k == 1 && len(list) > 0:
					at := rapid.IntRange(0, len(list)-1).Draw(t, "at")
					reqs = append(reqs, Request{Op: OpSet, Path: P("l").At(at), Value: v})
					list[at] = int64(commit*1000 + i)
				case k <= grow:
					reqs = append(reqs, Request{Op: OpSet, Path: P("o", key), Value: v})
					object[key] = int64(commit*1000 + i)
				default:
					reqs = append(reqs, Request{Op: OpDelete, Path: P("o", key)})
					delete(object, key)
				}
			}
			next := Machine{}.Decide(doc, Commit{Requests: each(reqs...)}).Next
			kept, values = append(kept, doc), append(values, string(doc.AppendMsg(nil)))
			doc = next
			want := protocol.Encode(map[string]any{"o": object, "l": list})
			if !bytes.Equal(doc.AppendMsg(nil), want) || doc.Size() != len(want) {
				t.Fatalf("%s", doc.AppendJSON(nil))
			}
		}
		for i, d := range kept {
			if string(d.AppendMsg(nil)) != values[i] {
				t.Fatalf("document %d changed later", i)
			}
		}
	})
}

// Promise 1. TestReadersRace: readers of a snapshot, two deciders on the same snapshot and
// nobody waits. Run with -race.
func TestReadersRace(t *testing.T) {
	doc := agentsDocument(t, 2000)
	want := string(doc.AppendMsg(nil))
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			mine := doc
			for i := range 200 {
				mine = Machine{}.Decide(mine, Commit{Requests: each(Request{Op: OpAdd, Path: P("agents", agentName(i), "gold"), Value: protocol.Encode(int64(worker))})}).Next
				doc.Get(P("agents", agentName(i)))
				doc.Value()
			}
			if string(doc.AppendMsg(nil)) != want {
				t.Error("the shared snapshot changed")
			}
		})
	}
	group.Wait()
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"a.b", `a["b.c"][0]`, `a\.b`, "a[-]", "**.x", `["*"]`, "a[", " 背包.物品 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			return
		}
		text := p.String()
		again, err := ParsePattern(text)
		if len(text) <= MaxPathBytes && (err != nil || !slices.Equal(again, p)) {
			t.Fatalf("%q reads as %q, which reads as %v, %v", s, text, again, err)
		}
	})
}

func FuzzReadSnapshot(f *testing.F) {
	doc, _ := FromValue(map[string]any{"a": []any{int64(1), map[string]any{"b": nil}}}, 3)
	doc = Machine{}.Decide(doc, Commit{Requests: each(Request{Op: OpDelete, Path: P("a").At(0)})}).Next
	f.Add(doc.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := ReadSnapshot(b)
		if err != nil {
			return
		}
		again, err := ReadSnapshot(d.AppendSnapshot(nil))
		if err != nil || !bytes.Equal(again.AppendSnapshot(nil), d.AppendSnapshot(nil)) {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
	})
}

func FuzzReadFact(f *testing.F) {
	c := &Committed{Before: 1, After: 2, Changes: []Change{{Op: OpSet, Path: P("a").At(-1), Value: protocol.Encode("x")}}}
	f.Add(c.AppendMsg(nil))
	f.Add((&Refused{Path: P("x")}).AppendMsg(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		base := mustDoc(t, `{"a":[1,2],"o":{"x":1}}`)
		before := base.AppendSnapshot(nil)
		if c, err := ReadCommitted(b); err == nil {
			c.Before = 0
			_, _ = Apply(base, c)
		}
		if !bytes.Equal(before, base.AppendSnapshot(nil)) {
			t.Fatal("the document changed")
		}
		_, _ = ReadRefused(b)
		_, _ = readRequest(b)
	})
}
