package memory

import (
	"slices"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/cast"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/words"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Importance by rule.
const (
	ofGoal    = 6 // a goal ended
	ofFailure = 4 // the turn failed, or a call of it
	ofMeeting = 3 // somebody spoke whom the agent had not met
	ofSpeech  = 2 // somebody spoke to the agent by name
	ofTurn    = 1
)

// Heard is an event that says something.
type Heard struct {
	At   protocol.Time // of the event
	From string        // instance id
	Type string        // of the event
	Text string
	ToMe bool // it names the agent
	Own  bool // the agent itself has published it
}

// Turn is what the facts of a turn have told so far. It is a plain value.
type Turn struct {
	heard, did []string // in words
	importance int64
	failed     bool
	reflected  bool
	ended      []string // ids of goals
	new        []string // whom it met
	told, said []Line   // utterances of others, and its own; without their time
	spoken     []Spoken // the same, longer; without partners and tokens, own ones without their time
}

// Of is the turn of facts and events that are no part of a mind yet; end is how it ends.
func (m *Mind) Of(facts []protocol.Fact, heard []Heard, end *agentfact.TurnEnded) (t Turn) {
	var met []string
	if m != nil {
		met = m.met
	}
	for _, h := range heard {
		t = t.hear(h, met)
	}
	for _, f := range facts {
		if own, ok := f.(agentfact.Fact); ok {
			t = t.note(own)
		}
	}
	return t.end(end)
}

func (t Turn) tell(importance int64, said string) Turn {
	t.did = append(slices.Clip(t.did), said)
	t.importance = max(t.importance, importance)
	return t
}

func (t Turn) hear(h Heard, met []string) Turn {
	if h.Own {
		return t.own(h)
	}
	t.heard = append(slices.Clip(t.heard), h.From+" said: "+line(h.Text))
	t.told = append(slices.Clip(t.told), Line{Who: h.From, Text: cut(h.Text, maxUtterance)})
	t.spoken = append(slices.Clip(t.spoken), Spoken{At: h.At, Who: h.From, Type: h.Type, Text: cut(h.Text, maxSpoken)})
	t.importance = max(t.importance, ofTurn)
	if h.ToMe {
		t.importance = max(t.importance, ofSpeech)
	}
	if !cast.OfScene(h.From) && !slices.Contains(met, h.From) && !slices.Contains(t.new, h.From) {
		t.new = append(slices.Clip(t.new), h.From)
		t.importance = max(t.importance, ofMeeting)
	}
	return t
}

// own takes what the agent published and hears itself. What it said aloud is known by its fact.
func (t Turn) own(h Heard) Turn {
	if h.Type == agentfact.EventSaid {
		return t
	}
	t.said = append(slices.Clip(t.said), Line{Text: cut(h.Text, maxUtterance)})
	t.spoken = append(slices.Clip(t.spoken), Spoken{Type: h.Type, Text: cut(h.Text, maxSpoken)})
	return t.tell(ofTurn, "you said: "+line(h.Text))
}

// note takes a fact. What others tell more of, and what changes nothing, says nothing here.
func (t Turn) note(f agentfact.Fact) Turn {
	switch x := f.(type) {
	case *agentfact.Said:
		t.said = append(slices.Clip(t.said), Line{Text: cut(x.Text, maxUtterance)})
		t.spoken = append(slices.Clip(t.spoken), Spoken{Text: cut(x.Text, maxSpoken)})
		return t.tell(ofTurn, "you said: "+line(x.Text))
	case *agentfact.CallMade:
		return t.called(x)
	case *agentfact.GoalsUpdated:
		if !x.Removed {
			return t.goal(x.Goal.ID, x.Goal.Status)
		}
	case *agentfact.GoalChanged:
		if x.From != x.Goal.Status {
			return t.goal(x.Goal.ID, x.Goal.Status)
		}
	case *agentfact.Reflected:
		t.reflected = true
	case *agentfact.OutcomeUnknown:
		t.failed = true
		return t.tell(ofFailure, "nobody knows what became of a "+x.Effect+" call: "+line(x.Error))
	case *agentfact.TurnEnded, *agentfact.StateUpdated, *agentfact.ModelAnswered, *agentfact.CallAnswered, *agentfact.DriveMet, *agentfact.RequestAnswered,
		*agentfact.StepsHeld, *agentfact.StepsResumed, *agentfact.CallAsked, *agentfact.CallJudged, *agentfact.HookAnswered, *agentfact.CallsCharged, *agentfact.Dropped,
		*agentfact.Unacknowledged, *agentfact.TaskOpened, *agentfact.TaskClosed, *agentfact.EntriesActivated, *agentfact.Rests, *agentfact.Summarised:
	}
	return t
}

// told reports a tool whose effect another fact tells, or that does nothing by itself.
func told(tool string) bool { return tool == "SayTool" || tool == "SleepTool" }

func (t Turn) called(f *agentfact.CallMade) Turn {
	switch {
	case f.Status == protocol.CallNotRun || f.Tool == "ReflectTool":
		return t
	case f.Status == protocol.CallOK || f.Status == protocol.CallRequested:
		if told(f.Tool) {
			return t
		}
	default:
		t.failed = true
		return t.tell(ofFailure, call(f)+" failed: "+line(f.Error))
	}
	return t.tell(ofTurn, call(f))
}

// call is a call in words, with its parameters as JSON.
func call(f *agentfact.CallMade) string {
	text := "you called " + f.Tool
	if v, err := f.Params.Value(); err == nil && v != nil {
		text += " " + line(string(template.AppendJSON(nil, v)))
	}
	return text
}

func (t Turn) goal(id, status string) Turn {
	if status != goal.Completed && status != goal.Failed || slices.Contains(t.ended, id) {
		return t
	}
	t.ended = append(slices.Clip(t.ended), id)
	return t.tell(ofGoal, "your goal "+id+" "+map[bool]string{true: "was completed", false: "failed"}[status == goal.Completed])
}

// end takes the end of the turn.
func (t Turn) end(f *agentfact.TurnEnded) Turn {
	if f.Outcome == agentfact.OutcomeFailed {
		t.failed = true
		return t.tell(ofFailure, "you came to no decision: "+line(f.Error))
	}
	return t
}

// episode is what the turn leaves; false = it did nothing.
func (t *Turn) episode(number uint64, at protocol.Time) (*Episode, bool) {
	if t.importance == 0 {
		return nil, false
	}
	text := strings.Join(append(slices.Clone(t.heard), t.did...), "; ")
	e := &Episode{Turn: number, At: at, Importance: t.importance, Text: cut(text, maxText)}
	return e.prepare(&words.Stemmer{}), true
}

// line is a text without line ends, bounded.
func line(s string) string { return cut(strings.Join(strings.Fields(s), " "), maxPart) }

// cut is the beginning of a text, of at most so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if most < len("…") {
		return ""
	}
	most -= len("…")
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
