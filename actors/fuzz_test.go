package actors

import (
	"testing"
	"testing/synctest"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// FuzzMailbox: whatever the chain says about what is sent, and however small the
// lanes are, each envelope is handled once or becomes one dead letter (promise 6)
// and no lane holds more than it may. A byte is one envelope and the verdict
// about it.
func FuzzMailbox(f *testing.F) {
	f.Add(uint8(1), uint8(0), []byte("refuse"))
	f.Add(uint8(2), uint8(1), []byte("drop the oldest of several"))
	f.Add(uint8(5), uint8(0), []byte{0, 50, 100, 150, 200, 250, 255, 17, 33, 66, 99, 1, 2, 3, 4, 5, 6})
	f.Fuzz(func(t *testing.T, room, policy uint8, what []byte) {
		what = what[:min(len(what), 500)]
		synctest.Test(t, func(t *testing.T) {
			seen := make([]int, len(what)+1)
			limit := Capacity{Max: int32(room%8) + 1, Policy: Policy(policy % 2)}
			sup := &Supervisor{
				Lanes: each(limit), Control: limit.Max,
				Dead:       func(d DeadLetter) { seen[d.Wave]++ },
				Middleware: delivery.Chain{delivery.Func(func(m delivery.Message, v delivery.Verdict) delivery.Verdict { return said(m, v, what) })},
			}
			s := NewSystem(Options{Workers: 1})
			gate := &noting{gate: make(chan struct{})}
			b := &tallying{noting: gate, seen: seen}
			ref := spawn(t, s, "a", b, sup)
			for i := range what {
				ref.Tell(&protocol.Envelope{Kind: protocol.KindEvent, Wave: uint64(i)})
			}
			for l := range delivery.Lanes {
				if n := (*mailbox)(ref).count(l).Load(); n > 2*limit.Max || n > limit.Max && limit.Policy == Refuse {
					t.Errorf("%d wait in a lane of %+v", n, limit)
				}
			}
			close(gate.gate)
			synctest.Wait()
			if got := depthsOf(s); len(got) > 0 {
				t.Errorf("nothing is left, and %v wait", got)
			}
			for i, n := range seen[:len(what)] {
				if n != 1 {
					t.Errorf("envelope %d was handled or refused %d times", i, n)
				}
			}
			s.Stop(ref)
			s.Close()
		})
	})
}

// said is a verdict drawn from the envelope's byte.
func said(m delivery.Message, v delivery.Verdict, what []byte) delivery.Verdict {
	b := what[m.Wave]
	switch b % 5 {
	case 0:
		return v.Drop("")
	case 1:
		return v.Delay(protocol.Time(b))
	case 2:
		return v.Merge("key")
	}
	return v.In(delivery.Lane(b/5), "")
}

type tallying struct {
	*noting
	seen []int
}

func (b *tallying) Receive(env *protocol.Envelope) error {
	<-b.gate
	b.seen[env.Wave]++
	return nil
}
