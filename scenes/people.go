package scenes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/panel"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/asking"
)

// Desk is told of questions to people. Its methods return soon; several goroutines call them.
type Desk interface {
	// Asked is told of a question that is durable, also of one that was open when the scene
	// began again.
	Asked(q *panel.Asked)
	// Settled is told that a question has ended, after Asked has returned.
	Settled(id string)
	// Ask is for questions for whose answers deliberations wait.
	asking.Desk
}

// question is one that is open.
type question struct {
	*panel.Asked
	timer  *time.Timer // on which scene time waits; nil = it does not
	inTurn bool        // a turn waits for it, and it is no task
	shown  bool        // the desk was told
}

// busyAgain is when a time-out is given again that found the scene busy.
const busyAgain = time.Second

// asked shows a question to people. If scene time stands for it, a timer gives the order
// that ends it.
func (t *tasks) asked(task *tooltask.Task) {
	q := task.Question()
	x := &question{Asked: &panel.Asked{
		ID: task.ID, Scene: t.ID, Agent: task.Agent, Panel: q.Panel, Action: q.Action, To: q.To, Wait: q.Wait, Payload: q.Payload, Schema: q.Schema,
		Asked: panel.Time(task.Opened), Due: panel.Time(task.Due), Timeout: protocol.Duration(task.Timeout),
	}}
	t.Describe(x.Asked)
	if t.Clock == agenda.Realtime {
		x.Wait = tooltask.WaitRun
	}
	t.mu.Lock()
	if !t.starting(task.ID) || q.Headless {
		t.mu.Unlock()
		return
	}
	if task.Due == 0 {
		x.timer = time.AfterFunc(task.Timeout, func() { t.silence(x) })
	}
	t.people[task.ID] = x
	t.mu.Unlock()
	if d := t.options.Desk; d != nil {
		d.Asked(x.Asked)
		t.mu.Lock()
		defer t.mu.Unlock()
		if x.shown = true; t.people[task.ID] != x { // it has ended meanwhile
			d.Settled(task.ID)
		}
	}
}

// waits lists a question for whose answer a deliberation waits, until done is called.
func (t *tasks) waits(q *panel.Asked) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.people[q.ID] = &question{Asked: q, inTurn: true}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.people, q.ID)
	}
}

// silence orders that a question ends which nobody has answered. A replay needs no clock for
// it.
func (t *tasks) silence(x *question) {
	o := &agenda.Intervened{
		ID: "timeout/" + x.ID, By: tooltask.Service, Reason: "nobody answered within " + x.Timeout.Std().String(),
		Do: protocol.Encode([]any{map[string]any{"cancel": map[string]any{"interaction": x.ID, "status": tooltask.TimedOut}}}),
	}
	if _, err := t.orders.Take(o); protocol.KindOf(err) == protocol.KindTransient {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.people[x.ID] == x && t.context.Err() == nil {
			x.timer.Reset(busyAgain)
		}
	} else if err != nil {
		t.log.Warn("a question did not time out", "scene", t.ID, "interaction", x.ID, "err", err)
	}
}

// settled forgets a question that has ended.
func (t *tasks) settled(id string) {
	x := t.people[id]
	if x == nil {
		return
	}
	delete(t.people, id)
	if x.timer != nil {
		x.timer.Stop()
	}
	if d := t.options.Desk; d != nil && x.shown {
		d.Settled(id)
	}
}

// closePeople ends the timers of a scene that has stopped; its questions stay open.
func (t *tasks) closePeople() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.people {
		if x.timer != nil {
			x.timer.Stop()
		}
	}
}

// Interactions are the open questions to people, the oldest first.
func (r *Run) Interactions() (list []panel.Asked) {
	t := r.scene.tasks
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.people {
		list = append(list, *x.Asked)
	}
	slices.SortFunc(list, func(a, b panel.Asked) int {
		return cmp.Or(cmp.Compare(a.Asked, b.Asked), strings.Compare(a.ID, b.ID))
	})
	return list
}

// People implements metrics.PeopleSource, as of the last wave.
func (t *tasks) People() (questions, played int) {
	state, _ := t.shown.Load().Shown(tooltask.Service).(tooltask.State)
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.people), len(state.Players)
}
