package script

import (
	"tavernsim/engine/bus"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
)

// Kinds of the facts of a script. The stage decides them.
const (
	FactEntered  = "script.entered"
	FactSet      = "script.set"
	FactFired    = "script.fired"
	FactFailed   = "script.failed"
	FactOpened   = "collect.opened"
	FactAnswered = "collect.answered"
	FactRefused  = "collect.refused"
	FactClosed   = "collect.closed"
	FactOutcome  = "scene.outcome"
)

// Entered records that the script is in a state from now on. The collections of the state
// before are closed.
type Entered struct {
	State string
	From  string // "" = the scene began
	Why   string
}

// Set records the new value of a variable.
type Set struct {
	Variable string
	Value    protocol.Raw
	Why      string
}

// Fired records that a schedule was carried out.
type Fired struct {
	Schedule string
	Moment   protocol.Time // for which; the first of those that were missed
}

// Failed records that an action could not be carried out. The others of its list were.
type Failed struct {
	Where string
	Error string
}

// Opened records that agents are asked.
type Opened struct {
	Collection string
	State      string
	Asked      bus.Ranges
	Due        protocol.Time // it is closed then; 0 = never
}

// Answered records the answer of one agent.
type Answered struct {
	Collection string
	Agent      uint32
	Event      string // id
	Value      protocol.Raw
}

// Refused records an answer that does not count.
type Refused struct {
	Collection string
	By         string // instance id
	Event      string // id
	Code       protocol.ErrorKind
	Message    string
}

// Closed records that answers do not count any more.
type Closed struct {
	Collection string
	Why        string // one of Closings
	Asked      int64
	Answers    int64
	Winner     string // of a tally; "" = nobody has a vote, or nothing is counted
}

// Why collections are closed.
const (
	ClosedByCount   = "count"
	ClosedByShare   = "share"
	ClosedAfter     = "after"
	ClosedByLeaving = "left" // the script entered another state
)

// Closings are the reasons.
func Closings() []string {
	return []string{ClosedByCount, ClosedByShare, ClosedAfter, ClosedByLeaving}
}

// Outcome records what the scene came to. Ends: the scene ends because of it.
type Outcome struct {
	Outcome string
	Winners []string
	Reason  string
	Ends    bool
}

// Fact is one of this package's facts. The linter checks that a switch over it has a case
// for each.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	fact()
}

func (*Entered) FactKind() string  { return FactEntered }
func (*Set) FactKind() string      { return FactSet }
func (*Fired) FactKind() string    { return FactFired }
func (*Failed) FactKind() string   { return FactFailed }
func (*Opened) FactKind() string   { return FactOpened }
func (*Answered) FactKind() string { return FactAnswered }
func (*Refused) FactKind() string  { return FactRefused }
func (*Closed) FactKind() string   { return FactClosed }
func (*Outcome) FactKind() string  { return FactOutcome }

func (*Entered) fact()  {}
func (*Set) fact()      {}
func (*Fired) fact()    {}
func (*Failed) fact()   {}
func (*Opened) fact()   {}
func (*Answered) fact() {}
func (*Refused) fact()  {}
func (*Closed) fact()   {}
func (*Outcome) fact()  {}

// LastAgent implements protocol.Naming.
func (f *Answered) LastAgent() uint32 { return f.Agent }

func (f *Opened) LastAgent() (last uint32) {
	if n := len(f.Asked); n > 0 {
		last = f.Asked[n-1].From + f.Asked[n-1].Count - 1
	}
	return last
}

// Answers implements protocol.Answering. An answer that can be given again, better, wakes
// its agent.
func (f *Refused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.By, Kind: "answer_refused", Wakes: f.Code == protocol.KindInvalid}, true
}

// Told implements protocol.Answering.
func (f *Refused) Told() map[string]any {
	return map[string]any{"collection": f.Collection, "event": f.Event, "kind": string(f.Code), "message": f.Message}
}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[Entered](), protocol.ByCodec[Set](), protocol.ByCodec[Fired](), protocol.ByCodec[Failed](),
		protocol.ByCodec[Opened](checkOpened), protocol.ByCodec[Answered](), protocol.ByCodec[Refused](),
		protocol.ByCodec[Closed](), protocol.ByCodec[Outcome](),
	}
}

func checkOpened(f *Opened) error {
	next := uint64(0)
	for _, r := range f.Asked {
		if r.Count == 0 || uint64(r.From) < next {
			return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: its agents are out of order", FactOpened)
		}
		next = uint64(r.From) + uint64(r.Count)
	}
	return nil
}

// Kinds are the names of the kinds of this package.
func Kinds() (names []string) {
	for _, f := range Facts() {
		names = append(names, f.Kind)
	}
	return names
}

// Result is an outcome as summaries show it.
type Result struct {
	Outcome string   `json:"outcome"`
	Winners []string `json:"winners"`
	Reason  string   `json:"reason"`
}

// Result is the outcome as summaries show it, without secrets; nil = there is none.
func (f *Outcome) Result() *Result {
	if f == nil {
		return nil
	}
	return &Result{secret.Text(f.Outcome), append([]string{}, f.Winners...), secret.Text(f.Reason)}
}
