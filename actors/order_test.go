package actors

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// inBubble runs a system in a synctest bubble; act gets a gated actor whose
// queue fills until the gate opens.
func inBubble(t *testing.T, sup *Supervisor, act func(t *testing.T, ref *Ref, r *recorder)) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &recorder{gate: make(chan struct{})}
		ref := spawn(t, s, "a", r, sup)
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		act(t, ref, r)
		s.Stop(ref)
		s.Close()
	})
}

// open lets the actor handle what waits, and says in which order it did.
func (r *recorder) open() []string {
	close(r.gate)
	synctest.Wait()
	return r.got[1:]
}

// Promise 1.
func TestOneEnvelopeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 4})
		b := &exclusive{t: t}
		ref := spawn(t, s, "a", b, &Supervisor{})
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				for range 50 {
					ref.Tell(event("x", protocol.Normal))
				}
			})
		}
		senders.Wait()
		s.Stop(ref)
		s.Close()
	})
}

type exclusive struct {
	t  *testing.T
	mu sync.Mutex
}

func (e *exclusive) Receive(*protocol.Envelope) error {
	if !e.mu.TryLock() {
		e.t.Error("two envelopes at a time")
		return nil
	}
	<-time.After(time.Millisecond) // of the bubble's clock: lets the others run
	e.mu.Unlock()
	return nil
}

// Promise 4: what one sender sent before a wake, in whatever lane, is handled
// before the wake, also while others send and have not finished.
func TestAWakeFindsWhatWasSentBefore(t *testing.T) {
	synctest.Test(t, wakeFindsWhatWasSentBefore)
}

func wakeFindsWhatWasSentBefore(t *testing.T) {
	s := NewSystem(Options{Workers: 2})
	b := &balance{t: t}
	ref := spawn(t, s, "a", b, &Supervisor{})
	var noise, rounds sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		noise.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					ref.Tell(event("noise", protocol.Priority(i%4-1)))
				}
			}
		})
	}
	rounds.Go(func() {
		for i := range 2000 {
			ref.Tell(event("counted", protocol.Priority(i%4-1)))
			ref.Tell(&protocol.Envelope{Kind: protocol.KindWake, Wave: uint64(i + 1)})
		}
	})
	rounds.Wait()
	close(stop)
	noise.Wait()
	s.Stop(ref)
	s.Close()
}

type balance struct {
	t       *testing.T
	counted uint64
}

func (b *balance) Receive(env *protocol.Envelope) error {
	switch {
	case env.Kind == protocol.KindWake && b.counted < env.Wave:
		b.t.Errorf("wake %d found %d of what was sent before it", env.Wave, b.counted)
	case env.Type == "counted":
		b.counted++
	}
	return nil
}

// Promise 11. A worker that gives an actor up looks again for what came meanwhile,
// while senders see that it runs still: under the race detector this finds a look
// at what is not shared, and without it an envelope that nobody came back for.
func TestTheLookAfterGivingUp(t *testing.T) {
	const senders, each = 8, 4000
	s := NewSystem(Options{Workers: 4})
	var wg sync.WaitGroup
	refs := []*Ref{spawn(t, s, "a", tick{&wg}, &Supervisor{}), spawn(t, s, "b", tick{&wg}, &Supervisor{})}
	wg.Add(senders * each)
	for sender := range senders {
		go func() {
			for i := range each {
				refs[(sender+i)%2].Tell(event("x", protocol.Priority(i%4-1)))
				if i%8 == 0 {
					runtime.Gosched() // lets the queues run empty, again and again
				}
			}
		}()
	}
	wg.Wait()
	for _, ref := range refs {
		s.Stop(ref)
	}
	s.Close()
}

// Promise 11. Senders that announce while a worker takes, envelope by envelope: what
// a later send would uncover counts as lost, so the sender waits for every second
// one. A race, and not in a bubble: the steps meet within nanoseconds. The worker is
// driven by hand and does not sleep, so that they meet often.
func TestNothingIsLostBetweenSendAndTake(t *testing.T) {
	s := NewSystem(Options{Workers: 1})
	gate := &noting{gate: make(chan struct{}), note: func(string) {}}
	var handled atomic.Int64
	refs := []*Ref{spawn(t, s, "gate", gate, &Supervisor{}), spawn(t, s, "a", &looker{look: func() { handled.Add(1) }}, &Supervisor{})}
	refs[0].Tell(event("keeps the pool's worker", protocol.Normal))
	var worker sync.WaitGroup
	var done atomic.Bool
	worker.Go(func() { workByHand(s, (*mailbox)(refs[1]), &done) })
	env, began := event("x", protocol.Normal), time.Now()
	sent := int64(0)
	for ; time.Since(began) < 300*time.Millisecond; sent += 2 {
		refs[1].Tell(env)
		refs[1].Tell(env)
		if !soon(func() bool { return handled.Load() == sent+2 }) {
			t.Errorf("after %d envelopes one was not handled", sent)
			break
		}
	}
	done.Store(true)
	worker.Wait()
	close(gate.gate)
	for _, ref := range refs {
		s.Stop(ref)
	}
	s.Close()
}

// workByHand runs one actor out of the pool, as a worker does that never sleeps.
func workByHand(s *System, m *mailbox, done *atomic.Bool) {
	count := s.depths.workers[0]
	for !done.Load() {
		s.pool.mu.Lock()
		ready := s.pool.queue.len > 0 && s.pool.queue.buf[s.pool.queue.head] == m
		if ready {
			s.pool.queue.pop()
		}
		s.pool.mu.Unlock()
		if !ready {
			runtime.Gosched()
			continue
		}
		for again := m.claim(); again; {
			again = m.process(count)
		}
	}
}

// soon waits for what another goroutine is about to do.
func soon(ok func() bool) bool {
	for began, n := time.Now(), 1; !ok(); n++ {
		if n%1000 == 0 {
			if runtime.Gosched(); time.Since(began) > time.Minute {
				return false
			}
		}
	}
	return true
}

// A long lane is turned in steps: what comes meanwhile into a higher one goes
// first, and nothing loses its place.
func TestALongLaneIsTurnedInSteps(t *testing.T) {
	m, h := &mailbox{}, &hand{}
	put := func(l delivery.Lane, env *protocol.Envelope) {
		m.top[l].push(&cell{env: env})
		m.word.Or(1 << l)
	}
	const n = 3*turnStep + 7
	for i := range n {
		put(delivery.Low, event(fmt.Sprintf("%04d", i), protocol.Low))
	}
	if m.turn(h, delivery.Low); h.rest == nil || m.held != 0 {
		t.Fatal("the whole lane was turned at once")
	}
	put(delivery.Normal, event("normal", protocol.Normal))
	put(delivery.Low, event("newest", protocol.Low))
	var got []string
	for env := m.next(h); env != nil; env = m.next(h) {
		got = append(got, env.Type)
	}
	if got[0] != "normal" || got[len(got)-1] != "newest" || len(got) != n+2 || !slices.IsSorted(got[1:n+1]) {
		t.Errorf("%d handled, first %s, second %s, last %s", len(got), got[0], got[1], got[len(got)-1])
	}
}

// Promise 4, at the moment that no race meets often: the worker has looked and seen
// the last lane alone, announced for a wake that it took before; now one sender
// sends an event and a wake. The worker turns the lane, and must look again.
func TestAWakeIsLookedAtTwice(t *testing.T) {
	m, h := &mailbox{}, &hand{}
	m.word.Store(running | 1<<delivery.Last)
	first, lower := m.look(h)
	put := func(l delivery.Lane, env *protocol.Envelope) {
		m.top[l].push(&cell{env: env})
		m.word.Or(1 << l)
	}
	put(delivery.Low, event("before", protocol.Low))
	put(delivery.Last, &protocol.Envelope{EventHeader: protocol.EventHeader{Type: "wake"}, Kind: protocol.KindWake})
	if env := m.choose(h, first, lower); env != nil {
		t.Errorf("after one look it took the %s", env.Type)
	}
	for _, want := range []string{"before", "wake"} {
		if env := m.next(h); env == nil || env.Type != want {
			t.Errorf("got %+v, want the %s", env, want)
		}
	}
}

// Promise 9. No promise across actors, and so none across scenes: two that are told the
// same in the same order may handle it in orders that differ from each other.
func TestNothingTiesTwoActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 2})
		var mu sync.Mutex
		var order []string
		sup := &Supervisor{}
		refs := map[string]*Ref{}
		gates := map[string]chan struct{}{"one": make(chan struct{}), "two": make(chan struct{})}
		for name, gate := range gates {
			refs[name] = spawn(t, s, name, &noting{gate: gate, note: func(what string) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name+" "+what)
			}}, sup)
		}
		for _, what := range []string{"first", "second"} {
			refs["one"].Tell(event(what, protocol.Normal))
			refs["two"].Tell(event(what, protocol.Normal))
		}
		synctest.Wait()
		close(gates["two"]) // told last, goes first, and to its end
		synctest.Wait()
		close(gates["one"])
		synctest.Wait()
		if want := []string{"two first", "two second", "one first", "one second"}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
		s.Stop(refs["one"])
		s.Stop(refs["two"])
		s.Close()
	})
}

type noting struct {
	gate chan struct{}
	note func(string)
}

func (n *noting) Receive(env *protocol.Envelope) error {
	<-n.gate
	n.note(env.Type)
	return nil
}

// Promise 8: an actor with a long queue and slow handlers lets others go on.
func TestAnActorGivesItsWorkerBack(t *testing.T) {
	for name, c := range map[string]struct {
		each time.Duration // of the bubble's clock, for one envelope
		most int           // envelopes before the other actor
	}{"many": {0, slice}, "slow": {sliceTime, 2 * sliceLook}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewSystem(Options{Workers: 1})
				gate := make(chan struct{})
				busy := &slow{each: c.each}
				ref := spawn(t, s, "busy", busy, &Supervisor{})
				other := spawn(t, s, "other", &looker{look: func() { busy.seen = busy.handled }}, &Supervisor{})
				door := spawn(t, s, "door", &noting{gate: gate, note: func(string) {}}, &Supervisor{})
				door.Tell(event("hold the worker", protocol.Normal))
				synctest.Wait()
				for range 10 * slice {
					ref.Tell(event("x", protocol.Normal))
				}
				other.Tell(event("look", protocol.Normal))
				close(gate)
				synctest.Wait()
				<-time.After(time.Hour)
				synctest.Wait()
				if busy.handled != 10*slice || busy.seen == 0 || busy.seen > c.most {
					t.Errorf("the other actor's turn came after %d of %d, want at most %d", busy.seen, busy.handled, c.most)
				}
				for _, r := range []*Ref{ref, other, door} {
					s.Stop(r)
				}
				s.Close()
			})
		})
	}
}

type slow struct {
	each          time.Duration
	handled, seen int
}

func (s *slow) Receive(*protocol.Envelope) error {
	if s.each > 0 {
		<-time.After(s.each)
	}
	s.handled++
	return nil
}

type looker struct{ look func() }

func (l *looker) Receive(*protocol.Envelope) error { l.look(); return nil }

// Promise 12. What a send costs is the cell.
func TestASendAllocatesItsCell(t *testing.T) {
	s := NewSystem(Options{})
	var wg sync.WaitGroup
	sup := &Supervisor{Middleware: delivery.Chain{delivery.Loop{}, delivery.Depth{}, delivery.Expiry{}}}
	ref := spawn(t, s, "a", tick{&wg}, sup)
	env := event("x", protocol.Low)
	env.Chain = []protocol.Link{{Agent: "b", Type: "x"}, {Agent: "c", Type: "x"}}
	n := testing.AllocsPerRun(1000, func() {
		wg.Add(1)
		ref.Tell(env)
		wg.Wait()
	})
	if n > 0 { // the average, rounded down
		t.Errorf("%v allocations for one send, want one for sixteen cells", n)
	}
	s.Stop(ref)
	s.Close()
}

// Promise 12. To an actor that a worker has, a send takes neither the pool's lock
// nor that of the senders who wait: here others hold both. What was handled leaves
// no memory in the mailbox.
func TestASendTakesNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &recorder{gate: make(chan struct{})}
		ref := spawn(t, s, "a", r, &Supervisor{})
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		if !s.pool.mu.TryLock() || !s.blocked.mu.TryLock() {
			t.Fatal("somebody holds a lock while all is warnOnly")
		}
		for i := range 100 { // one that takes a lock stands still here
			ref.Tell(event("x", protocol.Priority(i%3-1)))
		}
		s.blocked.mu.Unlock()
		s.pool.mu.Unlock()
		if got := r.open(); len(got) != 100 {
			t.Errorf("%d were handled", len(got))
		}
		m := (*mailbox)(ref)
		for l := range delivery.Lanes {
			if m.out[l] != nil || m.top[l].Load() != nil {
				t.Errorf("lane %s of an idle mailbox holds cells", l)
			}
		}
		s.Stop(ref)
		s.Close()
	})
}
