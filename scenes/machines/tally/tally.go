// Package tally counts the facts of a scene: events, refusals and failures.
// The counts are folded from the facts like every other state.
package tally

import (
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/script"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Tally counts the facts of a scene by their meaning. It is folded from the facts, so
// interruptions of a run do not change it.
type Tally struct {
	Facts         int64
	Deliberations int64
	Failed        int64 // deliberations without a decision, also by a failed actor
	Restarts      int64
	GivenUp       int64
	Reflections   int64
	Said          int64
	Calls         int64
	CallsFailed   int64
	ModelCalls    int64
	ModelFailed   int64
	TokensIn      int64
	TokensOut     int64

	EventsRouted    int64 // published and accepted
	EventsDelivered int64 // receivers
	Commits         int64 // world versions
	Changes         int64 // of the world
	Conflicts       int64 // world requests refused because of an earlier change
	WorldRefused    int64 // all refused world requests
	Entries         int64 // knowledge written
	DeadLetters     int64

	Troubles []string // texts of the first failures, of agents, services, the scene's workflows and its script

	ByEvent   protocol.Counts // routed, by type; see Other
	Refused   protocol.Counts // events and deliveries refused, by reason
	Refusals  protocol.Counts // all that was refused, by what and reason with a space between
	ByTool    protocol.Counts // calls made; see Other
	ByProfile protocol.Counts // deliberations that reached their end
	ByAgent   protocol.Counts // the same, of scenes small enough to read
}

// maxNamedAgents bounds ByAgent, so that the summary stays readable.
const maxNamedAgents = 200

// maxNames bounds ByTool and ByEvent, since a model may make a name up in each turn, and each
// snapshot has all. The first names count by themselves, all others as [Other].
const maxNames = 1000

// Other is the name of the tools or types of events beyond the bound.
const Other = "other"

func named(c protocol.Counts, name string, n int64) {
	if _, known := c[name]; !known && len(c) >= maxNames {
		name = Other
	}
	c[name] += n
}

// NewTally makes an empty tally.
func NewTally() Tally {
	return Tally{ByEvent: protocol.Counts{}, Refused: protocol.Counts{}, Refusals: protocol.Counts{}, ByTool: protocol.Counts{}, ByProfile: protocol.Counts{}, ByAgent: protocol.Counts{}}
}

// Cast is what a tally must know of the agents of a scene.
type Cast interface {
	Size() int // how many deliberate; the scene's own has the ordinal behind them
	Name(ordinal uint32) string
	Profile(ordinal uint32) string
	// CountsOwn: what models of the scene's own workflows took counts, and what failed of these and of the script
	// is told. In runs that began with a manifest before version 3 neither is: stop.tokens ends them as it did.
	CountsOwn() bool
}

// Deliberates reports whether the turns and the failures of an agent are
// deliberations. Those of the scene's own agent, which runs the lifecycle workflows,
// are not. What its models took counts all the same, if the cast CountsOwn.
func Deliberates(c Cast, o uint32) bool { return int(o) < c.Size() }

// Count counts a fact. Of kinds that a scene does not decode (protocol.FactType.Bytes)
// it may be nil, but a call is a [CallSeen].
func (t *Tally) Count(c Cast, actor, kind string, fact protocol.Fact) {
	t.Facts++
	if kind == agentfact.FactSaid {
		t.Said++
	}
	Refusals(actor, fact, t.refuse)
	switch x := fact.(type) {
	case *agentfact.TurnEnded:
		t.turn(c, x)
	case *CallSeen:
		t.Called(x.Tool, x.Status, 1)
	case *agentfact.CallMade:
		t.Called(x.Tool, x.Status, 1)
	case *agenda.AgentFailed:
		t.agentFailed(c, x)
	case *agenda.ActorFailed:
		t.trouble(x.Actor, x.Error)
		t.Restarts++
	case *script.Failed:
		if c.CountsOwn() {
			t.trouble(actor, x.Where+": "+x.Error)
		}
	case *world.Committed, *statecmd.Committed:
		if c, ok := worldstate.CommitOf(x); ok {
			t.Commits++
			t.Changes += int64(len(c.Changes))
		}
	case *bus.Routed:
		if x.Released == 0 {
			t.EventsRouted++
			named(t.ByEvent, x.Type, 1)
		}
		t.EventsDelivered += int64(x.Receivers.Len())
	case *knowledge.Written:
		t.Entries++
	}
}

// maxTroubles bounds the texts of the scene itself in Troubles, and those of all others: the
// failures of many agents do not hide that the scene could not be ended as it should.
const maxTroubles = 5

func (t *Tally) trouble(actor, text string) {
	const own = cast.Scene + ": "
	text = actor + ": " + text
	n := 0
	for _, x := range t.Troubles {
		if strings.HasPrefix(x, own) == strings.HasPrefix(text, own) {
			n++
		}
	}
	if n < maxTroubles {
		t.Troubles = append(t.Troubles, text)
	}
}

// Called counts calls of a tool; their facts are counted elsewhere.
func (t *Tally) Called(tool string, status protocol.CallStatus, n int64) {
	t.Calls += n
	named(t.ByTool, tool, n)
	if status == protocol.CallFailed || status == protocol.CallDenied {
		t.CallsFailed += n
		t.Refusals[RefusedCall+" "+string(status)] += n
	}
}

// refuse counts a refusal.
func (t *Tally) refuse(r Refusal) {
	t.Refusals[r.What+" "+r.Reason] += r.Count
	switch r.What {
	case RefusedEvent, RefusedDelivery:
		t.Refused[r.Reason] += r.Count
	case RefusedMailbox:
		t.DeadLetters += r.Count
	case RefusedWorld, RefusedCommand:
		switch command.Code(r.Reason) {
		case command.RolledBack:
			return // the rejected command of the batch counts
		case command.Conflict, command.VersionConflict:
			t.Conflicts++
		}
		t.WorldRefused++
	}
}

// CallSeen holds the counted fields of a call, read without decoding the rest.
type CallSeen struct {
	Tool   string
	Status protocol.CallStatus
}

// FactKind implements protocol.Fact.
func (*CallSeen) FactKind() string { return agentfact.FactCallMade }

// Read reads the counted fields of an encoded call.
func (c *CallSeen) Read(data protocol.Raw) (err error) {
	c.Tool, c.Status, err = agentfact.ReadCall(data)
	return err
}

// agentFailed counts a failure. [Tally.ByProfile] and [Tally.ByAgent] never had them,
// and the snapshots of older programs hold both.
func (t *Tally) agentFailed(c Cast, x *agenda.AgentFailed) {
	t.trouble(c.Name(x.Agent), x.Error)
	deliberates := Deliberates(c, x.Agent)
	if deliberates {
		t.Deliberations++
		t.Failed++
	}
	if x.WakeAt != 0 {
		t.Restarts++
	} else if deliberates {
		t.GivenUp++
	}
}

func (t *Tally) turn(c Cast, x *agentfact.TurnEnded) {
	if x.Outcome == agentfact.OutcomeAsked || !Deliberates(c, x.Agent) && !c.CountsOwn() { // an asked one counts when it has its answer
		return
	}
	t.ModelCalls += x.ModelCalls
	t.ModelFailed += x.ModelFailed
	t.TokensIn += x.TokensIn
	t.TokensOut += x.TokensOut
	failed := TurnFailed(x)
	if failed {
		t.trouble(c.Name(x.Agent), x.Error)
	}
	if !Deliberates(c, x.Agent) {
		return
	}
	t.Deliberations++
	if failed {
		t.Failed++
	}
	t.Reflections += x.Reflections
	t.ByProfile[c.Profile(x.Agent)]++
	if c.Size() <= maxNamedAgents {
		t.ByAgent[c.Name(x.Agent)]++
	}
}

// Fill makes the maps that an old or empty snapshot lacks.
func (t *Tally) Fill() {
	for _, m := range []*protocol.Counts{&t.ByEvent, &t.Refused, &t.Refusals, &t.ByTool, &t.ByProfile, &t.ByAgent} {
		if *m == nil {
			*m = protocol.Counts{}
		}
	}
}
