package workflow

import (
	"cmp"
	"errors"
	"time"

	"tavernsim/protocol"
)

// Env is what a run gets besides its inputs.
type Env struct {
	Now  protocol.Time // stands still during the run
	Draw protocol.Draw // chance of the nodes
	// Timeout bounds the whole run on its own clock; 0 = no bound. When it is
	// over, open requests time out.
	Timeout time.Duration
	Trace   bool // keep the outcome of every node for [Run.Trace]
	// Budget bounds what the run makes; nil = one of its own, of [DefaultBytes].
	Budget *Budget
	// Unread: calls that no node has looked at come out as [callvalue.Calls].
	Unread bool
	// Rooms are those of models, by their names; "" = the default model.
	Rooms map[string]Room
}

// Room is what a model has for a question and its answer, in tokens.
type Room struct {
	Context int // of both together; 0 = nobody knows
	Answer  int // the most of an answer, as the model's file says; 0 = it says nothing
	Extra   int // the most that fields of the endpoint's own take of a question, as a token for each byte
	// Differs: several models may be asked, and their files say different things about the
	// answer. Answer is what the one says that leaves least for the question.
	Differs bool
}

// Run is one execution of a plan: a plain value with one owner. The zero Run is
// ready for Start; a run that is done can be started again, with any plan, and
// uses its memory again. It must not be copied while it runs.
type Run struct {
	plan *Plan
	env  Env
	root *frame
	done bool
	err  error // why the run as a whole was stopped

	steps  int
	budget *Budget
	own    Budget // when Env has none
	live   int    // bytes of the frames in use
	ready  []task
	head   int // of ready
	asked  []task
	open   int // requests without an answer

	exec  Exec
	req   Request
	ans   Answer   // to the current request
	free  []*frame // frames to use again
	outs  []slot   // the interface outputs of a run that is done
	trace []NodeFinished
}

// A task is a node of a frame; with loop, the next item of it.
type task struct {
	frame *frame
	node  int32
	loop  *loopState
}

// Start begins a run. args are the inputs in the order of [Plan.Inputs]; nil is
// "not given", and missing ones at the end may be left out. It refuses arguments
// that do not fit, all at once, and leaves the run as after [Run.Reset] then. The run
// makes no request before Advance.
func (r *Run) Start(p *Plan, args []any, env Env) error {
	r.Reset()
	if len(args) > len(p.inputs) {
		return protocol.Errorf(protocol.KindInvalid, "workflow %s: %d arguments for %d inputs", p.id, len(args), len(p.inputs))
	}
	f := r.newFrame(p)
	var bad []error
	for i := range p.inputs {
		var v any
		if i < len(args) {
			v = args[i]
		}
		v, err := p.inputs[i].argument(v)
		if err != nil {
			bad = append(bad, err)
		}
		f.slots[i] = slot{v: v, is: arrived}
	}
	if bad != nil {
		r.release(f)
		return protocol.Errorf(protocol.KindInvalid, "workflow %s: %w", p.id, errors.Join(bad...))
	}
	r.plan, r.env, r.root = p, env, f
	if r.budget = env.Budget; r.budget == nil {
		r.own = Budget{}
		r.budget = &r.own
	}
	f.draw, f.deadline = env.Draw, max(env.Timeout, 0)
	r.begin(f)
	return nil
}

// Counted gives an input of a run that has started its size, as [protocol.SizeOf] counts it: who gives the
// same value to many runs counts it once.
func (r *Run) Counted(input, size int) { r.root.slots[input].size = uint32(size) }

// Reset drops everything except the memory for reuse. Reset a run before it goes into a
// pool, so that it keeps no values alive.
func (r *Run) Reset() {
	if r.root != nil {
		r.release(r.root) // open frames inside it are let go
	}
	clear(r.ready)
	clear(r.asked)
	clear(r.outs)
	clear(r.trace)
	clear(r.exec.in)
	clear(r.exec.many)
	r.plan, r.root, r.err, r.done, r.budget, r.exec.frame, r.exec.node = nil, nil, nil, false, nil, nil, nil
	r.ready, r.head, r.asked, r.open, r.steps, r.live = r.ready[:0], 0, r.asked[:0], 0, 0, 0
	r.outs, r.trace = r.outs[:0], r.trace[:0]
	r.env = Env{} // one by one: large values that are assigned together are copied
	r.req = Request{}
	r.ans = Answer{}
}

// begin queues the nodes of a frame that wait for nothing. The slots of the
// inputs are set.
func (r *Run) begin(f *frame) {
	f.left = len(f.nodes)
	f.end = f.start
	for i := range f.nodes {
		f.nodes[i].wait = f.plan.nodes[i].wait
		f.nodes[i].start = f.start
	}
	for _, n := range f.plan.roots {
		r.ready = append(r.ready, task{frame: f, node: n})
	}
	if f.left == 0 {
		r.close(f)
	}
}

// Advance runs every node that can run and gives their requests to the host. It returns
// true when the run is done, false when all remaining nodes wait for answers.
func (r *Run) Advance(h Host) bool {
	for r.head < len(r.ready) && !r.done {
		t := r.ready[r.head]
		r.head++
		if t.loop != nil {
			r.nextItem(t.loop)
		} else {
			r.step(h, t.frame, t.node)
		}
	}
	clear(r.ready[:r.head])
	r.ready, r.head = append(r.ready[:0], r.ready[r.head:]...), 0
	if r.done {
		clear(r.ready)
		r.ready = r.ready[:0]
	}
	return r.done
}

func (r *Run) step(h Host, f *frame, n int32) {
	x := &r.exec
	x.bind(r, f, n)
	node, st := x.node, &f.nodes[n]
	switch v, cause, err := x.gather(); v {
	case isSkipped:
		r.settle(f, n, Skipped, nil, st.start)
		return
	case isBlocked:
		r.settle(f, n, Blocked, cause, st.start)
		return
	case isRefused:
		st.attempt++
		r.failNode(f, n, err, st.start)
		return
	}
	if !r.count() {
		return
	}
	st.attempt++
	switch {
	case node.loop != nil:
		r.startLoop(f, n)
		return
	case node.sub != nil:
		r.startSub(f, n)
		return
	}
	if err := cmp.Or(node.body.Run(x), x.over); err != nil {
		r.failNode(f, n, err, st.start)
		return
	}
	if x.asked == 0 {
		r.settle(f, n, OK, nil, st.start)
		return
	}
	r.ask(h, f, n)
}

// count takes one step; false stops the run.
func (r *Run) count() bool {
	if r.steps >= r.plan.maxSteps {
		r.stop(protocol.Errorf(protocol.KindLimit, "workflow %s: more than %d steps; raise the limit or do less in loops", r.plan.id, r.plan.maxSteps))
		return false
	}
	if !r.holds() {
		return false
	}
	r.steps++
	return true
}

// holds reports whether the memory of the nested workflows is within the budget; false stops the run.
func (r *Run) holds() bool {
	if r.live <= r.budget.max() {
		return true
	}
	r.stop(protocol.Errorf(protocol.KindLimit, "workflow %s: %w", r.plan.id, r.budget.exceeded("so much have the nested workflows that are open at once")))
	return false
}

func (r *Run) ask(h Host, f *frame, n int32) {
	node, st, q := &f.plan.nodes[n], &f.nodes[n], &r.req
	if node.asker == nil {
		r.failNode(f, n, protocol.Errorf(protocol.KindInternal, "the kind %s asks and takes no answer", node.kind), st.start)
		return
	}
	timeout, ok := f.timeout(node.timeout, st.start)
	if !ok {
		r.failNode(f, n, protocol.Errorf(protocol.KindTimeout, "no time left: the deadline of %v has passed", f.deadline), st.start)
		return
	}
	q.ID = len(r.asked) + 1
	q.Node = f.pathOf(node)
	q.Attempt = int(st.attempt)
	q.Wait, q.At, q.Timeout = node.waitBefore(q.Attempt), st.start, timeout
	q.Ask = r.exec.asked
	if q.Ask == AskModel {
		q.Model.Timeout = timeout
	} else {
		q.Call.ID = attemptPath(q.Node, st.attempt)
	}
	r.asked = append(r.asked, task{frame: f, node: n})
	var now bool
	r.ans, now = h.Request(q)
	if !now {
		r.open++
		f.nodes[n].asked, f.nodes[n].timeout = q.Ask, timeout
		return
	}
	r.asked[q.ID-1] = task{}
	r.answered(f, n, q.Ask, timeout)
}

// timeout is the bound of a request that leaves at a moment; false when the
// deadline has passed.
func (f *frame) timeout(own, at time.Duration) (time.Duration, bool) {
	if f.deadline == 0 {
		return own, true
	}
	left := f.deadline - at
	if left <= 0 {
		return 0, false
	}
	if own == 0 {
		return left, true
	}
	return min(own, left), true
}

// Answer takes the answer to a request that the host deferred. Call Advance afterwards.
// An answer to a request that is not open (answered, never made, or of a run that has
// ended) is refused and changes nothing.
func (r *Run) Answer(id int, a Answer) error {
	if id < 1 || id > len(r.asked) || r.asked[id-1].frame == nil || r.done {
		return protocol.Errorf(protocol.KindNotFound, "workflow: answer to request %d: the request is not open", id)
	}
	t := r.asked[id-1]
	r.asked[id-1] = task{}
	r.open--
	x := &r.exec
	x.bind(r, t.frame, t.node)
	x.again = true
	v, _, err := x.gather()
	x.again = false
	st := &t.frame.nodes[t.node]
	if v != runs {
		r.failNode(t.frame, t.node, protocol.Errorf(protocol.KindInternal, "workflow: answer to request %d: its inputs changed: %w", id, err), st.start)
		return nil
	}
	r.ans = a
	r.answered(t.frame, t.node, st.asked, st.timeout)
	return nil
}

func (r *Run) answered(f *frame, n int32, ask Ask, timeout time.Duration) {
	node, st, a := &f.plan.nodes[n], &f.nodes[n], &r.ans
	took := a.latency()
	finish := st.start + took
	if timeout > 0 && took > timeout && !a.InTime {
		r.failNode(f, n, protocol.Errorf(protocol.KindTimeout, "no answer within %v; it took %v", timeout, took), st.start+timeout)
		return
	}
	err := a.failure(ask)
	if err == nil {
		r.exec.asked = 0
		err = node.asker.Answered(&r.exec, a)
	}
	if err == nil {
		err = r.exec.over
	}
	if err == nil && r.exec.asked != 0 {
		err = protocol.Errorf(protocol.KindInternal, "the kind %s asks again in its answer", node.kind)
	}
	if err != nil {
		r.failNode(f, n, err, finish)
		return
	}
	r.settle(f, n, OK, nil, finish)
}

// failNode handles a failed attempt of a body: the node is repeated, or its error is
// caught or final. Outputs that the body has set are discarded.
func (r *Run) failNode(f *frame, n int32, err error, finish time.Duration) {
	node := &f.plan.nodes[n]
	clear(f.slots[node.first : node.first+node.outs])
	if !r.retry(f, n, err, finish) {
		fail := &Failure{Node: f.pathOf(node), Err: err}
		r.conclude(f, n, fail, []*Failure{fail}, finish)
	}
}

// conclude settles a node that has failed for good. all are the failures to
// report unless the error output catches them.
func (r *Run) conclude(f *frame, n int32, fail *Failure, all []*Failure, finish time.Duration) {
	if errSlot := f.plan.nodes[n].err; errSlot >= 0 {
		f.slots[errSlot] = slot{v: fail.value(), is: arrived}
		r.settle(f, n, Caught, fail, finish)
		return
	}
	f.fails = append(f.fails, all...)
	if f.fail == nil || n < f.failAt {
		f.fail, f.failAt = fail, n
	}
	r.settle(f, n, Failed, fail, finish)
}

func (r *Run) retry(f *frame, n int32, err error, finish time.Duration) bool {
	node, st := &f.plan.nodes[n], &f.nodes[n]
	if (int(st.attempt) > node.retries || !retryable(err)) && !r.shortens(node, st, err) {
		return false
	}
	at := finish + node.waitBefore(int(st.attempt)+1)
	if f.deadline > 0 && at >= f.deadline {
		return false
	}
	st.start, st.failed = at, err
	r.ready = append(r.ready, task{frame: f, node: n})
	return true
}

// shortens reports whether a node asks again with less.
func (r *Run) shortens(node *planNode, st *nodeState, err error) bool {
	s, ok := node.body.(Shortener)
	st.short = ok && !st.short && protocol.KindOf(err) == protocol.KindContext && s.Shorter(&r.exec)
	return st.short
}

// settle ends a node: its outputs get their final state, and the nodes that wait for it
// count it. Every node settles exactly once.
func (r *Run) settle(f *frame, n int32, o Outcome, fail *Failure, finish time.Duration) {
	node, st := &f.plan.nodes[n], &f.nodes[n]
	if st.settled {
		panic("workflow: node " + f.pathOf(node) + " settled twice")
	}
	st.settled = true
	rest := slot{is: skipped}
	if o == Failed || o == Blocked {
		rest = slot{v: fail, is: failed}
	}
	for i := node.first; i < node.first+node.outs; i++ {
		if f.slots[i].is == pending {
			f.slots[i] = rest
		}
	}
	if node.err >= 0 && f.slots[node.err].is == pending {
		f.slots[node.err] = slot{is: skipped}
		if o == Blocked {
			f.slots[node.err] = rest
		}
	}
	if r.env.Trace {
		r.traceNode(f, n, o, fail, finish)
	}
	f.end = max(f.end, finish)
	for _, next := range node.next {
		s := &f.nodes[next]
		s.start = max(s.start, finish)
		if s.wait--; s.wait == 0 {
			r.ready = append(r.ready, task{frame: f, node: next})
		}
	}
	if f.left--; f.left == 0 {
		r.close(f)
	}
}

// close ends a frame whose nodes have all settled.
func (r *Run) close(f *frame) {
	switch {
	case f.parent == nil:
		r.done = true
		r.readOutputs()
	case f.loop != nil:
		r.endItem(f)
	default:
		r.endSub(f)
	}
}

// Cancel stops the run: no further node starts, open requests are not answered, and
// outputs that have arrived stay. Cancel does not change a run that is done.
func (r *Run) Cancel(reason string) {
	if r.root == nil || r.done {
		return
	}
	r.stop(protocol.Errorf(protocol.KindCancelled, "workflow %s: cancelled: %s", r.plan.id, reason))
}

func (r *Run) stop(err error) {
	r.err, r.done = err, true
	r.readOutputs()
}
