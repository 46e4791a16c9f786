package setup

import (
	"fmt"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/panel"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space/ground"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
)

// Actors of a scene that are no agents. An instance id cannot begin with "$".
const (
	ActorStage = "$stage"   // the stage: it wakes agents, merges turns and keeps facts
	ActorScene = cast.Scene // the agent that runs the scene's own workflows, and the source of its facts
)

// TypeAgentFailed is the event that the scene publishes when an agent's actor
// failed.
const TypeAgentFailed = "agent.failed"

// Options are the inputs of a scene's facts beside its project and the model's answers.
// The manifest of a run keeps all of them except Middleware and External.
type Options struct {
	Run         string // in which the scene began; "" = nobody knows
	Seed        uint64
	Clock       agenda.ClockKind // "" = what the definition says
	Agents      int              // scales the counts; 0 = as defined
	For         time.Duration    // replaces the definition's stop condition of its kind, as the next two do; 0 = that
	Ticks       int64
	Until       string
	Budget      *budget.Budget            // the scene's share of the run's; nil = none
	Model       string                    // answers requests without a name, in place of the definition's; "" = that
	Raised      bool                      // Budget takes the place of the scene's own
	Endpoints   map[string]*budget.Budget // of endpoints: the scene's shares, or those a day; by name
	ProjectHash string
	Tools       string // what carries out the tools of the project: see Tools; "" = what they say
	Numbered    bool   // ids of events are numbers: see bus.Config
	Before3     bool   // its manifest is older than version 3: see agent.Definition.OneCause, ZeroSleeps, and tally.Cast.CountsOwn
	// Interactive: people can be asked, and answer by orders.
	Interactive bool

	// Middleware judges every receiver of every event after the channel's own rules.
	// Its verdicts are in facts, so a replay does not need it.
	Middleware delivery.Chain

	// External are the tools that the host's executors carry out
	// (scenes.Options.Executors). A replay does not call them.
	External []agent.External
}

// Scene is the compiled definition of a scene. It is immutable and safe for concurrent
// use.
type Scene struct {
	Options // Clock is never ""

	ID      string
	Project *project.Project
	Def     *project.Scene

	ids         names                                  // of instances, by ordinal, the scene's own last
	find        func(id string) (ordinal int, ok bool) // of an agent
	roles       func(ordinal int) []string             // of an agent
	seats       map[string]bus.Ranges                  // of agents that may come and go, by profile
	rights      rights
	Class       []uint16 // of an ordinal: index into Definitions and Timings
	Definitions []*agent.Definition
	Timings     []agenda.Timing
	initial     func(ordinal uint32) map[string]any                      // the private state of an agent at its beginning
	aims        func(ordinal uint32, private map[string]any) []goal.Goal // and its goals, with such a state
	hooks       hook.Places                                              // of the scene's own agent
	Bases       knowledge.State
	Bus         bus.Config
	hears       [][]bus.Subscription // of an index into Definitions

	Turns      *turns.Rules                // whose turn it is; nil = whoever is due has one
	StateTurns map[string]*turns.Rules     // in states of the script that say so themselves
	Budgets    *budget.Config              // of its agents; nil = none
	Rules      *worldstate.Machine         // of the world
	Stop       agenda.Stop                 // when the scene ends
	Condition  *expr.Program               // of the scene's end, too; nil = none
	Script     *script.Program             // nil = none
	Interrupts bool                        // there are agents whose deliberations events interrupt
	Blocks     bool                        // there are agents whose full lanes block publishers
	Grouped    bool                        // the definition has subscriptions of groups, of which one hears an event
	Space      *ground.Map                 // nil = none
	asks       func(*panel.Question) error // people; nil = nobody can be asked
	Starts     []uint32                    // of agents in Space: one more than their cells
	begins     func(uint32) string         // where agents come in, as it is written
	Editions   Editions                    // nil = none; what reloads of plugins made of its project
}

// Size is the number of agents; the scene's own workflows run as one more.
func (s *Scene) Size() int { return len(s.Class) - 1 }

// Len counts the agents, and the scene's own.
func (s *Scene) Len() int { return len(s.Class) }

// Subscriptions are those of an agent's definition. Agents of a class share them.
func (s *Scene) Subscriptions(o uint32) []bus.Subscription { return s.hears[s.Class[o]] }

// InSpace reports whether agents are somewhere.
func (s *Scene) InSpace() bool { return s.Space != nil }

// Begins implements order.Cast.
func (s *Scene) Begins(o uint32) string { return s.begins(o) }

// Asking implements order.Cast, before the scene runs.
func (s *Scene) Asking() (complete func(*panel.Question) error, open int) { return s.asks, 0 }

// Runs implements order.Cast.
func (s *Scene) Runs(id string, inputs map[string]any) error {
	d := s.AgentDefinition(uint32(s.OwnOrdinal()))
	w := d.Workflows[id]
	if w == nil {
		return protocol.Errorf(protocol.KindNotFound, "the scene runs no workflow %q; those of its script and its lifecycle are %s", protocol.Short(id, 80), strings.Join(protocol.SortedKeys(d.Workflows), ", "))
	}
	return direct.CheckInputs(w, protocol.SortedKeys(inputs))
}

// OwnOrdinal is that of the scene's own workflows.
func (s *Scene) OwnOrdinal() int      { return s.Size() }
func (s *Scene) Name(o uint32) string { return s.ids.at(o) }

// Ordinal finds an agent, or the scene's own, by instance id.
func (s *Scene) Ordinal(id string) (uint32, bool) {
	if id == ActorScene {
		return uint32(s.OwnOrdinal()), true
	}
	o, ok := s.find(id)
	return uint32(o), ok
}

// ProfileOf is the profile of an agent by instance id; "" = there is no such agent.
func (s *Scene) ProfileOf(id string) string {
	o, ok := s.Ordinal(id)
	if !ok {
		return ""
	}
	return s.Profile(o)
}

func (s *Scene) AgentDefinition(o uint32) *agent.Definition { return s.Definitions[s.Class[o]] }
func (s *Scene) Profile(o uint32) string                    { return s.AgentDefinition(o).Profile }
func (s *Scene) CountsOwn() bool                            { return !s.Before3 }
func (s *Scene) Timing(o uint32) agenda.Timing              { return s.Timings[s.Class[o]] }

// model is the file of the model that answers requests without a name.
func (s *Scene) model() string {
	if s.Model != "" {
		return s.Model + ".yaml" // the name counts, not the ending
	}
	return s.Simulation().Model
}

// Simulation is the scene's simulation block with every default filled in.
func (s *Scene) Simulation() *agenda.Simulation { return &s.Def.Definition.Simulation }

// Draw keys the chance of one turn of an agent.
func (s *Scene) Draw(o uint32, now protocol.Time, turn uint64) protocol.Draw {
	return DrawOf(s.Seed, s.Name(o), now, turn)
}

// DrawOf is Draw under another seed.
func DrawOf(seed uint64, instance string, now protocol.Time, turn uint64) protocol.Draw {
	return protocol.NewDraw(seed, protocol.HashString(instance), uint64(now), turn)
}

// Started is the fact that opens a journal.
func (s *Scene) Started(at protocol.Time) *agenda.Started {
	return &agenda.Started{
		Scene: s.ID, Seed: s.Seed, Clock: s.Clock, Start: at, Tick: s.Simulation().Tick.Std(),
		Agents: int64(s.Size()), Project: s.ProjectHash,
	}
}

// AgendaConfig is the configuration of the scene's agenda.
func (s *Scene) AgendaConfig() agenda.Config {
	sim := s.Simulation()
	return agenda.Config{
		Start: protocol.TimeOf(sim.StartTime), Tick: sim.Tick.Std(), Clock: s.Clock,
		Agents: s.Len(), Timing: s.Timing, RestartBackoff: sim.Limits.RestartBackoff.Std(), Away: s.away(), Counts: s.Grouped,
	}
}

// Machine makes an agent in its initial state.
func (s *Scene) Machine(o uint32) *agent.Machine {
	m := new(agent.Machine)
	s.Begin(m, o)
	return m
}

// Begin makes a machine that of an agent as it is declared.
func (s *Scene) Begin(m *agent.Machine, o uint32) {
	*m = agent.Machine{Def: s.AgentDefinition(o), ID: agent.Identity{Instance: s.Name(o), Ordinal: o}}
	m.State.Private = s.initial(o)
	m.State.Goals = s.aims(o, m.State.Private)
}

func (s *Scene) Errorf(format string, args ...any) error {
	return fmt.Errorf("scene %s: %w", s.ID, fmt.Errorf(format, args...))
}
