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

	in   []any
	has  []bool
	many []any
	span []span // by input: its part of many

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

// Set gives an output its value. The value is shared from here on.
func (x *Exec) Set(out int, v any) {
	s := &x.frame.slots[x.node.first+int32(out)]
	s.v, s.is = v, arrived
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

// A verdict is what the inputs of a node say about it.
type verdict uint8

const (
	runs verdict = iota
	isSkipped
	isBlocked // a source failed
	isRefused // an input has the wrong value
)

// gathering collects what the inputs of a node say about it. A failure outweighs
// a skip, and both a wrong value.
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

func (g *gathering) wrong(input string, format string, args ...any) {
	if g.err == nil {
		g.err = protocol.Errorf(protocol.KindInvalid, "input %q: "+format, append([]any{input}, args...)...)
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
		if s := x.frame.read(w); s.is == arrived {
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
		g.wrong(p.name, "is required and got null")
	}
	x.in[i], x.has[i] = v, has
}

func (x *Exec) fit(v any, w *wire, p *planIn, g *gathering) any {
	v, err := convert(v, w.to, w.conv)
	if err != nil {
		g.wrong(p.name, "%w", err)
	}
	return v
}

// readMany reads a Multi input. A required one of which nothing arrived fails
// or is skipped like its sources, whatever it tolerates.
func (x *Exec) readMany(i int, p *planIn, g *gathering) {
	from := int32(len(x.many))
	var lost gathering // what counts only when nothing arrived
	for k := range p.wires {
		w := &p.wires[k]
		if s := x.frame.read(w); s.is == arrived {
			x.many = append(x.many, x.fit(s.v, w, p, g))
		} else {
			g.absent(s, p.without)
			lost.absent(s, Propagate)
		}
	}
	x.span[i] = span{from, int32(len(x.many))}
	x.in[i], x.has[i] = nil, int32(len(x.many)) > from
	if p.required && !x.has[i] {
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
	x.many = x.many[:0]
}

func (x *Exec) bind(r *Run, f *frame, num int32) {
	x.run, x.frame, x.num, x.node = r, f, num, &f.plan.nodes[num]
	x.asked = 0
}

// wait is the backoff before an attempt: doubled each time, bounded.
func (n *planNode) waitBefore(attempt int) time.Duration {
	if attempt < 2 || n.backoff <= 0 {
		return 0
	}
	return min(n.backoff<<min(attempt-2, MaxRetries), MaxBackoff)
}
