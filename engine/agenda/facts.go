package agenda

import (
	"time"

	"tavernsim/protocol"
)

// Kinds of the scene's own facts.
const (
	FactStarted      = "scene.started"
	FactWaveClosed   = "scene.wave_closed"
	FactDeferred     = "scene.effects_deferred"
	FactAgentFailed  = "agent.failed"
	FactActorFailed  = "scene.actor_failed"
	FactPaused       = "scene.paused"
	FactResumed      = "scene.resumed"
	FactEnded        = "scene.ended"
	FactDeadLettered = "scene.dead_letter"
	FactRedelivered  = "scene.redelivered"
	FactForked       = "scene.forked"
	FactInterrupted  = "agent.interrupted"
	FactBlocked      = "agent.blocked"
	FactNoRoom       = "scene.effects_refused"
)

// Started opens a journal: what the run is made of.
type Started struct {
	Scene   string
	Seed    uint64
	Clock   ClockKind
	Start   protocol.Time
	Tick    time.Duration
	Agents  int64
	Project string // hash of the resolved inputs
}

// WaveClosed ends a wave: time stands here now.
type WaveClosed struct {
	Wave   uint64
	Turns  int64
	Events int64 // published
	World  int64 // version after it
}

// EffectsDeferred holds back what a deliberation asked for until the simulated
// latency of its model has passed.
type EffectsDeferred struct {
	Agent   uint32
	Due     protocol.Time
	Effects []protocol.Sequenced
}

// EffectsRefused records that the requests of a turn did not fit into a wave: none
// of them takes effect, now or later.
type EffectsRefused struct {
	By       string // instance id
	Requests int64
	Bytes    int64 // of them
	Limit    int64 // of the wave
}

// Answers implements protocol.Answering.
func (f *EffectsRefused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.By, Kind: "effects_refused", Wakes: true}, true
}

// Told implements protocol.Answering.
func (f *EffectsRefused) Told() map[string]any {
	return map[string]any{"requests": f.Requests, "bytes": f.Bytes, "limit": f.Limit,
		"message": "nothing that this turn asked for took effect: the requests of all agents at one moment have at most limit bytes (simulation.limits.max_wave_bytes); ask again, for less"}
}

// AgentFailed records a panic or error of an agent's actor. WakeAt is when it
// will be tried again; 0 means that it is given up.
type AgentFailed struct {
	Agent    uint32
	Error    string
	Stack    []string
	Failures int64 // in a row
	WakeAt   protocol.Time
}

// ActorFailed records a failure of the world state, the knowledge service, the
// event channel or the scene itself.
type ActorFailed struct {
	Actor    string
	Error    string
	Stack    []string
	Failures int64
	GivenUp  bool
}

// Paused and Resumed frame the time in which no agent is woken.
type Paused struct {
	Reason string
}

// Resumed ends a pause.
type Resumed struct {
}

// Ended is the last fact of a journal.
type Ended struct {
	Reason string // why: one of the Stopped... reasons
}

// Forked is the first fact after the cut at which a run was taken over with
// changes.
type Forked struct {
	Parent  string // name of the run that it was forked from
	Wave    uint64 // at the end of which
	Digest  string // of the chain there
	Seed    uint64 // from here on
	Changes []string
}

// DeadLettered records an envelope that a mailbox did not take or dropped
// again, or a number of alike ones.
type DeadLettered struct {
	Event    string // id; "" for a number of them, and for what is no event
	Type     string
	Reason   string
	Chain    []protocol.Link
	Receiver string // instance id or service
	Kind     string // of envelope
	TraceID  string
	Count    int64
}

// Redelivered records that somebody sent dead letters again while the scene was
// stopped. They are published in its first wave at or after Due.
type Redelivered struct {
	Due     protocol.Time
	Letters []Letter
}

// Letter is one refused message that is sent again.
type Letter struct {
	Seq   uint64 // of the fact that refused it
	Agent string // the one receiver that is meant; "" = whoever hears it
	Draft protocol.Raw
}

// Interrupted records that a more urgent event came while the simulated latency
// of a deliberation passed: what it had asked for is cancelled.
type Interrupted struct {
	Agent   uint32
	Event   string // id
	Effects int64  // requests cancelled
}

// Blocked records that an event met full lanes that block: its publisher is not
// woken before each of these receivers has taken a turn that began after it.
type Blocked struct {
	Agent     uint32 // the publisher
	Event     string // id
	Receivers []uint32
}

// Fact is one of this package's facts. The linter holds a switch over it to all
// of them.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	fact()
}

func (*Blocked) FactKind() string         { return FactBlocked }
func (*Interrupted) FactKind() string     { return FactInterrupted }
func (*Started) FactKind() string         { return FactStarted }
func (*WaveClosed) FactKind() string      { return FactWaveClosed }
func (*EffectsDeferred) FactKind() string { return FactDeferred }
func (*EffectsRefused) FactKind() string  { return FactNoRoom }
func (*AgentFailed) FactKind() string     { return FactAgentFailed }
func (*ActorFailed) FactKind() string     { return FactActorFailed }
func (*Paused) FactKind() string          { return FactPaused }
func (*Resumed) FactKind() string         { return FactResumed }
func (*Ended) FactKind() string           { return FactEnded }
func (*DeadLettered) FactKind() string    { return FactDeadLettered }
func (*Redelivered) FactKind() string     { return FactRedelivered }
func (*Forked) FactKind() string          { return FactForked }

func (*Blocked) fact()         {}
func (*Interrupted) fact()     {}
func (*Started) fact()         {}
func (*WaveClosed) fact()      {}
func (*EffectsDeferred) fact() {}
func (*EffectsRefused) fact()  {}
func (*AgentFailed) fact()     {}
func (*ActorFailed) fact()     {}
func (*Paused) fact()          {}
func (*Resumed) fact()         {}
func (*Ended) fact()           {}
func (*DeadLettered) fact()    {}
func (*Redelivered) fact()     {}
func (*Forked) fact()          {}

// Why a scene ended.
const (
	StoppedByTime          = "time"          // Stop.After
	StoppedByTicks         = "ticks"         // Stop.Ticks
	StoppedByDeliberations = "deliberations" // Stop.Deliberations
	StoppedByEvents        = "events"        // Stop.Events
	StoppedByCondition     = "condition"     // Stop.Until
	StoppedByQuiet         = "quiet"         // nothing will ever happen again
	StoppedByFailure       = "failure"       // the world, the channel or the scene was given up
	StoppedByRequest       = "request"       // somebody terminated the scene
	// Not an end: the run can be resumed, and no fact is kept of it.
	StoppedByInterrupt = "interrupt"
	StoppedByWallTime  = "wall_time"
)

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[Started](), protocol.ByCodec[WaveClosed](), protocol.ByCodec[EffectsDeferred](),
		protocol.ByCodec[AgentFailed](), protocol.ByCodec[ActorFailed](), protocol.ByCodec[Paused](),
		protocol.ByCodec[Resumed](), protocol.ByCodec[Ended](), protocol.ByCodec[DeadLettered](),
		protocol.ByCodec[Redelivered](), protocol.ByCodec[Forked](), protocol.ByCodec[Interrupted](),
		protocol.ByCodec[Blocked](), protocol.ByCodec[EffectsRefused](),
	}
}
