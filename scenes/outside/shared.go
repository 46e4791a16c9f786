package outside

import (
	"slices"
	"sync"

	"tavernsim/engine/agent/effect"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// mostShared bounds the answers that a scene keeps for requests that are alike, in bytes. The oldest go first.
const mostShared = 32 << 20

// shares holds the requests that are alike (llm.Sharing): one of them is sent, and the others wait for its answer as
// values. Its lock is taken before that of a call.
type shares struct {
	mu    sync.Mutex
	by    map[string]*share
	order []string // of those with an answer, the oldest first
	bytes int      // of answers
}

// share is one question: it has calls without an answer, or the answer.
type share struct {
	lead   *call // for whose answer others wait; nil = it has failed, and each call asks for itself
	class  limit.Class
	at     int64   // rank of the lead
	calls  []*call // that have no answer yet, the lead included
	answer protocol.Raw
}

// sharing is the provider behind an executor that knows which requests are alike; nil = there is none.
func sharing(e Executor) (s llm.Sharing) {
	if m, ok := e.(model); ok {
		s, _ = gate.Of(m.Provider).(llm.Sharing)
	}
	return s
}

// enter takes a new call. It gives the answer if there is one; follows = the call waits for another one. A call that
// would leave before the one that others wait for, while that waits itself, asks in its place.
func (s *shares) enter(c *call, class limit.Class) (answer protocol.Raw, follows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.by[c.same]
	if x == nil {
		x = &share{}
		if s.by == nil {
			s.by = map[string]*share{}
		}
		s.by[c.same] = x
	}
	if x.answer != nil {
		return x.answer, false
	}
	x.calls = append(x.calls, c)
	switch {
	case x.lead == nil && len(x.calls) > 1: // each asks for itself
	case x.lead == nil || class < x.class && !x.lead.sent() || c.Rank.At < x.at && !x.lead.sent():
		x.lead, x.class, x.at = c, class, c.Rank.At
	default:
		follows = c.move(finds, waitsFor)
	}
	return nil, follows
}

// get gives the answer to a question; nil = there is none.
func (s *shares) get(same string) protocol.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.by[same]; x != nil {
		return x.answer
	}
	return nil
}

// answered keeps the answer to a call, and gives the calls that get it, too.
func (s *shares) answered(c *call, answer protocol.Raw) (others []*call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.by[c.same]
	if x == nil || x.answer != nil {
		return nil
	}
	others = slices.DeleteFunc(x.calls, func(o *call) bool { return o == c })
	x.answer, x.calls, x.lead = answer, nil, nil
	s.order = append(s.order, c.same)
	for s.bytes += len(answer); s.bytes > mostShared && len(s.order) > 1; s.order = s.order[1:] {
		s.bytes -= len(s.by[s.order[0]].answer)
		delete(s.by, s.order[0])
	}
	return others
}

// left takes a call that ends without an answer for others, and gives those that ask now: one in its place or, if it
// has failed, all.
func (s *shares) left(c *call, failed bool) (next []*call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.by[c.same]
	if x == nil || x.answer != nil {
		return nil
	}
	x.calls = slices.DeleteFunc(x.calls, func(o *call) bool { return o == c })
	switch {
	case len(x.calls) == 0:
		delete(s.by, c.same)
	case x.lead != c:
	case failed:
		x.lead = nil
		next = slices.DeleteFunc(slices.Clone(x.calls), func(o *call) bool { return !o.move(waitsFor, finds) })
	default:
		x.lead = x.calls[0]
		if i := slices.IndexFunc(x.calls, func(o *call) bool { return o.move(waitsFor, finds) }); i >= 0 {
			x.lead = x.calls[i]
			next = []*call{x.lead}
		}
	}
	return next
}

// sent reports whether the call has left its gate at least once.
func (c *call) sent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == keeps || c.phase == out || c.phase == lands || c.flight != nil
}

// follow lets a call get the answer to another one that is alike, or wait for it; false = it asks itself. A request that was
// sent before is not shared.
func (c *call) follow(class limit.Class) bool {
	if c.to.sharing == nil || c.flight != nil {
		return false
	}
	if c.same = c.to.sharing.Alike(&c.ask.Model); c.same == "" {
		return false
	}
	answer, follows := c.runner.shares.enter(c, class)
	switch {
	case answer != nil:
		c.take(answer)
	case follows:
		if h := c.from.Urgency; h != nil && class > limit.Urgent && c.runner.Urgent(h) && c.move(waitsFor, finds) {
			return false // it became urgent meanwhile
		}
		c.look()
	}
	return answer != nil || follows
}

// share gives the answer to a call to those that are alike, before the gate lets one of them out. A failure is nobody
// else's, as it may be chance.
func (c *call) share(x *effect.Answered) {
	if c.same == "" || x.Err != nil || x.Model.Finish == protocol.FinishFiltered {
		return
	}
	if c.complete(x); x.Err != nil {
		return
	}
	answer := x.AppendMsg(nil)
	for _, o := range c.runner.shares.answered(c, answer) {
		if o.move(waitsFor, finds) || o.gate.Leave(&o.Call) && o.move(waits, finds) { // others are out, or ended
			o.take(answer)
		}
	}
}

// retake answers a call whose attempt has failed by the answer that another one got meanwhile. again = it waits for its next
// attempt.
func (c *call) retake(failed *effect.Answered, again bool) bool {
	if c.same == "" || mayHaveCost(failed) {
		return false
	}
	answer := c.runner.shares.get(c.same)
	if answer == nil || again && !c.gate.Leave(&c.Call) || !c.move(waits, finds) {
		return false
	}
	c.take(answer)
	return true
}

// unshare lets others ask when a call has ended.
func (c *call) unshare(failed bool) {
	if c.same == "" {
		return
	}
	for _, o := range c.runner.shares.left(c, failed) {
		o.await()
	}
}

// take answers a call by the answer to another one. It is kept as its own.
func (c *call) take(answer protocol.Raw) {
	x, err := effect.ReadAnswered(c.ask.Kind, answer)
	c.same = ""
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
