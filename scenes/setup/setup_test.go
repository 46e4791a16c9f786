package setup_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"tavernsim/scenes/machines"
	"tavernsim/scenes/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/setup"
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

// Promise 1: made twice, from a project that was loaded twice, all is the same; with
// another seed the chance is another.
func TestTheSameScene(t *testing.T) {
	opt := setup.Options{Seed: 7, ProjectHash: "p"}
	a, b := build(t, scenestest.Town(t), "", opt), build(t, scenestest.Town(t), "", opt)
	for what, pair := range map[string][2]any{
		"ids": {a.IDs, b.IDs}, "classes": {a.Class, b.Class}, "timings": {a.Timings, b.Timings}, "subscribers": {a.Subscribers, b.Subscribers},
		"size": {a.Size(), b.Size()}, "clock": {a.Clock, b.Clock}, "start": {a.Started(5), b.Started(5)}, "blocks": {a.Blocks, b.Blocks}, "interrupts": {a.Interrupts, b.Interrupts},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v and %v", what, pair[0], pair[1])
		}
	}
	if ha, hb := stateOf(t, a), stateOf(t, b); ha != hb {
		t.Errorf("the states before the first fact: %s and %s", ha, hb)
	}
	other := build(t, scenestest.Town(t), "", setup.Options{Seed: 8, ProjectHash: "p"})
	x, y, z := a.Draw(0, 5, 1), b.Draw(0, 5, 1), other.Draw(0, 5, 1)
	if n := x.IntN(1 << 30); n != y.IntN(1<<30) || n == z.IntN(1<<30) {
		t.Error("the chance of a turn is not that of the seed")
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
  - {instance_id: first, profile_id: person}
  - {instance_id: "m_{n}", profile_id: person, count: %d}
  - {instance_id: last, profile_id: person, custom_runtime_config: {max_inbox: 3}}
simulation: {stop: {ticks: 1}}
`, n)
}

// Promise 2.
func TestOrdinalsAreTheOrderOfTheDefinition(t *testing.T) {
	s := build(t, scenestest.Town(t, crowd(3)), "crowd", setup.Options{Seed: 1})
	if got := strings.Join(s.IDs, " "); got != "first m_1 m_2 m_3 last $scene" || s.Size() != 5 || s.OwnOrdinal() != 5 {
		t.Errorf("%s, %d agents, the scene's own is %d", got, s.Size(), s.OwnOrdinal())
	}
	for o, id := range s.IDs {
		if got, ok := s.Ordinal(id); !ok || int(got) != o || s.Name(got) != id || s.Machine(got).ID.Ordinal != got {
			t.Errorf("%s has the ordinal %d, %v, want %d", id, got, ok, o)
		}
	}
	if _, ok := s.Ordinal("m_4"); ok {
		t.Error("m_4 was found")
	}
}

// Promise 3: ten thousand agents more of one class take an id, a class and a
// subscriber each, and no definition.
func TestMemoryOfAnAgent(t *testing.T) {
	const more = 10_000
	small, few := taken(t, 10)
	large, many := taken(t, 10+more)
	each := (large - small) / more
	t.Logf("%d bytes for an agent", each)
	if each > 192 || len(many.Definitions) != len(few.Definitions) || len(many.Timings) != len(few.Timings) {
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
