package delivery

import (
	"bytes"
	"testing"

	"tavernsim/protocol"
)

// draw reads choices from the bytes of a fuzzer; where they end, it reads zeros.
type draw struct{ bytes.Reader }

func (d *draw) n(n int) int {
	b, _ := d.ReadByte()
	return int(b) % n
}

func (d *draw) name() string { return []string{"", "a", "b", "c"}[d.n(4)] }

func (d *draw) message() Message {
	e := &protocol.Envelope{
		EventHeader: protocol.EventHeader{Source: d.name(), Type: d.name(), Priority: protocol.Priority(d.n(8) - 3), Time: protocol.Time(d.n(4))}, Kind: []protocol.Kind{protocol.KindEvent, protocol.KindEvent, protocol.KindWake, protocol.KindControl, protocol.KindObserve}[d.n(5)], Expires: protocol.Time(d.n(4)),
	}
	for range d.n(8) {
		e.Chain = append(e.Chain, link(d.name(), d.name()))
	}
	return Message{Envelope: e, Receiver: d.name(), Now: protocol.Time(d.n(4))}
}

// chain is up to six middlewares, of which some are chains.
func (d *draw) chain(depth int) (c Chain) {
	for range d.n(7) {
		switch d.n(8) {
		case 0, 1:
			c = append(c, Loop{MaxRevisits: d.n(5) - 1, Action: []LoopAction{"", LoopDrop, LoopDeprioritize, LoopWarn}[d.n(4)]})
		case 2:
			c = append(c, Depth{Max: d.n(6) - 1})
		case 3:
			c = append(c, Expiry{})
		case 4, 5:
			c = append(c, InOrder{})
		case 6:
			c = append(c, d.user())
		case 7:
			if depth > 0 {
				c = append(c, d.chain(depth-1))
			}
		}
	}
	return c
}

// user is a middleware that says the same about everything, lanes included that
// do not exist.
func (d *draw) user() Middleware {
	what, lane, until := d.n(6), Lane(d.n(256)), protocol.Time(d.n(4))
	return Func(func(_ Message, v Verdict) Verdict {
		return []Verdict{v, v.Drop(""), v.Drop("no"), v.In(lane, "moved"), v.Delay(until), v.Merge("key")}[what]
	})
}

// FuzzChain: promises 1, 3 and 5. Whatever a chain is made of, it answers, in a
// lane that there is and with a reason for a drop, the same each time, and its plan
// says the same. A seed for each middleware alone and for some together.
func FuzzChain(f *testing.F) {
	for i := range 8 {
		f.Add([]byte{2, byte(i), 3, 1, byte(i), 1, 2, 0, 1, 1, 4, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3})
	}
	f.Add([]byte("loops and depths, expiries and lanes, one after the other"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &draw{*bytes.NewReader(b)}
		c, m := d.chain(2), d.message()
		plan, v := c.Plan(), c.Decide(m)
		if v.Lane >= Lanes || v.Action == Drop && v.Reason == "" {
			t.Errorf("%+v of %+v: got %+v", c, m, v)
		}
		if again := c.Decide(m); again != v {
			t.Errorf("%+v of %+v: got %+v, then %+v", c, m, v, again)
		}
		if got := plan.Decide(m); got != v {
			t.Errorf("%+v of %+v: the chain says %+v, its plan %+v", c, m, v, got)
		}
	})
}

// Promise 5. The plan of a chain says what the chain says, for many that are drawn.
func TestAPlanSaysWhatItsChainSays(t *testing.T) {
	from := protocol.NewDraw(7)
	dropped, moved := 0, 0
	for range 20_000 {
		b := make([]byte, 64)
		for i := range b {
			b[i] = byte(from.IntN(256))
		}
		d := &draw{*bytes.NewReader(b)}
		c, m := d.chain(2), d.message()
		plan, want := c.Plan(), c.Decide(m)
		if got := plan.Decide(m); got != want {
			t.Fatalf("%x: %+v of %+v: the chain says %+v, its plan %+v", b, c, m, want, got)
		}
		if want.Action == Drop {
			dropped++
		}
		if want.Lane != LaneOf(m.Envelope) {
			moved++
		}
	}
	if dropped < 1000 || moved < 1000 {
		t.Errorf("%d dropped and %d moved: the drawing has gone stale", dropped, moved)
	}
}
