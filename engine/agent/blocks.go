package agent

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// batch are the calls of a block of which some run beside others. Their results are kept
// in the order of the block. What runs, and under which number it asks the outside, does
// not depend on the order in which answers come, so that a turn that a kill cut off asks
// the same again.
type batch struct {
	from     int // of the queue
	number   int // of the request of its first call
	waits    [][]int
	members  []member
	kept     int // of the members
	starting int
	base     time.Duration // of the turn's elapsed time, when it began
	before   spent         // by the turn, when it began
}

// member is a call of a batch.
type member struct {
	started, settled bool
	stops            bool // those that wait for it are not run
	held             bool // those that wait for it are held, too
	call             *protocol.Call
	result           protocol.CallResult
	spent            spent
	ends             time.Duration // of the turn's elapsed time
	wrong            error
	facts            []protocol.Fact // of the answer
	problems         []string
}

// batchAt makes the batch that begins with call i of the queue; nil = the call runs alone.
func (t *Turn) batchAt(i int) *batch {
	if !t.beside || t.queue[i].Block == 0 {
		return nil
	}
	to, beside := i, false
	for ; to < len(t.queue) && t.queue[to].Block == t.queue[i].Block; to++ {
		beside = beside || t.queue[to].After != ""
	}
	if !beside {
		return nil
	}
	steps := make([]block.Step, to-i)
	for k := range steps {
		q := &t.queue[i+k]
		steps[k] = block.Step{Index: q.Index, After: q.After, Alone: !t.outside(&q.Call)}
		if q.Origin == protocol.OriginTAM && q.After != "" {
			steps[k].Refers = block.Steps(q.Params)
		}
	}
	b := &batch{from: i, number: t.toolsAsked + 1, members: make([]member, len(steps)), base: t.end.Elapsed, before: t.spent()}
	t.toolsAsked += len(steps)
	var wrong []error
	b.waits, wrong = block.Order(steps)
	for k := range wrong {
		b.members[k].wrong = wrong[k]
	}
	return b
}

// outside reports whether an executor carries out a call. Every other call runs alone: it
// changes the turn, whose facts have one order.
func (t *Turn) outside(c *protocol.Call) bool {
	named := *c
	entry, skill, _ := t.m.Def.find(&named)
	return entry != nil && skill == "" && entry.kind != "" && !entry.async
}

// stepBatch keeps results, and starts the calls that wait for nothing any more; false =
// nothing could be done.
func (t *Turn) stepBatch() (did bool) {
	b := t.batch
	for {
		for b.kept < len(b.members) && b.members[b.kept].settled {
			t.keepMember(b.kept)
			b.kept++
			did = true
		}
		next := b.ready()
		if next < 0 || t.cancelled {
			break
		}
		t.startMember(next)
		did = true
	}
	if b.kept == len(b.members) {
		for i := range b.members {
			t.end.Elapsed = max(t.end.Elapsed, b.members[i].ends)
		}
		t.done, t.batch = b.from+len(b.members), nil
	}
	return did
}

// keepMember writes what came of a call.
func (t *Turn) keepMember(i int) {
	m := &t.batch.members[i]
	t.facts = append(t.facts, m.facts...)
	for _, text := range m.problems {
		t.problem(text)
	}
	if m.settled {
		t.keep(m.call, m.result)
	}
}

// ready is the first call that waits for nothing any more; -1 = there is none.
func (b *batch) ready() int {
	for i := range b.members {
		open := slices.ContainsFunc(b.waits[i], func(k int) bool { return !b.members[k].settled })
		if !b.members[i].started && !open {
			return i
		}
	}
	return -1
}

// startMember carries a call out, or says why it is not run.
func (t *Turn) startMember(i int) {
	b := t.batch
	m, at := &b.members[i], b.from+i
	m.started, m.ends = true, b.base
	c := &t.queue[at].Call
	stopped, held := t.stopped != 0 && c.Block == t.stopped, false
	for _, k := range b.waits[i] {
		m.ends = max(m.ends, b.members[k].ends)
		stopped, held = stopped || b.members[k].stops, held || b.members[k].held
	}
	switch {
	case stopped:
		t.took(at, c, protocol.CallResult{Status: protocol.CallNotRun}, 0)
	case held:
		t.hold(at, nil)
	case m.wrong != nil:
		t.took(at, c, failed(protocol.Errorf(protocol.KindInvalid, "%s: %w", c.Tool, m.wrong)), 0)
	default:
		b.starting = i
		t.begins(at, b.number+i)
	}
}

// settle takes the result of a call, which is kept when all before it are.
func (b *batch) settle(i int, c *protocol.Call, r protocol.CallResult, took time.Duration) {
	m := &b.members[i]
	m.settled, m.call, m.result = true, c, r
	m.ends += took
	m.stops = stops(c, &r)
}

// flush keeps what has settled when the turn is cancelled.
func (t *Turn) flush() {
	b := t.batch
	if b == nil {
		return
	}
	for ; b.kept < len(b.members); b.kept++ {
		t.keepMember(b.kept)
	}
	t.batch = nil
}

// stops reports whether a result ends its block.
func stops(c *protocol.Call, r *protocol.CallResult) bool {
	return r.Status != protocol.CallOK && r.Status != protocol.CallRequested && c.OnError != protocol.OnErrorContinue
}

// took takes the result of call i of the queue, and the time that it took.
func (t *Turn) took(i int, c *protocol.Call, r protocol.CallResult, latency time.Duration) {
	t.remember(c, &r)
	if t.batch != nil {
		t.batch.settle(i-t.batch.from, c, r, latency)
		return
	}
	t.end.Elapsed += latency
	t.keep(c, r)
}

// begins carries out call i of the queue. number is that of its request to the outside, 0
// = the next.
func (t *Turn) begins(i, number int) {
	q := &t.queue[i]
	c := &q.Call
	switch {
	case q.wrong != nil:
		t.took(i, c, failed(protocol.Errorf(protocol.KindInvalid, "%s: %w", c.Tool, q.wrong)), 0)
		return
	case t.tooMany(c):
		t.took(i, c, t.tooManyCalls(), 0)
		return
	}
	entry, skill, refused := t.m.Def.find(c)
	if refused == nil && len(t.promises) > 0 && t.waitsFor(i, entry, skill) {
		return
	}
	if t.judged(c, refused, 0) {
		t.permit(entry, skill, c, of{at: i, number: number}, func(no *protocol.Error, number int, waited time.Duration) {
			t.act(i, number, entry, skill, no, waited)
		})
		return
	}
	t.act(i, number, entry, skill, refused, 0)
}

// act carries out call i of the queue, or lets it be refused, after it
// waited for an approver in vain.
func (t *Turn) act(i, number int, entry *Tool, skill string, refused *protocol.Error, waited time.Duration) {
	q := &t.queue[i]
	c := &q.Call
	if t.batch != nil {
		t.batch.starting = i - t.batch.from
	}
	switch {
	case refused != nil:
		t.took(i, c, failed(refused), waited)
	case t.searches(entry) && t.queries(entry, c, waiting{at: i}, func() { t.act(i, number, entry, skill, nil, waited) }):
	case skill != "":
		t.startSkill(entry, skill, c, q.timeout, func(r protocol.CallResult) { t.took(i, &t.queue[i].Call, r, 0) })
	case entry != nil && entry.async:
		t.took(i, c, t.openTask(entry, c, number, q.timeout), 0)
	case entry != nil && entry.kind != "":
		if r, ended := t.askTool(entry, c, number, &workflow.Request{Timeout: q.timeout}, waiting{at: i}); ended {
			t.took(i, c, r, 0)
		}
	default:
		t.took(i, c, t.perform(entry, c, nil), 0)
	}
}

// note adds facts of call i of the queue, which are kept with it.
func (b *batch) note(i int, facts ...protocol.Fact) {
	m := &b.members[i-b.from]
	m.facts = append(m.facts, facts...)
}

// extend reads what a step of a text says about its order and time, and notes whether its
// block needs the results of its steps.
func (t *Turn) extend(q *queued) {
	if q.Origin != protocol.OriginTAM {
		t.beside = t.beside || q.After != ""
		return
	}
	for name := range q.Params {
		if strings.HasPrefix(name, "x_") {
			q.timeout, q.wrong = block.Extensions(&q.Call, func(name string) bool { return t.declares(&q.Call, name) })
			break
		}
	}
	t.beside = t.beside || q.After != ""
	t.remembers = t.remembers || len(block.Steps(q.Params)) > 0
}

// declares reports whether the tool of a call has a parameter.
func (t *Turn) declares(c *protocol.Call, name string) bool {
	named := *c
	entry, _, _ := t.m.Def.find(&named)
	return entry != nil && slices.ContainsFunc(entry.schema.Properties, func(p bind.Property) bool { return p.Name == name })
}

// together lets the native calls of one answer run beside each other if all their tools
// allow it.
func (t *Turn) together(from int) {
	list := t.queue[from:]
	if len(list) < 2 || !t.m.Def.parallel {
		return
	}
	for i := range list {
		named := list[i].Call
		entry, _, _ := t.m.Def.find(&named)
		if list[i].Block != 0 || list[i].Origin != protocol.OriginNative || entry == nil || !entry.parallel {
			return
		}
	}
	t.blocks, t.beside = t.blocks+1, true
	for i := range list {
		list[i].Block, list[i].After, list[i].OnError, list[i].Index = t.blocks, block.None, protocol.OnErrorContinue, i+1
	}
}

// outcome is the result of a step, for the references of later steps.
type outcome struct {
	block, index int
	status       protocol.CallStatus
	output       any
	artifact     string // the first one
}

// remember keeps a result for the references of later steps; the first one counts, which
// is whole.
func (t *Turn) remember(c *protocol.Call, r *protocol.CallResult, made ...tool.Artifact) {
	if !t.remembers || c.Block == 0 || c.Origin != protocol.OriginTAM {
		return
	}
	o := outcome{block: c.Block, index: c.Index, status: r.Status, output: readable(r.Output)}
	if len(made) > 0 {
		o.artifact = made[0].URI()
	}
	t.outcomes = append(t.outcomes, o)
}

// bound binds the parameters of a call, and replaces the references in those of a text. They
// are replaced in bound values, so that what is put into a JSON value stays a value of
// it; then the values are read once more by their types.
func (t *Turn) bound(c *protocol.Call, schema *bind.Schema) (map[string]any, error) {
	if c.Origin != protocol.OriginTAM || !refers(c) {
		return bind.Bind(c, schema)
	}
	call, loose := *c, *schema
	loose.Loose = true
	values := t.valuesFor(c)
	uris := make(map[string]any, len(c.URIs))
	for name, uri := range c.URIs {
		uris[name] = uri
	}
	uris, unknown, err := block.Substitute(uris, values)
	if err != nil {
		return nil, err
	}
	call.URIs = maps.Clone(c.URIs)
	for name, uri := range uris {
		if text, ok := uri.(string); ok {
			call.URIs[name] = text
		}
	}
	params, err := bind.Bind(&call, &loose)
	if err != nil {
		return nil, err
	}
	var embedded []string
	for i := range schema.Properties {
		if p := &schema.Properties[i]; p.Raw {
			embedded = append(embedded, p.Name)
		}
	}
	params, more, err := block.Substitute(params, values, embedded...)
	if err != nil {
		return nil, err
	}
	if unknown = append(unknown, more...); len(unknown) > 0 {
		t.noteProblem("unknown_reference: step " + strconv.Itoa(c.Index) + " (" + c.Tool + "): @{" + strings.Join(unknown, "}, @{") +
			"} stayed as it is; known are common_NAME of the block, timestamp, run_id, scene_id, self.NAME, and step_N.status, step_N.output.PATH and step_N.artifact of steps that have a result")
	}
	return bind.Bind(&protocol.Call{Tool: c.Tool, Params: params, Origin: protocol.OriginNative}, schema)
}

// noteProblem is problem, for a call of a batch when the call is kept.
func (t *Turn) noteProblem(text string) {
	switch {
	case t.trying:
		return
	case t.batch == nil:
		t.problem(text)
		return
	}
	m := &t.batch.members[t.batch.starting]
	m.problems = append(m.problems, text)
}

func refers(c *protocol.Call) bool {
	for _, v := range c.Params {
		if block.Refers(v) {
			return true
		}
	}
	for _, uri := range c.URIs {
		if block.Refers(uri) {
			return true
		}
	}
	return false
}

// valuesFor gives what the references in a step name.
func (t *Turn) valuesFor(c *protocol.Call) block.Values {
	return func(name string) (any, bool) {
		if shared, ok := strings.CutPrefix(name, "common_"); ok {
			for _, key := range protocol.SortedKeys(c.Common) {
				if block.Same(key, shared) {
					return c.Common[key], true
				}
			}
			return nil, false
		}
		if n, rest, ok := block.StepName(name); ok {
			return t.ofStep(c.Block, n, rest)
		}
		if path, ok := strings.CutPrefix(name, "self."); ok {
			self, _ := t.Lookup("self")
			return block.At(self, path)
		}
		switch name {
		case "timestamp":
			return t.wake.Now.String(), true
		case "run_id":
			return t.m.Def.Run, t.m.Def.Run != ""
		case "scene_id":
			return t.m.Def.Scene, t.m.Def.Scene != ""
		}
		return nil, false
	}
}

func (t *Turn) ofStep(number, index int, rest string) (any, bool) {
	for _, o := range t.outcomes {
		if o.block != number || o.index != index {
			continue
		}
		if rest == "status" {
			return string(o.status), true
		}
		if rest == "artifact" {
			return o.artifact, o.artifact != ""
		}
		path, ok := strings.CutPrefix(rest+".", "output.")
		if !ok || o.output == nil {
			return nil, false
		}
		return block.At(o.output, strings.TrimSuffix(path, "."))
	}
	return nil, false
}
