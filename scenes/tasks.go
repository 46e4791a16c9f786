package scenes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/tooltask"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/packed"
	"tavernsim/scenes/outside"
)

// tasks carries out the tasks of one scene: each leaves when the wave that opened it is
// durable. It outlives failures of the service's actor.
type tasks struct {
	*scene
	mu      sync.Mutex // guards the following fields
	later   []waitingTask
	starts  map[string]bool               // durable, and not out yet; the stage starts them while the service decides
	cancels map[string]context.CancelFunc // of those that are out
	answers map[string]*effect.Answered   // of those that have not ended
	people  map[string]*question          // that are open, by task
	open    int                           // as of the last decision
	overdue int                           // for how many a decision waits
}

// waitingTask is a task whose wave is not durable.
type waitingTask struct {
	wave uint64
	task *tooltask.Task
}

func newTasks(s *scene) *tasks {
	return &tasks{scene: s, starts: map[string]bool{}, cancels: map[string]context.CancelFunc{}, people: map[string]*question{}, answers: map[string]*effect.Answered{}}
}

// logged is the name of a task in the log of effects, where it is the only turn of an
// agent.
func logged(task string) string { return machines.ActorTasks + "/" + task }

// loggedTask is the reverse of logged.
func loggedTask(name string) (id string, ok bool) {
	return strings.CutPrefix(name, machines.ActorTasks+"/")
}

// kept starts the tasks of durable waves. One that an agent does needs no start.
func (t *tasks) kept(wave uint64) {
	t.mu.Lock()
	var ready []*tooltask.Task
	t.later = slices.DeleteFunc(t.later, func(w waitingTask) bool {
		if w.wave <= wave && w.task.Kind != tooltask.KindAgent {
			ready = append(ready, w.task)
			t.starts[w.task.ID] = true
		}
		return w.wave <= wave
	})
	t.mu.Unlock()
	for _, task := range ready {
		t.start(task)
	}
}

// starting reports whether a task is still to be started, once: it may have ended since its wave was
// durable. mu is locked, and stays so until the task is listed as one that is out.
func (t *tasks) starting(id string) bool {
	is := t.starts[id]
	delete(t.starts, id)
	return is
}

// answer gives what came of a task, if that is known.
func (t *tasks) answer(id string) *effect.Answered {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answers[id]
}

// instant answers a task at once, if its executor can; virtual clock.
func (t *tasks) instant(task *tooltask.Task) *effect.Answered {
	if a := t.answer(task.ID); a != nil || t.Clock == agenda.Realtime {
		return a
	}
	q, err := t.ask(task)
	if err != nil {
		return nil
	}
	if x := t.outside.Now(q, false); x != nil {
		a := *x
		return &a
	}
	return nil
}

// start carries a task out, unless it has its answer.
func (t *tasks) start(task *tooltask.Task) {
	if task.Kind == tooltask.KindPerson {
		t.asked(task)
		return
	}
	a := t.instant(task)
	t.mu.Lock()
	if !t.starting(task.ID) {
		t.mu.Unlock()
		return
	}
	if a != nil {
		t.answers[task.ID] = a
		t.mu.Unlock()
		t.tell(task.ID)
		return
	}
	ctx, cancel := context.WithCancel(&t.context)
	t.cancels[task.ID] = cancel
	t.mu.Unlock()
	q, err := t.ask(task)
	if err != nil {
		t.answered(task.ID, &effect.Answered{Err: err})
		return
	}
	from := outside.From{Scene: cmp.Or(t.options.Name, t.ID), Class: t.options.Class, Agent: logged(task.ID), Turn: 1, Of: "of task " + task.ID, At: task.Opened, Virtual: t.Clock != agenda.Realtime}
	id := task.ID
	t.outside.Go(ctx, from, q, func(x *effect.Answered) {
		if t.context.Err() == nil { // else the scene stops: the task goes on with it
			t.answered(id, x)
		}
	})
}

// ask is the request that carries a task out.
func (t *tasks) ask(task *tooltask.Task) (*effect.Ask, error) {
	v, err := task.Params.Value()
	if err != nil {
		return nil, err
	}
	params, _ := v.(map[string]any)
	uris, contents := task.References()
	q := &effect.Ask{
		Kind: task.Kind, Number: int(task.Number), First: int(task.Number), Timeout: task.Timeout,
		Call: &protocol.Call{ID: task.ID, Tool: task.Tool, Params: params, URIs: uris, Contents: contents, Retry: int(task.Retry), Origin: protocol.OriginNative},
	}
	q.Model.Scene, q.Model.Agent, q.Model.Turn, q.Model.Profile = t.ID, task.Agent, task.Turn, t.ProfileOf(task.Agent)
	q.Model.Draw = setup.DrawOf(t.Seed, task.Agent, task.Opened, task.Turn).Sub(taskDraws, uint64(task.Number))
	return q, nil
}

// taskDraws separates the chance of tasks from that of turns.
const taskDraws = 1 << 33

func (t *tasks) answered(id string, x *effect.Answered) {
	t.mu.Lock()
	if _, waits := t.cancels[id]; waits { // else it was cancelled
		t.answers[id] = x
	}
	t.mu.Unlock()
	t.tell(id)
}

// tell tells the service that an answer is there.
func (t *tasks) tell(id string) {
	for i, k := range machines.Services() {
		if k.Name == tooltask.Service && i < len(t.services) {
			t.services[i].Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{ID: id}, Kind: protocol.KindAnswer})
		}
	}
}

// over forgets a task that has ended.
func (t *tasks) over(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.cancels[id]; cancel != nil {
		cancel()
	}
	delete(t.starts, id)
	delete(t.cancels, id)
	delete(t.answers, id)
	t.settled(id)
	t.later = slices.DeleteFunc(t.later, func(w waitingTask) bool { return w.task.ID == id })
}

// taskShell is the actor of the service of tasks. On the virtual clock it puts a decision
// off until the answers of all tasks that are due are there; the stage waits for it.
type taskShell struct {
	serviceShell
	machine  *machines.Tasks
	waits    *protocol.Envelope          // the requests of a wave, while answers are missing
	instants map[string]*effect.Answered // of tasks that the wave asks to open
}

func (s *taskShell) Receive(env *protocol.Envelope) error {
	switch env.Kind {
	case protocol.KindAnswer:
		return s.arrived(env.ID)
	case protocol.KindCommit:
		s.waits = env
		return s.decide()
	}
	return s.serviceShell.Receive(env)
}

// arrived goes on with the decision that waited; in realtime the stage is told that there
// is one.
func (s *taskShell) arrived(id string) error {
	if s.Clock == agenda.Realtime {
		if s.machine.State.Task(id) != nil {
			s.stage.Tell(carrying(protocol.KindDecided, &machines.Ready{Service: tooltask.Service}))
		}
		return nil
	}
	if s.waits == nil {
		return nil
	}
	return s.decide()
}

// decide decides about the requests of a wave, if nothing is missing.
func (s *taskShell) decide() error {
	env := s.waits
	there := func(id string) bool { return s.tasks.answer(id) != nil }
	missing := s.machine.State.Missing(env.Time, there)
	s.tasks.waitFor(len(missing))
	if len(missing) > 0 {
		return nil
	}
	s.waits = nil
	if err := s.tellMachine(env); err != nil {
		return err
	}
	before := s.machine.State.Open()
	if err := s.serviceShell.Receive(env); err != nil {
		return err
	}
	s.follow(before, env.Wave)
	s.instants = nil
	return nil
}

// tellMachine tells the machine what is known: answers, and how long instant executors take
// for what the wave opens.
func (s *taskShell) tellMachine(env *protocol.Envelope) error {
	for _, t := range s.machine.State.Open() {
		if a := s.tasks.answer(t.ID); a != nil {
			s.machine.Tell(t.ID, tooltask.Told{Answer: answerOf(a)})
		}
	}
	if s.Clock == agenda.Realtime {
		return nil
	}
	raws, err := packed.All(env.Body.Raw)
	if err != nil {
		return err
	}
	for _, raw := range raws {
		q, err := tooltask.ReadRequest(raw)
		if err != nil {
			return err
		}
		q.Task.Opened = env.Time
		if q.Cancel || q.Left != nil || q.Settle != nil || q.Report != nil || q.Seat != nil || q.Leave || q.Task.Kind == tooltask.KindPerson || q.Task.Kind == tooltask.KindAgent {
			continue
		}
		if a := s.tasks.instant(&q.Task); a != nil {
			if s.instants == nil {
				s.instants = map[string]*effect.Answered{}
			}
			s.instants[q.Task.ID] = a
			s.machine.Tell(q.Task.ID, tooltask.Told{After: cmp.Or(a.Took, a.Latency), Timed: true})
		}
	}
	return nil
}

// follow carries out what was decided: tasks that were opened wait for their wave, those
// that ended are forgotten.
func (s *taskShell) follow(before []*tooltask.Task, wave uint64) {
	now := s.machine.State.Open()
	s.tasks.mu.Lock()
	s.tasks.open = len(now)
	s.tasks.mu.Unlock()
	for _, t := range before { // both are in the order in which tasks were opened
		if len(now) > 0 && now[0] == t {
			now = now[1:]
			continue
		}
		s.tasks.over(t.ID)
	}
	s.tasks.mu.Lock()
	for _, t := range now {
		if a := s.instants[t.ID]; a != nil {
			s.tasks.answers[t.ID] = a
		}
		s.tasks.later = append(s.tasks.later, waitingTask{wave, t})
	}
	s.tasks.mu.Unlock()
	if !s.behind(wave) {
		s.tasks.kept(wave)
	}
}

// behind reports whether a wave is not durable.
func (s *taskShell) behind(wave uint64) bool { return s.journal.Durable().Number < wave }

func answerOf(x *effect.Answered) *tooltask.Answer {
	a := &tooltask.Answer{Latency: x.Latency, Artifacts: x.Artifacts, Carried: x.Carried, Hooks: x.Hooks}
	if x.Output != nil {
		a.Output = protocol.Encode(x.Output)
	}
	if x.Err != nil {
		a.Error, a.ErrorKind = x.Err.Error(), protocol.KindOf(x.Err)
	}
	return a
}

// waitFor says for how many tasks the decision waits.
func (t *tasks) waitFor(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overdue = n
}

// TaskStates implements metrics.TaskSource. Answers of tasks that a decision has not seen
// count as such.
func (t *tasks) TaskStates(yield func(state string, n int)) {
	t.mu.Lock()
	queued, out, overdue := len(t.later)+len(t.starts), 0, t.overdue
	for id := range t.cancels {
		if t.answers[id] == nil {
			out++
		}
	}
	for _, x := range t.people {
		if !x.inTurn {
			out++
		}
	}
	open := t.open
	t.mu.Unlock()
	overdue = min(overdue, out)
	yield(metrics.TaskQueued, queued)
	yield(metrics.TaskOut, out-overdue)
	yield(metrics.TaskOverdue, overdue)
	yield(metrics.TaskAnswered, max(0, open-queued-out))
}

// startTasks carries out the tasks that were open when the scene stopped.
func (s *scene) startTasks(state *machines.State) {
	open := state.Tasks().State.Open()
	s.tasks.mu.Lock()
	s.tasks.open = len(open)
	for _, t := range open {
		s.tasks.later = append(s.tasks.later, waitingTask{task: t})
	}
	s.tasks.mu.Unlock()
	s.tasks.kept(0)
}

var _ actors.Behavior = (*taskShell)(nil)
