package worldstate

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/world"
)

// Promise 6. A commit whose fact would be larger than a journal takes is several, in the same order; no
// transaction is divided. One that is too large by itself, or the commands of one batch, are refused.
func TestLargeCommits(t *testing.T) {
	text := strings.Repeat("x", 300)
	small := func() *desk {
		d := newDesk(t, nil)
		d.m.most = 1000
		return d
	}
	set := func(d *desk, group, at string) Request {
		q := d.change("a", world.OpSet, at, text)
		q.Change.Group = group
		return q
	}
	d := small()
	refused := d.change("b", world.OpPush, "k[1]", int64(1))
	always := set(d, "", "e")
	always.Always = true
	dec := d.do(set(d, "", "a"), refused, set(d, "g", "b"), set(d, "g", "c"), set(d, "", "d"), always)
	d.want(kinds(dec), "world.refused b!", "world.committed", "world.committed", "world.committed", "world.granted a!")
	var sizes []int
	for _, f := range dec.Facts {
		if c, ok := f.(*world.Committed); ok {
			if sizes = append(sizes, len(c.Changes)); len(c.AppendMsg(nil)) > d.m.most {
				t.Errorf("a fact of %d bytes", len(c.AppendMsg(nil)))
			}
		}
	}
	if fmt.Sprint(sizes) != "[1 2 2]" || d.s.World().Version() != 4 {
		t.Errorf("changes of the commits %v, version %d", sizes, d.s.World().Version())
	}

	d = small()
	group := func(g, at string) Request { return set(d, g, at) }
	dec = d.do(group("", "a"), group("g", "b"), group("g", "c"), group("g", "d"), group("g", "e"), group("", "f"))
	d.want(kinds(dec), "world.committed", "world.refused a!", "world.refused a!", "world.refused a!", "world.refused a!", "world.committed")
	for _, f := range dec.Facts[1:5] {
		if r := f.(*world.Refused); r.Code != world.CodeLimit || !strings.Contains(r.Message, "1000 bytes") {
			t.Errorf("refused with %s: %s", r.Code, r.Message)
		}
	}
	d.world(fmt.Sprintf(`{"a":%q,"f":%q}`, text, text))

	d = small()
	d.do(d.change("a", world.OpSet, "o", map[string]any{}))
	commands := d.commands("a", fmt.Sprintf(`{"set":{"world.o.a":%q,"world.o.b":%q,"world.o.c":%q,"world.o.d":%q}}`, text, text, text, text))
	dec = d.do(commands)
	d.want(kinds(dec), "world.refused a!")
	if r := dec.Facts[0].(*world.Refused); r.Code != world.CodeLimit || r.Op != world.Op(Commands) {
		t.Errorf("refused %s with %s: %s", r.Op, r.Code, r.Message)
	}
	d.world(`{"o":{}}`)
}

// What a change takes at most is no less than it takes.
func TestSizesOfChanges(t *testing.T) {
	q := newDesk(t, nil).change("a", world.OpMerge, "a.b[3].c", map[string]any{"x": strings.Repeat("y", 70_000)})
	c := world.Change{Op: q.Change.Op, Path: q.Change.Path, Value: q.Change.Value, By: "somebody", Request: "r", Reason: strings.Repeat("because ", 40), Cause: q.Change.Cause}
	if got := len(c.AppendMsg(nil)); got > sizeOf(&c) || sizeOf(&c) > got+300 {
		t.Errorf("a change of %d bytes takes %d at most", got, sizeOf(&c))
	}
}
