package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/order"
	"tavernsim/engine/panel"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/interact"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// peopleEnv makes the child ask people.
const peopleEnv = "SIMD_PEOPLE_CHILD"

const asking = `
-- scenes/s.yaml --
id: s
name: Questions
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: asker}]
associated_panels: [{panel_id: dialogue, instance_name: main}]
simulation: {seed: 1, stop: {after: 2h}}
-- panels/dialogue.json --
{"id": "dialogue"}
-- agent_profiles/asker.yaml --
id: asker
name: Asker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [PanelInteractionTool]
-- models/voices.yaml --
rules:
  - match: {variables: {turn: 1}}
    answer: {calls: [{tool: PanelInteractionTool, params: {action: choice, payload: {options: [left, right]}}}]}
otherwise: "I see"
`

func loadAsking() (*project.Project, error) {
	return LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(asking))), "asking", true)
}

// peopleChild runs the questions, or goes on with them.
func peopleChild(dir string) error {
	var r *Runner
	var err error
	if exists(filepath.Join(dir, "manifest.json")) {
		r, err = Resume(dir, Options{})
	} else {
		p, loadErr := loadAsking()
		if loadErr != nil {
			return loadErr
		}
		r, err = Start(p, Options{Dir: dir, Interactive: true})
	}
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err = r.Wait(); err == nil {
		fmt.Println("ended")
	}
	return err
}

// A process that is killed while a question is open leaves it open, and orders for a later
// time wait in the run directory. An answer counts once, whichever process takes it, and what
// the journal has makes the same history without a person. doors §17, row 3.
func TestKilledWithAnOpenQuestion(t *testing.T) {
	t.Setenv(peopleEnv, "1")
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	open := func() panel.Asked {
		for ctx.Err() == nil {
			if list, err := interact.List(dir); err != nil {
				t.Fatal(err)
			} else if len(list) > 0 {
				return list[0]
			}
			<-time.After(20 * time.Millisecond)
		}
		t.Fatal("nothing is asked")
		return panel.Asked{}
	}
	give := func(line string) orders.Receipt {
		t.Helper()
		list, err := orders.Parse("x.jsonl", []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		got, err := orders.Send(ctx, dir, list)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		return got[0]
	}
	answer := func(id, value string) orders.Receipt {
		t.Helper()
		return give(fmt.Sprintf(`{"id": %q, "by": "player", "do": [{"answer": {"interaction": "ada/1.1", "value": %q}}]}`, id, value))
	}
	const later = `{"id": "later", "at": "30m", "do": [{"world": {"path": "later", "value": 1}}]}`
	if scenestest.RunChild(t, childEnv, dir, func(kill func()) {
		open()
		for range 2 {
			if got := give(later); !got.Planned || got.Refused != "" || got.Scene != "s" {
				t.Errorf("%+v", got)
			}
		}
		if got := give(strings.Replace(later, "1}", "2}", 1)); got.Kind != protocol.KindConflict {
			t.Errorf("another order with this id: %+v", got)
		}
		if got := give(`{"id": "past", "wave": 1, "do": [{"end": {}}]}`); got.Kind != protocol.KindConflict || !strings.Contains(got.Refused, "stands after wave") {
			t.Errorf("a wave that has passed: %+v", got)
		}
		kill()
	}) {
		t.Fatal("it ended")
	}
	scenestest.RunChild(t, childEnv, dir, func(kill func()) {
		if q := open(); q.ID != "ada/1.1" {
			t.Errorf("after a kill %+v is open", q)
		}
		if got := answer("unfit", "up"); !strings.Contains(got.Refused, "value must be one of 'left', 'right'") {
			t.Errorf("%+v", got)
		}
		kill()
	})
	ended := scenestest.RunChild(t, childEnv, dir, func(kill func()) {
		open()
		if got := answer("fits", "left"); got.Refused != "" || got.Wave == 0 {
			t.Errorf("%+v", got)
		}
		kill()
	})
	if !ended && !scenestest.RunChild(t, childEnv, dir, nil) {
		t.Fatal("it did not end")
	}
	again := filepath.Join(t.TempDir(), "again")
	list := orderedIn(t, dir)
	if len(list) != 3 || list[2].ID != "later" || list[2].At.Std() != 30*time.Minute || list[0].Refused == "" || list[1].Refused != "" {
		t.Fatalf("%+v", list)
	}
	p, err := loadAsking()
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, p, Options{Dir: again, Interactive: true, Orders: list})
	want, err := rundir.Replay(ctx, dir, rundir.ReplayOptions{Verify: true})
	if err != nil || got.Digests() != want.Scenes[0].Digest || want.Scenes[0].Differs() {
		t.Errorf("%+v; without a person %s: %v", want.Scenes, got.Digests(), err)
	}
}

// Two orders of one wave are two waves; a kill between them does not lose the second.
func TestInterruptedBetweenOrdersOfAWave(t *testing.T) {
	p, err := loadAsking()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	list, err := orders.Parse("x.jsonl", []byte(`{"id": "a", "wave": 3, "do": [{"world": {"path": "a", "value": 1}}]}
{"id": "b", "wave": 3, "do": [{"world": {"path": "b", "value": 1}}]}
{"id": "late", "at": "1h", "do": [{"end": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := run(t, p, Options{Dir: filepath.Join(t.TempDir(), "whole"), Orders: list})
	run(t, p, Options{Dir: dir, Orders: list})
	cut := filepath.Join(t.TempDir(), "cut")
	if _, err := rundir.Fork(t.Context(), dir, cut, rundir.ForkOptions{At: "wave:3", Version: "test"}); err != nil {
		t.Fatal(err)
	}
	r, err := Resume(cut, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, r)
	var ids []string
	for _, e := range orderedIn(t, cut) {
		ids = append(ids, e.ID)
	}
	if fmt.Sprint(ids) != "[a b late]" || want.Resumable {
		t.Error(ids)
	}
	list = append(list[:0:0], list[0])
	list[0].ID = "c"
	if _, err := Resume(cut, Options{Orders: list}); err == nil {
		t.Error("an order for a wave that has passed is taken")
	}
}

// Orders whose facts were dropped are not carried out again.
func TestOrdersOfAShortenedHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("one scene that does nothing beside others")
	}
	p, dir := loadTown(t), filepath.Join(t.TempDir(), "run")
	list, err := orders.Parse("x.jsonl", []byte(`{"id": "a", "wave": 2, "do": [{"event": {"type": "bell"}}]}
{"id": "b", "at": "1s", "do": [{"event": {"type": "bell"}}]}
{"id": "late", "at": "1000h", "do": [{"end": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	sum := run(t, p, Options{Dir: dir, Scenes: []string{"day"}, Ticks: 200, Orders: list, Snapshots: machines.SnapshotPolicy{Facts: 1}, Keep: "waves:1"})
	ordered := func(dir string) (ids []string) {
		o, err := rundir.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		journal, err := o.Journal("day")
		if err != nil {
			t.Fatal(err)
		}
		past, err := history.Orders(journal, machines.NewCodec())
		for _, x := range past {
			ids = append(ids, x.ID)
		}
		if err != nil || journal.Begin().Number == 0 {
			t.Skipf("the snapshots came late, and nothing was dropped: %v", err)
		}
		return ids
	}
	if past := ordered(dir); len(past) > 0 {
		t.Skipf("the snapshots came late, and %v are kept", past)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if _, err := rundir.Fork(t.Context(), dir, cut, rundir.ForkOptions{At: fmt.Sprint("wave:", sum.Waves-1), Version: "test"}); err != nil {
		t.Fatal(err)
	}
	r, err := Resume(cut, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if again := wait(t, r); again.Digest != sum.Digest {
		t.Errorf("digest %s, want %s; carried out again: %v", again.Digest, sum.Digest, ordered(cut))
	}
}

// orderedIn are the orders of a run, as a file has them.
func orderedIn(t *testing.T, dir string) (list []order.Entry) {
	t.Helper()
	store, err := rundir.OpenStore(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	journal, err := store.Journal("s")
	if err != nil {
		t.Fatal(errors.Join(err, store.Close()))
	}
	past, err := history.Orders(journal, machines.NewCodec())
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	for _, x := range past {
		e, err := order.EntryOf("s", x.Wave, x.After, x.Intervened, x.Refused)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}
