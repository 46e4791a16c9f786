package agentfact

import (
	"time"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

// Kinds of an agent's facts. The stage decides agent.failed, because an agent that
// failed cannot.
const (
	FactTurnEnded     = "agent.turn_ended"
	FactStateUpdated  = "agent.private_state_updated"
	FactCallMade      = "agent.call_made"
	FactModelAnswered = "agent.model_answered"
	FactCallAnswered  = "agent.call_answered"
	FactSaid          = "agent.said"
	FactGoalsUpdated  = "agent.goals_updated"
	FactGoalChanged   = "agent.goal_changed"
	FactDriveMet      = "agent.drive_met"
	FactReflected     = "agent.reflected"
	FactUnknown       = "agent.outcome_unknown"
	FactRequest       = "agent.request_answered"
	FactStepsHeld     = "agent.steps_held"
	FactStepsResumed  = "agent.steps_resumed"
	FactEntriesActive = "agent.entries_activated"
	FactRests         = "agent.rests"
	FactSummarised    = "agent.summarised"
	FactCallAsked     = "tool.asked"
	FactCallJudged    = "tool.judged"
	FactHookAnswered  = "agent.hook_answered"
	FactCallsCharged  = "agent.calls_charged"

	FactDropped        = "event.dropped"
	FactUnacknowledged = "event.unacknowledged"
	FactTaskOpened     = "task.opened"
	FactTaskClosed     = "task.closed"
)

// Outcome of a deliberation.
type Outcome string

const (
	OutcomeOK        Outcome = "ok"
	OutcomeFailed    Outcome = "failed"    // the workflow reached no decision
	OutcomeCancelled Outcome = "cancelled" // stopped between two nodes

	OutcomeInterrupted Outcome = "interrupted" // stopped by a more urgent event, without effect

	OutcomeAsked Outcome = "asked" // the agent asks the person who plays it; nothing else is changed

	OutcomeIdle Outcome = "idle" // a place that its goals watch changed, and no goal did: the core workflow did not run
)

// Outcomes are all outcomes of a deliberation.
func Outcomes() []Outcome {
	return []Outcome{OutcomeOK, OutcomeFailed, OutcomeCancelled, OutcomeInterrupted, OutcomeAsked, OutcomeIdle}
}

// TurnEnded is the last fact of a deliberation.
type TurnEnded struct {
	Agent       uint32 // ordinal in the scene
	Turn        uint64 // number of this agent's turn, from 1
	Wave        uint64 // in which it was woken
	Outcome     Outcome
	Error       string
	Through     uint64 // inbox number up to which events were perceived
	Perceived   int64  // number of these events
	Seen        int64  // number of observations in its input
	Calls       int64
	ModelCalls  int64
	TokensIn    int64
	TokensOut   int64
	Elapsed     time.Duration // simulated latency on the virtual clock; 0 in realtime
	SleepUntil  protocol.Time // 0 = no such time
	Asleep      bool          // with SleepUntil 0: until an event wakes it
	WakeAbove   protocol.Priority
	Reflections int64
	ModelFailed int64 // of ModelCalls
	Expired     int64 // events that expired before the agent perceived them
	Dropped     int64 // events dropped by a full inbox since the last turn
	Changed     bool  // the private state or a goal

	WakeAt  protocol.Time     // for events that are delivered again, or the deadline of a task; 0 = none
	Urgency protocol.Priority // of the most urgent event that it perceived
	Lost    int64             // ephemeral events that lost their payload in a restart

	// What the calls took that executors carried out. It is left out of the fact if there
	// were none.
	ToolCalls int64
	ToolTime  time.Duration // added up
	ToolBytes int64         // of outputs, before they were cut
	ToolCost  int64         // in nano-dollars

	ToolRefused int64 // calls that the budget of the scene refused; with the fields above
}

// DropReason says why a delivery ended without being handled.
type DropReason string

// Why deliveries end.
const (
	DropInboxFull    DropReason = "inbox_full"   // dropped to make room for another
	DropQueueFull    DropReason = "queue_full"   // refused by a full lane, or by an inbox full of acknowledged events
	DropTTL          DropReason = "ttl"          // expired before the agent perceived it
	DropRedeliveries DropReason = "redeliveries" // requires an acknowledgement, and max_redeliveries turns failed
)

// Drop is one delivery that did not stay in the inbox.
type Drop struct {
	Event  string // id
	Source string // instance id of its publisher
	Reason DropReason
}

// Dropped records the events that did not fit into the inbox since the turn before,
// and those that expired in it.
type Dropped struct {
	Agent     uint32
	InboxFull int64
	QueueFull int64
	Events    []Drop // the first ones; the counts include all
	Expired   int64
}

// Unacknowledged records an event that required an acknowledgement and became a
// dead letter.
type Unacknowledged struct {
	Agent       uint32
	Number      uint64 // in the inbox
	Event       string // id
	Type        string
	Source      string // instance id of its publisher
	Reason      DropReason
	Redelivered int64
	TraceID     string
	Chain       []protocol.Link
}

// TaskOpened records that the agent waits for an answer.
type TaskOpened struct {
	Task Task
}

// TaskClosed records that the answer came, or that it did not come in time.
type TaskClosed struct {
	Task  string // id
	How   TaskEnd
	Event string // id of the answer
}

// StateUpdated is one change of the private state.
type StateUpdated struct {
	Path  string // "" = the whole state
	Op    string // set, add, push, delete, merge
	Value protocol.Raw

	next private.State
}

// Keep gives the fact the private state after it, for the agent that decided it.
func (f *StateUpdated) Keep(next private.State) { f.next = next }

// Next is the private state after it; false = the fact was read, and has none.
func (f *StateUpdated) Next() (private.State, bool) { return f.next, f.next.Private != nil }

// CallMade is a call with its result.
type CallMade struct {
	ID      string
	Tool    string
	Origin  protocol.Origin
	Params  protocol.Raw
	Status  protocol.CallStatus
	Output  protocol.Raw
	Error   string
	Observe bool // the next deliberation observes it
}

// ModelAnswered is a model's answer, or its failure.
type ModelAnswered struct {
	Model   string
	Text    string
	Calls   protocol.Raw // native tool calls: list of {tool, params}, of endpoints also id
	Finish  protocol.FinishReason
	Input   int64
	Output  int64
	Latency time.Duration
	Error   string

	// Added later, so that verify can decide a deliberation again from its facts.
	// Request is 0 in facts of older programs.
	Request         int64 // number of the call in the deliberation, from 1
	ErrorKind       protocol.ErrorKind
	Reasoning       string
	CacheRead       int64
	ReasoningTokens int64

	// Origin is left out of the fact, with what only endpoints give, if the model is
	// inside the program.
	Origin *effect.Origin
}

// Cut reports whether this is no answer, and charges one that nobody takes: see protocol.ModelBudget.
func (f *ModelAnswered) Cut() bool {
	return f.Origin != nil && f.Origin.Budget != nil && f.Origin.Budget.Cut
}

// CallAnswered is an executor's answer to a call, or its failure. The CallMade after
// it is the call itself.
type CallAnswered struct {
	Kind      string // of the executor
	Request   int64  // number in the deliberation, from 1
	Output    protocol.Raw
	Latency   time.Duration
	ErrorKind protocol.ErrorKind
	Error     string

	// Artifacts that the call left. They are left out of the fact if there are none.
	Artifacts []tool.Artifact

	// Carried says that the call was carried out although ErrorKind is one of calls that never left. It is
	// left out of the fact if not, and facts of older programs lack it.
	Carried bool

	// Hooks is what hooks of plugins did to the call (hook.OfCall). It is left out if they did nothing.
	Hooks protocol.Raw
}

// Recorded is a fact that keeps an answer of the outside.
type Recorded interface {
	protocol.Fact
	// Answered is the input from which the fact was made. ok is false if the fact
	// is of a version that kept too little of a failure.
	Answered() (x *effect.Answered, ok bool)
}

// EventSaid is the type of the event by which others hear what the agent said aloud.
const EventSaid = "agent.said"

// Said is text that the agent uttered.
type Said struct {
	Text string
}

// GoalsUpdated replaces one goal, adds it, or removes it.
type GoalsUpdated struct {
	Goal    goal.Goal
	Removed bool
}

// GoalChanged is one change of a goal of an agent with rules for its goals.
type GoalChanged struct {
	Goal  goal.Goal // after it
	More  goal.More // of the goal
	From  string    // status before; "" = the goal is new
	Cause goal.Cause
	By    string // instance id of who gave it; "" = the agent itself, or its rules

	Observe bool // the next turn observes it, for this one had decided already
}

// DriveMet records that the value of a drive was changed.
type DriveMet struct {
	Drive string
	Level int64 // millionths
}

// Reflected is a finished reflection.
type Reflected struct {
	Reason   string
	Workflow string
	Error    string
}

// OutcomeUnknown records a request whose result is unknown, because the process
// ended before the result was kept, and which must not be made again. The next
// deliberation observes it.
type OutcomeUnknown struct {
	Effect  string // kind of the executor
	Request int64  // its number in the deliberation
	Error   string
}

// RequestAnswered records that a block with a request_id was carried out.
type RequestAnswered struct {
	ID      string       // request_id
	Body    string       // hash of its calls, in hexadecimal
	Results protocol.Raw // list of {tool, status, output, error, kind}, in the order of the calls
}

// StepsHeld records steps of a block that wait for a task of it.
type StepsHeld struct {
	Held Held
}

// StepsResumed records that such steps went on in this turn.
type StepsResumed struct {
	ID string // of the first call
}

// EntriesActivated records entries of knowledge bases with sticky or cooldown that became
// active in this turn.
type EntriesActivated struct {
	Entries []criteria.Timed
}

// Rests records how the agent rests from the end of its turn, beyond its floor frequency and the
// times of SleepTool.
type Rests struct {
	Idle      int64         // turns in a row that did nothing; 0 = it has no pause that grows
	Until     protocol.Time // nothing wakes it before, for the sake of a ceiling; 0 = it may be woken at once
	Ceiling   string        // tokens_per_hour or dollars_per_day; "" = none was reached
	Used      int64         // tokens, or nano-dollars, in the window and what earlier ones took too much
	Limit     int64
	WakeTypes []string // asleep: types of events that wake it whatever their priority
	WakeWhen  string   // asleep: an expression that wakes it when it holds; "" = none does
}

// Summarised records what a model made of the oldest words that an agent remembered of its talk with
// one partner, and that they are forgotten now.
type Summarised struct {
	With  string // instance id; "" = own words to nobody
	Lines int64  // utterances with that partner that it is made of
	Text  string // with the summary before
	Error string // why there is none
}

// CallAsked records a call that is made only if somebody allows it.
type CallAsked struct {
	ID      string // of the call
	Tool    string
	Rule    string // of tool_policy
	Reason  string // of the rule
	Params  protocol.Raw
	Request int64 // number of the question in the deliberation; its answer is a CallAnswered
}

// CallJudged records what a project's policy made of a call.
type CallJudged struct {
	ID      string // of the call
	Tool    string
	Rule    string // of tool_policy; "" = none fits
	Allowed bool
	By      string // policy, or what answered the question: file, person, silence, never, failure
	Reason  string
}

// HookAnswered is what the hooks of a place answered, or why nobody did.
type HookAnswered struct {
	Place     string
	Subject   string // id of the workflow that it was about; "" = of the deliberation, or the scene
	Request   int64  // number of the question in the deliberation, from 1
	Output    protocol.Raw
	Veto      string // why it did not happen; "" = nothing forbade it
	ErrorKind protocol.ErrorKind
	Error     string
}

// CallsCharged records what calls of tools under a budget took of which the turn takes no answer: it has dropped them, or it
// made them before it failed or was cut off, and has not made them again. Those without an answer count with their price.
type CallsCharged struct {
	Calls int64
	Time  time.Duration // added up
	Bytes int64         // of outputs, before they were cut
	Cost  int64         // in nano-dollars
}

// LastAgent implements protocol.Naming.
func (f *TurnEnded) LastAgent() uint32 { return f.Agent }

func (f *Dropped) LastAgent() uint32 { return f.Agent }

func (f *Unacknowledged) LastAgent() uint32 { return f.Agent }

// Fact is one of this package's facts. The linter checks that a switch over it has
// a case for each.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	fact()
}

func (*TurnEnded) FactKind() string        { return FactTurnEnded }
func (*StateUpdated) FactKind() string     { return FactStateUpdated }
func (*CallMade) FactKind() string         { return FactCallMade }
func (*ModelAnswered) FactKind() string    { return FactModelAnswered }
func (*CallAnswered) FactKind() string     { return FactCallAnswered }
func (*Said) FactKind() string             { return FactSaid }
func (*GoalsUpdated) FactKind() string     { return FactGoalsUpdated }
func (*GoalChanged) FactKind() string      { return FactGoalChanged }
func (*DriveMet) FactKind() string         { return FactDriveMet }
func (*Reflected) FactKind() string        { return FactReflected }
func (*OutcomeUnknown) FactKind() string   { return FactUnknown }
func (*RequestAnswered) FactKind() string  { return FactRequest }
func (*StepsHeld) FactKind() string        { return FactStepsHeld }
func (*StepsResumed) FactKind() string     { return FactStepsResumed }
func (*EntriesActivated) FactKind() string { return FactEntriesActive }
func (*Rests) FactKind() string            { return FactRests }
func (*Summarised) FactKind() string       { return FactSummarised }
func (*CallAsked) FactKind() string        { return FactCallAsked }
func (*CallJudged) FactKind() string       { return FactCallJudged }
func (*HookAnswered) FactKind() string     { return FactHookAnswered }
func (*CallsCharged) FactKind() string     { return FactCallsCharged }
func (*Dropped) FactKind() string          { return FactDropped }
func (*Unacknowledged) FactKind() string   { return FactUnacknowledged }
func (*TaskOpened) FactKind() string       { return FactTaskOpened }
func (*TaskClosed) FactKind() string       { return FactTaskClosed }

func (*TurnEnded) fact()        {}
func (*StateUpdated) fact()     {}
func (*CallMade) fact()         {}
func (*ModelAnswered) fact()    {}
func (*CallAnswered) fact()     {}
func (*Said) fact()             {}
func (*GoalsUpdated) fact()     {}
func (*GoalChanged) fact()      {}
func (*DriveMet) fact()         {}
func (*Reflected) fact()        {}
func (*OutcomeUnknown) fact()   {}
func (*RequestAnswered) fact()  {}
func (*StepsHeld) fact()        {}
func (*StepsResumed) fact()     {}
func (*EntriesActivated) fact() {}
func (*Rests) fact()            {}
func (*Summarised) fact()       {}
func (*CallAsked) fact()        {}
func (*CallJudged) fact()       {}
func (*HookAnswered) fact()     {}
func (*CallsCharged) fact()     {}
func (*Dropped) fact()          {}
func (*Unacknowledged) fact()   {}
func (*TaskOpened) fact()       {}
func (*TaskClosed) fact()       {}

// ReadCall reads the counted fields of a CallMade, without decoding the rest.
func ReadCall(data protocol.Raw) (tool string, status protocol.CallStatus, err error) {
	r := protocol.NewReader(data, FactCallMade, callMadeFields)
	r.Raw()
	tool = r.Word()
	r.Raw()
	r.Raw()
	status = protocol.CallStatus(r.Word())
	return tool, status, r.Err()
}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByHand(readTurnEnded),
		protocol.ByHand(readStateUpdated).AsBytes(),
		protocol.ByHand(readCallMade).AsBytes(),
		protocol.ByHand(readModelAnswered).AsBytes(),
		protocol.ByHand(readCallAnswered).AsBytes(),
		protocol.ByHand(readSaid).AsBytes(),
		protocol.ByCodec[GoalsUpdated](),
		protocol.ByCodec[GoalChanged](),
		protocol.ByCodec[DriveMet](),
		protocol.ByCodec[Reflected](),
		protocol.ByCodec[OutcomeUnknown](),
		protocol.ByCodec[RequestAnswered](),
		protocol.ByCodec[StepsHeld](),
		protocol.ByCodec[StepsResumed](),
		protocol.ByCodec[EntriesActivated](),
		protocol.ByCodec[Rests](),
		protocol.ByCodec[Summarised](),
		protocol.ByCodec[CallAsked]().AsBytes(),
		protocol.ByCodec[CallJudged]().AsBytes(),
		protocol.ByCodec[HookAnswered]().AsBytes(),
		protocol.ByCodec[CallsCharged](),
		protocol.ByCodec[Dropped]().ForOthers(),
		protocol.ByCodec[Unacknowledged]().ForOthers(),
		protocol.ByCodec[TaskOpened](),
		protocol.ByCodec[TaskClosed](),
	}
}
