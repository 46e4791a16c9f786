package outside

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

const (
	// mostShared bounds the answers that a scene keeps for requests that are alike, in bytes. The oldest go first.
	mostShared = 32 << 20
	// besideShared is about what an answer takes beside its own bytes: its place in the map and in the order.
	besideShared = 250
)

// shares holds the requests that are alike (llm.Sharing): one of them is sent, and the others wait for its answer as
// values. Its lock is taken before that of a call.
type shares struct {
	mu      sync.Mutex
	open    map[Question]*share // that have no answer
	answers map[Question]protocol.Raw
	order   []Question // of the answers, the oldest first
	bytes   int        // that they take
}

// share is one question that has no answer. The answer to one call is the answer to all; only those of one class wait for
// each other, so that none waits for one that is less urgent.
type share struct {
	calls map[*call]struct{}
	lines [limit.Background - limit.Interactive + 1]line // by class
}

// line is a call and those that wait for it.
type line struct {
	lead   *call   // nil = the next one that comes leads
	behind []*call // by moment; those that wait no more are among them
}

// same is what a call asks, if one answer does for all who ask it.
type same struct {
	question Question // "" = it needs its own
	line     *line
}

// sharing is the provider behind an executor that knows which requests are alike; nil = there is none.
func sharing(e Executor) (s llm.Sharing) {
	if m, ok := e.(model); ok {
		s, _ = gate.Of(m.Provider).(llm.Sharing)
	}
	return s
}

// enter takes a new call. It gives the answer if there is one; waits = the call waits for another one. A call of an
// earlier moment than that one, while that has not left, asks in its place. One that pauses first asks for itself: nobody is
// to wait for its pause.
func (s *shares) enter(c *call, class limit.Class) (answer protocol.Raw, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer = s.answers[c.same.question]; answer != nil {
		return answer, false
	}
	x := s.open[c.same.question]
	if x == nil {
		if s.open == nil {
			s.open, s.answers = map[Question]*share{}, map[Question]protocol.Raw{}
		}
		x = &share{calls: map[*call]struct{}{}}
		s.open[c.same.question] = x
	}
	x.calls[c] = struct{}{}
	l := &x.lines[class-limit.Interactive]
	switch c.same.line = l; {
	case c.ask.Wait > 0:
	case l.lead == nil || l.lead == c || c.Rank.At < l.lead.Rank.At && !l.lead.sent():
		l.lead = c
	case c.move(finds, follows):
		i, _ := slices.BinarySearchFunc(l.behind, c.Rank.At, func(o *call, at int64) int {
			return cmp.Or(cmp.Compare(o.Rank.At, at), -1) // behind those of the same moment
		})
		l.behind = slices.Insert(l.behind, i, c)
		return nil, true
	}
	return nil, false
}

// get gives the answer to a question; nil = there is none.
func (s *shares) get(q Question) protocol.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[q]
}

// answered keeps the answer to a call, and gives the calls that get it, too.
func (s *shares) answered(c *call, answer protocol.Raw) (others []*call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.open[c.same.question]
	if x == nil {
		return nil
	}
	delete(x.calls, c)
	others = slices.Collect(maps.Keys(x.calls))
	delete(s.open, c.same.question)
	s.answers[c.same.question] = answer
	s.order = append(s.order, c.same.question)
	for s.bytes += len(answer) + besideShared; s.bytes > mostShared && len(s.order) > 1; s.order = s.order[1:] {
		s.bytes -= len(s.answers[s.order[0]]) + besideShared
		delete(s.answers, s.order[0])
	}
	return others
}

// left takes a call that ends without an answer for others, and gives those that ask now: one in its place or, if it
// has failed, all that waited for it. sent = they waited for one that had left.
func (s *shares) left(c *call, failed bool) (next []*call, sent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.open[c.same.question]
	if x == nil {
		return nil, false
	}
	if delete(x.calls, c); len(x.calls) == 0 {
		delete(s.open, c.same.question)
	}
	l := c.same.line
	if l == nil || l.lead != c {
		return nil, false
	}
	for l.lead = nil; len(l.behind) > 0 && (failed || l.lead == nil); l.behind = l.behind[1:] {
		if o := l.behind[0]; o.move(follows, finds) {
			if next = append(next, o); !failed {
				l.lead = o
			}
		}
	}
	return next, c.sent()
}

// sent reports whether the call has left its gate at least once.
func (c *call) sent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == keeps || c.phase == out || c.attempt != nil
}

// follow lets a call get the answer to another one that is alike, or wait for it; false = it asks itself.
func (c *call) follow(class limit.Class) bool {
	if c.to.sharing == nil {
		return false
	}
	name := c.to.sharing.Alike(&c.ask.Model)
	if name == "" {
		return false
	}
	c.same.question = Hash([]byte(name))
	answer, waits := c.runner.shares.enter(c, class)
	switch {
	case answer != nil:
		c.take(answer)
	case waits:
		if h := c.from.Urgency; h != nil && class > limit.Urgent && c.runner.Urgent(h) && c.move(follows, finds) {
			return false // it became urgent meanwhile
		}
		c.look()
	}
	return answer != nil || waits
}

// await waits at the gate. What the call has waited for another one is a part of its time, and of its patience unless that
// begins anew.
func (c *call) await(anew bool) {
	left, most := time.Until(c.waiting), cmp.Or(c.chosen.Patience, patience)
	if !anew {
		most += min(0, left)
	}
	c.move(finds, waits)
	c.gate.Enter(&c.Call, max(0, left), most)
	if !c.retake(true) { // an answer that came before it was there
		c.look()
	}
}

// share gives the answer to a call to those that are alike, before the gate lets one of them out. A failure is nobody
// else's, as it may be chance.
func (c *call) share(x *effect.Answered) {
	if c.same.question == "" || x.Err != nil || x.Model.Finish == protocol.FinishFiltered {
		return
	}
	if c.complete(x); x.Err != nil {
		return
	}
	answer := x.AppendMsg(nil)
	for _, o := range c.runner.shares.answered(c, answer) {
		if o.move(follows, finds) || o.gate.Leave(&o.Call) && o.move(waits, finds) { // others are out, or ended
			o.take(answer)
		}
	}
}

// retake answers a call that is between two attempts, or has failed, by the answer that another one got meanwhile. again = it
// waits for its next attempt.
func (c *call) retake(again bool) bool {
	if c.same.question == "" {
		return false
	}
	answer := c.runner.shares.get(c.same.question)
	if answer == nil || again && !c.gate.Leave(&c.Call) || !c.move(waits, finds) {
		return false
	}
	c.take(answer)
	return true
}

// unshare lets others ask when a call has ended. The time in which it was out was no wait at the gate, so their patience
// begins again.
func (c *call) unshare(failed bool) {
	if c.same.question == "" {
		return
	}
	next, sent := c.runner.shares.left(c, failed)
	for _, o := range next {
		o.await(sent)
	}
}

// take answers a call by the answer to another one. It is kept as its own.
func (c *call) take(answer protocol.Raw) {
	x, err := effect.ReadAnswered(c.ask.Kind, answer)
	if err != nil || c.effect == nil || c.flight != nil { // nothing is kept, or the request was sent once and is kept
		c.taken(finds, x, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != finds {
		return
	}
	c.flight = c.runner.Log.Begin(c.effect, func(err error) { c.taken(keeps, x, err) })
	if c.flight == nil { // the log has an answer
		go c.find()
		return
	}
	if c.waiting.Before(c.flight.began) { // it took what the call has waited for
		c.flight.began = c.waiting
	}
	c.runner.Log.opts.Observe(c.ask.Kind, "shared")
	c.become(keeps)
}

func (c *call) taken(from phase, x *effect.Answered, err error) {
	switch {
	case err == nil && c.move(from, waits):
		c.to.sharing.Shared(&x.Model)
		c.settle(x)
	case err != nil && c.move(from, ended):
		c.drop(c.flight, err)
	}
}
