package machines

import (
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/span"
	"tavernsim/scenes/machines/spending"
)

// Input is an input of the stage: one of the types of this file.
type Input interface{ input() }

// Begin starts the scene, or continues it where its journal ends.
type Begin struct {
	Crashes []protocol.Fact // of the scene before restarts; the first wave keeps them
}

// Arrivals opens a wave of the realtime clock as a history shows it, for verify. A
// live stage decides by its clock when a wave begins and which turns it takes.
type Arrivals struct {
	At        protocol.Time
	Order     []uint32        // agents whose turns ended or failed
	Expires   bool            // values of the world expire
	Crashes   []protocol.Fact // of earlier lives
	Lifecycle protocol.Fact   // of the pause, the resumption or the end of the scene, which the wave begins with; nil = none
	Given     *Order          // that opened the wave, or came with the end; nil = none
}

// TurnsEnded are ends of deliberations: of neighbours in the order of a wave, or of one agent.
type TurnsEnded struct{ *span.Span }

// ActorFailed is a panic or an error of the actor of an agent or a service.
type ActorFailed struct {
	Actor string
	Error string
	Stack []string
}

// TurnStep is what a turn did with one message, if its requests wait for grants.
type TurnStep struct {
	Wave uint64 // in which the turn was woken
	budget.Step
}

// Waits is a deliberation that waits for an answer of the outside (realtime).
type Waits struct {
	Agent uint32
	Wave  uint64 // with which it was woken
}

// ServiceAnswered is the decision of a service about the requests of a wave.
type ServiceAnswered struct {
	Facts []protocol.KindData
	More  bool  // another part follows
	View  *View // after the last part
}

// Ready: a service has something to decide although nobody asks (realtime).
type Ready struct{ Service string }

// Kept is the last durable wave of the journal.
type Kept struct {
	Wave  uint64
	Bytes uint64 // of durable facts, before compression
}

// Control is a request from outside.
type Control struct {
	Do     Do
	Reason string        // of a stop: one of the agenda.Stopped... reasons; of a pause: PausedByBudget, "" = request
	At     protocol.Time // of a stop: earliest time of the last waves
}

// Why a scene paused.
const (
	PausedByRequest = "request"
	PausedByBudget  = "budget"
)

// Do is the name of a request to a running scene.
type Do string

// Requests to a running scene.
const (
	DoPause  Do = "pause"
	DoResume Do = "resume"
	DoStop   Do = "stop"
	DoGiveUp Do = "give_up" // of a stop: it does not wait for the open wave
)

// Order is an order from outside. It opens a wave of its own: at once, or as soon as Wave
// and After allow.
type Order struct {
	*agenda.Intervened
	Wave  uint64        // that it is, or a later one; 0 = any
	After time.Duration // scene time since the start of the scene; a wave of that time or later comes after it; 0 = any
	Had   bool          // the run had it before it was interrupted: its wave may have passed
}

// Gate says whether waves wait for a caller outside. While it is on, the stage asks by
// ActGate before it opens a wave, and waits for a Gate with the number of that wave. Orders,
// the scene's pauses and its stop do not wait. It leaves no fact.
type Gate struct {
	On   bool
	Wave uint64 // that may begin; 0 = none
}

// Packed is the state of an agent that leaves for another scene, asked for by ActPack.
type Packed struct {
	Agent uint32
	Wave  uint64
	State protocol.Raw // as in a snapshot
	Turns uint64       // of it so far
	Tasks int          // open ones that stay behind
}

// Tick is a timer that fired.
type Tick struct{}

// StatesGiven: every actor has given its state for a snapshot.
type StatesGiven struct{}

// SnapshotWritten: writing a snapshot has ended, successfully or not.
type SnapshotWritten struct{}

// DeadLetters are messages that mailboxes refused.
type DeadLetters struct{ Letters []*agenda.DeadLettered }

// DiskFailed: the journal cannot be written any more.
type DiskFailed struct{ Err error }

func (*Begin) input()           {}
func (*Arrivals) input()        {}
func (*TurnsEnded) input()      {}
func (*ActorFailed) input()     {}
func (*TurnStep) input()        {}
func (*Waits) input()           {}
func (*ServiceAnswered) input() {}
func (*Ready) input()           {}
func (*Kept) input()            {}
func (*Control) input()         {}
func (*Order) input()           {}
func (*Gate) input()            {}
func (*Packed) input()          {}
func (*Tick) input()            {}
func (*StatesGiven) input()     {}
func (*SnapshotWritten) input() {}
func (*DeadLetters) input()     {}
func (*DiskFailed) input()      {}

// Act is the kind of an effect.
type Act uint8

const (
	ActKeep           Act = iota + 1 // append the fact to the journal
	ActKeepSpan                      // append the facts of a span; it may be used again then
	ActClose                         // end the wave in the journal, with Data as its note
	ActWake                          // wake an agent, or all of Agents, which are neighbours in the order of the wave
	ActAsk                           // send a service its requests
	ActTell                          // send an agent a fact to observe
	ActRestart                       // restore a failed agent from the journal
	ActStart                         // make the actor of an agent that came, by the fact
	ActStop                          // end the actor of an agent that left
	ActPack                          // ask an agent for the state with which it goes to another scene; see [Packed]
	ActRestartService                // restore a failed service from the journal
	ActServiceFailed                 // count the failure of a service; with GivenUp, it is not restored
	ActGather                        // ask every actor for its state
	ActDropSnapshot                  // drop the gathered states: an actor failed
	ActTick                          // send a Tick at a time; replaces the timer before
	ActTickBeside                    // the same, with a second timer
	ActRest                          // the scene is paused, and everything is durable
	ActGoOn                          // the pause is over
	ActWarn                          // log Err as a warning
	ActGrant                         // tell an agent what becomes of a request
	ActGate                          // Wave waits for a [Gate]; At is its time, 0 = there is none yet
	ActFinish                        // the stage has stopped; see [Stage.Outcome]
)

// Effect is one act of the shell. Act decides which fields count.
type Effect struct {
	Act      Act
	Priority protocol.Priority // of a wake
	GivenUp  bool
	Agent    uint32
	Agents   []uint32 // of a wake; nil = Agent alone
	Service  int      // index into [Services]
	Wave     uint64
	At       protocol.Time // scene time of a fact, a wake, requests, a tick
	Actor    string        // that decided the fact, or that is restored
	Kind     string        // of the fact; of a wake: the workflow, "" = the agents' own
	Data     protocol.Raw  // the encoded fact; the requests to a service
	Place    int           // of requests: how many messages with others of the wave the service got before
	More     bool          // of requests: others of the wave follow
	Fact     protocol.Fact // decoded; nil for kinds that need no decoding
	Span     *span.Span
	Budget   *spending.WakeBudget // of a wake; nil = there are no budgets
	Grant    *budget.Grant
	Err      error
}

// Woken are the agents of a wake.
func (e *Effect) Woken() []uint32 {
	if e.Agents == nil {
		return []uint32{e.Agent}
	}
	return e.Agents
}

// Outcome is how a scene stopped.
type Outcome struct {
	Reason string // one of the agenda.Stopped... reasons
	Final  bool   // the scene has ended; otherwise it can be resumed
	Err    error  // why the scene could not continue; nil if it could
}
