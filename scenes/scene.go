package scenes

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/engine/expr"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/internal/metrics"
	"tavernsim/llm"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/deadletter"
	"tavernsim/scenes/project"
)

// Actors of a scene that are no agents. An instance id cannot begin with "$".
const (
	actorStage     = "$stage" // the scene itself: who wakes, merges and keeps
	actorScene     = "$scene" // the agent that runs the scene's own workflows, and the source of its facts
	actorWorld     = "$world"
	actorKnowledge = "$knowledge"
	actorEvents    = "$events"
)

// scene is what every actor of a running scene shares. All of it is read-only
// once the scene runs, but for the atomics.
type scene struct {
	id      string
	def     *project.Scene
	seed    uint64
	clock   director.ClockKind
	codec   *protocol.Codec
	metrics *metrics.Scene
	options Options
	log     *slog.Logger

	ids         []string                               // instance ids by ordinal, the scene's own last
	find        func(id string) (ordinal int, ok bool) // of an agent
	class       []uint16                               // of an ordinal: index into definitions
	definitions []*agent.Definition
	profiles    []*metrics.Profile // by class; nil for the scene's own agent
	marks       *marks
	timings     []director.Timing
	initial     func(ordinal uint32) agent.State
	bases       knowledge.State
	bus         bus.Config
	subscribers []bus.Subscriber

	rules        *worldstate.Machine // of the world
	untilProgram *expr.Program       // nil = no such condition
	interrupts   bool                // there are agents whose deliberations events interrupt

	context context.Context // ends when the scene stops
	calls   *callRunner
	spaces  *spacePool
	buffers *buffers
	model   llm.Provider
	instant llm.Instant // the model, when it answers at once
	journal *persistence.Journal
	system  *actors.System

	// world and bases as they stand between two waves. Their owners store,
	// everybody reads.
	world     atomic.Pointer[world.Document]
	knowledge atomic.Pointer[knowledge.State]
	// expiry is when something in the world expires next, 0 = never, and whether
	// leases are held. Its owner stores, the scene reads.
	expiry struct {
		at     atomic.Int64
		leases atomic.Bool
	}
	latest atomic.Int64 // protocol.Time at which the wall clock was last read

	dead   deadletter.Box
	saving sync.WaitGroup // of the snapshot that is being written

	refs   []*actors.Ref // agents by ordinal
	stage  *actors.Ref   // the scene actor
	owners struct{ world, knowledge, events *actors.Ref }
	sup    *actors.Supervisor
}

// size is the number of agents; the scene's own workflows run as one more.
func (s *scene) size() int            { return len(s.ids) - 1 }
func (s *scene) stageOrdinal() int    { return len(s.ids) - 1 }
func (s *scene) name(o uint32) string { return s.ids[o] }

// ordinal finds an agent, or the scene's own, by instance id.
func (s *scene) ordinal(id string) (uint32, bool) {
	if id == actorScene {
		return uint32(s.stageOrdinal()), true
	}
	o, ok := s.find(id)
	return uint32(o), ok
}

func (s *scene) definition(o uint32) *agent.Definition { return s.definitions[s.class[o]] }
func (s *scene) timing(o uint32) director.Timing       { return s.timings[s.class[o]] }

// actorName is unique in the process.
func (s *scene) actorName(actor string) string { return s.id + "/" + actor }

// simulation is the scene's simulation block with every default filled in.
func (s *scene) simulation() *director.Simulation { return &s.def.Definition.Simulation }

// draw keys the chance of one turn of an agent.
func (s *scene) draw(o uint32, now protocol.Time, turn uint64) protocol.Draw {
	return drawOf(s.seed, s.ids[o], now, turn)
}

func drawOf(seed uint64, instance string, now protocol.Time, turn uint64) protocol.Draw {
	return protocol.NewDraw(seed, protocol.HashString(instance), uint64(now), turn)
}

// started is the fact that opens a journal.
func (s *scene) started(at protocol.Time) *director.Started {
	return &director.Started{
		Scene: s.id, Seed: s.seed, Clock: s.clock, Start: at, Tick: s.simulation().Tick.Std(),
		Agents: int64(s.size()), Project: s.options.ProjectHash,
	}
}

// now is the wall clock's time, which mailboxes take for theirs until it is
// asked again.
func (s *scene) now() protocol.Time {
	t := protocol.TimeOf(time.Now())
	s.latest.Store(int64(t))
	return t
}

func (s *scene) seen() protocol.Time { return protocol.Time(s.latest.Load()) }

// directorConfig is the machine's view of the scene.
func (s *scene) directorConfig() director.Config {
	sim := s.simulation()
	return director.Config{
		Start: protocol.TimeOf(sim.StartTime), Tick: sim.Tick.Std(), Clock: s.clock,
		Agents: len(s.ids), Timing: s.timing, RestartBackoff: sim.Limits.RestartBackoff.Std(),
	}
}

// machine makes an agent as it is when the scene begins.
func (s *scene) machine(o uint32) *agent.Machine {
	return &agent.Machine{
		Def: s.definition(o), ID: agent.Identity{Instance: s.ids[o], Ordinal: o}, State: s.initial(o),
	}
}

func (s *scene) errorf(format string, args ...any) error {
	return fmt.Errorf("scene %s: %w", s.id, fmt.Errorf(format, args...))
}
