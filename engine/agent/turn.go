package agent

import (
	"fmt"
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/held"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/agent/learn"
	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/motive"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/person"
	"tavernsim/engine/agent/record"
	"tavernsim/engine/agent/repeat"
	"tavernsim/engine/agent/selfstate"
	"tavernsim/engine/agent/talk"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/agent/worldview"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/workflow"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Turn is one deliberation: perceive, run the core workflow, carry out its decision,
// reflect if the decision says so. It is a plain value; advance and answer drive it.
// Requests that take time are in asked.
type Turn struct {
	m     *Machine
	space *Space
	wake  *Wake
	draw  protocol.Draw

	// What it perceives.
	events       []*protocol.Envelope
	observations []Observation
	world        worldview.View
	books        lore.Books
	tasks        tooltask.State // of the scene, as the wake shows them
	played       *person.Played // what came of a question to the player
	stirred      int            // events that told of a place that its goals watch
	idle         bool           // nothing is for the core workflow

	// Drafts of the machine's state after the facts of this turn.
	own   selfstate.Draft
	goals motive.Draft

	// What it leaves.
	out     outbox.Box
	calls   record.Calls
	end     agentfact.TurnEnded
	lost    []protocol.Fact // calls whose answers came too late
	lessons learn.Shown
	dozes   pace.Sleep // what wakes it early, if it sleeps

	lists

	// Calls of the queue.
	done     int          // carried out
	first    int          // the first of this round
	blocks   int          // of calls, in all texts so far
	stopped  int          // a call of this block failed; 0 = of none
	beside   bool         // some may run beside others
	trying   bool         // parameters are bound to be judged, and bound again afterwards
	batch    *block.Batch // of calls that run beside each other; nil = there is none
	steps    held.Steps   // that wait for tasks, or have waited
	outcomes block.Results
	repeats  repeat.Turn // blocks with a request_id
	rolled   rolled      // random numbers

	// Workflows.
	round      int
	talk       *talk.Talk       // nil = the core workflow takes no conversation
	purpose    protocol.Purpose // of the workflow whose inputs are made
	started    uint64           // runs so far
	hooks      questions
	reflect    *reflection
	summarised bool // the turn has looked whether a talk is to be summarised

	// What it asks of models and others.
	tokens      allowance                 // of models
	cutBy       protocol.FinishReason     // why a model that was cut stopped, since the core workflow began
	approved    map[int]map[string]string // contents of references, by the number of the question whose call is about to be made
	toolsAsked  int                       // of the outside
	tasksOpened int
	peopleAsked int
	opened      int   // tasks of other agents
	dropped     []int // numbers of requests to models for whose answers nobody waits any more
	left        bool  // their failures are noted
	ending      bool  // it waits for nothing but these answers

	cancelled   bool
	interrupted bool // by a more urgent event
}

// lists of a turn, whose memory the next one uses.
type lists struct {
	runs    []*activeRun
	queue   []queued // decided
	results []protocol.CallResult
	asked   []protocol.Effect // to the shell
	waits   []waiting         // for answers of the outside
	wishes  []effect.Ask      // what asked and facts point to
	models  []agentfact.ModelAnswered
	inputs  []any // of the core workflow, with talk in its first round
}

// activeRun is a workflow in flight, and what the turn does when it ends. The next
// workflow uses its memory.
type activeRun struct {
	turn    *Turn
	id      string // of the workflow
	run     workflow.Run
	purpose protocol.Purpose
	tool    *Tool         // that it carries out; nil = none
	started time.Duration // of the turn's elapsed time
	then    ending
	wait    time.Duration  // of requests that leave before the first answer
	asked   map[string]int // by node: number of the first attempt of its call to an executor
	cause   *protocol.Envelope
}

// ending is what a turn does when a workflow has ended.
type ending func(*Turn, result)

// result is how a workflow ended.
type result struct {
	outputs map[string]any // valid until the next workflow ends
	err     error          // set when there is no result
	took    time.Duration  // on the clock of the workflow
}

// clear resets the turn and keeps the memory of its lists.
func (t *Turn) clear() {
	t.out.Clear()
	t.own.Clear()
	t.world.Clear()
	t.calls.Clear()
	l, out, calls, own, seen := t.lists, t.out, t.calls, t.own, t.world
	clear(l.asked[:cap(l.asked)]) // what the shell took of it is behind its elements
	*t = Turn{}                   // a literal with fields would be made elsewhere and copied
	t.out, t.calls, t.own, t.world = out, calls, own, seen
	t.lists = lists{emptied(l.runs), emptied(l.queue), emptied(l.results), emptied(l.asked), emptied(l.waits), emptied(l.wishes), emptied(l.models), emptied(l.inputs)}
}

// emptied is a list without elements. Behind its elements a list is empty: what shortens it clears
// the rest.
func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// put adds a value to a list and gives its place, which stays good when the list
// grows: the list before is left as it is.
func put[T any](list *[]T, v T) *T {
	*list = append(*list, v)
	return &(*list)[len(*list)-1]
}

func begin(m *Machine, w *Wake, space *Space) *Turn {
	t := &space.turn
	if w.View != nil {
		state, _ := w.View.Shown(worldstate.Service).(worldstate.State)
		t.world.Document = state.World()
		t.books.Bases, _ = w.View.Shown(knowledge.Service).(knowledge.State)
		t.tasks, _ = w.View.Shown(tooltask.Service).(tooltask.State)
	}
	t.m, t.wake, t.space, t.draw = m, w, space, w.Draw
	t.goals = motive.Draft{Goals: m.State.Goals, Met: m.State.met(), Rules: m.Def.Motive, Told: m.Def.Told, Most: m.Def.Limits.MaxGoals, Access: m.Def.Knowledge, Now: w.Now}
	t.own.State, t.own.Engine, t.own.Profile, t.own.Now = m.State.own, m.Def.private, m.Def.Profile, w.Now
	t.books.Access, t.books.World, t.books.Own, t.books.Kept = m.Def.Knowledge, t.world.Document, &t.own.State, m.State.kept()
	t.out.Agent, t.out.Turn, t.out.Budget = m.ID.Instance, m.State.Turn+1, workflow.Budget{Max: m.Def.Limits.MaxTurnBytes, Setting: "custom_runtime_config.max_turn_bytes"}
	before := Arrived{Through: m.State.heard, Seen: int64(len(m.State.observations))}
	if w.Before != nil {
		before = *w.Before
	}
	t.observations = m.Shown(before.Seen)
	t.events = m.State.perceive(w.Now, before.Through, &m.Def.Limits)
	t.observations = append(slices.Clip(t.observations), m.State.deliveryObservations(t.events, w.Now)...)
	t.end = agentfact.TurnEnded{
		Agent: m.ID.Ordinal, Turn: t.out.Turn, Wave: w.Wave, Outcome: agentfact.OutcomeOK,
		Through: before.Through, Perceived: int64(len(t.events)), Seen: before.Seen, WakeAbove: protocol.Low,
	}
	t.end.Expired, t.end.Lost = m.State.unperceived(w.Now, before.Through)
	t.end.Urgency = m.urgency(t.events)
	for _, a := range w.Lost {
		t.noteModel(a)
	}
	if t.asksPlayer() {
		return t
	}
	if err := t.own.Expire(&t.out); err != nil {
		t.problem("what expires in the private state: " + err.Error())
	}
	watches := m.Def.Motive != nil || m.State.Watches()
	if watches {
		t.openGoals()
	}
	if len(t.events) > 0 {
		t.out.Cause = t.events[0]
	}
	t.takeOrders()
	if watches && !t.perceiveGoals() {
		return t
	}
	if !t.resume() {
		t.startCore()
	}
	return t
}

func (t *Turn) startCore() {
	if t.round == 0 && t.plays() {
		return
	}
	if t.wake.Workflow == knowledge.MomentEmbed {
		t.round++
		t.embedEntries()
		t.startHandlers() // for what it has heard
		return
	}
	if t.round == 0 && (len(t.m.Def.Hooks) > 0 && t.asksFirst() || t.asksSituation()) {
		return
	}
	plan := t.m.Def.Core
	if t.wake.Workflow != "" {
		plan = t.m.Def.workflowOf(t.wake.Workflow)
	}
	t.round++
	t.repeats.Round()
	t.cutBy = ""
	if plan == nil {
		if t.wake.Workflow == "" {
			t.startHandlers()
		}
		return
	}
	t.start(protocol.PurposeDeliberate, plan, t.roundInputs(plan), (*Turn).coreEnded)
}

func (t *Turn) start(purpose protocol.Purpose, plan *workflow.Plan, inputs []any, then ending) {
	t.startWithin(within{at: t.end.Elapsed}, purpose, plan, inputs, nil, then)
}

// launch starts a workflow; number is its number in the turn, from 1.
func (t *Turn) launch(number uint64, in within, purpose protocol.Purpose, plan *workflow.Plan, inputs []any, by *Tool, then ending) {
	r := t.space.freeRun()
	env := workflow.Env{Now: t.wake.Now, Draw: t.draw.Sub(runDraws, number), Timeout: in.timeout, Budget: &t.out.Budget, Rooms: t.m.Def.Rooms,
		Unread: purpose == protocol.PurposeDeliberate && len(t.m.Def.Hooks) == 0} // heed takes both
	if err := r.run.Start(plan, inputs, env); err != nil {
		t.space.free = append(t.space.free, r)
		then(t, result{err: err})
		return
	}
	if i := plan.Input("self"); i >= 0 && i < len(inputs) && t.m.isKnown(inputs[i]) {
		r.run.Counted(i, t.m.selfSize())
	}
	r.turn, r.id, r.purpose, r.tool, r.started, r.then, r.asked, r.wait, r.cause = t, plan.ID(), purpose, by, in.at, then, nil, in.wait, t.out.Cause
	t.runs = append(t.runs, r)
}

// advance drives the turn until it ends (true) or only waits for answers.
func (t *Turn) advance() bool {
	for {
		if t.out.Over != nil && !t.cancelled {
			t.fail("%s", t.out.Over)
			t.cancel(t.end.Error)
		}
		if t.progress() || t.batch != nil && t.stepBatch() || t.takeNext() {
			continue
		}
		if len(t.runs)+len(t.waits) > 0 {
			return false
		}
		if t.ending || t.cancelled || t.idle || !t.step() {
			if !t.noteLeft() {
				return false
			}
			t.finish()
			return true
		}
	}
}

// progress advances every run once and reports whether one of them ended.
func (t *Turn) progress() bool {
	for i := 0; i < len(t.runs); i++ {
		r := t.runs[i]
		t.out.Cause = r.cause
		ended := r.run.Advance(r)
		if r.wait = 0; !ended {
			continue
		}
		t.runs = slices.Delete(t.runs, i, i+1)
		t.abandon(r, "")
		t.passed(r.started + r.run.Elapsed())
		res := t.resultOfRun(r)
		r.run.Reset()
		t.space.free = append(t.space.free, r)
		if len(t.m.Def.Hooks) > 0 && !t.cancelled && t.m.Def.Hooks.Has(hook.AfterExecute) {
			t.afterExecute(r.id, r.purpose, res, r.then)
			return true
		}
		r.then(t, res)
		return true
	}
	return false
}

// passed notes how much simulated time has passed. On the realtime clock it passes by itself.
func (t *Turn) passed(at time.Duration) {
	if !t.m.Def.Realtime {
		t.end.Elapsed = max(t.end.Elapsed, at)
	}
}

// resultOfRun reads the result of a run that has ended. If there is a result,
// failed nodes become observations; if there is none, they are the error.
func (t *Turn) resultOfRun(r *activeRun) result {
	clear(t.space.outputs)
	res := result{outputs: r.run.Outputs(t.space.outputs), err: r.run.Err(), took: r.run.Elapsed()}
	failures := r.run.Failures()
	if res.err == nil && (!r.run.Complete() || len(res.outputs) == 0) && len(failures) > 0 {
		res.err = protocol.Errorf(protocol.KindOf(failures[0].Err), "workflow %s: node %s: %w", r.id, failures[0].Node, failures[0].Err)
	}
	if res.err == nil && !r.run.Complete() {
		res.err = protocol.Errorf(protocol.KindInvalid, "workflow %s: output %s did not come", r.id, r.run.Missing()[0].Output)
	}
	if res.err == nil {
		for _, f := range failures {
			t.problem("workflow " + r.id + ": node " + f.Node + ": " + f.Err.Error())
		}
	}
	return res
}

// step starts the next part of the turn while no workflow runs; false = there is
// none.
func (t *Turn) step() bool {
	if t.done < len(t.queue) {
		if t.beginResumed(t.done) || t.beginRequest(t.done) {
			return true
		}
		if t.batch = t.batchAt(t.done); t.batch != nil {
			return true
		}
		t.done++
		t.carryOut(t.done - 1)
		return true
	}
	if t.round == 0 {
		t.endResumed()
		t.startCore()
		return true
	}
	if (len(t.results) > 0 || t.talk.Again()) && !t.lastRound() && t.end.Outcome == agentfact.OutcomeOK {
		if t.talk != nil {
			t.closeRound()
		} else {
			t.observations = resultObservations(t.results, t.wake.Now)
		}
		t.forgetResults()
		t.startCore()
		return true
	}
	t.reflectUnasked()
	if t.reflect != nil && !t.reflect.done {
		t.reflect.done = true
		t.startReflection()
		return true
	}
	return t.summarises()
}

// forgetResults begins a round.
func (t *Turn) forgetResults() {
	t.results, t.stopped = emptied(t.results), 0
	t.outcomes.Forget()
}

// resultObservations shows the results of a round to the next round.
func resultObservations(results []protocol.CallResult, now protocol.Time) []Observation {
	return mapped(results, func(r protocol.CallResult) Observation {
		return Observation{Time: now, Kind: "call_result", Value: tool.ResultValue(&r)}
	})
}

// finish writes the last fact.
func (t *Turn) finish() {
	if t.end.Outcome == agentfact.OutcomeAsked {
		t.out.Note(&t.end)
		return
	}
	if t.cancelled && t.end.Outcome == agentfact.OutcomeOK {
		t.end.Outcome = agentfact.OutcomeCancelled
	}
	switch {
	case t.interrupted || t.out.Over != nil:
		t.undo()
	case t.m.Def.Motive != nil || t.dozes.When.Expr != "" || t.m.State.Watches():
		t.closeGoals()
	}
	t.end.Changed = t.out.Changed
	t.keepKnowledge()
	t.out.Note(t.lost...)
	t.handOver()
	t.rests()
	t.out.Note(&t.end)
}

func (t *Turn) cancel(reason string) {
	t.cancelled = true
	t.end.Error = reason
	for _, r := range t.runs {
		r.run.Cancel(reason)
	}
	t.abandon(nil, reason)
	t.flush()
}

// fail ends the turn without a decision.
func (t *Turn) fail(format string, args ...any) {
	if t.end.Outcome == agentfact.OutcomeOK && !t.cancelled {
		t.end.Outcome, t.end.Error = agentfact.OutcomeFailed, fmt.Sprintf(format, args...)
	}
}

// deliveryObservations list the events that did not reach the inbox, and the tasks
// that nobody answered in time.
func (s *State) deliveryObservations(events []*protocol.Envelope, now protocol.Time) (out []Observation) {
	n := s.dropped
	if s.more != nil {
		n += s.more.refused
	}
	for _, task := range s.Tasks() {
		if task.Deadline <= now && answerTo(events, task.ID) == nil {
			out = append(out, Observation{Time: now, Kind: "task_timeout", Value: task.Value()})
		}
	}
	if n > 0 {
		out = append(out, Observation{Time: now, Kind: "inbox_overflow", Value: map[string]any{"dropped": n}})
	}
	return out
}

func (o Observation) value() map[string]any {
	return map[string]any{"time": o.Time.String(), "kind": o.Kind, "value": o.Value}
}
