package workflow

import (
	"time"

	"tavernsim/protocol"
)

// Exec is one attempt of one node as its body sees it. It is the run's and
// valid during the call that got it.
type Exec struct {
	run   *Run
	frame *frame
	num   int32
	node  *planNode

	in    []any
	has   []bool
	many  []any
	wires []*wire // by place in many: what brought it
	span  []span  // by input: its part of many
	over  error   // an output was more than the budget allows
	again bool    // the inputs were converted, and counted, when the node asked

	asked Ask
	buf   []byte
}

type span struct{ from, to int32 }

// In is the value of an input; nil when it has none.
func (x *Exec) In(i int) any { return x.in[i] }

// Has reports whether an input has a value: something arrived, or a literal or
// default stands in. null is a value of untyped inputs only.
func (x *Exec) Has(i int) bool { return x.has[i] }

// Text is the value of a STRING input; "" when it has none.
func (x *Exec) Text(i int) string {
	s, _ := x.in[i].(string)
	return s
}

// Object is the value of an OBJECT input; nil when it has none.
func (x *Exec) Object(i int) map[string]any {
	m, _ := x.in[i].(map[string]any)
	return m
}

// List is the value of an ARRAY input; nil when it has none.
func (x *Exec) List(i int) []any {
	l, _ := x.in[i].([]any)
	return l
}

// Many is what arrived at a Multi input, in the order of the edges. The slice is
// the run's: copy it to give it away.
func (x *Exec) Many(i int) []any { return x.many[x.span[i].from:x.span[i].to] }

// Lookup finds an input by name: an Exec is the source of templates and the
// environment of expressions. An input without a value is null.
func (x *Exec) Lookup(name string) (any, bool) {
	for i := range x.node.ins {
		if x.node.ins[i].name == name {
			return x.in[i], true
		}
	}
	return nil, false
}

// Set sets an output to a value that the body has made; the run's budget counts all of
// it. The value is shared from now on and must not change.
func (x *Exec) Set(out int, v any) {
	size := protocol.SizeOf(v, x.run.budget.Left())
	x.SetOf(out, v, size, size)
}

// SetOf sets an output to a value of a size of which the body has made only a part: a
// list or an object of existing values.
func (x *Exec) SetOf(out int, v any, made, size int) {
	if err := x.run.budget.take(made, size); err != nil {
		x.over = err
		return
	}
	x.put(out, v, uint32(size))
}

// Share sets an output to an existing value: of the configuration, or a part of an
// input.
func (x *Exec) Share(out int, v any) { x.put(out, v, 0) }

// Pass sets an output to the value of an input.
func (x *Exec) Pass(out, in int) { x.put(out, x.in[in], x.known(in)) }

// PassMany sets an output to one of the values of a Multi input.
func (x *Exec) PassMany(out, in, k int) {
	at := int(x.span[in].from) + k
	x.put(out, x.many[at], x.slotSize(x.wires[at]))
}

func (x *Exec) put(out int, v any, size uint32) {
	x.frame.slots[x.node.first+int32(out)] = slot{v, arrived, size}
}

// Size is the size of the value of an input.
func (x *Exec) Size(i int) int {
	if p := &x.node.ins[i]; len(p.wires) > 0 {
		return x.sizeOf(&p.wires[0], x.in[i])
	}
	return protocol.SizeOf(x.in[i], x.run.budget.max())
}

// ManySize is the size of one of the values of a Multi input.
func (x *Exec) ManySize(i, k int) int {
	at := int(x.span[i].from) + k
	return x.sizeOf(x.wires[at], x.many[at])
}

// sizeOf is the size of what a wire brought, counted once for all who read it.
func (x *Exec) sizeOf(w *wire, v any) int {
	if w.slot >= 0 && w.conv != loose && !w.each {
		if s := &x.frame.slots[w.slot]; s.v != nil { // else a default stands in
			return x.run.budget.size(s)
		}
	}
	return protocol.SizeOf(v, x.run.budget.max())
}

// known is the size of the value of an input, where it was counted.
func (x *Exec) known(i int) uint32 {
	if p := &x.node.ins[i]; len(p.wires) > 0 {
		return x.slotSize(&p.wires[0])
	}
	return 0
}

func (x *Exec) slotSize(w *wire) uint32 {
	if w.slot >= 0 && w.conv != loose && !w.each && x.frame.slots[w.slot].v != nil {
		return x.frame.slots[w.slot].size
	}
	return 0
}

// Now is the time of the run.
func (x *Exec) Now() protocol.Time { return x.run.env.Now }

// Draw is a stream of chance that depends on the run's stream, the place of the
// node and the attempt, and on nothing else. Every call gives the same stream.
func (x *Exec) Draw() protocol.Draw {
	return x.frame.draw.Sub(x.node.hash, uint64(x.Attempt()))
}

// Attempt counts from 1.
func (x *Exec) Attempt() int { return int(x.frame.nodes[x.num].attempt) }

// Short reports whether an attempt before asked for more than the model's context; see
// [Shortener].
func (x *Exec) Short() bool { return x.frame.nodes[x.num].short }

// Failed is why the attempt before failed; nil in the first.
func (x *Exec) Failed() error { return x.frame.nodes[x.num].failed }

// Room is that of a model by its name; zero = nobody knows it.
func (x *Exec) Room(model string) Room { return x.run.env.Rooms[model] }

// Path names the node in its run: "outer/inner".
func (x *Exec) Path() string { return x.frame.pathOf(x.node) }

// Buffer is an empty buffer of the run's for making text. Hand the grown one
// back with [Exec.Keep], so that the next node has it.
func (x *Exec) Buffer() []byte { return x.buf[:0] }

// Keep takes a buffer back.
func (x *Exec) Keep(b []byte) { x.buf = b }

// AskModel asks for a model completion: fill in what it returns. The run sets
// Now, Draw and the timeout.
func (x *Exec) AskModel() *protocol.ModelRequest {
	x.asked = AskModel
	q := &x.run.req
	q.Model = protocol.ModelRequest{Now: x.run.env.Now, Draw: x.Draw()}
	return &q.Model
}

// AskTool asks for a tool call with these parameters, which are shared from
// here on. The call's id is the path of the node,
// with "~2" behind it in a second attempt.
func (x *Exec) AskTool(tool string, params map[string]any) {
	x.asked = AskTool
	x.run.req.Call = protocol.Call{Tool: tool, Params: params, Origin: protocol.OriginWorkflow}
}

// A verdict is the state of a node's inputs.
type verdict uint8

const (
	runs verdict = iota
	isSkipped
	isBlocked // a source failed
	isRefused // an input has the wrong value
)

// gathering combines the states of a node's inputs. A failure has precedence over a
// skip, and both over a wrong value.
type gathering struct {
	skip  bool
	cause *Failure // of the first failed source, in the order of the inputs
	err   error    // of the first wrong value
}

// absent notes a source that gave nothing.
func (g *gathering) absent(s slot, without Absence) {
	switch {
	case s.is == failed:
		if without < ToleratesAll && g.cause == nil {
			g.cause = s.v.(*Failure)
		}
	case without == Propagate:
		g.skip = true
	}
}

func (g *gathering) wrong(input string, err error) {
	if g.err == nil {
		g.err = protocol.Errorf(protocol.KindOf(err), "input %q: %w", input, err)
	}
}

// gather reads the inputs of the node. The failure is the one behind isBlocked.
func (x *Exec) gather() (verdict, *Failure, error) {
	x.size(len(x.node.ins))
	var g gathering
	for i := range x.node.ins {
		if p := &x.node.ins[i]; p.multi {
			x.readMany(i, p, &g)
		} else {
			x.readOne(i, p, &g)
		}
	}
	for _, number := range x.node.after {
		if s := x.frame.read(&wire{slot: number}); s.is != arrived {
			g.absent(s, Propagate)
		}
	}
	switch {
	case g.cause != nil:
		return isBlocked, g.cause, nil
	case g.skip:
		return isSkipped, nil, nil
	case g.err != nil:
		return isRefused, nil, g.err
	}
	return runs, nil, nil
}

func (x *Exec) readOne(i int, p *planIn, g *gathering) {
	var v any
	has := false
	if len(p.wires) > 0 {
		w := &p.wires[0]
		s, err := x.run.opened(x.frame, w)
		if err != nil {
			g.wrong(p.name, err)
		} else if s.is == arrived {
			v = x.fit(s.v, w, p, g)
			has = v != nil || p.typ.untyped()
		} else {
			g.absent(s, p.without)
		}
	}
	if !has && p.missing != nil {
		v, has = p.missing, true
	}
	if !has && p.required && p.without == Propagate {
		g.wrong(p.name, protocol.Errorf(protocol.KindInvalid, "is required and got null"))
	}
	x.in[i], x.has[i] = v, has
}

func (x *Exec) fit(v any, w *wire, p *planIn, g *gathering) any {
	out, err := convert(v, w.to, w.conv)
	if err == nil && !x.again {
		err = x.run.budget.converted(v, out, w.conv)
	}
	if err != nil {
		g.wrong(p.name, err)
	}
	return out
}

// readMany reads a Multi input. A required one of which nothing arrived fails
// or is skipped like its sources, whatever it tolerates.
func (x *Exec) readMany(i int, p *planIn, g *gathering) {
	from := int32(len(x.many))
	var lost gathering // what counts only when nothing arrived
	for k := range p.wires {
		w := &p.wires[k]
		s, err := x.run.opened(x.frame, w)
		if err != nil {
			g.wrong(p.name, err)
		} else if s.is == arrived {
			values := []any{s.v}
			if w.each {
				values, _ = s.v.([]any) // the interface says that it is a list
			}
			for _, v := range values {
				x.many, x.wires = append(x.many, x.fit(v, w, p, g)), append(x.wires, w)
			}
		} else {
			g.absent(s, p.without)
			lost.absent(s, Propagate)
		}
	}
	x.span[i] = span{from, int32(len(x.many))}
	x.in[i], x.has[i] = nil, int32(len(x.many)) > from
	switch {
	case !p.required || x.has[i]:
	case len(p.wires) == 1 && p.wires[0].each && !lost.skip:
		g.wrong(p.name, protocol.Errorf(protocol.KindInvalid, "the list is empty; want at least one element"))
	default:
		g.skip = true
		if g.cause == nil {
			g.cause = lost.cause
		}
	}
}

func (x *Exec) size(n int) {
	if cap(x.in) < n {
		x.in, x.has, x.span = make([]any, n, 2*n), make([]bool, n, 2*n), make([]span, n, 2*n)
	}
	x.in, x.has, x.span = x.in[:n], x.has[:n], x.span[:n]
	x.many, x.wires = x.many[:0], x.wires[:0]
}

func (x *Exec) bind(r *Run, f *frame, num int32) {
	x.run, x.frame, x.num, x.node = r, f, num, &f.plan.nodes[num]
	x.asked, x.over = 0, nil
}

// wait is the backoff before an attempt: doubled each time, bounded.
func (n *planNode) waitBefore(attempt int) time.Duration {
	if attempt < 2 || n.backoff <= 0 {
		return 0
	}
	return min(n.backoff<<min(attempt-2, MaxRetries), MaxBackoff)
}
