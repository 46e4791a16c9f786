package tooltask

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/protocol/grown"
)

// Bounds.
const (
	MaxOpen  = 10_000 // tasks of a scene
	maxEnded = 1024   // ended tasks that are remembered, the newest
)

// Task is a call that outlives its turn.
type Task struct {
	ID      string
	Agent   string // instance id of the caller
	Turn    uint64 // of the caller
	Number  int64  // of the request, among those of the turn
	Kind    string // of the executor
	Tool    string
	Params  protocol.Raw
	URIs    protocol.Raw // of what is put in the place of parameters, by name; null = none
	Opened  protocol.Time
	Due     protocol.Time // virtual: when it ends; 0 = when its answer comes
	Timeout time.Duration // of the caller; 0 = the tool's
	Retry   int64
	Once    bool // it must not be repeated
}

// Past is a task that has ended.
type Past struct {
	ID, Agent, Tool, Status, Error string
	At                             protocol.Time
}

// Request is what a turn asks of the service.
type Request struct {
	Cancel bool    // the task, which is open; else Task is to be opened
	Leave  bool    // all of the agent end: it left the scene
	Settle *Settle // the task, which a person was asked
	Report *Report // on the task, by Task.Agent
	Seat   *Seat   // of the player of an agent
	Task   Task
	After  time.Duration // simulated time that it takes
	Most   int           // open tasks of the agent
	Cost   int64         // of the call, in nano-dollars
	Left   *Left         // not a request: what the budget of the scene has left for all of them
}

// Left is what the tools of a scene may still take. 0 is no limit, a negative number one that
// is reached.
type Left struct{ Calls, Nano, Micro, Bytes int64 }

// take reserves a call; false = there is no room for it.
func (l *Left) take(cost int64) bool {
	if l == nil {
		return true
	}
	if min(l.Calls, l.Nano, l.Micro, l.Bytes) < 0 || l.Nano > 0 && cost > l.Nano {
		return false
	}
	less := func(n *int64, by int64) {
		if *n > 0 {
			if *n -= by; *n == 0 {
				*n = -1
			}
		}
	}
	less(&l.Calls, 1)
	less(&l.Nano, cost)
	return true
}

// without believes that there is no room for a call, because of calls that no fact says yet: then there is none behind it for one that
// costs as much. false = there is no budget.
func (l *Left) without(cost int64) bool {
	switch {
	case l == nil:
		return false
	case l.Nano == 0:
		l.Calls = -1
	case l.Nano >= cost:
		l.Nano = cmp.Or(cost-1, -1)
	}
	return true
}

// leftOf finds what the budget has left; nil = there is none.
func leftOf(requests []Request) *Left {
	for i := range requests {
		if l := requests[i].Left; l != nil {
			left := *l
			return &left
		}
	}
	return nil
}

// Told is what is known outside of the machine about a task.
type Told struct {
	Answer *Answer       // nil = there is none yet
	After  time.Duration // simulated time that it takes, in place of the request's
	Timed  bool          // After counts
	NoRoom bool          // a history says that calls which no fact says yet left no room for it in the budget
}

// Answer is what came of a task.
type Answer struct {
	Output    protocol.Raw
	Artifacts []tool.Artifact
	Latency   time.Duration
	ErrorKind protocol.ErrorKind
	Error     string
	Carried   bool         // it was carried out although ErrorKind is one of calls that never left
	Hooks     protocol.Raw // what hooks did to the call; nil = nothing
}

// Rules are those of one scene.
type Rules struct {
	Realtime bool
	Tick     time.Duration // of the virtual clock: no task is shorter
	// CostOf is the price of a call of a tool, in nano-dollars; nil = tools have no budget.
	CostOf func(tool string) int64
}

// State is what is kept. It is a value: a copy costs nothing, and may be read while others
// change theirs.
type State struct {
	Past []Past // the newest, oldest first
	// Players play agents, in the order in which they took them over.
	Players []Player

	tasks tasks
	works works
	free  *int // how much of the memory behind Past nobody has taken, of all copies of this State
}

// Decide gives the facts of a wave, folded: first the tasks that end, then the requests.
func (s *State) Decide(r Rules, now protocol.Time, requests []Request, told map[string]Told) (facts []protocol.Fact) {
	fold := func(f Fact) {
		s.Apply(f)
		facts = append(facts, f)
	}
	for i := range requests { // an answer at the last moment counts
		if q := &requests[i]; q.Settle != nil {
			fold(s.settle(q.Task.ID, q.Settle, now))
		} else if q.Report != nil {
			fold(s.report(q, now))
		}
	}
	for _, t := range s.ends(now, told) {
		switch a := told[t.ID].Answer; {
		case t.Kind == KindPerson && t.Due != 0:
			fold(t.silent(now))
		case t.Kind == KindPerson:
		case t.Kind == KindAgent:
			fold(s.lapsed(t, now))
		case a != nil:
			f := t.end(a, now)
			if fold(f); r.CostOf != nil && a.free() {
				fold(&Uncharged{ID: t.ID, Agent: t.Agent, Tool: t.Tool, Cost: r.CostOf(t.Tool), Time: f.Latency, Bytes: tool.SizeOf(f.Output, f.Artifacts)})
			}
		case t.Due != 0: // whoever drives the machine did not wait
			fold(t.end(&Answer{ErrorKind: protocol.KindInternal, Error: "it is due, and its answer is not there"}, now))
		}
	}
	left := leftOf(requests)
	for i := range requests {
		q := &requests[i]
		switch {
		case q.Left != nil, q.Settle != nil, q.Report != nil:
		case q.Seat != nil:
			for _, f := range s.seat(q.Seat, now) {
				fold(f)
			}
		case q.Cancel:
			fold(s.cancel(q, now))
		case q.Leave:
			for _, f := range s.Release(q.Task.Agent, "", ReasonLeft, now) {
				fold(f)
			}
			for _, t := range s.concerns(q.Task.Agent) {
				fold(s.leaves(t, q.Task.Agent, now))
			}
		case s.Len() >= MaxOpen:
			fold(q.Task.refused(fmt.Sprintf("%d tasks are open in the scene; no more are", MaxOpen), now))
		case q.Task.Kind == KindPerson && s.AskedBy(q.Task.Agent) >= MaxAsked:
			fold(q.Task.refused(fmt.Sprintf("%d questions of the agent are open; no more are", MaxAsked), now))
		case q.Task.Kind != KindPerson && q.Most > 0 && s.OpenOf(q.Task.Agent) >= q.Most:
			fold(q.Task.refused(fmt.Sprintf("%d tasks are open, more are refused (custom_runtime_config.max_tasks)", q.Most), now))
		case q.Task.Costs() && (told[q.Task.ID].NoRoom && left.without(q.Cost) || !left.take(q.Cost)):
			fold(q.Task.refused(budget.ToolsAreOut, now))
		default:
			t := q.Task
			t.Opened = now
			switch {
			case t.Kind == KindPerson:
				t.Due = t.due(r, now)
			case t.Kind == KindAgent:
				t.Due = now.Add(max(t.Timeout, r.Tick))
			case !r.Realtime:
				after := q.After
				if x := told[t.ID]; x.Timed {
					after = x.After
				}
				t.Due = now.Add(max(after, r.Tick))
			}
			fold(&Opened{Task: t})
			if t.Kind != KindAgent {
				fold(&Sent{ID: t.ID})
			}
		}
	}
	return facts
}

func (s *State) cancel(q *Request, now protocol.Time) Fact {
	t := s.Task(q.Task.ID)
	if t == nil || t.Agent != q.Task.Agent {
		return &Refused{ID: q.Task.ID, Agent: q.Task.Agent, Message: "you have no open task with this id"}
	}
	if t.Kind == KindAgent {
		return s.over(t, Dismissed, "cancelled by who asked", "", now)
	}
	return t.Cancel(ReasonRequested, now)
}

// Cancel is the fact that ends the task without an answer.
func (t *Task) Cancel(reason string, now protocol.Time) *Cancelled {
	return &Cancelled{ID: t.ID, Agent: t.Agent, Tool: t.Tool, Reason: reason, Unknown: t.Once, At: now}
}

func (t *Task) refused(why string, now protocol.Time) *Ended {
	return &Ended{ID: t.ID, Agent: t.Agent, Tool: t.Tool, Status: "error", ErrorKind: protocol.KindLimit, Error: why, At: now}
}

func (t *Task) end(a *Answer, now protocol.Time) *Ended {
	return &Ended{
		ID: t.ID, Agent: t.Agent, Tool: t.Tool, Status: status(a), Output: a.Output, Artifacts: a.Artifacts, Latency: a.Latency, ErrorKind: a.ErrorKind, Error: a.Error, At: now, Hooks: a.Hooks,
	}
}

// free reports whether a task was not carried out: it takes nothing of a budget, as a call of a turn that fails so.
func (a *Answer) free() bool { return a.Error != "" && !a.Carried && !Costs(a.ErrorKind) }

func status(a *Answer) string {
	switch {
	case a.Error == "":
		return "ok"
	case a.ErrorKind == protocol.KindDenied:
		return "denied"
	case a.ErrorKind == protocol.KindTimeout:
		return "timeout"
	case a.ErrorKind == protocol.KindCancelled:
		return "cancelled"
	case a.ErrorKind == protocol.KindUnknownOutcome:
		return "unknown"
	}
	return "error"
}

// Apply folds a fact.
func (s *State) Apply(f Fact) {
	switch x := f.(type) {
	case *Opened:
		t := x.Task
		s.tasks.add(&t)
	case *Ended:
		s.close(Past{ID: x.ID, Agent: x.Agent, Tool: x.Tool, Status: x.Status, Error: x.Error, At: x.At})
	case *Cancelled:
		s.close(Past{ID: x.ID, Agent: x.Agent, Tool: x.Tool, Status: "cancelled", At: x.At})
	case *Reported:
		s.works.set(&Work{ID: x.ID, By: x.By, Status: x.Status, Progress: x.Progress, Note: x.Note, At: x.At})
	case *TakenOver:
		s.sit(x.Player)
	case *Released:
		s.rise(x.Agent)
	case *Sent, *Refused, *Uncharged: // they change nothing
	}
}

func (s *State) close(p Past) {
	s.tasks.remove(p.ID)
	s.works.remove(p.ID)
	s.remember(p)
}

// remember appends to Past. Of the copies of a State the first one that does so writes behind its
// end; the others copy the list.
func (s *State) remember(p Past) {
	list := s.Past[max(0, len(s.Past)+1-maxEnded):]
	if room := cap(list) - len(list); room == 0 || s.free == nil || *s.free != room {
		list, s.free = slices.Grow(slices.Clip(list), len(list)/2+1), new(int)
	}
	s.Past = append(list, p)
	*s.free = cap(s.Past) - len(s.Past)
}

// plain is a state without tasks that agents have taken.
type plain struct {
	Open []*Task
	Past []Past
}

// taken is a state without players.
type taken struct {
	Open []*Task
	Past []Past
	Work []Work
}

// played is a state.
type played struct {
	Open    []*Task
	Past    []Past
	Work    []Work
	Players []Player
}

// Snapshot encodes the state, without the lists at its end that are empty. A state without
// tasks and players is nothing.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	open, work := s.Open(), s.Work()
	if open == nil && len(s.Past) > 0 {
		open = []*Task{} // as in all snapshots: no list stands for one that never had a task
	}
	switch {
	case len(s.Players) > 0:
		return codec.Marshal(&played{open, s.Past, work, s.Players})
	case len(open)+len(s.Past) == 0:
		return protocol.Raw{0xc0}, nil
	case len(work) == 0:
		return codec.Marshal(&plain{open, s.Past})
	}
	return codec.Marshal(&taken{open, s.Past, work})
}

// Restore decodes the output of Snapshot.
func Restore(codec *protocol.Codec, raw protocol.Raw) (s State, err error) {
	if len(raw) == 0 || raw[0] == 0xc0 {
		return s, nil
	}
	var p played
	if err := grown.Unmarshal(codec, raw, &p); err != nil {
		return s, err
	}
	s = New(p.Open, p.Past, p.Work)
	s.Players = p.Players
	return s, nil
}

// Costs reports whether a task counts in the budget of tools: not what an agent does itself, or
// its player.
func (t *Task) Costs() bool { return t.Kind != KindAgent && t.Tool != PlayTool }

// Costs reports whether a call that failed so counts in budgets, if nobody says that it was carried out: it may
// have been.
func Costs(failure protocol.ErrorKind) bool {
	switch failure {
	case protocol.KindDenied, protocol.KindLimit, protocol.KindInvalid, protocol.KindNotFound, protocol.KindUnknown:
		return false
	}
	return true
}
