package outside

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/engine/schedule/chain"
	"tavernsim/protocol"
)

// table holds the requests of open turns: a machine without goroutine or lock.
// The methods request and answered fold kept facts; decide gives the verdict about a
// new request.
type table struct {
	turns map[string][]*turn // by agent; few
	ended map[uint64][]*turn // by the wave that holds their end
	ahead bool               // shadows make requests, too
	over  map[string]uint64  // if so, the last turn that has ended, by agent that asked

	shadows Shadows
	wave    uint64        // whose turns end now
	longest time.Duration // of its turns
}

// Shadows counts the requests that shadows made.
type Shadows struct {
	Asked  int64
	Used   int64 // that the turn itself made, too
	Wasted int64 // that it did not make
	// Barrier is how long the waves that have ended would have waited for their answers, had
	// each been asked for when its wave began.
	Barrier time.Duration
}

// Ahead is how many of them the turn itself may still make: it has not ended.
func (s *Shadows) Ahead() int64 { return s.Asked - s.Used - s.Wasted }

// use notes that the turn itself makes a request that is in the log; foretold = a shadow made it.
func (t *table) use(e *Effect, p *place) (foretold bool) {
	if e.Ahead {
		return false
	}
	if foretold = p.ahead; foretold {
		t.shadows.Used++
		p.became(Used)
	}
	p.question, p.ahead, p.timed = e.Question, false, false
	return foretold
}

// waste notes that the turn itself does not make a request of a shadow.
func (t *table) waste(p *place) {
	t.shadows.Wasted++
	p.ahead = false
	p.became(Wasted)
}

// count takes the requests of a turn that has ended into the counts, and gives how long its own took
// and the kinds of those that only a shadow made.
func (t *table) count(open *turn, wave uint64) (took chain.Times, wasted []string) {
	for _, p := range open.places {
		if p.ahead {
			t.waste(p)
			wasted = append(wasted, p.key.kind)
		} else {
			took.Add(p.took)
		}
	}
	if wave != t.wave {
		t.shadows.Barrier += t.longest
		t.wave, t.longest = wave, 0
	}
	t.longest = max(t.longest, took.Took)
	return took, wasted
}

type turnKey struct {
	agent string
	turn  uint64
}

type placeKey struct {
	kind    string
	request int
}

// number is that of its request in budgets.
func (k placeKey) number() int {
	if k.kind == effect.KindModel {
		return k.request
	}
	return budget.ToolNumbers + k.request
}

type turn struct {
	key    turnKey
	first  uint64   // wave of the log that holds its first fact
	places []*place // few
	over   bool     // it has ended, and that is not durable yet

	room [1]*place // of places: most turns make one request
	own  place     // which is this one
}

// place is the state of one request of a turn.
type place struct {
	key      placeKey
	question Question // that it is found by
	written  Question // as the log has it
	repeat   bool
	answer   uint64  // seq of the answer's fact; 0 = there is none
	flight   *Flight // out in this process, or nil
	most     *Most   // that it takes; nil = it is under no budget
	became   func(Fate)
	spent    Most   // if it has an answer, and is under a budget: what that took
	lost     []Most // of requests that were in this place before, and of which nobody takes an answer
	at       protocol.Time
	ahead    bool // a shadow asked, and the turn itself has not
	timed    bool // the same, also before the log was opened: it is the answer of a turn at this time only
	took     chain.Call
}

// verdict is what the log does with a request.
type verdict uint8

const (
	carryOut  verdict = iota
	again             // carry out, for the second time
	reuse             // the answer is kept
	join              // it is out: wait for it
	lost              // asked, never answered, not to be repeated
	displaced         // its place is taken by another one, not to be repeated
	late              // of a shadow: the turn itself has asked something else, or is over
)

func (v verdict) String() string {
	return [...]string{"requested", "repeated", "reused", "joined", "unknown", "unknown", "late"}[v]
}

// out reports whether the request is carried out.
func (v verdict) out() bool { return v == carryOut || v == again }

// later marks what was asked for turns after a moment: by shadows of an earlier process.
func (t *table) later(now protocol.Time) {
	for _, list := range t.turns {
		for _, open := range list {
			for _, p := range open.places {
				p.timed = p.at > now
			}
		}
	}
}

func newTable() table {
	return table{turns: map[string][]*turn{}, ended: map[uint64][]*turn{}, over: map[string]uint64{}}
}

// turn is a turn that is not dropped; nil = there is none.
func (t *table) turn(k turnKey) *turn {
	for _, x := range t.turns[k.agent] {
		if x.key == k {
			return x
		}
	}
	return nil
}

func (t *table) find(e *Effect) *place {
	if open := t.turn(e.turn()); open != nil {
		if i := open.at(e.place()); i >= 0 {
			return open.places[i]
		}
	}
	return nil
}

// at is the index of a place; -1 = there is none.
func (t *turn) at(k placeKey) int {
	return slices.IndexFunc(t.places, func(p *place) bool { return p.key == k })
}

// same reports whether a place is that of a request. Chance is drawn by the time of a turn, which
// a shadow may take to be another.
func (p *place) same(e *Effect) bool {
	if p.question == e.Question {
		return !p.timed || p.at == e.At
	}
	return p.at == e.At && p.question == e.other()
}

// decide gives the verdict about a request, and its place; nil = it is carried out in a new one.
func (t *table) decide(e *Effect) (verdict, *place) {
	p := t.find(e)
	switch {
	case p == nil && e.Ahead && e.Turn <= t.over[e.Agent]:
		return late, &place{}
	case p == nil:
		return carryOut, nil
	case !p.same(e) && e.Ahead && (!p.timed || p.most != nil):
		return late, p
	case !p.same(e) && p.repeat:
		return carryOut, nil
	case !p.same(e):
		return displaced, p
	case p.answer > 0:
		return reuse, p
	case p.flight != nil:
		return join, p
	case p.repeat:
		return again, p
	}
	return lost, p
}

// request puts a request into its place, also if another one was there.
func (t *table) request(e *Effect, wave uint64) *place {
	open := t.turn(e.turn())
	if open == nil {
		open = &turn{key: e.turn(), first: wave}
		t.turns[e.Agent] = append(t.turns[e.Agent], open)
	}
	p := &open.own
	if len(open.places) > 0 {
		p = new(place)
	} else {
		open.places = open.room[:0]
	}
	*p = place{key: e.place(), question: e.Question, written: e.Question, repeat: e.MayRepeat, most: e.Most, at: e.At, ahead: e.Ahead, timed: e.Ahead, became: e.became}
	if p.became == nil {
		p.became = func(Fate) {}
	}
	i := open.at(p.key)
	if i < 0 {
		open.places = append(open.places, p)
		return p
	}
	old := open.places[i]
	if old.ahead {
		t.waste(old)
	}
	if p.lost = old.lost; old.answer > 0 || e.Most == nil || !e.Most.Moved {
		p.lost = append(slices.Clip(p.lost), old.charged()...)
	}
	open.places[i] = p
	return p
}

// kept reports whether the turn may take an answer to the request of the place, or is still to have one: a call that must not be
// repeated fails as one whose outcome nobody knows, and counts by that.
func (p *place) kept() bool {
	return p.answer > 0 || p.flight != nil || !p.repeat && p.key.kind != effect.KindModel
}

// charged is what the request of a place took, or may have taken, if it is under a budget.
func (p *place) charged() []Most {
	switch {
	case p.most == nil:
		return nil
	case p.answer > 0 && !p.spent.none():
		return []Most{p.spent}
	case p.answer == 0 && !p.most.none():
		return []Most{*p.most}
	}
	return nil
}

// list lists what yield gives of the places of a turn, in the order of their numbers.
func (t *table) list(k turnKey, yield func(p *place) []Most) (list []Lost) {
	if open := t.turn(k); open != nil {
		for _, p := range open.places {
			for _, m := range yield(p) {
				list = append(list, Lost{k.agent, p.key.number(), m})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Lost) int { return cmp.Compare(a.Request, b.Request) })
	return list
}

// lost lists the requests of a turn that have no answer, nor will have one, and those whose answers others have displaced.
func (t *table) lost(k turnKey) []Lost {
	return t.list(k, func(p *place) []Most {
		if !p.kept() {
			return append(slices.Clip(p.lost), p.charged()...)
		}
		return p.lost
	})
}

// left lists those, and all whose request the last deliberation of the turn has not made.
func (t *table) left(k turnKey, made func(request int) bool) []Lost {
	return t.list(k, func(p *place) []Most {
		if made(p.key.number()) {
			return p.lost
		}
		return append(slices.Clip(p.lost), p.charged()...)
	})
}

// out lists the requests of a turn under a budget that are out, with the most that they take, and what those took whose answers
// are kept.
func (t *table) out(k turnKey) []Lost {
	return t.list(k, func(p *place) []Most {
		if p.answer > 0 || p.flight != nil {
			return p.charged()
		}
		return nil
	})
}

// open are the turns of an agent that have not ended.
func (t *table) open(agent string) (list []turnKey) {
	for _, x := range t.turns[agent] {
		if !x.over {
			list = append(list, x.key)
		}
	}
	return list
}

// agents are those with turns that have not ended.
func (t *table) agents() (list []string) {
	for agent := range t.turns {
		if len(t.open(agent)) > 0 {
			list = append(list, agent)
		}
	}
	slices.Sort(list)
	return list
}

// spent lists what those requests of a turn took whose answers are kept, or still to come: then the most that they take.
func (t *table) spent(k turnKey) []Lost {
	return t.list(k, func(p *place) []Most {
		if p.most == nil || p.most.none() || !p.kept() {
			return nil
		}
		m := *p.most
		if p.answer > 0 {
			m = p.spent
		}
		m.Endpoint, m.Reserved, m.Asked = p.most.Endpoint, p.most.Took(), p.at
		return []Most{m}
	})
}

// answered records the seq of the answer to a request, and what it took.
func (t *table) answered(e *Effect, seq uint64, spent Most) {
	if p := t.find(e); p != nil && p.written == e.Question && p.at == e.At {
		p.answer, p.spent = seq, spent
	}
}

// end records the wave that holds the end of a turn, and gives what count does.
func (t *table) end(k turnKey, wave uint64) (took chain.Times, wasted []string) {
	if open := t.turn(k); open != nil {
		open.over = true
		took, wasted = t.count(open, wave)
		t.ended[wave] = append(t.ended[wave], open)
		if t.ahead {
			t.over[k.agent] = max(t.over[k.agent], k.turn)
		}
	}
	return took, wasted
}

// giveUp ends the open turns of an agent.
func (t *table) giveUp(agent string, wave uint64) {
	for _, k := range t.open(agent) {
		t.end(k, wave)
	}
}

// kept drops the turns whose end is durable.
func (t *table) kept(wave uint64) {
	for w, turns := range t.ended {
		if w <= wave {
			for _, x := range turns {
				agent := x.key.agent
				if t.turns[agent] = slices.DeleteFunc(t.turns[agent], func(y *turn) bool { return y == x }); len(t.turns[agent]) == 0 {
					delete(t.turns, agent)
				}
			}
			delete(t.ended, w)
		}
	}
}

// oldest is the first wave of the log that is not obsolete.
func (t *table) oldest() uint64 {
	oldest := uint64(math.MaxUint64)
	for _, list := range t.turns {
		for _, open := range list {
			oldest = min(oldest, open.first)
		}
	}
	return oldest
}
