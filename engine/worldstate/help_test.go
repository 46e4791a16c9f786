package worldstate

import (
	"bytes"
	"fmt"
	"time"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// desk is a machine, its state and a clock. Every decision is held to what the
// package promises.
type desk struct {
	tb   tester
	m    *Machine
	s    State
	now  protocol.Time
	next int
}

func newDesk(tb tester, state map[string]any) *desk {
	tb.Helper()
	m, err := New(1<<20, nil)
	if err != nil {
		tb.Fatal(err)
	}
	doc, err := world.FromValue(state, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return &desk{tb: tb, m: m, s: NewState(doc), now: protocol.TimeOf(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))}
}

func (d *desk) after(t time.Duration) { d.now = d.now.Add(t) }

func (d *desk) do(requests ...Request) Decision {
	d.tb.Helper()
	for i := range requests {
		d.next++
		requests[i].Change.ID = fmt.Sprintf("r%d", d.next)
		requests[i] = travelled(d.tb, requests[i])
	}
	before := snapshotOf(d.tb, d.s)
	dec := d.m.Decide(d.s, d.now, requests)
	if !bytes.Equal(before, snapshotOf(d.tb, d.s)) {
		d.tb.Fatal("deciding changed the state it was given")
	}
	d.fold(dec)
	d.s = dec.Next
	return dec
}

// fold holds the facts, as bytes, and the snapshot to the decision.
func (d *desk) fold(dec Decision) {
	d.tb.Helper()
	folded, err := ReadSnapshot(snapshotOf(d.tb, d.s))
	if err != nil {
		d.tb.Fatal(err)
	}
	for _, f := range dec.Facts {
		back, err := protocol.NewCodec(Facts()).ReadFact(f.FactKind(), encoded(d.tb, f))
		if err != nil {
			d.tb.Fatal(err)
		}
		if told(back) != told(f) {
			d.tb.Fatalf("the answer of %s differs after a restart:\n%v\n%v", f.FactKind(), told(back), told(f))
		}
		if folded, err = d.m.Apply(folded, back); err != nil {
			d.tb.Fatal(err)
		}
	}
	if want := snapshotOf(d.tb, dec.Next); !bytes.Equal(want, snapshotOf(d.tb, folded)) {
		d.tb.Fatalf("folding the facts gives another state:\n%s\n%s", dec.Next.World().AppendJSON(nil), folded.World().AppendJSON(nil))
	}
}

func encoded(tb tester, f protocol.Fact) protocol.Raw {
	tb.Helper()
	raw, err := protocol.NewCodec().Marshal(f)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func snapshotOf(tb tester, s State) []byte {
	tb.Helper()
	b, err := s.AppendSnapshot(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// travelled is the request as it comes out of the scene's mailbox.
func travelled(tb tester, q Request) Request {
	tb.Helper()
	raw := q.AppendMsg(nil)
	back, err := ReadRequest(raw)
	if err != nil {
		tb.Fatal(err)
	}
	if again := back.AppendMsg(nil); !bytes.Equal(raw, again) {
		tb.Fatalf("a request that travelled differs:\n%q\n%q", raw, again)
	}
	return back
}

func path(tb tester, text string) world.Path {
	tb.Helper()
	p, err := world.ParsePath(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func (d *desk) change(by string, op world.Op, at string, value any) Request {
	return Request{Change: world.Request{By: by, Profile: by, Op: op, Path: path(d.tb, at), Value: protocol.Encode(value)}}
}

func (d *desk) commands(by, text string) Request {
	d.tb.Helper()
	b, err := command.Decode(text)
	if err != nil {
		d.tb.Fatal(err)
	}
	return Request{Kind: Commands, Change: world.Request{By: by, Profile: by}, Batch: &b}
}

func (d *desk) lock(by, id string, t time.Duration, paths ...string) Request {
	q := Request{Kind: Lock, Change: world.Request{By: by, Profile: by}, Lease: id, For: t}
	for _, p := range paths {
		q.Paths = append(q.Paths, path(d.tb, p))
	}
	return q
}

func (d *desk) unlock(by, id string) Request {
	return Request{Kind: Unlock, Change: world.Request{By: by}, Lease: id}
}

// kinds writes the facts as words: kind, and the answer's addressee when it is
// woken ("!").
func kinds(dec Decision) (out []string) {
	for _, f := range dec.Facts {
		s := f.FactKind()
		if x, ok := f.(protocol.Answering); ok {
			if a, ok := x.Answers(); ok {
				s += " " + a.To + map[bool]string{true: "!"}[a.Wakes]
			}
		}
		out = append(out, s)
	}
	return out
}

// told is what a fact answers.
func told(f protocol.Fact) string {
	if x, ok := f.(protocol.Answering); ok {
		return fmt.Sprint(x.Told())
	}
	return ""
}
