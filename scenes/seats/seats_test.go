package seats_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"tavernsim/actors"
	"tavernsim/protocol"
	"tavernsim/scenes/seats"
)

// counter is the actor of an agent whose state is how many events it has heard.
type counter struct {
	h     *house
	o     uint32
	heard int
}

func (c *counter) Receive(env *protocol.Envelope) error {
	switch env.Kind {
	case protocol.KindEvent:
		c.heard++
	case protocol.KindSnapshot:
		if env.Type == seats.MayLeave {
			c.h.asked.Add(1)
		}
		c.h.answers <- answer{c.o, env.Wave, fmt.Sprint(c.heard)}
	}
	return nil
}

type answer struct {
	o     uint32
	wave  uint64
	state string
}

// house is seats with actors.
type house struct {
	*seats.Seats
	sup     *actors.Supervisor
	system  *actors.System
	answers chan answer
	made    atomic.Int64
	asked   atomic.Int64
}

func newHouse(t *testing.T, n int, after protocol.Time) *house {
	h := &house{system: actors.NewSystem(actors.Options{Workers: 3}), answers: make(chan answer, n)}
	h.sup = &actors.Supervisor{Prefix: "s/", Name: func(_ uint8, o uint32) string { return fmt.Sprint(o) }, Failed: func(name string, f *actors.Failure) { t.Errorf("%s: %v", name, f) }}
	h.Seats = seats.New(n, seats.Options{After: after, Stop: h.system.Stop,
		Failed: func(o uint32, err error) { t.Errorf("%d: %v", o, err) },
		Spawn: func(o uint32, state []byte, left *actors.Ref) (*actors.Ref, error) {
			c := &counter{h: h, o: o}
			_, _ = fmt.Sscan(string(state), &c.heard) // none = 0
			if left != nil && h.system.Pass(left, o, func(actors.Behavior) actors.Behavior { return c }) {
				return left, nil
			}
			h.made.Add(1)
			return h.system.Spawn(actors.Spec{Unlisted: true, Supervisor: h.sup, First: c, ID: o})
		}})
	t.Cleanup(func() {
		h.End()
		h.sup.Wait()
		h.system.Close()
	})
	return h
}

func event() *protocol.Envelope { return &protocol.Envelope{Kind: protocol.KindEvent} }

// look closes a wave, and offers what so many actors answer.
func (h *house) look(now protocol.Time, wave uint64, answers int) {
	h.Close(now, wave)
	for range answers {
		a := <-h.answers
		h.Offer(a.o, a.wave, []byte(a.state))
	}
}

func (h *house) counts(t *testing.T, seated, passive int) {
	t.Helper()
	if s, p, _ := h.Count(); s != seated || p != passive {
		t.Errorf("%d have an actor and %d are passive; want %d and %d", s, p, seated, passive)
	}
}

// gathered are the states of those who have no actor.
func (h *house) gathered(t *testing.T, seated func(*actors.Ref)) map[uint32]string {
	t.Helper()
	g, out := h.Gather(seated), map[uint32]string{}
	defer g.Close()
	g.Seal()
	for _, o := range g.Agents() {
		state, err := g.State(o)
		if err != nil {
			t.Error(err)
		}
		out[o] = string(state)
	}
	return out
}

// Promises 1 to 3: who is told nothing leaves its actor with what it has heard, and has it again
// with the next thing that it is told.
func TestAgentsLeaveAndComeBack(t *testing.T) {
	h := newHouse(t, 3, 10)
	h.Lay(0, nil)
	h.Lay(1, []byte("7"))
	h.Tell(2, event()) // which is away
	h.counts(t, 0, 2)
	h.Tell(0, event())
	h.Tell(1, event())
	h.counts(t, 2, 0)
	for _, step := range []struct {
		now             protocol.Time
		asked           int
		seated, passive int
	}{{1, 0, 2, 0}, {5, 0, 2, 0}, {11, 2, 2, 0}, {12, 0, 0, 2}} {
		h.look(step.now, uint64(step.now), step.asked)
		h.counts(t, step.seated, step.passive)
	}
	if states := h.gathered(t, func(*actors.Ref) { t.Error("nobody has an actor") }); fmt.Sprint(states) != "map[0:1 1:8]" {
		t.Error(states)
	}
	h.TellSeated(1, event()) // a late answer
	h.counts(t, 0, 2)
	h.Tell(1, event())
	h.counts(t, 1, 1)
	if h.made.Load() != 3 {
		t.Errorf("%d actors were made", h.made.Load())
	}
	h.Leave(1)
	h.Tell(1, event())
	h.counts(t, 0, 1)
}

// Who was told something after it gave its state keeps its actor, and a snapshot outdates what was
// given before.
func TestToldMeanwhile(t *testing.T) {
	h := newHouse(t, 1, 1)
	h.Lay(0, nil)
	h.Tell(0, event())
	h.look(1, 1, 0) // forgets that it was told
	h.look(2, 2, 1)
	h.Tell(0, event())
	h.look(3, 3, 0)
	h.counts(t, 1, 0)
	h.Close(5, 5)
	if states := h.gathered(t, func(*actors.Ref) {}); states[0] != "" {
		t.Error("it has an actor")
	}
	a := <-h.answers
	h.Offer(a.o, a.wave, []byte(a.state))
	h.Close(5, 6)
	h.counts(t, 1, 0)
	if h.asked.Load() != 2 {
		t.Errorf("it was asked %d times", h.asked.Load())
	}
}

// Promises 1 and 2 with many senders: what they tell between two looks is heard, whoever made the
// actor.
func TestNothingIsLost(t *testing.T) {
	const agents, rounds, senders = 40, 60, 4
	h := newHouse(t, agents, 1)
	for o := range uint32(agents) {
		h.Lay(o, nil)
	}
	left := 0
	for wave := range uint64(rounds) {
		if wave%3 == 0 {
			var all sync.WaitGroup
			for i := range uint32(senders) {
				all.Go(func() {
					for o := i % 2; o < agents; o += 1 + i {
						h.Tell(o, event())
					}
				})
			}
			all.Wait()
		}
		h.look(protocol.Time(2*wave), wave+1, []int{0, agents, 0}[wave%3]) // told; asked; gone
		_, passive, _ := h.Count()
		left += passive
	}
	want, got := make([]int, agents), make([]int, agents)
	for i := range senders {
		for o := i % 2; o < agents; o += 1 + i {
			want[o] += (rounds + 2) / 3
		}
	}
	waiting := 0
	for o, state := range h.gathered(t, func(ref *actors.Ref) {
		waiting++
		ref.Tell(&protocol.Envelope{Kind: protocol.KindSnapshot})
	}) {
		_, _ = fmt.Sscan(state, &got[o])
	}
	for range waiting {
		a := <-h.answers
		_, _ = fmt.Sscan(a.state, &got[a.o])
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || left == 0 {
		t.Errorf("heard %v\nwant  %v; %d times passive", got, want, left)
	}
}

// Promise 5: a state that is too large does not lie here. Its agent comes with an actor, which hears what it is told, and
// no other is made.
func TestLargeStatesHaveActors(t *testing.T) {
	h := newHouse(t, 2, 10)
	h.Largest = 3
	if h.Takes([]byte("1234")) || !h.Takes([]byte("123")) {
		t.Error("a state of 4 bytes may lie here, or one of 3 may not")
	}
	h.Lay(1, []byte("7"))
	ref := h.Seat(1)
	h.Sit(0, ref)
	h.counts(t, 2, 0)
	if h.Ref(0) != ref || h.Seat(0) != ref || h.made.Load() != 1 {
		t.Errorf("%d actors were made", h.made.Load())
	}
}

// Promise 2: the actor that an agent has left may be the next one's, once, and nobody's behind the end.
func TestActorsPass(t *testing.T) {
	h := newHouse(t, 3, 10)
	for o := range uint32(3) {
		h.Lay(o, []byte("7"))
	}
	first := h.Seat(0)
	h.Vacate(0, []byte("8"), true)
	h.counts(t, 0, 3)
	if h.Seat(1) != first || h.Seat(2) == first || h.made.Load() != 2 {
		t.Errorf("%d actors were made", h.made.Load())
	}
	h.Tell(1, event())
	h.Tell(1, &protocol.Envelope{Kind: protocol.KindSnapshot})
	if a := <-h.answers; a.o != 1 || a.state != "8" {
		t.Errorf("the actor goes on as %+v", a)
	}
	h.Vacate(2, []byte("9"), true) // it ends with the house
}

// What lies here of an agent is gone when it has its actor, or has left; who has no actor hands nothing over, and behind the end
// nobody gets one.
func TestWhatLiesHere(t *testing.T) {
	h := newHouse(t, 3, 10)
	lies := func(o uint32, want string) {
		t.Helper()
		if state, err := h.State(o); string(state) != want || err != nil {
			t.Errorf("of agent %d lies %q here, want %q; %v", o, state, want, err)
		}
	}
	for o := range uint32(3) {
		h.Lay(o, []byte("7"))
	}
	h.Tell(0, event())
	lies(0, "")
	h.Leave(1)
	lies(1, "")
	h.Vacate(2, []byte("9"), true)
	lies(2, "7")
	h.End()
	if ref := h.Seat(2); ref != nil || h.made.Load() != 1 {
		t.Errorf("%d actors were made", h.made.Load())
	}
}
