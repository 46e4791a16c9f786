package agent

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// What workflows know of their agent is made once: who adds to it copies it, and another definition
// makes it anew.
func TestSelfIsMadeOnce(t *testing.T) {
	m := consultant(t, nil, map[string]any{"q": "when"})
	made, before := reflect.ValueOf(m.self()).Pointer(), maps.Clone(m.self())
	turn := &Turn{m: m, wake: &Wake{}}
	for name, lookup := range map[string]func(string) (any, bool){"model": turn.Lookup, "goal": goalEnv{turn}.Lookup} {
		if v, ok := lookup("self"); !ok || !maps.Equal(m.self(), before) {
			t.Errorf("a condition of a %s reads %v, and leaves %v, want %v", name, v, m.self(), before)
		}
		if v, ok := lookup("nobody"); ok {
			t.Errorf("a condition of a %s reads %v of nobody", name, v)
		}
	}
	if reflect.ValueOf(m.self()).Pointer() != made {
		t.Error("it is made again")
	}
	if want := protocol.SizeOf(m.self(), 1<<20); m.selfSize() != want || !m.isKnown(m.self()) || m.isKnown(maps.Clone(m.self())) || m.isKnown("x") {
		t.Errorf("its size is %d, want %d, of itself and of no copy", m.selfSize(), want)
	}
	other := *m.Def
	other.self = map[string]any{"name": "Other"}
	m.Def = &other
	if got := m.self(); got["name"] != "Other" || got["instance_id"] != m.ID.Instance {
		t.Errorf("by another definition %v", got)
	}
}

// The names of self that a new condition may read are those that it has.
func TestSelfNames(t *testing.T) {
	m := consultant(t, nil, map[string]any{"q": "when"})
	self, _ := goalEnv{&Turn{m: m, wake: &Wake{}}}.Lookup("self")
	if got := protocol.SortedKeys(self.(map[string]any)); !slices.Equal(got, goal.SelfNames()) {
		t.Errorf("self has %v, and conditions may read %v", got, goal.SelfNames())
	}
}
