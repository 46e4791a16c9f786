package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
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

	Troubles []string // texts of the first failures

	ByEvent   protocol.Counts // routed, by type
	Refused   protocol.Counts // events and deliveries refused, by reason
	Refusals  protocol.Counts // all that was refused, by what and reason with a space between
	ByTool    protocol.Counts // calls made
	ByProfile protocol.Counts // deliberations
	ByAgent   protocol.Counts // deliberations, of scenes small enough to read
}

// maxNamedAgents bounds ByAgent, so that the summary stays readable.
const maxNamedAgents = 200

// NewTally makes an empty tally.
func NewTally() Tally {
	return Tally{ByEvent: protocol.Counts{}, Refused: protocol.Counts{}, Refusals: protocol.Counts{}, ByTool: protocol.Counts{}, ByProfile: protocol.Counts{}, ByAgent: protocol.Counts{}}
}

// Count counts a fact. fact may be nil for kinds that the stage does not decode.
func (t *Tally) Count(sc *setup.Scene, actor, kind string, data protocol.Raw, fact protocol.Fact) error {
	t.Facts++
	switch kind {
	case agent.FactCallMade:
		return t.call(data, fact)
	case agent.FactSaid:
		t.Said++
		return nil
	case agent.FactStateUpdated, agent.FactModelAnswered, agent.FactCallAnswered:
		return nil
	}
	Refusals(actor, fact, t.refuse)
	switch x := fact.(type) {
	case *agent.TurnEnded:
		t.turn(sc, actor, x)
	case *agenda.AgentFailed:
		t.trouble(sc.Name(x.Agent), x.Error)
		t.Deliberations++
		t.Failed++
		if x.WakeAt == 0 {
			t.GivenUp++
		} else {
			t.Restarts++
		}
	case *agenda.ActorFailed:
		t.trouble(x.Actor, x.Error)
		t.Restarts++
	default:
		t.countServices(fact)
	}
	return nil
}

// maxTroubles bounds Troubles; all failures are counted.
const maxTroubles = 5

func (t *Tally) trouble(actor, text string) {
	if len(t.Troubles) < maxTroubles {
		t.Troubles = append(t.Troubles, actor+": "+text)
	}
}

// call counts a call; fact is a CallSeen that was read already, or nil.
func (t *Tally) call(data protocol.Raw, fact protocol.Fact) error {
	seen, ok := fact.(*CallSeen)
	if !ok {
		seen = &CallSeen{}
		if err := seen.Read(data); err != nil {
			return err
		}
	}
	t.Calls++
	t.ByTool[seen.Tool]++
	if seen.Refused() {
		t.CallsFailed++
		t.Refusals[RefusedCall+" "+string(seen.Status)]++
	}
	return nil
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
func (*CallSeen) FactKind() string { return agent.FactCallMade }

// Refused reports whether the call was not carried out.
func (c *CallSeen) Refused() bool {
	return c.Status == protocol.CallFailed || c.Status == protocol.CallDenied
}

// Read reads the counted fields of an encoded call.
func (c *CallSeen) Read(data protocol.Raw) (err error) {
	c.Tool, c.Status, err = agent.ReadCall(data)
	return err
}

func (t *Tally) turn(sc *setup.Scene, actor string, x *agent.TurnEnded) {
	if int(x.Agent) == sc.OwnOrdinal() {
		return // the scene's own workflows are no deliberations
	}
	t.Deliberations++
	if TurnFailed(x) {
		t.Failed++
		t.trouble(actor, x.Error)
	}
	t.Reflections += x.Reflections
	t.ModelCalls += x.ModelCalls
	t.ModelFailed += x.ModelFailed
	t.TokensIn += x.TokensIn
	t.TokensOut += x.TokensOut
	t.ByProfile[sc.AgentDefinition(x.Agent).Profile]++
	if sc.Size() <= maxNamedAgents {
		t.ByAgent[actor]++
	}
}

// countServices counts the facts of the services.
func (t *Tally) countServices(f protocol.Fact) {
	switch x := f.(type) {
	case *world.Committed, *statecmd.Committed:
		if c, ok := worldstate.CommitOf(x); ok {
			t.Commits++
			t.Changes += int64(len(c.Changes))
		}
	case *bus.Routed:
		if x.Released == 0 {
			t.EventsRouted++
			t.ByEvent[x.Type]++
		}
		t.EventsDelivered += int64(x.Receivers.Len())
	case *knowledge.Written:
		t.Entries++
	}
}

// fill makes the maps that an old or empty snapshot lacks.
func (t *Tally) fill() {
	for _, m := range []*protocol.Counts{&t.ByEvent, &t.Refused, &t.Refusals, &t.ByTool, &t.ByProfile, &t.ByAgent} {
		if *m == nil {
			*m = protocol.Counts{}
		}
	}
}
