package agenda

import (
	"slices"
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
	FactIntervened   = "scene.intervened"
	FactOrderRefused = "scene.order_refused"
	FactRested       = "agent.rested"
	FactRestEnded    = "agent.rest_ended"
	FactNotChanged   = "scene.change_refused"
	FactSpawned      = "agent.spawned"
	FactRemoved      = "agent.removed"
	FactPlugins      = "tool.plugins_changed"
	FactAbandoned    = "agent.turn_abandoned"
)

// Started is the first fact of a journal: the inputs of the run.
type Started struct {
	Scene   string
	Seed    uint64
	Clock   ClockKind
	Start   protocol.Time
	Tick    time.Duration
	Agents  int64
	Project string // hash of the resolved inputs
}

// WaveClosed ends a wave. Its time is the time of the scene.
type WaveClosed struct {
	Wave   uint64
	Turns  int64
	Events int64 // published
	World  int64 // version after it
}

// EffectsDeferred holds back the requests of a deliberation until the simulated
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

// AgentFailed records a panic or error of an agent's actor. WakeAt is when the agent
// is woken again; 0 = it is given up.
type AgentFailed struct {
	Agent    uint32
	Error    string
	Stack    []string
	Failures int64 // in a row
	WakeAt   protocol.Time
}

// ActorFailed records a failure of the world service, the knowledge service, the
// event channel or the stage.
type ActorFailed struct {
	Actor    string
	Error    string
	Stack    []string
	Failures int64
	GivenUp  bool
}

// Paused begins a pause, in which no agent is woken.
type Paused struct {
	Reason string
}

// Resumed ends a pause.
type Resumed struct {
}

// Ended is the last fact of a journal before its wave is closed. What the end workflow
// did is in the same wave: a kill leaves both or neither.
type Ended struct {
	Reason string // one of the Stopped... reasons
}

// Forked is the first fact of a fork, behind the facts of its parent.
type Forked struct {
	Parent  string // name of the run that it was forked from
	Wave    uint64 // at the end of which
	Digest  string // of the chain there
	Seed    uint64 // from here on
	Changes []string
}

// DeadLettered records an envelope that a mailbox refused or dropped, or a number of
// similar ones.
type DeadLettered struct {
	Event    string // id; "" for several envelopes, and for other kinds of envelopes
	Type     string
	Reason   string
	Chain    []protocol.Link
	Receiver string // instance id or service
	Kind     string // of envelope
	TraceID  string
	Count    int64
}

// Redelivered records dead letters that an operator sent again while the scene was
// stopped. They are published in its first wave at or after Due.
type Redelivered struct {
	Due     protocol.Time
	Letters []Letter
}

// Letter is one refused message that is sent again.
type Letter struct {
	Seq   uint64 // of the fact that refused it
	Agent string // the one receiver; "" = all agents that hear it
	Draft protocol.Raw
}

// Interrupted records that a more urgent event arrived during the simulated latency
// of a deliberation. The deliberation's requests are cancelled.
type Interrupted struct {
	Agent   uint32
	Event   string // id
	Effects int64  // requests cancelled
}

// Intervened is an order from outside. It is the first fact of its wave, which has no
// turns; what it changes follows in the same wave.
type Intervened struct {
	ID     string
	By     string // who gave it, as they say
	Reason string
	Do     protocol.Raw // the changes: see package engine/order
}

// OrderRefused records that nothing of an order took effect.
type OrderRefused struct {
	ID    string
	Error string
}

// PluginsChanged records that agents have the tools of another edition of the project from here
// on. A deliberation that began before has those of the edition before.
type PluginsChanged struct {
	Edition uint64   // from 2 on: the first one is the project with which the run began
	Project string   // hash of its inputs
	Plugins []string // that changed, with their versions
	Tools   []string // ids of tools that are new, gone or others, sorted
}

// Rested records that agents rest from now on: they hear everything and are not woken.
type Rested struct {
	Agents []uint32 // ascending, those that did not rest
	ID     string   // of the request of a director, or of the order
	By     string   // the director, or $order
	Reason string
}

// RestEnded records that agents rest no longer. What they heard meanwhile wakes them.
type RestEnded struct {
	Agents []uint32 // ascending, those that rested
	ID     string
	By     string
	Reason string
}

// ChangeRefused records that nothing of what a director asked for took effect.
type ChangeRefused struct {
	ID    string // of the request
	By    string // instance id
	Do    protocol.Raw
	Kind  protocol.ErrorKind
	Error string
}

func (f *ChangeRefused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.By, Kind: "change_refused", Wakes: true}, true
}

func (f *ChangeRefused) Told() map[string]any {
	do, _ := f.Do.Value()
	return map[string]any{"request_id": f.ID, "do": do, "message": f.Error}
}

// Blocked records that lanes that block were full for an event. The publisher is not
// woken before each of these receivers has ended a turn that began after the event.
type Blocked struct {
	Agent     uint32 // the publisher
	Event     string // id
	Receivers []uint32
}

// LastAgent implements protocol.Naming.
func (f *EffectsDeferred) LastAgent() uint32 { return f.Agent }

func (f *AgentFailed) LastAgent() uint32 { return f.Agent }

func (f *Interrupted) LastAgent() uint32 { return f.Agent }

func (f *Rested) LastAgent() uint32 { return last(f.Agents) }

func (f *RestEnded) LastAgent() uint32 { return last(f.Agents) }

func last(ascending []uint32) uint32 {
	if n := len(ascending); n > 0 {
		return ascending[n-1]
	}
	return 0
}

func (f *Blocked) LastAgent() uint32 { return slices.Max(append(slices.Clone(f.Receivers), f.Agent)) }

// Fact is one of this package's facts. The linter checks that a switch over it has
// a case for each.
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
func (*Intervened) FactKind() string      { return FactIntervened }
func (*OrderRefused) FactKind() string    { return FactOrderRefused }
func (*Rested) FactKind() string          { return FactRested }
func (*RestEnded) FactKind() string       { return FactRestEnded }
func (*ChangeRefused) FactKind() string   { return FactNotChanged }
func (*Spawned) FactKind() string         { return FactSpawned }
func (*Removed) FactKind() string         { return FactRemoved }
func (*PluginsChanged) FactKind() string  { return FactPlugins }
func (*TurnAbandoned) FactKind() string   { return FactAbandoned }

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
func (*Intervened) fact()      {}
func (*OrderRefused) fact()    {}
func (*Rested) fact()          {}
func (*RestEnded) fact()       {}
func (*ChangeRefused) fact()   {}
func (*Spawned) fact()         {}
func (*Removed) fact()         {}
func (*PluginsChanged) fact()  {}
func (*TurnAbandoned) fact()   {}

// Why a scene ended.
const (
	StoppedByTime          = "time"          // Stop.After
	StoppedByTicks         = "ticks"         // Stop.Ticks
	StoppedByDeliberations = "deliberations" // Stop.Deliberations
	StoppedByEvents        = "events"        // Stop.Events
	StoppedByCondition     = "condition"     // Stop.Until
	StoppedByOutcome       = "outcome"       // the script of the scene came to an end
	StoppedByQuiet         = "quiet"         // no agent is due at any time
	StoppedByFailure       = "failure"       // a service or the stage was given up
	StoppedByRequest       = "request"       // the host terminated the scene
	StoppedByTokens        = "tokens"        // Stop.Tokens
	StoppedByDollars       = "dollars"       // Stop.Dollars
	StoppedByBudget        = "budget"        // a budget is exhausted; of a run that can be resumed: the scene paused because of it
	// The run is not over and can be resumed; there is no fact of it.
	StoppedByInterrupt = "interrupt"
	StoppedByWallTime  = "wall_time"
)

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[Started](), protocol.ByCodec[WaveClosed](), protocol.ByCodec[EffectsDeferred](), protocol.ByCodec[AgentFailed](), protocol.ByCodec[ActorFailed](), protocol.ByCodec[Paused](), protocol.ByCodec[Resumed](), protocol.ByCodec[Ended](), protocol.ByCodec[DeadLettered](),
		protocol.ByCodec[Redelivered](), protocol.ByCodec[Forked](), protocol.ByCodec[Interrupted](), protocol.ByCodec[Blocked](), protocol.ByCodec[EffectsRefused](), protocol.ByCodec[Intervened](), protocol.ByCodec[OrderRefused](), protocol.ByCodec(ordered[Rested]), protocol.ByCodec(ordered[RestEnded]), protocol.ByCodec[ChangeRefused](), protocol.ByCodec[Spawned](), protocol.ByCodec[Removed](), protocol.ByCodec[PluginsChanged](), protocol.ByCodec[TurnAbandoned](),
	}
}
