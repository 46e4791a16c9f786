package machines_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
	"tavernsim/protocol/protocoltest"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// untraced are facts that name a trace and are not found by it: they tell of an
// event that another fact has routed.
var untraced = []string{"event.unacknowledged", "scene.dead_letter"}

// filled is a fact with something in every field, of an agent that the town has.
func filled(typ protocol.FactType) protocol.Fact {
	fact := reflect.New(typ.Type).Interface().(protocol.Fact)
	protocoltest.Fill(fact)
	ordinals(reflect.ValueOf(fact).Elem())
	return fact
}

// Every kind of fact comes back from its bytes with every field, is found by the
// trace that it names, and is folded by somebody.
func TestEveryFact(t *testing.T) {
	codec := machines.NewCodec()
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	for _, kind := range codec.FactKinds() {
		typ := codec.FactType(kind)
		fact := filled(typ)
		switch x := fact.(type) { // these are held to rules as they are read
		case *bus.SubscriptionChanged:
			x.Add, x.Remove = []bus.Subscription{{Type: "a.b"}}, []bus.Subscription{{Type: "c"}}
		case *bus.ThrottleChanged:
			x.Rule = throttle.Rule{Type: "a.b", Per: throttle.PerScene, Max: 3, Window: 1e9, Action: throttle.Delay}
		}
		raw, err := codec.Marshal(fact)
		if err != nil {
			t.Fatal(kind, err)
		}
		back, err := codec.ReadFact(kind, raw)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if again, err := codec.Marshal(back); err != nil || !bytes.Equal(again, raw) || len(protocoltest.Zero(back)) > 0 {
			t.Errorf("%s: %x was read as %+v, without %v, and written as %x, %v", kind, raw, back, protocoltest.Zero(back), again, err)
		}
		var found []string
		tell := func(trace []byte) { found = append(found, string(trace)) }
		codec.Traces(kind, raw, tell)
		if want := tracesOf(reflect.ValueOf(fact).Elem()); !slices.Equal(found, want) && !slices.Contains(untraced, kind) {
			t.Errorf("%s: found by the traces %q, and names %q", kind, found, want)
		}
		if n := testing.AllocsPerRun(10, func() { codec.Traces(kind, raw, func([]byte) {}) }); n > 0 {
			t.Errorf("%s: finding its traces allocates", kind)
		}
		for cut := range raw {
			codec.Traces(kind, raw[:cut], tell)
		}
		if err := begin(t, made).Apply(protocol.Record{Seq: 1, Actor: machines.ActorWorld, Kind: kind, Data: raw}); err != nil && strings.Contains(err.Error(), "nothing folds it") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	_, err := codec.ReadFact("agent.dreamt", nil)
	if protocol.KindOf(err) != protocol.KindUnknown {
		t.Error(err)
	}
}

// ordinals makes every number of 32 bits, as those of agents are, that of an agent
// that is there, and every one of 8 bits that of a choice.
func ordinals(v reflect.Value) {
	switch v.Kind() {
	case reflect.Uint32, reflect.Uint8:
		v.SetUint(1)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[protocol.Raw]() {
			return
		}
		for i := range v.Len() {
			ordinals(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				ordinals(v.Field(i))
			}
		}
	}
}

// A fact that names an agent by a number that no agent has is refused, in words.
func TestFactsOfOtherScenes(t *testing.T) {
	codec := machines.NewCodec()
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	for _, fact := range []protocol.Fact{
		&agentfact.TurnEnded{Agent: 9999}, &agenda.EffectsDeferred{Agent: 9999}, &agenda.AgentFailed{Agent: 9999}, &agenda.Interrupted{Agent: 9999},
		&agenda.Blocked{Agent: 9999}, &agenda.Blocked{Receivers: []uint32{9999}}, &bus.Routed{Receivers: bus.Ranges{{From: 9000, Count: 1000}}},
		&agentfact.Dropped{Agent: 9999}, &agentfact.Unacknowledged{Agent: 9999},
	} {
		raw, err := codec.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		err = begin(t, made).Apply(protocol.Record{Seq: 7, Actor: setup.ActorScene, Kind: fact.FactKind(), Data: raw})
		if protocol.KindOf(err) != protocol.KindCorrupt || !strings.Contains(err.Error(), "it names agent 9999; the scene has") {
			t.Errorf("%s: %v", fact.FactKind(), err)
		}
	}
}

// unnamed are fields of 32 bits of which LastAgent says nothing, with the reason.
func unnamed() map[string]string {
	return map[string]string{
		"event.routed FilterErrors":  "a number of filters",
		"event.routed Merged":        "a number of events",
		"event.routed Held":          "the channel passes over holds of agents that it does not know",
		"subscription.changed Agent": "the channel passes over it",
		"space.moved From":           "Through is not below it",
		"space.moved Crossed":        "of agents with steps",
		"space.put Crossed":          "of the agent itself",
	}
}

// Every fact with an agent's number says which is the highest, or a fold of another scene's journal panics.
func TestEveryFactNamesItsAgents(t *testing.T) {
	codec := machines.NewCodec()
	for _, kind := range codec.FactKinds() {
		fact := filled(codec.FactType(kind))
		v := reflect.ValueOf(fact).Elem()
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() || !beyond(v.Field(i)) {
				continue
			}
			name := v.Type().Field(i).Name
			x, ok := fact.(protocol.Naming)
			if named, why := ok && x.LastAgent() >= 9999, unnamed()[kind+" "+name]; named == (why != "") {
				t.Errorf("%s: the field %s is of an agent: LastAgent (protocol.Naming) tells of it, or a line of unnamed says why not, and not both (%q)", kind, name, why)
			}
			ordinals(v.Field(i))
		}
	}
}

// unheard are answers to requests that nobody observes, with the reason.
func unheard() map[string]string {
	const done = "what was asked for was done, and shows there"
	return map[string]string{
		"scene.order_refused": "who gave the order is outside; simd inspect orders shows it", "scene.intervened": "who gave the order is outside",
		"agent.removed": done, "agent.departed": done, "agent.rested": done, "agent.rest_ended": done, "agent.spawned": done, "space.put": done, "space.set_out": done,
		"knowledge.reviewed": done, "knowledge.suggested": done, "knowledge.written": done, "knowledge.forwarded": "the answer of the scene that keeps the base follows",
		"tool.judged":        "the call that was judged is observed",
		"tool.task_reported": "the agent that waits for the task hears of it",
	}
}

// Whoever asked hears what came of it: a fact with the id of a request and who made it, and every refusal,
// says who observes what, or is named in unheard.
func TestWhoAskedIsAnswered(t *testing.T) {
	codec := machines.NewCodec()
	for _, kind := range codec.FactKinds() {
		typ := codec.FactType(kind)
		has := func(name string) bool { _, ok := typ.Type.FieldByName(name); return ok }
		_, answers := filled(typ).(protocol.Answering)
		asked := strings.HasSuffix(kind, "refused") || has("By") && (has("ID") || has("Request"))
		if why := unheard()[kind]; asked && answers == (why != "") || !asked && why != "" {
			t.Errorf("%s: it implements protocol.Answering, so that who asked observes what came of it, or a line of unheard (catalog_test.go) says why not, and not both (%q)", kind, why)
		}
	}
}

// A service whose state is as it began has no bytes in a snapshot: a service more changes no state hash of a run that does not
// use it. The four of the first runs have some.
func TestAServiceBeginsWithoutBytes(t *testing.T) {
	first := []string{"world", "knowledge", "tools", "events"}
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	for _, k := range machines.Services() {
		s, err := k.New(made)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.Snapshot(machines.NewCodec())
		if err != nil || (len(raw) > 0) != slices.Contains(first, k.Name) {
			t.Errorf("%s: the snapshot of a state as it began has %d bytes, %v; Snapshot gives none then, or the state hash of every older run changes", k.Name, len(raw), err)
		}
	}
}

// beyond puts the number of no agent into every field that may be one, and says whether there is one.
func beyond(v reflect.Value) (some bool) {
	switch v.Kind() {
	case reflect.Uint32:
		v.SetUint(9999)
		return true
	case reflect.Slice:
		if v.Type() != reflect.TypeFor[protocol.Raw]() {
			for i := range v.Len() {
				some = beyond(v.Index(i)) || some
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				some = beyond(v.Field(i)) || some
			}
		}
	}
	return some
}

// tracesOf are the traces in a filled fact: what Fill puts into fields of these
// names.
func tracesOf(v reflect.Value) (list []string) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, tracesOf(v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name == "TraceID" || name == "Trace" {
				return append(list, name)
			}
			list = append(list, tracesOf(v.Field(i))...)
		}
	}
	return list
}
