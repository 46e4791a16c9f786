package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// subWorkflow is a nested workflow as a node: its inputs and outputs are those
// of the node, in the same order.
type subWorkflow struct{ plan *Plan }

// loop runs a nested workflow once per item.
type loop struct {
	plan     *Plan
	parallel bool
	maxItems int
	truncate bool   // longer lists are cut instead of refused
	onError  string // loopFail, loopDrop, loopNull
	nulls    bool   // a skipped result is null instead of left out

	// Inputs of the node; -1 = not there.
	list, times, acc int
	args             []loopArg // by input of the nested plan

	// Outputs of the nested plan; -1 = not there.
	accOut, breakOut int
	collect          []int32 // nested output number behind the node's list outputs, in order
	outAcc           int     // outputs of the node
	outCount         int
	outErrors        int
}

// loopArg says where an input of the nested workflow comes from.
type loopArg struct {
	role  loopRole
	input int // of the node, for argConst
}

type loopRole uint8

const (
	argConst loopRole = iota
	argItem
	argIndex
	argAcc
)

const (
	loopFail = "fail"
	loopDrop = "drop"
	loopNull = "null"

	nameItem  = "item"
	nameIndex = "index"
	nameAcc   = "accumulator"
	nameBreak = "break"
	nameCount = "count"
	nameErrs  = "errors"
	nameList  = "list"
	nameTimes = "times"

	// MaxItems is the most that a loop's maxItems may ask for.
	MaxItems = 100_000
	// DefaultItems is a loop's bound when the definition sets none.
	DefaultItems = 100
)

// nested compiles the workflow that a node names; nil after a fault.
func (u *unit) nested(s *Setup) *Plan {
	id := s.NeedText("workflow")
	if id == "" {
		return nil
	}
	if at := slices.Index(u.stack, id); at >= 0 {
		path := append(slices.Clone(u.stack[at:]), id)
		s.Faultf("workflow", "repeat work with a Loop node", "workflow %q contains itself: %s", id, strings.Join(path, " -> "))
		return nil
	}
	if len(u.stack) >= MaxNesting {
		s.Faultf("workflow", "", "workflows are nested deeper than %d", MaxNesting)
		return nil
	}
	var def *Definition
	found := false
	if u.opts.Lookup != nil {
		def, found = u.opts.Lookup(id)
	}
	if !found {
		s.Faultf("workflow", suggest(id, u.opts.Known), "there is no workflow %q", id)
		return nil
	}
	// A reference may be another spelling of an id (a path), so look again.
	if at := slices.Index(u.stack, def.ID); at >= 0 {
		path := append(slices.Clone(u.stack[at:]), def.ID)
		s.Faultf("workflow", "repeat work with a Loop node", "workflow %q contains itself: %s", def.ID, strings.Join(path, " -> "))
		return nil
	}
	got, done := u.plans[def.ID]
	if !done {
		plan, list := u.compiler.compile(def)
		got = compiled{plan: plan}
		if plan == nil {
			got.why = list[slices.IndexFunc(list, func(f Fault) bool { return !f.Strict })].Message
		}
		u.plans[def.ID] = got
	}
	if got.plan == nil {
		s.Faultf("workflow", "", "workflow %q has faults of its own: %s", id, got.why)
		return nil
	}
	if got.plan.depth+1 >= MaxNesting {
		s.Faultf("workflow", "", "workflows are nested deeper than %d", MaxNesting)
		return nil
	}
	u.plan.depth = max(u.plan.depth, got.plan.depth+1)
	return got.plan
}

func (u *unit) buildSubWorkflow(s *Setup) *subWorkflow {
	plan := u.nested(s)
	if plan == nil {
		return nil
	}
	for _, in := range plan.inputs {
		s.In(In{Name: in.name, Type: in.DataFlowType, Required: in.Required && in.Default == nil, Default: in.Default})
	}
	for _, out := range plan.outputs {
		s.Out(out.name, out.typ)
	}
	return &subWorkflow{plan: plan}
}

func (u *unit) buildLoop(s *Setup) *loop {
	plan := u.nested(s)
	l := &loop{plan: plan, list: -1, times: -1, acc: -1, outAcc: -1}
	order := s.OneOf("order", "sequential", "parallel")
	l.parallel = order == "parallel"
	l.maxItems = s.Int("maxItems", DefaultItems, 1, MaxItems)
	l.truncate = s.OneOf("onTooMany", loopFail, "truncate") == "truncate"
	l.onError = s.OneOf("onItemError", loopFail, loopDrop, loopNull)
	l.nulls = s.OneOf("onItemSkipped", loopDrop, loopNull) == loopNull
	if plan == nil {
		return nil
	}
	l.accOut, l.breakOut = plan.Output(nameAcc), plan.Output(nameBreak)
	l.declareInputs(s)
	l.declareOutputs(s)
	l.check(s)
	return l
}

func (l *loop) declareInputs(s *Setup) {
	if s.Given(nameTimes) {
		l.times = s.In(In{Name: nameTimes, Type: Integer, Required: true})
		if s.Given(nameList) {
			s.Faultf("", "remove one of them", "a loop goes over a list or a number of times, not both")
		}
	}
	if l.times < 0 || s.Given(nameList) {
		l.list = s.In(In{Name: nameList, Type: Array, Required: true})
	}
	for _, in := range l.plan.inputs {
		switch in.name {
		case nameItem:
			l.args = append(l.args, loopArg{role: argItem})
		case nameIndex:
			l.args = append(l.args, loopArg{role: argIndex})
		case nameAcc:
			l.acc = s.In(In{Name: nameAcc, Type: in.DataFlowType, Required: in.Required && in.Default == nil, Default: in.Default})
			l.args = append(l.args, loopArg{role: argAcc})
		case nameList, nameTimes:
			s.Faultf("workflow", "rename it there", "the nested workflow has an input %q, which is the loop's own", in.name)
			l.args = append(l.args, loopArg{role: argIndex})
		default:
			n := s.In(In{Name: in.name, Type: in.DataFlowType, Required: in.Required && in.Default == nil, Default: in.Default})
			l.args = append(l.args, loopArg{role: argConst, input: n})
		}
	}
}

func (l *loop) declareOutputs(s *Setup) {
	for i, out := range l.plan.outputs {
		switch out.name {
		case nameAcc, nameBreak:
		case nameCount, nameErrs:
			s.Faultf("workflow", "rename it there", "the nested workflow has an output %q, which is the loop's own", out.name)
		default:
			s.Out(out.name, Array)
			l.collect = append(l.collect, int32(i))
		}
	}
	if l.accOut >= 0 {
		l.outAcc = s.Out(nameAcc, l.plan.outputs[l.accOut].typ)
	}
	l.outCount = s.Out(nameCount, Integer)
	l.outErrors = s.Out(nameErrs, Array)
}

func (l *loop) check(s *Setup) {
	if l.accOut >= 0 && l.acc < 0 {
		s.Faultf("workflow", "add the input", "the nested workflow has an output %q and no input of that name to fold into", nameAcc)
	}
	if l.acc >= 0 && l.accOut < 0 {
		s.Faultf("workflow", "add the output", "the nested workflow has an input %q and no output of that name to fold from", nameAcc)
	}
	if l.parallel && (l.accOut >= 0 || l.breakOut >= 0) {
		s.Faultf("order", "write sequential", "a loop that folds or breaks goes one by one")
	}
	if l.breakOut >= 0 && l.plan.outputs[l.breakOut].typ != Boolean {
		s.Faultf("workflow", "", "the nested output %q is %s; want BOOLEAN", nameBreak, l.plan.outputs[l.breakOut].typ)
	}
	if l.accOut >= 0 && l.acc >= 0 {
		from, to := l.plan.outputs[l.accOut].typ, s.ins[l.acc].Type
		if _, ok := compatible(from, to); !ok {
			s.Faultf("workflow", "", "the nested output %q is %s and its input %s", nameAcc, from, to)
		}
	}
	item := l.plan.Input(nameItem)
	if item < 0 && l.list >= 0 {
		s.Faultf("workflow", fmt.Sprintf("add the input, or count with %q", nameTimes), "the nested workflow has no input %q", nameItem)
	}
	if item >= 0 && l.list < 0 && l.plan.inputs[item].Required {
		s.Faultf("workflow", "go over a list", "the nested workflow requires an input %q, which a counted loop does not have", nameItem)
	}
}
