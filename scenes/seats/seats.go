// Package seats holds the actors of a scene's agents, and the states of passive agents.
//
// A passive agent has no actor: the package stores its state as the bytes of a snapshot,
// or nothing if the agent is as its scene declares it. A sender that tells it something
// ([Seats.Tell]) gives it an actor again, which gets the bytes. The states are in memory, and beyond
// [Options.Memory] in a file.
//
// An agent becomes passive in two ways. When it received nothing for a while, [Seats.Close] asks
// its actor for the state, and [Seats.Offer] takes it. With [Options.AtOnce] the owner of the state
// after a turn, the stage or a gatherer, hands it over ([Seats.Vacate]).
//
// # Promises
//
//  1. No message is lost: an agent becomes passive only when its mailbox was empty after its last
//     message, and only between two waves, when only the stage sends to agents, or after
//     its turn, before the stage has that turn and any actor sends to the agent.
//  2. An agent has at most one actor at a time that receives messages.
//  3. A passive agent takes two rows of 8 bytes, one of which the collector scans, and its state
//     with a header of 12 bytes, or one for each piece of a large state; no goroutine and no timer. Obsolete
//     states take at most as much as current ones, and four segments. While the file can be written, states take
//     at most [Options.Memory] and two segments of memory, however large they are. At most 64 actors that agents have left
//     wait for the next ones, each with the state that its agent had.
//  4. Without a writable file, states stay in memory. The file leaves disk space for the journal. A file that
//     cannot be read, or returns wrong bytes, fails the scene that needs them: the scene uses none of them.
//  5. A state that is too large to be read again ([Seats.Takes]) is never stored: its agent keeps its actor.
//
// The stage calls Lay, Leave, Close, Offer and Gather. Any goroutine may call the others.
package seats

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"tavernsim/actors"
	"tavernsim/protocol"
)

// Options of Seats.
type Options struct {
	// After is for how long an agent is told nothing before it leaves its actor; it may take twice
	// as long.
	After protocol.Time
	// AtOnce: agents leave at the end of each turn, whatever After says.
	AtOnce bool

	// Spawn makes the actor of an agent out of its state, which it may keep; nil = as declared. The actor
	// that the agent had may not be gone yet. It may take an actor that another agent has left
	// ([actors.System.Pass]), and stops it if not; nil = there is none.
	Spawn func(o uint32, state []byte, left *actors.Ref) (*actors.Ref, error)
	Stop  func(*actors.Ref)
	// Failed hears that an actor could not be made.
	Failed func(o uint32, err error)

	// Largest is how many bytes the state of a passive agent may have; 0 = as many as can be read.
	Largest int

	// Memory is how many bytes of states lie in memory, about, if there is a file.
	Memory int64
	File   func() (File, error) // opens it, empty, when it is needed first; nil = there is none
	Warn   func(error)          // hears why the file does not serve
}

// Seats of one scene.
type Seats struct {
	Options
	refs []atomic.Pointer[actors.Ref] // by ordinal; nil = passive or away
	told []atomic.Uint64              // a bit for each agent that was told something since the last look

	mu     sync.Mutex    // guards what follows, and that an agent gets one actor
	here   []uint64      // a bit for each agent that is in the scene
	seated []uint64      // a bit for each that has an actor
	states states        // of passive ones
	free   []*actors.Ref // actors that agents have left, for the next ones
	closed bool

	next   protocol.Time // of the next look; the stage's, as what follows
	round  uint64        // the wave of the last look whose offers count; 0 = none
	offers []offer
}

// offer is the state of an agent that may leave.
type offer struct {
	agent uint32
	state []byte
}

// New makes the seats of agents 0 to n-1, who are away.
func New(n int, opt Options) *Seats {
	words := (n + 63) / 64
	return &Seats{Options: opt, refs: make([]atomic.Pointer[actors.Ref], n), states: newStates(n, &opt),
		told: make([]atomic.Uint64, words), here: make([]uint64, words), seated: make([]uint64, words)}
}

// Lay puts an agent into the scene, passive; nil = as its scene declares it.
func (s *Seats) Lay(o uint32, state []byte) {
	s.Put(o, state)
	s.Enter(o)
}

// Enter puts an agent into the scene that is passive, with the state that lies here.
func (s *Seats) Enter(o uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here[o/64] |= 1 << (o % 64)
}

// Put keeps the state of an agent without an actor. It is in the scene or not, as before.
func (s *Seats) Put(o uint32, state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states.put(o, state)
}

// Takes reports whether a state may lie here.
func (s *Seats) Takes(state []byte) bool { return len(state) <= cmp.Or(s.Largest, protocol.MaxState) }

// Sit puts an agent into the scene with an actor that has its state.
func (s *Seats) Sit(o uint32, ref *actors.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.here[o/64] |= 1 << (o % 64)
	s.seated[o/64] |= 1 << (o % 64)
	s.refs[o].Store(ref)
}

// State is what lies here of an agent; nil = nothing.
func (s *Seats) State(o uint32) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states.get(o)
}

// Tell sends an agent an envelope, and gives it an actor if it has none. One that is away misses it.
func (s *Seats) Tell(o uint32, env *protocol.Envelope) {
	if ref := s.awake(o); ref != nil {
		ref.Tell(env)
	}
}

// Visit is Tell that runs the actor on the visitor's worker, if no other has it; see [actors.Visitor].
func (s *Seats) Visit(o uint32, v actors.Visitor, env *protocol.Envelope) (handled bool) {
	ref := s.awake(o)
	return ref != nil && v.Visit(ref, env)
}

// awake is the actor of an agent that is told something; nil = it is away.
func (s *Seats) awake(o uint32) *actors.Ref {
	ref := s.refs[o].Load()
	if ref == nil {
		if ref = s.Seat(o); ref == nil {
			return nil
		}
	}
	if w, bit := &s.told[o/64], uint64(1)<<(o%64); w.Load()&bit == 0 {
		w.Or(bit)
	}
	return ref
}

// TellSeated sends an envelope that concerns nobody but an actor that is there.
func (s *Seats) TellSeated(o uint32, env *protocol.Envelope) {
	if s.refs[o].Load() != nil {
		s.Tell(o, env)
	}
}

// Seat gives an agent its actor; nil = it is away, or everything ends.
func (s *Seats) Seat(o uint32) *actors.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref := s.refs[o].Load(); ref != nil || s.closed || s.here[o/64]&(1<<(o%64)) == 0 { // another was first, or nobody gets one
		return ref
	}
	state, err := s.states.get(o)
	var ref *actors.Ref
	if err == nil {
		ref, err = s.Spawn(o, state, s.taken())
	}
	if err != nil {
		s.Failed(o, err)
		return nil
	}
	s.states.drop(o)
	s.seated[o/64] |= 1 << (o % 64)
	s.refs[o].Store(ref)
	return ref
}

// taken is an actor that an agent has left; nil = there is none.
func (s *Seats) taken() (ref *actors.Ref) {
	if n := len(s.free); n > 0 {
		ref, s.free = s.free[n-1], s.free[:n-1]
	}
	return ref
}

// Leave ends the actor of an agent that leaves the scene, after the message that it handles.
func (s *Seats) Leave(o uint32) {
	s.mu.Lock()
	s.here[o/64] &^= 1 << (o % 64)
	ref := s.rise(o)
	s.states.drop(o)
	s.mu.Unlock()
	if ref != nil {
		s.Stop(ref)
	}
}

func (s *Seats) rise(o uint32) *actors.Ref {
	s.seated[o/64] &^= 1 << (o % 64)
	return s.refs[o].Swap(nil)
}

// MayLeave is the type of the question for a state ([protocol.KindSnapshot]) that an actor answers with
// one for Offer, if its agent can be passive.
const MayLeave = "leave"

// Close looks, at the end of a wave, who has been told nothing for long, and asks their actors. Those
// who have answered since the last look and were told nothing leave.
func (s *Seats) Close(now protocol.Time, wave uint64) {
	s.settle()
	if now < s.next {
		return
	}
	s.next, s.round = now+max(s.After, 1), wave
	ask := &protocol.Envelope{EventHeader: protocol.EventHeader{Type: MayLeave}, Kind: protocol.KindSnapshot, Wave: wave}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.seated {
		for idle := s.seated[i] &^ s.told[i].Swap(0); idle != 0; idle &= idle - 1 {
			s.refs[i*64+bits.TrailingZeros64(idle)].Load().Tell(ask)
		}
	}
}

// Offer takes the state of an agent whose actor was asked for it.
func (s *Seats) Offer(o uint32, wave uint64, state []byte) {
	if wave == s.round && wave != 0 {
		s.offers = append(s.offers, offer{o, state})
	}
}

// settle lets those leave who have offered their state and were told nothing since. No service may be
// at work.
func (s *Seats) settle() {
	for _, x := range s.offers {
		if s.told[x.agent/64].Load()&(1<<(x.agent%64)) == 0 {
			s.Vacate(x.agent, x.state, false)
		}
	}
	if s.offers = s.offers[:0]; cap(s.offers) > maxKept {
		s.offers = nil
	}
}

// maxFree is how many actors wait for an agent, each with the state of the last one: a gatherer leaves one and takes one.
const maxFree = 64

// maxKept is how many offers the list has room for that is kept between two looks.
const maxKept = 1 << 12

// Vacate takes an agent from its actor, whose mailbox is empty and stays so. Another agent may get the
// actor if nothing is under way that the agent would be told.
func (s *Seats) Vacate(o uint32, state []byte, passes bool) {
	s.mu.Lock()
	ref := s.rise(o)
	if ref != nil {
		s.states.put(o, state)
		if passes && len(s.free) < maxFree {
			s.free, ref = append(s.free, ref), nil
		}
	}
	s.mu.Unlock()
	if ref != nil {
		s.Stop(ref)
	}
}

// Gather gives the actors that are there, for a snapshot between two waves, and what lies here of the
// others. Who has not left by now stays until the next look.
func (s *Seats) Gather(seated func(*actors.Ref)) *Gathered {
	s.settle()
	s.round = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, word := range s.seated {
		for ; word != 0; word &= word - 1 {
			seated(s.refs[i*64+bits.TrailingZeros64(word)].Load())
		}
	}
	return &Gathered{seats: s, here: slices.Clone(s.here), view: s.states.view()}
}

// Gathered are the states of all agents at one moment. It is closed once; until then no memory of
// states is used again.
type Gathered struct {
	seats *Seats
	here  []uint64
	view  view
}

// Add takes the state of an agent that has an actor. The stage calls it, and Seal behind the last one.
func (g *Gathered) Add(o uint32, state []byte) {
	g.seats.mu.Lock()
	defer g.seats.mu.Unlock()
	g.seats.states.add(&g.view, o, state)
}

// Seal makes the states readable, for any goroutine.
func (g *Gathered) Seal() {
	g.seats.mu.Lock()
	defer g.seats.mu.Unlock()
	g.seats.states.seal(&g.view)
}

// Agents are those that are in the scene.
func (g *Gathered) Agents() (list []uint32) {
	n := 0
	for _, word := range g.here {
		n += bits.OnesCount64(word)
	}
	list = make([]uint32, 0, n)
	for i, word := range g.here {
		for ; word != 0; word &= word - 1 {
			list = append(list, uint32(i*64+bits.TrailingZeros64(word)))
		}
	}
	return list
}

// State is that of one agent; nil = as declared.
func (g *Gathered) State(o uint32) ([]byte, error) { return g.view.get(o) }

// Close ends it.
func (g *Gathered) Close() {
	g.seats.mu.Lock()
	defer g.seats.mu.Unlock()
	g.seats.states.close()
}

// Count says how many agents have an actor and how many are passive, and how many bytes those hold.
func (s *Seats) Count() (seated, passive int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.here {
		seated += bits.OnesCount64(s.seated[i])
		passive += bits.OnesCount64(s.here[i] &^ s.seated[i])
	}
	return seated, passive, s.states.bytes
}

// End stops all actors; from then on nobody gets one.
func (s *Seats) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	free := s.free
	s.free = nil
	s.mu.Unlock()
	for _, ref := range free {
		s.Stop(ref)
	}
	for o := range s.refs {
		if ref := s.refs[o].Swap(nil); ref != nil {
			s.Stop(ref)
		}
	}
}

// Free closes the file, after the last snapshot.
func (s *Seats) Free() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states.end()
}

// Ref is the actor of an agent; nil = it is passive or away.
func (s *Seats) Ref(o uint32) *actors.Ref { return s.refs[o].Load() }
