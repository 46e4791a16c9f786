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
