package actors

import (
	"fmt"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/protocol"
)

type tick struct{ wg *sync.WaitGroup }

func (c tick) Receive(*protocol.Envelope) error { c.wg.Done(); return nil }

type bare struct{ wg *sync.WaitGroup }

func (b bare) Receive(c actor.Context) {
	if _, ok := c.Message().(*protocol.Envelope); ok {
		b.wg.Done()
	}
}

// BenchmarkSend puts our mailbox beside Proto.Actor's default one: the same
// envelope to one or to many actors.
func BenchmarkSend(b *testing.B) {
	for _, n := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("mailbox=laned/actors=%d", n), func(b *testing.B) {
			var wg sync.WaitGroup
			s := NewSystem(Options{})
			sup := &Supervisor{}
			refs := make([]*Ref, n)
			for i := range refs {
				refs[i] = spawn(b, s, fmt.Sprint("a", i), tick{&wg}, sup)
			}
			env := event("x", protocol.Normal)
			wg.Add(b.N)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				refs[i%n].Tell(env)
			}
			wg.Wait()
			b.StopTimer()
			for _, r := range refs {
				s.Stop(r)
			}
			s.Close()
		})
		b.Run(fmt.Sprintf("mailbox=default/actors=%d", n), func(b *testing.B) {
			var wg sync.WaitGroup
			s := NewSystem(Options{})
			props := actor.PropsFromProducer(func() actor.Actor { return bare{&wg} })
			pids := make([]*actor.PID, n)
			for i := range pids {
				pids[i] = s.root.Spawn(props)
			}
			env := event("x", protocol.Normal)
			wg.Add(b.N)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				s.root.Send(pids[i%n], env)
			}
			wg.Wait()
			b.StopTimer()
			for _, p := range pids {
				_ = s.root.StopFuture(p).Wait()
			}
			s.Close()
		})
	}
}
