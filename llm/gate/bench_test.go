package gate_test

import (
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
)

// turnstile is a caller that ends its attempt at once.
type turnstile struct {
	limit.Call
	gate *gate.Gate
	done chan struct{}
}

// Released implements gate.Caller.
func (x *turnstile) Released(limit.Class) {
	go func() {
		x.gate.End(&x.Call, limit.End{Outcome: llm.OutcomeOK, Tokens: 1})
		x.done <- struct{}{}
	}()
}

// Refused implements gate.Caller.
func (x *turnstile) Refused(error) { x.done <- struct{}{} }

// BenchmarkCall is what a gate costs a call, its goroutine included: one that leaves at
// once, and one among 10,000 that wait.
func BenchmarkCall(b *testing.B) {
	for name, atOnce := range map[string]int{"free": 1, "waiting": 10_000} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			g := gate.New("local", limit.Options{Concurrency: 64, Fixed: true, Tokens: 1 << 50})
			done := make(chan struct{}, atOnce)
			for range atOnce {
				done <- struct{}{}
			}
			for b.Loop() {
				<-done
				x := &turnstile{gate: g, done: done}
				x.Owner = x
				g.Enter(&x.Call, 0, time.Hour)
			}
		})
	}
}
