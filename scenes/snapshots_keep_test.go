package scenes_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
)

// derived are fields of machines that no snapshot holds, with the reason.
var derived = map[string]string{
	"agenda.State.cfg": "of the definition", "agenda.State.agenda": "made of the slots", "agenda.State.urgent": "made of the slots",
	"agenda.State.release": "told by the channel when the stage is configured",
	"agenda.slot.queuedAt": "its place in the agenda", "agenda.slot.hurries": "its place in the agenda",
	"agenda.arrivals.toldWave": noTurn, "agenda.arrivals.last": noTurn, "agenda.arrivals.at": noTurn, "agenda.arrivals.wokeWave": noTurn, "agenda.arrivals.events": "told by the agent",
	"agenda.blocking.waiters": "made of the waits", "agenda.slot.blocked": "made of the waits",
	"pace.Kept.said":         "of a turn whose end is being folded",
	"memory.Mind.turn":       "of a turn whose facts are being folded",
	"goal.Condition.program": "made of the expression",
	"private.State.size":     "counted when the private state changes next",
	"agent.State.bytes":      "counted when the inbox might be full",
	"agent.heardMarks.Lost":  "set by loading: the payload of an ephemeral event is nowhere",
	"bus.State.cfg":          "of the definition", "bus.State.subscribers": "of the definition", "bus.State.selves": "boxed when a filter asks", "bus.State.defined": "of the definition",
	"bus.State.filters": "made of the subscriptions", "bus.State.index": "made of the subscriptions", "bus.State.grouped": "made of the subscriptions", "bus.State.regroup": "made of the subscriptions",
	"bus.holds.queue": "made of the holds", "bus.holds.dues": "made of the holds",
	"naming.Names.source": ofATurn, "naming.Names.turn": ofATurn, "naming.Names.n": ofATurn, "naming.Names.Prefix": "of the definition", "naming.Names.Numbered": "of the run",
	"bus.hold.place":  "its place in the queue",
	"bus.State.Space": "where agents are; told by the scene when events are routed", "bus.State.teams": "made of the subscriptions", "bus.State.Load": "told by the scene when events are routed",
	"space.State.find": "working memory of the search for paths",
	"space.State.due":  "of the walks, looked up when it is asked for", "space.State.undue": "of the walks, looked up when it is asked for",
	"space.State.slots": "made of the walks", "space.State.sorted": "of the order of the walks",
	"space.State.over": endedWalk, "space.walk.over": endedWalk,
	"space.pages.list": "the snapshot has the cells without the empty pages; engine/space compares them", "space.pages.owned": "shared when somebody looks",
	"tooltask.State.tasks": "its list is a root", "tooltask.State.works": "its list is a root", "tooltask.State.free": "of the memory of a list",
	"throttle.Table.fixed": "of the definition", "throttle.Table.keys": "of the definition", "throttle.counted.swept": "when it was tidied up last",
}

// noTurn: whoever reads it asks what came while a deliberation was in flight, and a
// snapshot is taken when none is.
const noTurn = "asked about turns that were in flight"

// ofATurn: the events of a turn come to the channel one after the other, with no snapshot between them.
const ofATurn = "of a turn whose events are being published"

// endedWalk: a snapshot drops the walks that are over.
const endedWalk = "a walk that is over goes with the next look"

// unset are fields that no run here sets, with the reason.
var unset = map[string]string{
	"bus.holdKey.text":               "of a host's middleware, which no run directory holds; engine/bus tests it",
	"agentfact.HeldOutcome.Artifact": "no run here has a store of artifacts; engine/agent tests it",
}

// values have an encoding and tests of their own.
var values = []reflect.Type{
	reflect.TypeFor[world.Document](), reflect.TypeFor[knowledge.Base](), reflect.TypeFor[ledger.Keys](), reflect.TypeFor[ledger.Timers](),
	reflect.TypeFor[bus.Routed](), reflect.TypeFor[protocol.Envelope](), reflect.TypeFor[bus.Subscription](), reflect.TypeFor[lease.Leases](),
}

// A snapshot holds every field of every machine. In every wave of the recorded runs,
// the machines that a fold made and those that their snapshot made anew are equal in
// each field, public or not, but for those that are derived from others; and each field
// has a value in one of the runs at least. So a field that a fact sets and the snapshot
// lacks turns this red, and so does one that no run sets.
func TestSnapshotsKeepEveryField(t *testing.T) {
	if testing.Short() {
		t.Skip("runs are folded, by one goroutine")
	}
	archives, err := filepath.Glob("testdata/histories/good/*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatal("no recorded runs", err)
	}
	k := &keeping{t: t, set: map[string]bool{}, wrong: map[string]string{}}
	for _, archive := range archives {
		for _, dir := range unpacked(t, archive) {
			k.run(dir)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(k.wrong)) {
		t.Errorf("%s is not in the snapshot: %s", field, k.wrong[field])
	}
	seen := map[reflect.Type]bool{}
	for _, typ := range k.types {
		k.unset(typ, seen)
	}
}

// keeping compares machines with restored ones.
type keeping struct {
	t     *testing.T
	set   map[string]bool   // fields that had a value
	wrong map[string]string // fields that a restored machine has otherwise; an example
	where string
	types []reflect.Type // of the roots
}

func (k *keeping) run(dir string) {
	m, err := rundir.ReadManifest(dir)
	if err != nil {
		k.t.Fatal(err)
	}
	p, err := loadBegun(filepath.Join(dir, "inputs"))
	if err != nil {
		k.t.Fatal(err)
	}
	store, err := rundir.OpenStore(dir, persistence.Options{ReadOnly: true})
	if err != nil {
		k.t.Fatal(err)
	}
	defer store.Close()
	for _, id := range m.Scenes {
		made, err := made(m, p, id, 0)
		if err == nil {
			err = k.scene(filepath.Base(dir), made, store)
		}
		if err != nil {
			k.t.Fatal(dir, id, err)
		}
	}
}

func (k *keeping) scene(run string, made *setup.Scene, store *persistence.Store) error {
	j, err := store.Journal(made.ID)
	if err != nil {
		return err
	}
	state, err := machines.New(made)
	if err != nil {
		return err
	}
	return j.Waves(1, func(w persistence.Wave) error {
		err := j.Scan(persistence.Query{From: w.First, To: w.Last}, func(r protocol.Record) error { return state.Apply(r) })
		k.where = fmt.Sprintf("%s wave %d", run, w.Number)
		return errors.Join(err, k.compare(made, state))
	})
}

func (k *keeping) compare(made *setup.Scene, state *machines.State) error {
	other, err := machines.New(made)
	if err != nil {
		return err
	}
	bad := state.Parts(func(name string, raw []byte) { err = errors.Join(err, other.Load(name, bytes.Clone(raw))) })
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	for i, root := range roots(state) {
		k.types = append(k.types, root.Type())
		k.same(root, roots(other)[i], "")
	}
	return nil
}

// roots are what machines keep: the agenda, the tally, the tickets, the open tasks, the services, the agents.
func roots(s *machines.State) []reflect.Value {
	tasks := s.Tasks().State
	list := []reflect.Value{reflect.ValueOf(s.Agenda), reflect.ValueOf(&s.Tally), reflect.ValueOf(&s.Travel), reflect.ValueOf(tasks.Open()), reflect.ValueOf(tasks.Work())}
	for _, service := range s.Services {
		kept := reflect.ValueOf(service).Elem().FieldByName("State")
		if !kept.IsValid() {
			panic(fmt.Sprintf("%T keeps its state in no field State", service))
		}
		list = append(list, kept)
	}
	for _, m := range s.Agents {
		list = append(list, reflect.ValueOf(&m.State))
	}
	return list
}

// same compares two values; field is the innermost one that holds them.
func (k *keeping) same(a, b reflect.Value, field string) {
	if slices.Contains(values, a.Type()) {
		return
	}
	differ := func(as, bs any) { k.wrong[field] = fmt.Sprintf("%s: %v, restored %v", k.where, as, bs) }
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			name := nameOfField(a.Type(), i)
			if derived[name] == "" {
				k.set[name] = k.set[name] || !a.Field(i).IsZero()
				k.same(a.Field(i), b.Field(i), name)
			}
		}
	case reflect.Pointer, reflect.Interface:
		switch {
		case a.IsNil() != b.IsNil():
			differ(a.IsNil(), b.IsNil())
		case a.IsNil():
		case a.Elem().Type() != b.Elem().Type():
			differ(a.Elem().Type(), b.Elem().Type())
		default:
			k.same(a.Elem(), b.Elem(), field)
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			differ(a.Len(), b.Len())
			return
		}
		for i := range a.Len() {
			k.same(a.Index(i), b.Index(i), field)
		}
	case reflect.Map:
		if a.Len() != b.Len() {
			differ(a.Len(), b.Len())
			return
		}
		for it := a.MapRange(); it.Next(); {
			if other := b.MapIndex(it.Key()); other.IsValid() {
				k.same(it.Value(), other, field)
			} else {
				differ(it.Key(), "nothing")
			}
		}
	case reflect.Func, reflect.Chan:
	default:
		if !a.Equal(b) {
			differ(a, b)
		}
	}
}

// unset names the fields below a type that never had a value.
func (k *keeping) unset(typ reflect.Type, seen map[reflect.Type]bool) {
	if seen[typ] || slices.Contains(values, typ) {
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		k.unset(typ.Elem(), seen)
	case reflect.Struct:
		for i := range typ.NumField() {
			name := nameOfField(typ, i)
			if derived[name] != "" {
				continue
			}
			if never := unset[name] != ""; never == k.set[name] {
				k.t.Errorf("%s: a recorded run has it set at the end of a wave: %v; record a script that sets it (go test ./scenes -run RecordedRuns -record NAME -scripts SCRIPT -update), or give a reason in unset, and not both", name, k.set[name])
			}
			k.unset(typ.Field(i).Type, seen)
		}
	}
}

func nameOfField(typ reflect.Type, i int) string { return typ.String() + "." + typ.Field(i).Name }
