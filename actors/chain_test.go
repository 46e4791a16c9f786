package actors

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// The chain in front of a mailbox knows receiver and time, moves and drops; what
// it cannot do it delivers.
func TestTheChainInFront(t *testing.T) {
	var dead []string
	sup := &Supervisor{
		Middleware: delivery.Chain{delivery.Loop{MaxRevisits: -1}, delivery.Depth{Max: 3}, delivery.Expiry{}, delivery.Func(asks)},
		Now:        func() protocol.Time { return 100 },
		Dead:       func(d DeadLetter) { dead = append(dead, fmt.Sprint(d.Type, " to ", d.Receiver, ": ", d.Reason)) },
	}
	sup.Prefix = "inn/"
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &recorder{gate: make(chan struct{})}
		ref := spawn(t, s, "inn/a", r, sup)
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		for _, e := range []*protocol.Envelope{
			{EventHeader: protocol.EventHeader{Type: "stale"}, Expires: 99}, {EventHeader: protocol.EventHeader{Type: "fresh"}, Expires: 101}, {EventHeader: protocol.EventHeader{Type: "deep", Chain: make([]protocol.Link, 4)}},
			{EventHeader: protocol.EventHeader{Type: "looping", Source: "a", Chain: []protocol.Link{{Agent: "b", Type: "looping"}}}},
			{EventHeader: protocol.EventHeader{Type: "later"}}, {EventHeader: protocol.EventHeader{Type: "merged"}}, {EventHeader: protocol.EventHeader{Type: "urgent"}},
		} {
			e.Kind = protocol.KindEvent
			ref.Tell(e)
		}
		if got, want := r.open(), []string{"urgent", "fresh", "later", "merged"}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
		if want := []string{"stale to a: ttl", "deep to a: depth", "looping to a: loop"}; !slices.Equal(dead, want) {
			t.Errorf("dead letters %q, want %q", dead, want)
		}
		s.Stop(ref)
		s.Close()
	})
}

func asks(m delivery.Message, v delivery.Verdict) delivery.Verdict {
	switch m.Type {
	case "later":
		return v.Delay(1000)
	case "merged":
		return v.Merge("key")
	case "urgent":
		return v.In(delivery.Critical, "")
	}
	return v
}

// Promise 3: in front of a critical envelope there is never more than what was
// being handled and one turn of the lower lane, however much waits there; and the
// low lane moves all the same. A low envelope takes half a microsecond where this
// is measured (BenchmarkCritical of internal/bench), against a bound of a millisecond.
func TestABacklogHoldsUpNothingUrgent(t *testing.T) {
	const backlog, probes = 20_000, 1000
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		b := &overtaking{gate: make(chan struct{}), every: backlog / probes}
		ref := spawn(t, s, "a", b, &Supervisor{})
		b.self = ref
		ref.Tell(event("gate", protocol.High))
		synctest.Wait()
		for range backlog {
			ref.Tell(event("low", protocol.Low))
		}
		close(b.gate)
		synctest.Wait()
		if b.low != backlog || b.critical != probes || b.most > 1 {
			t.Errorf("%d low and %d critical handled, up to %d low ones before a critical; want %d, %d and at most 1", b.low, b.critical, b.most, backlog, probes)
		}
		s.Stop(ref)
		s.Close()
	})
}

// overtaking sends itself a critical envelope at every so many low ones.
type overtaking struct {
	gate                               chan struct{}
	self                               *Ref
	every, low, sentAt, most, critical int
}

func (o *overtaking) Receive(env *protocol.Envelope) error {
	switch env.Type {
	case "gate":
		<-o.gate
	case "low":
		if o.low++; o.low%o.every == 0 {
			o.sentAt = o.low
			o.self.Tell(event("critical", protocol.Critical))
		}
	case "critical":
		o.critical++
		o.most = max(o.most, o.low-o.sentAt)
	}
	return nil
}

// Promises 4 and 11, at the moments that no race meets often: an actor in which
// something came is not given up, and the last lane waits for all others whatever
// the streak.
func TestTheWord(t *testing.T) {
	m := &mailbox{}
	for what, w := range map[string]uint32{"something in a lane": 1 << delivery.Normal, "an order of the system": asked} {
		if m.word.Store(running | w); m.released() {
			t.Errorf("it was given up with %s", what)
		}
	}
	m.word.Store(running)
	seen := m.word.Load()
	if m.word.Or(1 << delivery.Normal); m.giveUp(seen) {
		t.Error("it was given up with what came after the last look")
	}
	if m.word.Store(running); !m.released() || m.word.Load() != 0 {
		t.Error("an empty one was kept")
	}
	m.word.Store(1<<delivery.Last | 1<<delivery.High)
	m.streak = StarvationBound
	if first, lower := m.look(&hand{}); first != delivery.High || lower != delivery.High {
		t.Errorf("first %s, lowest %s; want the high lane alone", first, lower)
	}
}
