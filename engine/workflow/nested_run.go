package workflow

import (
	"strconv"
	"time"

	"tavernsim/protocol"
)

// pathOf names a node in the whole run.
func (f *frame) pathOf(n *planNode) string {
	if f.parent == nil {
		return n.id
	}
	return f.within() + n.id
}

// attemptPath tells the repetitions of a node apart.
func attemptPath(path string, attempt int16) string {
	if attempt < 2 {
		return path
	}
	return path + "~" + strconv.Itoa(int(attempt))
}

// within is what stands before the ids of a frame's nodes.
func (f *frame) within() string {
	if f.parent == nil || f.prefix != "" {
		return f.prefix
	}
	p := attemptPath(f.parent.pathOf(&f.parent.plan.nodes[f.up]), f.attempt)
	if f.loop != nil {
		p += "#" + strconv.Itoa(f.item)
	}
	f.prefix = p + "/"
	return f.prefix
}

// child makes the frame of a nested workflow.
func (r *Run) child(f *frame, n int32, p *Plan, start time.Duration) *frame {
	node, st := &f.plan.nodes[n], &f.nodes[n]
	c := r.newFrame(p)
	c.parent, c.up, c.start, c.attempt = f, n, start, st.attempt
	c.deadline = f.deadline
	if node.timeout > 0 {
		own := st.start + node.timeout
		if c.deadline == 0 || own < c.deadline {
			c.deadline = own
		}
	}
	return c
}

func (r *Run) startSub(f *frame, n int32) {
	node, st := &f.plan.nodes[n], &f.nodes[n]
	c := r.child(f, n, node.sub.plan, st.start)
	c.draw = f.draw.Sub(node.hash, uint64(st.attempt))
	for i := range c.plan.inputs {
		c.slots[i] = slot{r.exec.in[i], arrived, r.exec.known(i)}
	}
	r.begin(c)
}

// endSub hands the outputs of a nested workflow to its node. Those that arrived
// are good even when something inside has failed.
func (r *Run) endSub(c *frame) {
	f, n := c.parent, c.up
	node := &f.plan.nodes[n]
	outs := f.slots[node.first : node.first+node.outs]
	for i := range outs {
		outs[i] = r.output(c, i)
		if outs[i].is == failed && node.err >= 0 {
			outs[i] = slot{is: skipped}
		}
	}
	fail, all, finish := c.fail, c.fails, c.end
	switch {
	case fail == nil:
		r.release(c)
		r.settle(f, n, OK, nil, finish)
	case r.retry(f, n, fail.Err, finish):
		clear(outs)
		r.release(c)
	default:
		r.conclude(f, n, fail, all, finish)
		r.release(c)
	}
}

// output reads an interface output of a frame. A value that does not fit its
// type is a failure of the output node.
func (r *Run) output(f *frame, i int) slot {
	out := &f.plan.outputs[i]
	var s slot
	var err error
	if r.env.Unread && f.parent == nil && out.wire.conv == asIs {
		s = f.read(&out.wire)
	} else {
		s, err = r.opened(f, &out.wire)
	}
	if s.is != arrived {
		return s
	}
	v := s.v
	if err == nil {
		v, err = convert(s.v, out.wire.to, out.wire.conv)
	}
	if err == nil {
		err = r.budget.converted(s.v, v, out.wire.conv)
	}
	if err != nil {
		fail := &Failure{Node: f.within() + f.plan.outNode, Err: protocol.Errorf(protocol.KindOf(err), "output %q: %w", out.name, err)}
		f.fails = append(f.fails, fail)
		if f.fail == nil {
			f.fail, f.failAt = fail, int32(len(f.plan.nodes))
		}
		return slot{v: fail, is: failed}
	}
	if v == nil && !out.typ.untyped() {
		return slot{is: skipped}
	}
	if out.wire.conv == loose {
		s.size = 0
	}
	s.v = v
	return s
}

// loopState is one attempt of a Loop node.
type loopState struct {
	*loop
	frame *frame
	node  int32
	draw  protocol.Draw

	list    []any // nil when it counts
	total   int
	next    int    // item to start, when they go one by one
	live    int    // items that have not ended
	ran     int    // items that have ended
	in      []slot // inputs of the node
	acc     slot
	results []slot // rows of collect, of the items that began

	at, end time.Duration // when the next item starts, and the last one ended
	errs    []any         // values for the errors output, by item
	fails   []*Failure
	fail    *Failure // of the first item that failed
	failAt  int
	stopped bool
}

func (r *Run) startLoop(f *frame, n int32) {
	node, st, x := &f.plan.nodes[n], &f.nodes[n], &r.exec
	l := &loopState{loop: node.loop, frame: f, node: n, at: st.start, end: st.start}
	total, err := l.size(x)
	if err != nil {
		r.failNode(f, n, err, st.start)
		return
	}
	l.total = total
	l.draw = f.draw.Sub(node.hash, uint64(st.attempt))
	l.in = make([]slot, len(x.in))
	for i, v := range x.in {
		l.in[i] = slot{v, arrived, uint32(x.Size(i))} // once, not with every item
	}
	if l.loop.acc >= 0 {
		l.acc = l.in[l.loop.acc]
	}
	if l.parallel {
		if !r.rows(l, total) {
			return
		}
		l.live = total
		for i := 0; i < total && !r.done; i++ { // an item may stop the run
			r.startItem(l, i)
		}
	}
	switch {
	case total == 0:
		r.endLoop(l)
	case !l.parallel:
		r.nextItem(l)
	}
}

// size says how many items there are, and refuses or cuts too many.
func (l *loopState) size(x *Exec) (int, error) {
	total := 0
	if l.loop.list >= 0 {
		l.list = x.List(l.loop.list)
		total = len(l.list)
	} else {
		times, _ := x.In(l.times).(int64)
		if times < 0 {
			return 0, protocol.Errorf(protocol.KindInvalid, "input %q: %d is below 0", nameTimes, times)
		}
		total = int(min(times, MaxItems+1))
	}
	if total > l.maxItems && !l.truncate {
		return 0, protocol.Errorf(protocol.KindLimit, "%d items; maxItems is %d", total, l.maxItems)
	}
	return min(total, l.maxItems), nil
}

func (r *Run) nextItem(l *loopState) {
	l.live = 1
	l.next++
	r.startItem(l, l.next-1)
}

func (r *Run) startItem(l *loopState, i int) {
	if !r.count() {
		return
	}
	c := r.child(l.frame, l.node, l.plan, l.at)
	c.loop, c.item, c.draw = l, i, l.draw.Sub(uint64(i))
	for k, arg := range l.args {
		s := l.argument(arg, i)
		v, err := c.plan.inputs[k].argument(s.v)
		if err != nil {
			fail := &Failure{Node: c.within() + c.plan.inputs[k].name, Err: err}
			c.fail, c.fails, c.end = fail, append(c.fails, fail), c.start
			r.endItem(c)
			return
		}
		if s.v == nil { // a default stands in
			s.size = 0
		}
		c.slots[k] = slot{v, arrived, s.size}
	}
	r.begin(c)
}

func (l *loopState) argument(arg loopArg, i int) slot {
	switch arg.role {
	case argItem:
		if l.list == nil {
			return slot{}
		}
		return slot{v: l.list[i]}
	case argIndex:
		return slot{v: int64(i)}
	case argAcc:
		return l.acc
	}
	return l.in[arg.input]
}

func (r *Run) endItem(c *frame) {
	l := c.loop
	l.ran++
	l.live--
	l.end = max(l.end, c.end)
	l.at = l.end
	if l.parallel {
		l.at = l.frame.nodes[l.node].start
	}
	r.collect(l, c)
	r.release(c)
	if r.done { // there was no room for its results
		return
	}
	if !l.parallel && !l.stopped && l.next < l.total {
		r.ready = append(r.ready, task{loop: l}) // not a call: a million items must not nest
		return
	}
	if l.live == 0 {
		r.endLoop(l)
	}
}

// rows makes room for the results of so many items; false = the run stops, because there is none.
func (r *Run) rows(l *loopState, items int) bool {
	if more := items*len(l.collect) - len(l.results); more > 0 {
		r.live += slotBytes * more
		if !r.holds() {
			return false
		}
		l.results = append(l.results, make([]slot, more)...)
	}
	return true
}

// collect takes the outputs of an item.
func (r *Run) collect(l *loopState, c *frame) {
	if !r.rows(l, c.item+1) {
		return
	}
	row := l.results[c.item*len(l.loop.collect):][:len(l.loop.collect)]
	for k, out := range l.loop.collect {
		row[k] = r.output(c, int(out))
		if row[k].is == pending { // the item was not started: an argument did not fit
			row[k] = slot{v: c.fail, is: failed}
		}
	}
	if l.accOut >= 0 {
		if s := r.output(c, l.accOut); s.is == arrived {
			l.acc = s
		}
	}
	if l.breakOut >= 0 {
		if s := r.output(c, l.breakOut); s.is == arrived && s.v == true {
			l.stopped = true
		}
	}
	if c.fail == nil {
		return
	}
	e := c.fail.value()
	e["index"] = int64(c.item)
	l.errs = append(l.errs, e)
	l.fails = append(l.fails, c.fails...)
	if l.fail == nil || c.item < l.failAt {
		l.fail, l.failAt = c.fail, c.item
	}
	switch l.onError {
	case loopFail:
		l.stopped = true
	case loopDrop:
		clear(row) // pending: no trace of the item
	}
}

func (r *Run) endLoop(l *loopState) {
	f, n := l.frame, l.node
	r.live -= slotBytes * len(l.results)
	if l.fail != nil && l.onError == loopFail {
		if !r.retry(f, n, l.fail.Err, l.end) {
			r.conclude(f, n, l.fail, l.fails, l.end)
		}
		return
	}
	first := f.plan.nodes[n].first
	set := func(out int, v any, size int) { f.slots[first+int32(out)] = slot{v, arrived, uint32(size)} }
	for k := range l.loop.collect {
		list, size := l.column(k, r.budget)
		if err := r.budget.take(protocol.ValueBytes*len(list), size); err != nil {
			r.failNode(f, n, err, l.end)
			return
		}
		set(k, list, size)
	}
	if l.accOut >= 0 && l.acc.v != nil {
		set(l.outAcc, l.acc.v, int(l.acc.size))
	}
	set(l.outCount, int64(l.ran), 0)
	set(l.outErrors, l.sortedErrors(), 0)
	r.settle(f, n, OK, nil, l.end)
}

// column is the list of one output over the items, and its size.
func (l *loopState) column(k int, b *Budget) (list []any, size int) {
	width := len(l.loop.collect)
	list, size = make([]any, 0, l.ran), protocol.ValueBytes
	for i := range len(l.results) / max(width, 1) {
		switch s := &l.results[i*width+k]; {
		case s.is == arrived:
			list, size = append(list, s.v), size+b.size(s)
		case s.is == failed, s.is == skipped && l.nulls:
			list, size = append(list, nil), size+protocol.ValueBytes
		}
	}
	return list, size
}

// sortedErrors orders what came in the order of answers by item.
func (l *loopState) sortedErrors() []any {
	if l.errs == nil {
		return []any{}
	}
	byIndex := func(e any) int64 { return e.(map[string]any)["index"].(int64) }
	for i := 1; i < len(l.errs); i++ { // almost sorted and almost always short
		for j := i; j > 0 && byIndex(l.errs[j]) < byIndex(l.errs[j-1]); j-- {
			l.errs[j], l.errs[j-1] = l.errs[j-1], l.errs[j]
		}
	}
	return l.errs
}

// value is a failure as the error output gives it.
func (f *Failure) value() map[string]any {
	return map[string]any{
		"kind":    string(protocol.KindOf(f.Err)),
		"message": f.Err.Error(),
		"node":    f.Node,
	}
}
