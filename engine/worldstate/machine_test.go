package worldstate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/protocol"
)

func (d *desk) want(got []string, want ...string) {
	d.tb.Helper()
	if !slices.Equal(got, want) {
		d.tb.Errorf("got %q\nwant %q", got, want)
	}
}

func (d *desk) world(want string) {
	d.tb.Helper()
	if got := string(d.s.World().AppendJSON(nil)); got != want {
		d.tb.Errorf("the world is %s; want %s", got, want)
	}
}

// Promise 1. Neighbouring changes are one version, a batch another; order is kept.
func TestOrder(t *testing.T) {
	d := newDesk(t, map[string]any{"n": int64(1)})
	always := d.change("c", world.OpSet, "c", int64(1))
	always.Always = true
	dec := d.do(
		d.change("a", world.OpAdd, "n", int64(1)), d.change("b", world.OpPush, "n", int64(1)), d.change("a", world.OpAdd, "n", int64(2)),
		d.commands("b", `[{"action":"set","key":"world.m","value":1,"options":{"expect":{"equals":1}}}]`),
		d.commands("b", `{"set":{"n":1,"character.saveData.hp":9}}`),
		always, d.change("a", world.OpSet, "c", int64(2)),
	)
	d.want(kinds(dec), "world.refused b!", "world.committed", "state.committed b", "state.committed b!", "world.committed", "world.granted c!")
	d.world(`{"c":2,"character":{"saveData":{"hp":9}},"m":1,"n":4}`)
	if v := d.s.World().Version(); v != 5 {
		t.Errorf("version %d", v)
	}
}

// An answer that nobody asked for is told and wakes nobody, unless it is a no.
func TestAnswers(t *testing.T) {
	d := newDesk(t, nil)
	q := d.commands("a", `{"set":{"world.a":1},"tavern_inspect":["world.a"],"typo":1}`)
	q.Always = true
	dec := d.do(q, d.commands("b", `{"tavern_inspect":["world.a"]}`))
	d.want(kinds(dec), "state.committed a!", "state.committed b")
	said := told(dec.Facts[0])
	for _, part := range []string{"request_id:r1", "status:applied", "status:ignored", "debug:[map[error: exists:true key:world.a value:1]]", "typo", "1 applied"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not in %s", part, said)
		}
	}
}

// Promise 2. What has expired is gone before the first request of the moment: leases, then
// values. The key and a plain write clear timers.
func TestExpiry(t *testing.T) {
	d := newDesk(t, nil)
	d.do(d.commands("a", `[{"action":"set","key":"world.a","value":1,"options":{"ttl":5}},{"action":"set","key":"world.b","value":1,"options":{"ttl":5}},
		{"action":"push","key":"world.l","value":"x","options":{"ttl":5}},{"action":"set","key":"world.o.x","value":1,"options":{"ttl":5}},{"action":"set","key":"world.o.y","value":1,"options":{"ttl":5}}]`),
		d.lock("a", "L", 4*time.Second, "z"))
	if at := d.s.NextExpiry(); at != d.now.Add(4*time.Second) {
		t.Errorf("expires at %v", at)
	}
	merge := d.change("a", world.OpMerge, "o", map[string]any{"y": int64(2)})
	d.want(kinds(d.do(d.change("a", world.OpSet, "b", int64(2)), merge)), "world.committed")
	d.after(3 * time.Second)
	d.want(kinds(d.do()))
	d.after(2 * time.Second)
	dec := d.do(d.commands("b", `[{"action":"set","key":"world.a","value":2,"options":{"ifMissing":true}}]`), d.change("b", world.OpSet, "z", int64(1)))
	d.want(kinds(dec), "world.released a!", "state.committed", "state.committed b", "world.committed")
	d.world(`{"a":2,"b":2,"l":[],"o":{"y":2},"z":1}`)
	if d.s.NextExpiry() != 0 || d.s.Timers() != 0 || !d.s.Leases().Empty() {
		t.Error("something is left to expire")
	}
}

// Promise 4. A lease keeps others out, whatever they use; the holder goes on.
func TestLeases(t *testing.T) {
	d := newDesk(t, map[string]any{"v": map[string]any{"g": int64(1), "l": []any{}}, "w": int64(1)})
	d.want(kinds(d.do(d.lock("a", "L", time.Minute, "v.g", "v.l"), d.lock("b", "L", time.Minute, "v"), d.lock("b", "L", time.Minute, "w"), d.lock("b", "M", time.Minute, "q"))),
		"world.leased a!", "world.refused b!", "world.leased b!", "world.refused b!")
	for _, text := range []string{
		`{"set":{"world.v.g":2}}`, `{"delete":["world.v"]}`, `{"add":{"world.v.g":1}}`, `{"push":{"world.v.l":1}}`,
		`{"pull":[{"key":"world.v.l","value":1}]}`, `{"patch":{"world.v":{"g":2}}}`, `{"ensure":{"world.v.g.x":1}}`,
		`[{"action":"update","key":"world.v","value":{"g":{"x":1}},"options":{"mergeStrategy":"deep"}}]`,
		`[{"action":"delete","key":"world.x","options":{"softDelete":true,"recycleBinKey":"world.v.l"}}]`,
	} {
		d.do(d.change("a", world.OpSet, "x", int64(1)))
		before := d.s.World()
		dec := d.do(d.commands("c", text))
		r, _ := dec.Facts[0].(*statecmd.Committed).Outcome()
		missing := r[0].Status == statecmd.Skipped
		if !missing && (r[0].Status != statecmd.Rejected || r[0].Code != "conflict" || !strings.Contains(r[0].Message, `leased by "a"`)) || d.s.World() != before {
			t.Errorf("%s: %+v", text, r[0])
		}
	}
	for _, op := range []world.Op{world.OpSet, world.OpAdd, world.OpPush, world.OpMerge, world.OpDelete} {
		if dec := d.do(d.change("c", op, "v.g", map[string]any{})); kinds(dec)[0] != "world.refused c!" {
			t.Errorf("%s: %v", op, kinds(dec))
		}
	}
	d.want(kinds(d.do(d.commands("a", `{"set":{"world.v.g":2}}`), d.change("a", world.OpAdd, "v.g", int64(1)))), "state.committed a", "world.committed")
	unlock := d.unlock("a", "L")
	unlock.Always = true
	d.want(kinds(d.do(d.unlock("a", "M"), unlock, d.unlock("a", "L"), d.commands("c", `{"set":{"world.v.g":9}}`))),
		"world.refused a!", "world.released", "world.granted a!", "world.refused a!", "state.committed c")
}

// Promise 4. A lease needs the right to write all that it covers, whatever is there now.
func TestLeasesNeedTheRightToWrite(t *testing.T) {
	d := newDesk(t, map[string]any{"v": map[string]any{"g": int64(1)}, "mine": map[string]any{}})
	rules := func(allow, deny string) (r world.Rules) {
		for text, to := range map[string]*[]world.Pattern{allow: &r.Allow, deny: &r.Deny} {
			if p, err := world.ParsePattern(text); err == nil && text != "" {
				*to = []world.Pattern{p}
			}
		}
		return r
	}
	m, err := New(1<<20, &world.Permissions{Profiles: map[string]world.Rules{
		"none": rules("", "**"), "own": rules("mine.{self}", ""), "but": rules("", "v.*.sealed"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.m = m
	for _, c := range []struct {
		by, path string
		ok       bool
	}{
		{"none", "v", false}, {"none", "mine.none", false}, {"own", "mine.own", true}, {"own", "mine.own.deep", true},
		{"own", "mine", false}, {"own", "mine.other", false}, {"own", "v.g", false}, {"but", "v", false},
		{"but", "v.g", false}, {"but", "v.g.sealed.x", false}, {"but", "v.g.open", true}, {"but", "mine", true}, {"free", "v", true},
	} {
		paths := []string{c.path}
		if c.by == "but" || c.by == "free" {
			paths = []string{"w", c.path}
		}
		dec := d.do(d.lock(c.by, "L", time.Minute, paths...))
		if r, refused := dec.Facts[0].(*world.Refused); refused == c.ok || refused && r.Code != world.CodeDenied {
			t.Errorf("%+v: %+v", c, dec.Facts[0])
		}
		d.do(d.unlock(c.by, "L"))
	}
}

// Promise 4. A lease stops agents, and neither the scene's own workflows and script nor an order.
func TestLeasesDoNotStopTheScene(t *testing.T) {
	d := newDesk(t, map[string]any{"v": int64(1)})
	d.do(d.lock("a", "L", time.Minute, "v"))
	for _, by := range []string{"$scene", "$script", "$order"} {
		d.want(kinds(d.do(d.change(by, world.OpAdd, "v", int64(1)), d.commands(by, `{"add":{"world.v":1}}`))), "world.committed", "state.committed "+by)
	}
	if v, _ := d.s.World().Get(path(t, "v")); v != int64(7) {
		t.Error(v)
	}
	d.want(kinds(d.do(d.change("b", world.OpAdd, "v", int64(1)))), "world.refused b!")
}

// Promise 4. No deadlock, whatever many agents ask for: two leases that hold never overlap,
// nobody has two, the first of a wave whose paths are free gets them, and once
// the longest time has passed everything is free.
func TestLeasesNeverBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk(t, nil)
		places := rapid.SampledFrom([]string{"a", "b", "a.x", "a.y", "b.x.y", "c[0]", "c"})
		for range rapid.IntRange(1, 12).Draw(t, "waves") {
			var asks []Request
			for i := range rapid.IntRange(1, 20).Draw(t, "agents") {
				by := fmt.Sprintf("agent_%d", i)
				switch rapid.IntRange(0, 4).Draw(t, "does") {
				case 0:
					asks = append(asks, d.unlock(by, "L"))
				case 1:
					asks = append(asks, d.change(by, world.OpSet, places.Draw(t, "at"), int64(1)))
				default:
					n := time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second
					asks = append(asks, d.lock(by, "L", n, rapid.SliceOfN(places, 1, 4).Draw(t, "paths")...))
				}
			}
			free := d.s.Leases().Held(d.now)
			checkWave(t, d.do(asks...), asks, free)
			checkHeld(t, d.s.Leases().Held(d.now))
			d.after(time.Duration(rapid.IntRange(0, 3).Draw(t, "later")) * time.Second)
		}
		d.after(5 * time.Second)
		if dec := d.do(d.lock("last", "L", time.Second, "a", "b", "c")); kinds(dec)[len(dec.Facts)-1] != "world.leased last!" {
			t.Fatalf("after every lease has ended: %v", kinds(dec))
		}
	})
}

func checkHeld(t *rapid.T, held []lease.Lease) {
	for i := range held {
		for j := range held[:i] {
			if held[i].Holder == held[j].Holder {
				t.Fatalf("%s holds two leases", held[i].Holder)
			}
			for _, p := range held[i].Paths {
				for _, q := range held[j].Paths {
					if world.Overlap(p, q) {
						t.Fatalf("%s and %s are leased to two", p, q)
					}
				}
			}
		}
	}
}

// checkWave: every request is answered now; the first wish for a lease that
// meets nothing is granted.
func checkWave(t *rapid.T, dec Decision, asks []Request, held []lease.Lease) {
	answered := 0
	for _, f := range dec.Facts {
		switch x := f.(type) {
		case *world.Refused, *lease.Leased:
			answered++
		case *lease.Released:
			if !x.Expired {
				answered++
			}
		case *world.Committed:
			answered += len(x.Changes)
		}
	}
	if answered != len(asks) {
		t.Fatalf("%d requests, %d answers: %v", len(asks), answered, kinds(dec))
	}
	if first := slices.IndexFunc(asks, func(q Request) bool { return q.Kind == Lock }); first >= 0 && len(held) == 0 {
		if !slices.ContainsFunc(dec.Facts, func(f protocol.Fact) bool {
			l, ok := f.(*lease.Leased)
			return ok && l.Lease.Holder == asks[first].Change.By
		}) {
			t.Fatalf("nothing was leased and the first did not get his: %v", kinds(dec))
		}
	}
}

// A world beside which nothing is remembered has the snapshot of its document.
func TestPlainSnapshot(t *testing.T) {
	d := newDesk(t, map[string]any{"a": int64(1)})
	d.do(d.change("a", world.OpSet, "b", int64(2)))
	if got, want := snapshotOf(t, d.s), d.s.World().AppendSnapshot(nil); string(got) != string(want) {
		t.Error("the snapshot is not that of the document")
	}
	for _, bad := range []string{"", "\x90", "\x93\x02\xc0\xc0", "\x93\x01\xc0\xc0", "\x94\x01"} {
		if _, err := ReadSnapshot(protocol.Raw(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// Promises 3 and 5. Random waves of everything: the fold, the snapshots and the answers agree at
// every step (desk.do), and plain twins of the document stay in step.
func TestRandomWaves(t *testing.T) {
	keys := rapid.SampledFrom([]string{"a", "b", "o.x", "o.y", "l", "character.saveData.q"})
	actions := rapid.SampledFrom([]string{"set", "add", "update", "patch", "push", "pull", "delete", "ensure"})
	options := rapid.SampledFrom([]string{"", `"ttl":2`, `"idempotencyKey":"k"`, `"ifVersion":0`, `"transaction":true`, `"softDelete":true`, `"expect":{"exists":true}`, `"ifMissing":true`, `"dedupe":true,"limit":2`})
	ops := rapid.SampledFrom([]world.Op{world.OpSet, world.OpAdd, world.OpPush, world.OpMerge, world.OpDelete})
	values := rapid.SampledFrom([]string{"1", `"t"`, "[1]", `{"x":1}`, "null", "0.5"})
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk(t, map[string]any{"a": int64(1), "l": []any{int64(1)}})
		for range rapid.IntRange(1, 10).Draw(t, "waves") {
			var asks []Request
			for range rapid.IntRange(0, 6).Draw(t, "requests") {
				by := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "by")
				switch rapid.IntRange(0, 5).Draw(t, "kind") {
				case 0:
					asks = append(asks, d.lock(by, "L", 2*time.Second, keys.Draw(t, "key")))
				case 1:
					asks = append(asks, d.unlock(by, "L"))
				case 2, 3:
					q := d.change(by, ops.Draw(t, "op"), keys.Draw(t, "key"), int64(1))
					q.Always = rapid.Bool().Draw(t, "always")
					q.Change.Group = rapid.SampledFrom([]string{"", "g"}).Draw(t, "group")
					asks = append(asks, q)
				default:
					var list []string
					for range rapid.IntRange(1, 4).Draw(t, "entries") {
						list = append(list, fmt.Sprintf(`{"action":%q,"key":"world.%s","value":%s,"options":{%s}}`, actions.Draw(t, "action"), keys.Draw(t, "key"), values.Draw(t, "value"), options.Draw(t, "options")))
					}
					asks = append(asks, d.commands(by, "["+strings.Join(list, ",")+"]"))
				}
			}
			d.do(asks...)
			d.after(time.Duration(rapid.IntRange(0, 2).Draw(t, "later")) * time.Second)
		}
	})
}

// FuzzReadRequest: bytes from a mailbox or a journal never panic, and what is
// read is written the same.
func FuzzReadRequest(f *testing.F) {
	d := newDesk(f, nil)
	for _, q := range []Request{d.change("a", world.OpSet, "a.b", int64(1)), d.commands("a", `{"set":[{"key":"world.a","value":1,"options":{"ttl":1,"bad":2}}],"options":{"reads":[{"key":"world.a","version":3}]}}`),
		d.lock("a", "L", time.Second, "a", "b[-1]"), d.unlock("a", "L")} {
		f.Add(q.AppendMsg(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		q, err := ReadRequest(raw)
		if err != nil {
			return
		}
		again, err := ReadRequest(q.AppendMsg(nil))
		if err != nil || string(again.AppendMsg(nil)) != string(q.AppendMsg(nil)) {
			t.Fatalf("%v: %+v", err, q)
		}
		m, _ := New(1<<20, nil)
		m.Decide(newDesk(t, nil).s, 1, []Request{q})
	})
}

// FuzzReadSnapshot: a damaged snapshot is refused, not a panic.
func FuzzReadSnapshot(f *testing.F) {
	d := newDesk(f, map[string]any{"a": int64(1)})
	f.Add(snapshotOf(f, d.s))
	d.do(d.commands("a", `[{"action":"set","key":"world.a","value":1,"options":{"ttl":1,"idempotencyKey":"k"}}]`), d.lock("a", "L", time.Second, "q"))
	f.Add(snapshotOf(f, d.s))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := ReadSnapshot(raw); err == nil {
			snapshotOf(t, s)
		}
	})
}
