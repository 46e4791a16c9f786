package machines_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/packed"
	"tavernsim/scenes/scenestest"
)

// town is the town after its run, and every fact of it.
func town(t *testing.T) (made *setup.Scene, facts []protocol.Record, ends []uint64) {
	t.Helper()
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Run(t, scenestest.Settings{})
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			r.Data = bytes.Clone(r.Data)
			facts = append(facts, r)
			return nil
		})
		if err == nil {
			err = j.Waves(1, func(w persistence.Wave) error { ends = append(ends, w.Last); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return s.Made(t, scenestest.Settings{}), facts, ends
}

func begin(t *testing.T, made *setup.Scene) *machines.State {
	t.Helper()
	s, err := machines.New(made)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func hash(t *testing.T, s *machines.State) string {
	t.Helper()
	h, err := s.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// restored is a state put together anew from what a snapshot of it holds, in the
// order of its parts or against it.
func restored(t *testing.T, made *setup.Scene, s *machines.State, backwards bool) *machines.State {
	t.Helper()
	other := begin(t, made)
	type part struct {
		name string
		raw  []byte
	}
	var parts []part
	err := s.Parts(func(name string, raw []byte) { parts = append(parts, part{name, bytes.Clone(raw)}) })
	if backwards {
		slices.Reverse(parts)
	}
	for _, p := range parts {
		err = errors.Join(err, other.Load(p.name, p.raw))
	}
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// Promise 1: the facts behind a snapshot lead to the same state, wherever it is.
func TestASnapshotAndItsTail(t *testing.T) {
	made, facts, ends := town(t)
	whole, at := begin(t, made), 0
	want := begin(t, made)
	for _, r := range facts {
		if err := want.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	for i, end := range ends {
		for ; at < len(facts) && facts[at].Seq <= end; at++ {
			if err := whole.Apply(facts[at]); err != nil {
				t.Fatal(err)
			}
		}
		if i%7 != 0 {
			continue
		}
		other := restored(t, made, whole, i%2 == 1)
		if hash(t, other) != hash(t, whole) {
			t.Errorf("wave %d: the restored state is another", i+1)
		}
		for _, s := range []*machines.State{whole, other} {
			machines.NewStage(s.StageState, machines.StageConfig{}, machines.Kept{}, s.Shown())
		}
		next, ok := whole.Agenda.NextTime()
		if got, some := other.Agenda.NextTime(); got != next || some != ok {
			t.Errorf("wave %d: restored, it goes on at %s, %v, want %s, %v", i+1, got, some, next, ok)
		}
		for _, r := range facts[at:] {
			if err := other.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		if hash(t, other) != hash(t, want) {
			t.Errorf("from a snapshot of wave %d the end is another", i+1)
		}
	}
}

// quiet is a scene whose first agent hears of rain when it has not rained for a while.
const quiet = `-- scenes/quiet.yaml --
id: quiet
name: Quiet
schema_version: "1.0"
agent_instances:
  - {instance_id: a, profile_id: citizen, custom_runtime_config: {subscribed_event_types: [{type: rain, debounce_seconds: 2}]}}
simulation: {stop: {ticks: 1}}
`

// Promise 1 for what the agenda knows from others: how many events have reached an
// agent, so that one that came while it deliberated is not taken for perceived, and
// when the channel goes on.
func TestARestoredAgendaKnowsTheOthers(t *testing.T) {
	sc, err := scenestest.Town(t, quiet).Scene("quiet")
	if err != nil {
		t.Fatal(err)
	}
	made, err := setup.New(scenestest.Town(t, quiet), sc, setup.Options{Clock: agenda.Realtime})
	if err != nil {
		t.Fatal(err)
	}
	for _, backwards := range []bool{false, true} {
		whole, second := begin(t, made), protocol.Time(time.Second)
		apply(t, whole, second, &bus.Routed{EventHeader: protocol.EventHeader{ID: "e1", Type: "snow", Source: "b", Time: second}, Seq: 1, Receivers: bus.Ranges{{From: 0, Count: 1}}})
		event := protocol.Draft{EventHeader: protocol.EventHeader{Type: "rain", Source: "b"}, Body: protocol.Encode(map[string]any{})}
		var asked packed.Requests
		asked.Add(event.AppendMsg(nil))
		in, err := packed.Read(asked.Take())
		if err != nil {
			t.Fatal(err)
		}
		channel := slices.IndexFunc(machines.Services(), func(k machines.ServiceKind) bool { return k.Name == bus.Service })
		err = whole.Services[channel].Decide(in, second, func(facts []protocol.Fact, _ bool) error {
			for _, f := range facts {
				r := protocol.Record{Time: second, Actor: "$events", Kind: f.FactKind()}
				if err := errors.Join(whole.StageState.Apply(r, f), whole.ApplyAgents(r, f)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		apply(t, whole, second, &agenda.WaveClosed{Wave: 1})
		other := restored(t, made, whole, backwards)
		for _, s := range []*machines.State{whole, other} {
			machines.NewStage(s.StageState, machines.StageConfig{}, machines.Kept{}, s.Shown())
		}
		if due := 3 * second; !whole.Agenda.ReleaseDue(due) || !other.Agenda.ReleaseDue(due) || other.Agenda.ReleaseDue(2*second) {
			t.Errorf("backwards %v: the channel goes on: %v; restored, %v", backwards, whole.Agenda.ReleaseDue(due), other.Agenda.ReleaseDue(due))
		}
		before := whole.Agenda.Urgency(0)
		for _, s := range []*machines.State{whole, other} {
			apply(t, s, second, &agentfact.TurnEnded{Agent: 0, Turn: 1, Wave: 1, Outcome: agentfact.OutcomeOK})
		}
		if before == protocol.Low || whole.Agenda.Urgency(0) != before || hash(t, whole) != hash(t, other) {
			t.Errorf("backwards %v: the event has urgency %v, after the turn %v; restored, %v", backwards, before, whole.Agenda.Urgency(0), other.Agenda.Urgency(0))
		}
	}
}

func apply(t *testing.T, s *machines.State, at protocol.Time, facts ...protocol.Fact) {
	t.Helper()
	for _, f := range facts {
		raw, err := machines.NewCodec().Marshal(f)
		if err == nil {
			err = s.Apply(protocol.Record{Time: at, Actor: "a", Kind: f.FactKind(), Data: bytes.Clone(raw)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Promise 1 for snapshots from before there was a count: it begins with none.
func TestATallyOfAnOldSnapshotCounts(t *testing.T) {
	made, facts, _ := town(t)
	s := begin(t, made)
	agenda, err := s.Agenda.Snapshot(machines.NewCodec())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := machines.NewCodec().Marshal(&machines.SceneSnapshot{Agenda: agenda})
	if err == nil {
		err = s.Load(machines.Agenda, raw)
	}
	for _, f := range facts {
		err = errors.Join(err, s.Apply(f))
	}
	if err != nil {
		t.Fatal(err)
	}
	counts := reflect.ValueOf(s.Tally)
	for i := range counts.NumField() {
		if f := counts.Field(i); f.Kind() == reflect.Map && f.Len() == 0 {
			t.Errorf("%s counted nothing: nothing is tested", counts.Type().Field(i).Name)
		}
	}
}

// TestPartsHaveOneNameEach: a part is found by its name alone, and the names are
// those under which a snapshot holds them.
func TestPartsHaveOneNameEach(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	settings := scenestest.Settings{Snapshots: 1}
	s.Run(t, settings)
	var got, want []string
	s.Journal(t, func(j *persistence.Journal) {
		snap, err := j.LatestSnapshot()
		if err == nil {
			err = snap.Read(func(name string, _ []byte) error { want = append(want, name); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	err := begin(t, s.Made(t, settings)).Parts(func(name string, _ []byte) { got = append(got, name) })
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("parts %v, a snapshot has %v", got, want)
	}
}

// Promise 2: nothing is imported that could bring in a clock, chance, a model or a
// metric, and of the clock's package only its durations are used.
func TestNothingFromOutside(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path := strings.Trim(i.Path.Value, `"`); !pure(path) || path == "time" && i.Name != nil {
				t.Errorf("%s imports %s", e.Name(), path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			use, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := use.X.(*ast.Ident); ok && of.Name == "time" && of.Obj == nil && !slices.Contains([]string{"Duration", "Second", "Millisecond"}, use.Sel.Name) {
				t.Errorf("%s uses time.%s", e.Name(), use.Sel.Name)
			}
			return true
		})
	}
}

// pure packages give the same answer to the same question.
func pure(path string) bool {
	return slices.Contains([]string{"cmp", "crypto/sha256", "encoding/hex", "errors", "fmt", "maps", "math", "slices", "strings", "time", "github.com/tinylib/msgp/msgp",
		"tavernsim/protocol", "tavernsim/protocol/grown", "tavernsim/scenes/load/project", "tavernsim/scenes/load/setup", "tavernsim/scenes/machines/inflight", "tavernsim/scenes/machines/letters", "tavernsim/scenes/machines/ordered", "tavernsim/scenes/machines/packed", "tavernsim/scenes/machines/replies", "tavernsim/scenes/machines/roster", "tavernsim/scenes/machines/span", "tavernsim/scenes/machines/spending", "tavernsim/scenes/machines/tally"}, path) || strings.HasPrefix(path, "tavernsim/engine/")
}

// Promise 3: the hash changes with every part of the state, and is the same for
// the same facts: of all waves no two share one, and none that differs in one part.
func TestTheHashTellsStatesApart(t *testing.T) {
	made, facts, ends := town(t)
	s, twin := begin(t, made), begin(t, made)
	seen, parts, changed := map[string]int{}, map[string]string{}, map[string]bool{}
	last, at := "", 0
	for i, end := range ends {
		for ; at < len(facts) && facts[at].Seq <= end; at++ {
			if err := s.Apply(facts[at]); err != nil {
				t.Fatal(err)
			}
			if err := twin.Apply(facts[at]); err != nil {
				t.Fatal(err)
			}
			now, differs := hash(t, s), false
			err := s.Parts(func(name string, raw []byte) {
				if old, known := parts[name]; known && old != string(raw) {
					differs, changed[name] = true, true
				}
				parts[name] = string(raw)
			})
			if err != nil {
				t.Fatal(err)
			}
			if last != "" && differs == (now == last) {
				t.Errorf("fact %d (%s): the parts differ: %v, the hash is %s, before %s", facts[at].Seq, facts[at].Kind, differs, now, last)
			}
			last = now
		}
		if hash(t, twin) != last {
			t.Errorf("wave %d: two folds of the same facts differ", i+1)
		}
		if other, ok := seen[last]; ok {
			t.Errorf("waves %d and %d have one hash", other, i+1)
		}
		seen[last] = i + 1
	}
	for _, name := range []string{machines.Agenda, setup.ActorScene, machines.ActorWorld, "$knowledge", "$events"} {
		if !changed[name] {
			t.Errorf("%s never changed: nothing is tested", name)
		}
	}
}

// Promise 3: what no fact of the town changes, or only with something else, the hash
// knows too: every count, every public word of the agenda, every part by its agent.
func TestTheHashKnowsEveryField(t *testing.T) {
	made, _, _ := town(t)
	s := begin(t, made)
	was := hash(t, s)
	differs := func(what string) {
		t.Helper()
		if hash(t, s) == was {
			t.Errorf("the hash does not know %s", what)
		}
	}
	for _, v := range []reflect.Value{reflect.ValueOf(&s.Tally).Elem(), reflect.ValueOf(s.Agenda).Elem()} {
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				old := reflect.ValueOf(f.Interface())
				f.Set(other(t, f.Type()))
				differs(v.Type().Field(i).Name)
				f.Set(old)
			}
		}
	}
	for _, m := range s.Agents {
		m.State.Turn++
		differs("the turns of " + m.ID.Instance)
		m.State.Turn--
	}
	if hash(t, s) != was {
		t.Error("the state is not as it was: nothing is tested")
	}
}

// other is a value that no field has at the beginning.
func other(t *testing.T, typ reflect.Type) reflect.Value {
	t.Helper()
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(77)
	case reflect.Uint64:
		v.SetUint(77)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"x"}))
	case reflect.Map:
		v.Set(reflect.ValueOf(protocol.Counts{"x": 1}))
	default:
		t.Fatalf("a field of type %s: say here what is another value", typ)
	}
	return v
}
