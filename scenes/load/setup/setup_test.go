package setup_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func build(t *testing.T, p *project.Project, id string, opt setup.Options) *setup.Scene {
	t.Helper()
	def, err := p.Scene(id)
	if err != nil {
		t.Fatal(err)
	}
	s, err := setup.New(p, def, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// full is a scene that has something of everything that a scene is made of.
const full = `-- knowledgebases/chronicle.yaml --
id: chronicle
schema_version: "1.0"
entries:
  - {id: feast, entry_type: goal, content: Hold a feast}
  - {id: dance, entry_type: goal, content: Dance}
  - {id: sing, entry_type: goal, content: Sing}
  - {id: rest, entry_type: goal, content: Rest}
-- scenes/full.yaml --
id: full
name: Full
schema_version: "1.0"
agent_instances:
  - {instance_id: first, profile_id: citizen, initial_goals_override_reference: [{caiu_id: feast}, {caiu_id: dance}, {caiu_id: sing}, {caiu_id: rest}]}
  - instance_id: "m_{n}"
    profile_id: citizen
    count: 3
    custom_runtime_config: {max_inbox: 3, max_restarts: 2, subscribed_event_types: [town.feast, rain]}
  - {instance_id: last, profile_id: citizen, initial_private_state_override: {coins: 7}, custom_runtime_config: {subscribed_event_types: [snow]}}
event_bus_config: {max_held: 40, max_depth: 5}
scene_lifecycle_workflows: {on_scene_start: open, on_town_feast_event: open, on_town_news_event: open, on_rain_event: open}
initial_world_state: {till: 0, fountain: dry}
world_write_permissions: {"*": {deny: [till]}, citizen: {deny: [fountain]}}
simulation: {stop: {ticks: 1}}
`

// Promise 1: made again and again, from a project that is loaded again each time,
// all is the same down to the last field; with another seed the chance is another.
func TestTheSameScene(t *testing.T) {
	opt := setup.Options{Seed: 7, ProjectHash: "p", Until: "world.till > 3"}
	first := build(t, scenestest.Town(t, full), "full", opt)
	x := first.Draw(0, 5, 1)
	n := x.IntN(1 << 30)
	for range 6 {
		again := build(t, scenestest.Town(t, full), "full", opt)
		if diff := cmp.Diff(first, again, everyField()); diff != "" {
			t.Fatal(diff)
		}
		for o := range first.Len() {
			if a, b := first.Machine(uint32(o)), again.Machine(uint32(o)); !cmp.Equal(a, b, everyField()) {
				t.Error(cmp.Diff(a, b, everyField()))
			}
		}
		y := again.Draw(0, 5, 1)
		if stateOf(t, first) != stateOf(t, again) || y.IntN(1<<30) != n {
			t.Error("the state before the first fact, or the chance of a turn, is another")
		}
	}
	opt.Seed = 8
	other := build(t, scenestest.Town(t, full), "full", opt)
	if z := other.Draw(0, 5, 1); z.IntN(1<<30) == n {
		t.Error("the chance of a turn is not that of the seed")
	}
}

// everyField compares all there is; of functions, whether there is one. The codec
// holds buffers that are nobody's.
func everyField() cmp.Option {
	return cmp.Options{
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[*protocol.Codec]() }, cmp.Ignore()),
		cmp.FilterPath(func(p cmp.Path) bool {
			t := p.Last().Type()
			return t.Kind() == reflect.Map && t.Key().Kind() == reflect.Pointer
		}, cmp.Comparer(func(a, b any) bool { return reflect.ValueOf(a).Len() == reflect.ValueOf(b).Len() })), // their keys are other pointers
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().Kind() == reflect.Func },
			cmp.Comparer(func(a, b any) bool { return reflect.ValueOf(a).IsNil() == reflect.ValueOf(b).IsNil() })),
	}
}

func stateOf(t *testing.T, s *setup.Scene) string {
	t.Helper()
	state, err := machines.New(s)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := state.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// crowd is a scene of one agent by name, many of one kind, and one more.
func crowd(n int) string {
	return fmt.Sprintf(`-- scenes/crowd.yaml --
id: crowd
name: Crowd
schema_version: "1.0"
agent_instances:
  - {instance_id: first, profile_id: citizen}
  - {instance_id: "m_{n}", profile_id: citizen, count: %d}
  - {instance_id: last, profile_id: citizen, custom_runtime_config: {max_inbox: 3}}
simulation: {stop: {ticks: 1}}
`, n)
}

// Promise 2.
func TestOrdinalsAreTheOrderOfTheDefinition(t *testing.T) {
	s := build(t, scenestest.Town(t, crowd(3)), "crowd", setup.Options{Seed: 1})
	var ids []string
	for o := range uint32(s.Len()) {
		ids = append(ids, s.Name(o))
	}
	many := build(t, scenestest.Town(t, crowd(700)), "crowd", setup.Options{Seed: 1})
	for o := range uint32(many.Len()) {
		if got, ok := many.Ordinal(many.Name(o)); !ok || got != o {
			t.Fatalf("%q of %d is that of %d, %v", many.Name(o), o, got, ok)
		}
	}
	if got := strings.Join(ids, " "); got != "first m_1 m_2 m_3 last $scene" || s.Size() != 5 || s.OwnOrdinal() != 5 {
		t.Errorf("%s, %d agents, the scene's own is %d", got, s.Size(), s.OwnOrdinal())
	}
	for o, id := range ids {
		if got, ok := s.Ordinal(id); !ok || int(got) != o || s.Name(got) != id || s.Machine(got).ID.Ordinal != got {
			t.Errorf("%s has the ordinal %d, %v, want %d", id, got, ok, o)
		}
	}
	if _, ok := s.Ordinal("m_4"); ok {
		t.Error("m_4 was found")
	}
}

// Promise 2: what belongs to an agent is found under its own ordinal.
func TestWhatAnOrdinalHas(t *testing.T) {
	s := build(t, scenestest.Town(t, full), "full", setup.Options{Seed: 1})
	for o, want := range []struct {
		id              string
		inbox, restarts int
		events          string
		goals           int
		coins           int64
	}{
		{"first", 6, 5, "agent.said town.*", 4, 10},
		{"m_1", 3, 2, "agent.said town.* town.feast rain", 0, 10},
		{"m_2", 3, 2, "agent.said town.* town.feast rain", 0, 10},
		{"m_3", 3, 2, "agent.said town.* town.feast rain", 0, 10},
		{"last", 6, 5, "agent.said town.* snow", 0, 7},
	} {
		m := s.Machine(uint32(o))
		coins, _ := m.State.Private["coins"].(int64)
		if m.ID.Instance != want.id || s.Name(uint32(o)) != want.id || heard(s.Subscriptions(uint32(o))) != want.events || s.Profile(uint32(o)) != "citizen" {
			t.Errorf("%d: %s, which hears %+v, want %s", o, m.ID.Instance, s.Subscriptions(uint32(o)), want.id)
		}
		if got := s.AgentDefinition(uint32(o)); got.Limits.MaxInbox != want.inbox || m.Def != got || s.Timing(uint32(o)).MaxRestarts != want.restarts {
			t.Errorf("%s: inbox %d, restarts %d", want.id, got.Limits.MaxInbox, s.Timing(uint32(o)).MaxRestarts)
		}
		if len(m.State.Goals) != want.goals || coins != want.coins {
			t.Errorf("%s: goals %v, private state %v", want.id, m.State.Goals, m.State.Private)
		}
	}
	own := uint32(s.OwnOrdinal())
	if s.Name(own) != setup.ActorScene || heard(s.Subscriptions(own)) != "rain town_feast town_news" || s.AgentDefinition(uint32(s.OwnOrdinal())).Profile != setup.ActorScene {
		t.Errorf("the scene's own: %+v", s.Subscriptions(own))
	}
}

// heard are the types that somebody subscribed to, in their order.
func heard(subscriptions []bus.Subscription) string {
	var types []string
	for _, s := range subscriptions {
		types = append(types, s.Type)
	}
	return strings.Join(types, " ")
}

// Promise 3: ten thousand agents more of one class take an id, a class and a
// subscriber each, and no definition.
func TestMemoryOfAnAgent(t *testing.T) {
	const more, mostOfAnAgent = 10_000, 110 // 82 are the three, 8 the text of the id; the rest is room for the heap
	small, few := taken(t, 10)
	large, many := taken(t, 10+more)
	each := (large - small) / more
	t.Logf("%d bytes for an agent", each)
	if each > mostOfAnAgent || len(many.Definitions) != len(few.Definitions) || len(many.Timings) != len(few.Timings) {
		t.Errorf("%d bytes for an agent; %d definitions for %d agents, %d for %d", each, len(many.Definitions), many.Size(), len(few.Definitions), few.Size())
	}
	if many.AgentDefinition(1) != many.AgentDefinition(more) {
		t.Error("two agents of a class have two definitions")
	}
}

func taken(t *testing.T, agents int) (int64, *setup.Scene) {
	t.Helper()
	p := scenestest.Town(t, crowd(agents))
	before := live()
	s := build(t, p, "crowd", setup.Options{Seed: 1})
	n := live() - before
	runtime.KeepAlive(p)
	return n, s
}

func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

const auction = `-- project.json --
{"id": "test"}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
script:
  states:
    - id: sale
      collect: [{id: bids, event: bid.made, from: ["*"], until: {after: 1s}}]
      on_enter: [{publish: {type: floor.given, payload: {to: a}}}]
      transitions: [{to: over, on: floor.returned}]
    - {id: over, on_enter: [{publish: {payload: {}, type: sale.over}}]}
simulation: {seed: 1, stop: {ticks: 3}}
`

// Metrics know the types of events that a script names, in its actions, its transitions and its collections.
func TestDeclaredTypesOfAScript(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(auction))), nil)
	if err != nil {
		t.Fatal(err)
	}
	types := build(t, p, "s", setup.Options{}).Declared().EventTypes
	for _, want := range []string{"bid.made", "collect.asked", "floor.given", "floor.returned", "sale.over"} {
		if !slices.Contains(types, want) {
			t.Errorf("%s is missing: %v", want, types)
		}
	}
}
