package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"tavernsim/protocol"
)

func mustDoc(tb testing.TB, text string) *Document {
	tb.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		tb.Fatal(err)
	}
	d, err := FromValue(mustNormalize(tb, v), 0)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func mustNormalize(tb testing.TB, v any) any {
	tb.Helper()
	n, err := protocol.Normalize(v)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func mustPath(tb testing.TB, s string) Path {
	tb.Helper()
	p, err := ParsePath(s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func req(tb testing.TB, op Op, path string, v any) Request {
	tb.Helper()
	return Request{ID: path, By: "a", Op: op, Path: mustPath(tb, path), Value: protocol.Encode(mustNormalize(tb, v))}
}

// each points to requests, as a commit has them.
func each(reqs ...Request) (list []*Request) {
	for i := range reqs {
		list = append(list, &reqs[i])
	}
	return list
}

// decide commits requests and checks what every commit owes. Promises 1, 2, 3 and 5:
// an untouched old document, one version more or the same document, a fact for each
// request, replay.
func decide(tb testing.TB, m Machine, d *Document, reqs ...Request) (*Document, []*Refused) {
	tb.Helper()
	before := d.AppendSnapshot(nil)
	dec := m.Decide(d, Commit{Requests: each(reqs...)})
	if !bytes.Equal(before, d.AppendSnapshot(nil)) {
		tb.Fatal("the old document changed")
	}
	replayed, answered := d, 0
	var refused []*Refused
	for _, f := range dec.Facts {
		raw, err := protocol.NewCodec().Marshal(f)
		if err != nil {
			tb.Fatal(err)
		}
		back, err := protocol.NewCodec(Facts()).ReadFact(f.FactKind(), raw)
		if err != nil {
			tb.Fatal(err)
		}
		if replayed, err = Apply(replayed, back); err != nil {
			tb.Fatal(err)
		}
		switch x := back.(type) {
		case *Refused:
			refused = append(refused, x)
			answered++
		case *Committed:
			answered += len(x.Changes)
		}
	}
	if answered != len(reqs) {
		tb.Fatalf("%d requests, %d answers", len(reqs), answered)
	}
	if all := len(refused) == len(reqs); all && dec.Next != d || !all && dec.Next.Version() != d.Version()+1 {
		tb.Fatalf("%d of %d requests were refused: version %d, then %d", len(refused), len(reqs), d.Version(), dec.Next.Version())
	}
	want := dec.Next.AppendSnapshot(nil)
	if !bytes.Equal(want, replayed.AppendSnapshot(nil)) {
		tb.Fatalf("replay differs:\n%s\n%s", dec.Next.AppendJSON(nil), replayed.AppendJSON(nil))
	}
	if got := dec.Next.Size(); got != len(dec.Next.AppendMsg(nil)) {
		tb.Fatalf("size %d, encoded %d", got, len(dec.Next.AppendMsg(nil)))
	}
	loaded, err := ReadSnapshot(want)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(want, loaded.AppendSnapshot(nil)) {
		tb.Fatal("a snapshot read and written differs")
	}
	return dec.Next, refused
}

func TestParsePath_C23(t *testing.T) {
	for _, c := range []struct{ in, out, err string }{
		{in: "a", out: "a"},
		{in: " a.b ", out: "a.b"},
		{in: "背包.物品.破损木剑", out: "背包.物品.破损木剑"},
		{in: `a\.b.c`, out: `["a.b"].c`},
		{in: `a["b.c"].d`, out: `a["b.c"].d`},
		{in: `a['x']`, out: `a.x`},
		{in: `a["q\"\\"]`, out: `a["q\"\\"]`},
		{in: "a[0][-1]", out: "a[0][-1]"},
		{in: "a[-].b", out: "a[-].b"},
		{in: "a.0", out: "a.0"},
		{in: `["a"].b`, out: "a.b"},
		{in: `a["*"]`, out: `a["*"]`},
		{in: `a\*`, out: `["a*"]`},
		{in: "", err: "empty"},
		{in: ".a", err: "segment 1 is empty"},
		{in: "a.", err: "segment 2 is empty"},
		{in: "a..b", err: "segment 2 is empty"},
		{in: "a.[0]", err: "segment 2 is empty"},
		{in: `a[""]`, err: "empty"},
		{in: "a[0", err: `"[" without "]"`},
		{in: "a[x]", err: "no position"},
		{in: `a["x]`, err: "quoted name"},
		{in: "a[0]b", err: `want "." or "["`},
		{in: `a\`, err: "single"},
		{in: "a.*", err: "wildcard"},
		{in: "a[*]", err: "wildcard"},
		{in: strings.Repeat("a.", 32) + "a", err: "33 segments; the limit is 32"},
		{in: strings.Repeat("a", 2049), err: "limit is 2048"},
		{in: "a[99999999999]", err: "no position"},
	} {
		p, err := ParsePath(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v; want one with %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil || p.String() != strings.ReplaceAll(c.out, `["a*"]`, "a*") {
			t.Errorf("%q: %q, %v; want %q", c.in, p.String(), err, c.out)
		}
	}
}

func TestReserved_C24(t *testing.T) {
	for _, s := range []string{"__proto__", "constructor.x", "a.prototype", "a.__version", "__"} {
		d, refused := decide(t, Machine{}, mustDoc(t, `{"a":{}}`), req(t, OpSet, s, 1))
		if len(refused) != 1 || refused[0].Code != CodeInvalidPath || d.Version() != 0 {
			t.Errorf("%s: %v", s, refused)
		}
	}
	_, refused := decide(t, Machine{}, mustDoc(t, `{}`), req(t, OpSet, "a", map[string]any{"b": []any{map[string]any{"__proto__": 1}}}))
	if len(refused) != 1 || refused[0].Code != CodeInvalidPath {
		t.Errorf("reserved key inside a value: %v", refused)
	}
}

func TestOperations(t *testing.T) {
	const base = `{"n":1,"f":0.5,"s":"x","o":{"a":1,"b":null},"l":[1,[2],{"k":3}]}`
	for _, c := range []struct {
		op    Op
		path  string
		value any
		want  string // the changed top-level member, or an error text after "!"
	}{
		{OpSet, "n", 2.5, `"n":2.5`},
		{OpSet, "n", nil, `"n":null`},
		{OpSet, "new.deep.5.x", true, `"new":{"deep":{"5":{"x":true}}}`},
		{OpSet, "o.a", map[string]any{"z": 1}, `"o":{"a":{"z":1},"b":null}`},
		{OpSet, "l[0]", "a", `"l":["a",[2],{"k":3}]`},
		{OpSet, "l.2.k", 4, `"l":[1,[2],{"k":4}]`},
		{OpSet, "l[-1].k", 4, `"l":[1,[2],{"k":4}]`},
		{OpSet, "l[-]", 4, `"l":[1,[2],{"k":3},4]`},
		{OpSet, "l[-].x", 4, `"l":[1,[2],{"k":3},{"x":4}]`},
		{OpSet, "l[3]", 4, `!invalid_path: path "l[3]": "l" has 3 elements; position [3] is out of range, [-] appends`},
		{OpSet, "l[-4]", 4, `!invalid_path: path "l[-4]"`},
		{OpSet, "l.x", 4, `!wrong_type: path "l.x": "l" is a list; "x" is no position in it`},
		{OpSet, "o[0]", 4, `!wrong_type: path "o[0]": "o" is an object, not a list`},
		{OpSet, "s.x", 4, `!wrong_type: path "s.x": "s" is a text; only an object or a list has children`},
		{OpSet, "o.b.x", 4, `!wrong_type: path "o.b.x": "o.b" is a null`},
		{OpSet, "new[0]", 4, `!invalid_path: path "new[0]": "new" does not exist`},
		{OpAdd, "n", 41, `"n":42`},
		{OpAdd, "n", 0.5, `"n":1.5`},
		{OpAdd, "f", 1, `"f":1.5`},
		{OpAdd, "m", -3, `"m":-3`},
		{OpAdd, "s", 1, `!wrong_type: path "s" holds a text; add wants a number`},
		{OpAdd, "n", "1", `!wrong_type: path "n": add takes a number; got a text`},
		{OpAdd, "n", int64(math.MaxInt64), `!limit: path "n": 1 + 9223372036854775807 does not fit 64 bits`},
		{OpPush, "l", []any{9}, `"l":[1,[2],{"k":3},[9]]`},
		{OpPush, "l[1]", 9, `"l":[1,[2,9],{"k":3}]`},
		{OpPush, "q.r", 9, `"q":{"r":[9]}`},
		{OpPush, "o", 9, `!wrong_type: path "o" holds a object; want a list`},
		{OpMerge, "o", map[string]any{"b": 2, "c": nil}, `"o":{"a":1,"b":2,"c":null}`},
		{OpMerge, "q", map[string]any{"b": 2}, `"q":{"b":2}`},
		{OpMerge, "n", map[string]any{"b": 2}, `!wrong_type: path "n" holds a number; merge wants an object`},
		{OpMerge, "o", 2, `!wrong_type: path "o": merge takes an object; got a number`},
		{OpDelete, "o.a", nil, `"o":{"b":null}`},
		{OpDelete, "l[0]", nil, `"l":[[2],{"k":3}]`},
		{OpDelete, "l[2].k", nil, `"l":[1,[2],{}]`},
		{OpDelete, "o.x.y", nil, `"n":1`},
		{OpDelete, "s.x", nil, `!wrong_type: path "s.x": "s" is a text`},
		{"replace", "n", 1, `!invalid: operation "replace" is unknown`},
		{OpPut, "n", 1, `!invalid: operation "put" is unknown`},
	} {
		t.Run(string(c.op)+" "+c.path, func(t *testing.T) {
			d, refused := decide(t, Machine{}, mustDoc(t, base), req(t, c.op, c.path, c.value))
			if want, isError := strings.CutPrefix(c.want, "!"); isError {
				if len(refused) != 1 || !strings.HasPrefix(string(refused[0].Code)+": "+refused[0].Message, want) {
					t.Fatalf("refused %+v; want %s", refused, want)
				}
				return
			}
			if got := string(d.AppendJSON(nil)); len(refused) > 0 || !strings.Contains(got, c.want) {
				t.Fatalf("%s (%v); want %s", got, refused, c.want)
			}
			if d.Version() != 1 {
				t.Fatalf("version %d", d.Version())
			}
		})
	}
}

// Promise 4. TestExpected_perPath: a request is refused when the path, an ancestor or a
// descendant changed after the version it names, and not for a sibling.
func TestExpected_perPath(t *testing.T) {
	for _, c := range []struct {
		write    Request
		path     string
		conflict bool
	}{
		{req(t, OpSet, "a.b.c", 1), "a.b.c", true},
		{req(t, OpSet, "a.b.c", 1), "a.b", true},
		{req(t, OpSet, "a.b.c", 1), "a.b.c.d", true},
		{req(t, OpSet, "a.b.c", 1), "a.b.x", false},
		{req(t, OpSet, "a.b", map[string]any{}), "a.b.c", true},
		{req(t, OpSet, "a.b", map[string]any{}), "a.b.never", true},
		{req(t, OpDelete, "a.b.c", nil), "a.b.c", true},
		{req(t, OpDelete, "a.b.c", nil), "a.b.x", false},
		{req(t, OpDelete, "a.b", nil), "a.b.c", true},
		{req(t, OpSet, "new.one", 1), "new.two", false},
		{req(t, OpSet, "new.one", 1), "new", true},
		{req(t, OpMerge, "a.b", map[string]any{"c": 2}), "a.b.x", false},
		{req(t, OpMerge, "a.b", map[string]any{"c": 2}), "a.b.c", true},
		{req(t, OpPush, "l", 4), "l[0]", false},
		{req(t, OpPush, "l", 4), "l", true},
		{req(t, OpDelete, "l[0]", nil), "l[1]", true},
		{req(t, OpSet, "l[0]", 4), "l[1]", false},
		{req(t, OpSet, "l[0]", 4), "l.0", true},
	} {
		d, _ := decide(t, Machine{}, mustDoc(t, `{"a":{"b":{"c":0,"x":0}},"l":[1,2,3]}`), c.write)
		second := req(t, OpSet, c.path, 9)
		zero := int64(0)
		second.Expected = &zero
		dec := Machine{}.Decide(d, Commit{Requests: each(second)})
		r, refused := dec.Facts[0].(*Refused)
		if conflict := refused && r.Code == CodeConflict; conflict != c.conflict {
			t.Errorf("%s %s, then %s at version 0: %v", c.write.Op, c.write.Path, c.path, dec.Facts[0])
		}
		reader := req(t, OpSet, "elsewhere", 1)
		reader.Reads = []Read{{second.Path, 0}}
		dec = Machine{}.Decide(d, Commit{Requests: each(reader)})
		if _, refused := dec.Facts[0].(*Refused); refused != c.conflict {
			t.Errorf("declared read of %s: %v", c.path, dec.Facts[0])
		}
	}
}

// A version that the world has not had yet was seen by nobody.
func TestExpected_ofTheFuture(t *testing.T) {
	for version, conflict := range map[int64]bool{0: false, 1: true, 99: true} {
		r := req(t, OpSet, "n", 1)
		r.Expected = &version
		_, refused := decide(t, Machine{}, mustDoc(t, `{"n":0}`), r)
		if (len(refused) == 1 && refused[0].Code == CodeConflict) != conflict {
			t.Errorf("expected at %d: %v", version, refused)
		}
	}
}

func TestExpected_withinOneCommit(t *testing.T) {
	zero := int64(0)
	one, two := req(t, OpAdd, "n", 1), req(t, OpAdd, "n", 1)
	one.Expected, two.Expected = &zero, &zero
	d, refused := decide(t, Machine{}, mustDoc(t, `{"n":0}`), one, two)
	if n, _ := d.Get(P("n")); n != int64(1) || len(refused) != 1 || refused[0].Code != CodeConflict {
		t.Fatalf("n=%v refused=%v", n, refused)
	}
	if !strings.Contains(refused[0].Message, `"n" was expected at version 0 and changed at version 1`) {
		t.Error(refused[0].Message)
	}
}

// Promise 4: beyond MaxGraves a missing key counts as the oldest forgotten loss.
func TestRemovedKeysAreRemembered(t *testing.T) {
	d := mustDoc(t, `{"o":{}}`)
	for i := range 3 * MaxGraves {
		d, _ = decide(t, Machine{}, d, req(t, OpSet, fmt.Sprintf("o.k%d", i), 1))
		d, _ = decide(t, Machine{}, d, req(t, OpDelete, fmt.Sprintf("o.k%d", i), nil))
	}
	last := 3*MaxGraves - 1
	if got, want := d.VersionOf(P("o", fmt.Sprintf("k%d", last-5))), int64(2*(last-5)+2); got != want {
		t.Errorf("remembered loss at %d; want %d", got, want)
	}
	never := d.VersionOf(P("o", "never"))
	if never == 0 || never > d.Version()-2*MaxGraves {
		t.Errorf("a key that never was answers %d of %d; want the oldest forgotten loss", never, d.Version())
	}
}

func TestGroup(t *testing.T) {
	group := func(rs ...Request) []Request {
		for i := range rs {
			rs[i].Group = "g"
		}
		return rs
	}
	base := `{"a":1,"s":"x"}`
	d, refused := decide(t, Machine{}, mustDoc(t, base), append(group(req(t, OpSet, "a", 2), req(t, OpAdd, "s", 1), req(t, OpSet, "b", 1)), req(t, OpSet, "c", 1))...)
	if got := string(d.AppendJSON(nil)); got != `{"a":1,"c":1,"s":"x"}` {
		t.Error(got)
	}
	if len(refused) != 3 || refused[0].Code != CodeUndone || refused[1].Code != CodeWrongType || refused[2].Code != CodeUndone {
		t.Errorf("%+v", refused)
	}
	zero := int64(0)
	rs := group(req(t, OpSet, "a", 2), req(t, OpSet, "a", 3))
	rs[1].Expected = &zero
	if _, refused = decide(t, Machine{}, mustDoc(t, base), rs...); len(refused) > 0 {
		t.Errorf("a group's expectations are checked before its own writes: %v", refused[0])
	}
}

func TestQueryAndDiff(t *testing.T) {
	d := mustDoc(t, `{"a":{"x":{"hp":1},"y":{"hp":2},"z":3},"l":[{"hp":4},5]}`)
	for pattern, want := range map[string]string{
		"a.*.hp":  `a.x.hp=1 a.y.hp=2 `,
		"**.hp":   `a.x.hp=1 a.y.hp=2 l[0].hp=4 `,
		"l.*":     `l[0]=map[hp:4] l[1]=5 `,
		"l[-1]":   `l[1]=5 `,
		"a.z":     `a.z=3 `,
		"nothing": ``,
	} {
		p, err := ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		found, _ := d.Query(p, 0)
		for _, m := range found {
			got += fmt.Sprintf("%s=%v ", m.Path, m.Value)
		}
		if got != want {
			t.Errorf("%s: %s; want %s", pattern, got, want)
		}
	}
	p, _ := ParsePattern("**")
	if found, more := d.Query(p, 3); len(found) != 3 || !more {
		t.Errorf("limit: %d %v", len(found), more)
	}
	next, _ := decide(t, Machine{}, d, req(t, OpSet, "a.x.hp", 9), req(t, OpDelete, "a.y", nil), req(t, OpSet, "b", 1), req(t, OpSet, "l[1]", 6), req(t, OpPush, "q", 1))
	got := ""
	for _, x := range Diff(d, next) {
		got += fmt.Sprintf("%s:%v>%v ", x.Path, x.Before, x.After)
	}
	if want := "a.x.hp:1>9 a.y:map[hp:2]><nil> b:<nil>>1 l[1]:5>6 q:<nil>>[1] "; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if len(Diff(next, next)) > 0 {
		t.Error("a document differs from itself")
	}
}

// TestCodec_sameBytes holds the hand-written forms to the reflected ones.
func TestCodec_sameBytes(t *testing.T) {
	type plainChange Change
	type plainCommitted struct {
		Time          protocol.Time
		Before, After int64
		Changes       []plainChange
	}
	type plainRefused Refused
	type plainRequest Request
	v := int64(-70000)
	path := Path{{Key: "a"}, {Kind: Index, Pos: -1}, {Kind: Append}, {Kind: AnyDeep}, {Kind: AnyOne}}
	cause := Cause{"trace", []protocol.Link{{Agent: "a", Type: "t"}}, "e1", 300}
	change := Change{OpSet, path, protocol.Encode(int64(200)), "a", strings.Repeat("r", 40), "why", cause}
	ref := Refused{-5, 300, OpAdd, P("x"), "a", "r", CodeDenied, "no", Cause{}}
	q := Request{"i", "b", "p", "r", path, OpAdd, nil, &v, []Read{{P("x"), 5}}, "g", cause}
	c := protocol.NewCodec()
	same := func(hand protocol.Appender, plain any) {
		t.Helper()
		want, err := c.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		if got := hand.AppendMsg(nil); !bytes.Equal(got, want) {
			t.Errorf("%T\n%x\n%x", hand, got, want)
		}
	}
	for _, changes := range [][]Change{nil, {}, {change, {}}} {
		var plain []plainChange
		if changes != nil {
			plain = []plainChange{}
		}
		for _, ch := range changes {
			plain = append(plain, plainChange(ch))
		}
		same(&Committed{1 << 40, 1, 2, changes}, plainCommitted{1 << 40, 1, 2, plain})
	}
	same(&ref, plainRefused(ref))
	same(&q, plainRequest(q))
	q2, err := readRequest(q.AppendMsg(nil))
	if err != nil {
		t.Fatal(err)
	}
	same(&q2, plainRequest(q))
}
