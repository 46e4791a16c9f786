package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/protocol"
)

// Input is what the stage hears. The types of this file are all there are.
type Input interface{ input() }

// Begin starts the scene, or goes on where its journal ends.
type Begin struct {
	Crashes []protocol.Fact // of the scene's earlier lives: the first wave keeps them
}

// Arrivals opens a wave of the realtime clock as a history shows it. A live stage
// decides by its clock when a wave begins and what it takes; verify knows.
type Arrivals struct {
	At        protocol.Time
	Order     []uint32        // whose turns ended, or failed
	Expires   bool            // time passes for the world
	Lifecycle bool            // the scene's own: due effects do not join it
	Workflow  string          // of the scene's own turn
	Facts     []protocol.Fact // that came from outside
}

// TurnEnded is the end of an agent's deliberation.
type TurnEnded struct {
	protocol.Decided
	Urgent bool // realtime: it publishes something critical
}

// ActorFailed says that the actor of an agent or a service panicked or gave an error.
type ActorFailed struct {
	Actor string
	Error string
	Stack []string
}

// Waits says that a deliberation waits for something outside (realtime).
type Waits struct{ Agent uint32 }

// ServiceAnswered is what a service decided about the requests it was asked for.
type ServiceAnswered struct {
	Facts []protocol.KindData
	More  bool  // another part follows
	View  *View // after the last part
}

// Kept says through which wave the journal is durable.
type Kept struct {
	Wave  uint64
	Bytes uint64 // of durable facts, before compression
}

// Control is a request from outside.
type Control struct {
	Do     Do
	Reason string        // of a stop: one of the agenda.Stopped... reasons
	At     protocol.Time // of a stop: when the last waves are, at the earliest
}

// Do is what a scene can be asked to do.
type Do string

// Requests to a running scene.
const (
	DoPause  Do = "pause"
	DoResume Do = "resume"
	DoStop   Do = "stop"
)

// Tick says that a timer fired.
type Tick struct{}

// StatesGiven says that every actor gave its state for a snapshot.
type StatesGiven struct{}

// SnapshotWritten says that writing a snapshot ended, well or not.
type SnapshotWritten struct{}

// DeadLetters are messages that mailboxes did not take.
type DeadLetters struct{ Letters []*agenda.DeadLettered }

// DiskFailed says that the journal takes nothing more.
type DiskFailed struct{ Err error }

func (*Begin) input()           {}
func (*Arrivals) input()        {}
func (*TurnEnded) input()       {}
func (*ActorFailed) input()     {}
func (*Waits) input()           {}
func (*ServiceAnswered) input() {}
func (*Kept) input()            {}
func (*Control) input()         {}
func (*Tick) input()            {}
func (*StatesGiven) input()     {}
func (*SnapshotWritten) input() {}
func (*DeadLetters) input()     {}
func (*DiskFailed) input()      {}

// Act is what an effect asks the shell to do.
type Act uint8

const (
	ActKeep           Act = iota + 1 // append the fact to the journal
	ActClose                         // end the wave in the journal
	ActWake                          // have an agent deliberate
	ActAsk                           // have a service decide about requests
	ActTell                          // let an agent know of a fact
	ActRestart                       // restore a failed agent from the journal
	ActRestartService                // restore a failed service from the journal
	ActServiceFailed                 // a service failed; with GivenUp for the last time
	ActGather                        // ask every actor for its state
	ActDropSnapshot                  // forget what was gathered: an actor failed
	ActTick                          // give a Tick at a time; replaces the one before
	ActTickBeside                    // the same, beside it
	ActRest                          // the scene is paused, and everything is durable
	ActGoOn                          // the pause is over
	ActWarn                          // tell the operator of Err
	ActFinish                        // nothing more happens; see [Stage.Outcome]
)

// Effect is one thing that the shell does. Which fields count depends on Act.
type Effect struct {
	Act      Act
	Priority protocol.Priority // of a wake
	GivenUp  bool
	Agent    uint32
	Service  int // index into [Services]
	Wave     uint64
	At       protocol.Time // scene time of a fact, a wake, a question; wall clock time of a tick
	Actor    string        // whose fact it is, or that is restored
	Kind     string        // of the fact; of a wake: the workflow, "" = the agents' own
	Data     protocol.Raw  // of the fact; the requests of a question
	Fact     protocol.Fact // decoded; nil for kinds that need no decoding
	Call     CallSeen      // of a call
	Err      error
}

// Outcome is how a scene stopped.
type Outcome struct {
	Reason string // one of the agenda.Stopped... reasons
	Final  bool   // the scene has ended; otherwise it can be resumed
	Err    error  // why it could not go on
}
