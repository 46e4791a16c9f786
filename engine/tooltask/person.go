package tooltask

import (
	"time"

	"tavernsim/protocol"
)

// A question to a person is a task that nobody carries out: it ends by a request that an
// order from outside makes ([Settle]), or when its time is over.

// KindPerson is the kind of the executor that is a person.
const KindPerson = "person"

// PanelTool is the tool whose calls are such tasks.
const PanelTool = "PanelInteractionTool"

// AsksPeople reports whether the tasks of a tool are questions to people.
func AsksPeople(tool string) bool { return tool == PanelTool || tool == PlayTool }

// MaxAsked bounds the open questions of an agent.
const MaxAsked = 32

// Who has to wait for an answer.
const (
	WaitHold = "hold" // scene time stands until the answer; on the virtual clock
	WaitRun  = "run"  // scene time goes on, and the deadline is a time of the scene
)

// ByHeadless is who answers where nobody can be asked.
const ByHeadless = "headless"

// How a question ends.
const (
	Answered  = "answered"
	TimedOut  = "timeout"
	Dismissed = "cancelled"
)

// Settle ends an open question.
type Settle struct {
	Status string
	By     string
	Value  protocol.Raw // of an answer
}

// Question is what the parameters of such a task say.
type Question struct {
	Panel, Action, To, Wait string
	Payload, Schema         any
	Default                 any
	Headless                bool // Default is the answer; nobody is asked
}

// Encode gives the parameters of a task.
func (q *Question) Encode() protocol.Raw {
	v := map[string]any{"action": q.Action, "wait": q.Wait}
	for name, x := range map[string]any{"payload": q.Payload, "schema": q.Schema} {
		if x != nil {
			v[name] = x
		}
	}
	for name, text := range map[string]string{"panel": q.Panel, "to": q.To} {
		if text != "" {
			v[name] = text
		}
	}
	if q.Headless {
		v["default"] = q.Default
	}
	return protocol.Encode(v)
}

// Question reads the parameters of a task for a person.
func (t *Task) Question() (q Question) {
	v, _ := t.Params.Value()
	m, _ := v.(map[string]any)
	text := func(name string) string { s, _ := m[name].(string); return s }
	q = Question{Panel: text("panel"), Action: text("action"), To: text("to"), Wait: text("wait"), Payload: m["payload"], Schema: m["schema"]}
	q.Default, q.Headless = m["default"]
	return q
}

// due is when a question ends without an answer; 0 = scene time stands until it has one.
func (t *Task) due(r Rules, now protocol.Time) protocol.Time {
	q := t.Question()
	switch {
	case q.Headless:
		return now.Add(max(r.Tick, 1))
	case r.Realtime, q.Wait == WaitRun:
		return now.Add(max(t.Timeout, r.Tick))
	}
	return 0
}

// settle ends a question by a request.
func (s *State) settle(id string, x *Settle, now protocol.Time) Fact {
	t := s.Task(id)
	if t == nil || t.Kind != KindPerson {
		return &Refused{ID: id, Message: "there is no open interaction with this id"}
	}
	return t.settled(x, now)
}

// silent ends a question whose time is over.
func (t *Task) silent(now protocol.Time) *Ended {
	if q := t.Question(); q.Headless {
		return t.settled(&Settle{Status: Answered, By: ByHeadless, Value: protocol.Encode(q.Default)}, now)
	}
	return t.settled(&Settle{Status: TimedOut}, now)
}

func (t *Task) settled(x *Settle, now protocol.Time) *Ended {
	a := &Answer{}
	switch x.Status {
	case Answered:
		v, _ := x.Value.Value()
		a.Output = protocol.Encode(map[string]any{"value": v, "by": x.By})
	case TimedOut:
		a.Error, a.ErrorKind = "nobody answered within "+t.Timeout.Round(time.Millisecond).String(), protocol.KindTimeout
	default:
		a.Error, a.ErrorKind = "cancelled by "+x.By, protocol.KindCancelled
		if x.By == "" {
			a.Error = "cancelled"
		}
	}
	return t.end(a, now)
}

// Result is the end of a question as its agent hears of it; false = the fact is of another
// task.
func (f *Ended) Result() (v map[string]any, ok bool) {
	if !AsksPeople(f.Tool) {
		return nil, false
	}
	v = map[string]any{"task_id": f.ID, "status": f.Status}
	switch f.Status {
	case "ok":
		out, _ := f.Output.Value()
		m, _ := out.(map[string]any)
		v["status"], v["value"], v["by"] = Answered, m["value"], m["by"]
	default:
		v["error"] = f.Error
	}
	return v, true
}
