package outside

import "math"

// table is what a log knows of open turns: a machine without goroutine or lock.
// request and answered fold what was kept; decide says what an effect may do.
type table struct {
	turns map[turnKey]*turn
	ended map[uint64][]turnKey // by the wave that keeps their end
}

type turnKey struct {
	agent string
	turn  uint64
}

type placeKey struct {
	kind    string
	request int
}

type turn struct {
	first  uint64 // wave of the log that holds its first fact
	places map[placeKey]*place
}

// place is where one request of a turn stands.
type place struct {
	question Question
	repeat   bool
	answer   uint64  // seq of the answer's fact; 0 = there is none
	flight   *Flight // out in this process, or nil
}

// verdict is what becomes of a request.
type verdict uint8

const (
	carryOut  verdict = iota
	again             // carry out, for the second time
	reuse             // the answer is kept
	join              // it is out: wait for it
	lost              // asked, never answered, not to be repeated
	displaced         // its place is taken by another one, not to be repeated
)

func (v verdict) String() string {
	return [...]string{"requested", "repeated", "reused", "joined", "unknown", "unknown"}[v]
}

// out: the request leaves.
func (v verdict) out() bool { return v == carryOut || v == again }

// state of a place, if there is one.
func (p *place) state() (answer uint64, f *Flight) {
	if p == nil {
		return 0, nil
	}
	return p.answer, p.flight
}

func newTable() table {
	return table{turns: map[turnKey]*turn{}, ended: map[uint64][]turnKey{}}
}

func (t *table) find(e *Effect) *place {
	if open := t.turns[e.turn()]; open != nil {
		return open.places[e.place()]
	}
	return nil
}

func (t *table) decide(e *Effect) (verdict, *place) {
	p := t.find(e)
	switch {
	case p == nil:
		return carryOut, nil
	case p.question != e.Question && p.repeat:
		return carryOut, nil
	case p.question != e.Question:
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

// request takes a request's place, whoever had it before.
func (t *table) request(e *Effect, wave uint64) *place {
	open := t.turns[e.turn()]
	if open == nil {
		open = &turn{first: wave, places: map[placeKey]*place{}}
		t.turns[e.turn()] = open
	}
	p := &place{question: e.Question, repeat: e.MayRepeat}
	open.places[e.place()] = p
	return p
}

// answered notes where the answer to a request is kept.
func (t *table) answered(e *Effect, seq uint64) {
	if p := t.find(e); p != nil && p.question == e.Question {
		p.answer = seq
	}
}

// end notes that a wave keeps the end of a turn.
func (t *table) end(k turnKey, wave uint64) {
	if t.turns[k] != nil {
		t.ended[wave] = append(t.ended[wave], k)
	}
}

// giveUp ends whatever turn of an agent is open.
func (t *table) giveUp(agent string, wave uint64) {
	for k := range t.turns {
		if k.agent == agent {
			t.ended[wave] = append(t.ended[wave], k)
		}
	}
}

// kept forgets the turns whose end is durable.
func (t *table) kept(wave uint64) {
	for w, turns := range t.ended {
		if w > wave {
			continue
		}
		for _, k := range turns {
			delete(t.turns, k)
		}
		delete(t.ended, w)
	}
}

// oldest is the first wave of the log that still means something.
func (t *table) oldest() uint64 {
	oldest := uint64(math.MaxUint64)
	for _, open := range t.turns {
		oldest = min(oldest, open.first)
	}
	return oldest
}
