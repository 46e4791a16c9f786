package machines

import (
	"cmp"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/travel"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/packed"
	"tavernsim/scenes/machines/spending"
)

// Service is a machine that decides about the requests of a wave. A live scene puts
// it behind a mailbox; a fold and verify call it.
type Service interface {
	// Decide gives the facts of all requests in their order, a part at a time, after it
	// has folded them. Without requests it gives the facts that passing time causes. Of an open
	// list it gives what the rest cannot change, and no last part.
	Decide(in *packed.Reader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error
	// Apply folds a fact of one of the service's kinds.
	Apply(protocol.Fact) error
	Publish() Part
	Snapshot(*protocol.Codec) (protocol.Raw, error)
	Load(*protocol.Codec, protocol.Raw) error
}

// Deliverer is a service that sends events to agents.
type Deliverer interface {
	// Deliver gives the events of the last Decide in their order, to each receiver.
	Deliver(wave uint64, tell func(receiver uint32, event *protocol.Envelope))
}

// Observer is a service that decides by what the services before it show. Look comes before
// each Decide.
type Observer interface{ Look(*View) }

// Filterer is a service with conditions of agents, which may fail.
type Filterer interface {
	WatchFilters(failed func([]bus.FilterFailure))
}

// ServiceKind is one row of the table of services.
type ServiceKind struct {
	Name  string // addressee of requests, what views find it by, and the kind of the actor in metrics
	New   func(*setup.Scene) (Service, error)
	Facts func() []protocol.FactType // that it decides
	// Read reads a request for views; nil = requests are values with names.
	Read       func(protocol.Raw) (any, error)
	Middleware bool // its facts depend on the host's middleware
	// Early: it decides while agents still deliberate. Nothing of it reaches them before the wave ends.
	Early bool
}

// Services lists the services in the order in which they decide about a wave.
func Services() []ServiceKind {
	return []ServiceKind{worldKind(), knowledgeKind(), tasksKind(), spaceKind(), eventsKind()}
}

// ofService begins the names of the actors of services.
const ofService = "$"

// Actor is the actor of the service's facts.
func (k *ServiceKind) Actor() string { return ofService + k.Name }

// missing is what a row of the table lacks; "" = nothing.
func (k *ServiceKind) missing() string {
	switch {
	case k.Name == "":
		return "Name"
	case k.New == nil:
		return "New"
	case k.Facts == nil:
		return "Facts"
	}
	return ""
}

// checkServices refuses a table with a row that lacks something.
func checkServices(rows []ServiceKind) error {
	for i := range rows {
		if what := rows[i].missing(); what != "" {
			return protocol.Errorf(protocol.KindInternal, "the table of services: row %d (%s) lacks %s", i+1, cmp.Or(rows[i].Name, "no name"), what)
		}
		if slices.ContainsFunc(rows[:i], func(k ServiceKind) bool { return k.Name == rows[i].Name }) {
			return protocol.Errorf(protocol.KindInternal, "the table of services: row %d: there is another row with the name %s", i+1, rows[i].Name)
		}
		if rows[i].Early && i > 0 {
			return protocol.Errorf(protocol.KindInternal, "the table of services: row %d (%s): only the first one may decide early, for the others wait for it", i+1, rows[i].Name)
		}
	}
	return nil
}

// NewCodec makes a codec for every kind of fact in the journal of a scene.
func NewCodec() *protocol.Codec {
	facts := [][]protocol.FactType{agenda.Facts(), agentfact.Facts(), script.Facts(), turns.Facts(), travel.Facts()}
	for _, k := range Services() {
		if k.Facts != nil { // New names a row without
			facts = append(facts, k.Facts())
		}
	}
	return protocol.NewCodec(facts...)
}

// View is the published state of the services between two waves. Agents deliberate
// against it, and the stage uses it to choose the next wave. It is immutable.
type View struct {
	parts []Part
	scene map[string]any // what agents know of the script; nil = there is none

	edition *edition // whose tools agents have; nil = those of the beginning

	Turns  *turns.Shown         // nil = the scene has no turns
	Budget *spending.WakeBudget // in the wake of an agent under a budget, else nil
}

// Part is what one service publishes.
type Part struct {
	service string        // its name, which the view sets
	Shown   any           // an immutable value
	Next    protocol.Time // when it has something to decide although nobody asks; 0 = never
	Holds   bool          // of tasks: scene time stands until a person answers
	Awaits  bool          // it waits for the outside, so the scene is not quiet
}

// With is the view after a service has published again.
func (v *View) With(service string, p Part) *View {
	p.service = service
	parts := slices.DeleteFunc(slices.Clone(v.parts), func(before Part) bool { return before.service == service })
	return &View{parts: append(parts, p), scene: v.scene, edition: v.edition, Turns: v.Turns}
}

func (v *View) withScene(scene map[string]any) *View {
	return &View{parts: v.parts, scene: scene, edition: v.edition, Turns: v.Turns}
}

func (v *View) of(service string) (p Part) {
	for i := range v.parts {
		if v.parts[i].service == service {
			return v.parts[i]
		}
	}
	return p
}

// Shown implements agent.View.
func (v *View) Shown(service string) any {
	if service == InputScene && v.scene != nil {
		return v.scene
	}
	if service == turns.Part && v.Turns != nil {
		return v.Turns
	}
	return v.of(service).Shown
}

// World is the world document.
func (v *View) World() *world.Document { return v.WorldState().World() }

// WorldState is the state of the world service.
func (v *View) WorldState() worldstate.State {
	s, _ := v.Shown(worldstate.Service).(worldstate.State)
	return s
}

// awaits reports whether some service waits for the outside.
func (v *View) awaits() bool {
	return slices.ContainsFunc(v.parts, func(p Part) bool { return p.Awaits })
}

// hearsWorld reports whether some subscription is to changes of the world.
func (v *View) hearsWorld() bool { return v.channel().World }

func (v *View) channel() bus.View {
	c, _ := v.Shown(bus.Service).(bus.View)
	return c
}

// releases is when a service decides next without a request; 0 = never. Expiries of the world have waves of their own.
func (v *View) releases() (next protocol.Time) {
	for i := range v.parts {
		if p := &v.parts[i]; p.Next != 0 && (next == 0 || p.Next < next) {
			next = p.Next
		}
	}
	return next
}
