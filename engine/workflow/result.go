package workflow

import (
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// Outcome is how a node ended, or why an output is missing.
type Outcome string

const (
	OK        Outcome = "ok"
	Caught    Outcome = "caught"    // failed, and the error output has the error
	Failed    Outcome = "failed"    // failed, after all repetitions
	Blocked   Outcome = "blocked"   // not run: something it needs has failed
	Skipped   Outcome = "skipped"   // not run: something it needs was not taken
	Cancelled Outcome = "cancelled" // not run: the run was stopped before
)

// Failure is the error of a node that nobody caught.
type Failure struct {
	Node string // path
	Err  error
}

// NodeFinished is one line of a trace.
type NodeFinished struct {
	Node          string // path
	Type          string
	Outcome       Outcome
	Attempts      int
	Start, Finish time.Duration // of the last attempt, on the run's clock
	Err           error         // of Failed, Caught and Blocked
}

// Missing is an output without a value, and the reason.
type Missing struct {
	Output   string
	Required bool
	Outcome  Outcome // Skipped, Failed or Cancelled
	Node     string  // that failed
	Err      error
}

// Done reports whether the run has ended.
func (r *Run) Done() bool { return r.done }

// Open lists the ids of the requests without an answer, in the order of asking:
// also those that a cancelled run has left behind, for the host to call off.
func (r *Run) Open() []int {
	var ids []int
	for i := range r.asked {
		if r.asked[i].frame != nil {
			ids = append(ids, i+1)
		}
	}
	return ids
}

// Err says why the run was stopped as a whole: cancelled, or out of steps. nil
// otherwise, also when nodes have failed.
func (r *Run) Err() error { return r.err }

// Elapsed is the length of the critical path so far: the latencies and waits
// that stood one after another.
func (r *Run) Elapsed() time.Duration {
	if r.root == nil {
		return 0
	}
	return r.root.end
}

func (r *Run) readOutputs() {
	size := 0
	for i := range r.plan.outputs {
		s := slot{}
		if protocol.KindOf(r.err) != protocol.KindLimit || r.err == nil {
			s = r.output(r.root, i)
		}
		if _, unread := s.v.(callvalue.Calls); s.is == arrived && !unread { // unread calls count as the bytes of their fact
			size += r.budget.size(&s)
		}
		r.outs = append(r.outs, s)
	}
	if err := r.budget.take(0, size); err != nil && r.err == nil {
		r.err = protocol.Errorf(protocol.KindLimit, "workflow %s: its outputs together: %w", r.plan.id, err)
		clear(r.outs)
	}
}

// Output is an interface output of a run that is done, by its number in
// [Plan.Outputs]; false when it is missing.
func (r *Run) Output(i int) (any, bool) {
	if i < 0 || i >= len(r.outs) || r.outs[i].is != arrived {
		return nil, false
	}
	return r.outs[i].v, true
}

// Outputs puts the interface outputs that arrived into a map, by name.
func (r *Run) Outputs(m map[string]any) map[string]any {
	for i, s := range r.outs {
		if s.is == arrived {
			m[r.plan.outputs[i].name] = s.v
		}
	}
	return m
}

// Complete reports that the run is done, was not stopped, and every required
// output is there.
func (r *Run) Complete() bool {
	if !r.done || r.err != nil {
		return false
	}
	for i, s := range r.outs {
		if s.is != arrived && r.plan.outputs[i].required {
			return false
		}
	}
	return true
}

// Missing lists the outputs that did not come, by name, and why.
func (r *Run) Missing() []Missing {
	var list []Missing
	for i, s := range r.outs {
		m := Missing{Output: r.plan.outputs[i].name, Required: r.plan.outputs[i].required}
		switch s.is {
		case arrived:
			continue
		case failed:
			f := s.v.(*Failure)
			m.Outcome, m.Node, m.Err = Failed, f.Node, f.Err
		case skipped:
			m.Outcome = Skipped
		default:
			m.Outcome, m.Err = Cancelled, r.err
		}
		list = append(list, m)
	}
	return list
}

// Failures lists what failed and was not caught, by path.
func (r *Run) Failures() []Failure {
	if r.root == nil {
		return nil
	}
	list := make([]Failure, 0, len(r.root.fails))
	for _, f := range r.root.fails {
		list = append(list, *f)
	}
	slices.SortStableFunc(list, func(a, b Failure) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// Trace lists the outcome of every node, in the order in which they ended; it is empty
// unless Env.Trace is set. GroupInput, GroupOutput and bypassed nodes do not run.
func (r *Run) Trace() []NodeFinished { return r.trace }

func (r *Run) traceNode(f *frame, n int32, o Outcome, fail *Failure, finish time.Duration) {
	node, st := &f.plan.nodes[n], &f.nodes[n]
	t := NodeFinished{Node: f.pathOf(node), Type: node.kind, Outcome: o, Attempts: int(st.attempt), Start: st.start, Finish: finish}
	if fail != nil {
		t.Err = fail.Err
	}
	r.trace = append(r.trace, t)
}
