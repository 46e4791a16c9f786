package budget

import (
	"cmp"
	"slices"

	"tavernsim/protocol"
)

// Rounds grants the requests of turns under way.
type Rounds struct {
	*Tree
	// FirstCome grants a request when it comes, as on the realtime clock.
	FirstCome bool

	motion  int // of all turns
	awake   map[uint32]*awake
	waiting []Request
}

// awake is a turn that was begun and has not ended.
type awake struct {
	place  int // in the order of the wave
	wave   uint64
	motion int // messages that it has to take: a wake, answers, grants
}

// NewRounds makes the rounds of a scene without turns.
func NewRounds(t *Tree, firstCome bool) *Rounds {
	return &Rounds{Tree: t, FirstCome: firstCome, awake: map[uint32]*awake{}}
}

// Grant is what becomes of a request: it may leave, or it is refused.
type Grant struct {
	Request
	Wave    uint64   // in which the turn was woken
	Refused *Refusal // nil = it may leave
	Barred  []string // endpoints that have no room for it
	With    []int    // requests of the same turn that leave with it, and itself
}

// Open begins a wave at a time, without turns: nothing is reserved, and what kept answers took is spent ([Tree.Lose]). worst is
// the most that each of its agents may take in one turn of models and of tools beside that, in their order; needed = the wave
// goes by rounds, because the ledgers do not have all of it. [Rounds.Share] says from now on what they have.
func (r *Rounds) Open(at protocol.Time, order []uint32, worst func(o uint32) (models, tools Amount)) (needed bool) {
	r.motion, r.waiting = 0, nil
	clear(r.awake)
	if r.FirstCome {
		return true
	}
	for _, l := range []*ledger{r.all, r.run, r.scene} {
		l.open(at)
	}
	for _, l := range r.profiles {
		l.open(at)
	}
	sums := map[*ledger]Amount{}
	for _, o := range order {
		most, tools := worst(o)
		add := func(l *ledger) {
			sums[l] = sums[l].Plus(most)
			needed = needed || !l.used(at).Plus(sums[l]).Within(l.Amount)
		}
		r.over(o, "", add)
		for _, l := range r.endpoints {
			add(l)
		}
		if l := r.tools; l != nil {
			most = tools
			add(l)
		}
		if needed {
			return true
		}
	}
	return false
}

func (l *ledger) open(at protocol.Time) {
	if l != nil {
		l.opened = l.charged(at).share(l.Amount)
	}
}

// Share is how much of the tightest ledger above an agent was used when the open wave began, at its time: 0 to 1.
// So it does not depend on which turns of the wave have ended, nor on what a kill lost of them. Where requests are
// granted when they come it is [Tree.Share].
func (r *Rounds) Share(o uint32, at protocol.Time) (share float64) {
	if r.FirstCome {
		return r.Tree.Share(o, at)
	}
	for i, l := range r.path(o) {
		switch {
		case l == nil:
		case i == ofAgent: // its own turn alone charges it
			share = max(share, l.charged(at).share(l.Amount))
		default:
			share = max(share, l.opened)
		}
	}
	return share
}

// Woken begins a turn. place is that in the order of the wave.
func (r *Rounds) Woken(o uint32, place int, wave uint64) {
	r.Ended(o)
	r.awake[o] = &awake{place: place, wave: wave, motion: 1}
	r.motion++
}

// Step is what a turn did with one message that it took.
type Step struct {
	Agent uint32
	Done  int       // number of the granted request whose answer it took; 0 = another message
	Took  Amount    // by that request
	Of    string    // the endpoint that it took it of; "" = none
	Free  int       // messages that will come to the turn by themselves
	Asks  []Request // that wait for a grant from now on

	// Dropped are numbers of requests (of calls with [ToolNumbers]) for whose answers the turn does not wait any more. Those without a grant get none.
	Dropped []int
	Over    bool // its end comes by itself: nothing that it asked for is granted any more
}

// Step takes a step of a turn that was woken in a wave. That of a turn that has ended
// changes nothing.
func (r *Rounds) Step(wave uint64, s *Step) {
	a := r.awake[s.Agent]
	if a == nil || a.wave != wave {
		return
	}
	r.settle(s.Agent, s.Done, s.Of, s.Took)
	r.move(a, s.Free-1)
	r.waiting = append(r.waiting, s.Asks...)
	if s.Over || len(s.Dropped) > 0 {
		r.waiting = slices.DeleteFunc(r.waiting, func(q Request) bool { return q.Agent == s.Agent && (s.Over || slices.Contains(s.Dropped, q.Number)) })
	}
	if a.motion == 0 && !slices.ContainsFunc(r.waiting, func(q Request) bool { return q.Agent == s.Agent }) {
		r.move(a, 1) // its end comes by itself, and may let another turn begin
	}
}

func (r *Rounds) move(a *awake, n int) {
	n = max(n, -a.motion)
	a.motion += n
	r.motion += n
}

// Ended ends a turn; nothing that it asked for is granted any more.
func (r *Rounds) Ended(o uint32) {
	a := r.awake[o]
	if a == nil {
		return
	}
	r.move(a, -a.motion)
	delete(r.awake, o)
	r.unkeep(o, 0) // it takes no answer any more; earlier turns of the order may wait for that
	r.waiting = slices.DeleteFunc(r.waiting, func(q Request) bool { return q.Agent == o })
}

// Merged takes the end of a turn whose facts are charged.
func (r *Rounds) Merged(o uint32) {
	r.Ended(o)
	r.Tree.Merged(o)
}

// Grants are the requests that may leave at a time, and those that are refused.
func (r *Rounds) Grants(at protocol.Time) (grants []Grant) {
	if len(r.waiting) == 0 || r.motion > 0 && !r.FirstCome {
		return nil
	}
	if !r.FirstCome {
		slices.SortFunc(r.waiting, func(a, b Request) int {
			return cmp.Or(cmp.Compare(r.awake[a.Agent].place, r.awake[b.Agent].place), cmp.Compare(a.Number, b.Number))
		})
	}
	for i := range r.waiting {
		if q := &r.waiting[i]; q.Paid {
			r.takes(q, at, !r.FirstCome)
		}
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(q Request) bool {
		barred, refused, waits := r.try(&q, at)
		if !waits {
			a := r.awake[q.Agent]
			grants = append(grants, Grant{Request: q, Wave: a.wave, Refused: refused, Barred: barred})
			r.move(a, 1)
		}
		return !waits
	})
	leave := map[uint32][]int{}
	for i := range grants {
		if g := &grants[i]; g.Refused == nil {
			leave[g.Agent] = append(leave[g.Agent], g.Number)
		}
	}
	for i := range grants {
		grants[i].With = leave[grants[i].Agent]
	}
	return grants
}
