package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/budget"
	"tavernsim/engine/control"
	"tavernsim/engine/order"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/protocol"
	"tavernsim/scenes/run/orders"
)

// Whoever is refused to go on with a run has changed nothing of it: neither its budgets nor its orders.
func TestRefusedResume(t *testing.T) {
	p, dir := loadRacers(t), filepath.Join(t.TempDir(), "run")
	of := func(calls int64) map[string]*endpoint.Endpoint {
		_, to := serve(t, mock.Options{}, endpoint.Definition{Budget: &budget.Budget{Calls: calls}})
		return to
	}
	entry := func(id, by string) []order.Entry {
		return []order.Entry{{ID: id, At: 5, By: by, Do: []any{map[string]any{"end": map[string]any{}}}}}
	}
	if sum := run(t, p, Options{Dir: dir, Agents: 10, Ticks: 3, Endpoints: of(900), Orders: entry("mine", "gm"), Budget: parsed(t, "calls=7,on_exhausted=pause")}); !sum.Resumable {
		t.Fatalf("%+v", sum.SceneSummary)
	}
	files := func() (text string) {
		for _, name := range []string{"manifest.json", "orders.json", "orders.jsonl"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			text += string(data)
		}
		return text
	}
	refused := func(opt Options) {
		t.Helper()
		before := files()
		if r, err := Resume(dir, opt); protocol.KindOf(err) != protocol.KindConflict {
			if err == nil {
				wait(t, r)
			}
			t.Errorf("%v", err)
		}
		if files() != before {
			t.Error("it was refused, and the run is another")
		}
	}
	refused(Options{Endpoints: of(800), Orders: entry("mine", "another"), Budget: parsed(t, "calls=1000")})
	// One that the run has is none that is new: a command line may be given again.
	r, err := Resume(dir, Options{Endpoints: of(700), Orders: append(entry("mine", "gm"), entry("another", "gm")...), Budget: parsed(t, "calls=1000")})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := orders.Kept(dir); err != nil || len(kept) != 2 || kept[0].ID != "mine" || kept[1].ID != "another" {
		t.Error(kept, err)
	}
	if sum := wait(t, r); !sum.Ended || r.Manifest.AtEndpoints["cloud"].Calls != 700 {
		t.Fatalf("%+v", sum.SceneSummary)
	}
	refused(Options{Endpoints: of(600), Orders: entry("third", "gm"), Budget: parsed(t, "calls=2000")})
}

// An order that only its scene can refuse is refused before anything is written: at no moment does a kill leave the
// order, which would be refused whenever the run goes on, or the budget that came with it.
func TestRefusedOrders(t *testing.T) {
	p, dir := loadRacers(t), filepath.Join(t.TempDir(), "run")
	mine := order.Entry{ID: "mine", At: 5, Do: []any{map[string]any{"end": map[string]any{}}}}
	if sum := run(t, p, Options{Dir: dir, Agents: 10, Ticks: 3, Orders: []order.Entry{mine}, Budget: parsed(t, "calls=7,on_exhausted=pause")}); !sum.Resumable {
		t.Fatalf("%+v", sum.SceneSummary)
	}
	late := order.Entry{ID: "late", Wave: 1, Do: mine.Do}
	nobody := order.Entry{ID: "nobody", At: 5, Do: []any{map[string]any{"rest": map[string]any{"agents": "nobody"}}}}
	files := []string{filepath.Join(dir, "manifest.json"), filepath.Join(dir, "orders.json")}
	old := time.Unix(1e9, 0)
	for _, f := range files {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []order.Entry{late, nobody} {
		if r, err := Resume(dir, Options{Orders: []order.Entry{e}, Budget: parsed(t, "calls=900")}); err == nil || !strings.Contains(err.Error(), "order "+e.ID) {
			if err == nil {
				wait(t, r)
			}
			t.Errorf("order %s: %v", e.ID, err)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err != nil || !info.ModTime().Equal(old) {
				t.Errorf("order %s was refused, and %s was written, %v", e.ID, f, err)
			}
		}
	}
	r, err := Resume(dir, Options{Budget: parsed(t, "calls=1000")})
	if err != nil {
		t.Fatal(err)
	}
	if sum := wait(t, r); !sum.Ended {
		t.Fatalf("%+v", sum.SceneSummary)
	}
}

// A run goes on with an order that has a number without a fraction, and takes it again.
func TestOrderWithAWholeFloat(t *testing.T) {
	list, err := orders.Parse("orders.yaml", []byte("orders: [{id: a, do: [{event: {type: bell, payload: {level: 1.0}}}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	r, err := Start(loadTown(t), Options{Dir: dir, Scenes: []string{"day"}, Ticks: 1 << 30, Orders: list})
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		if got := r.give(t.Context(), &list[0]); got.Refused != "" || got.Wave == 0 { // it waits until the order is in the journal
			t.Errorf("the same order: %+v", got)
		}
		r.Interrupt()
		wait(t, r)
		r, err = Resume(dir, Options{Orders: list})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	wait(t, r)
}

// A new order for a scene that has ended is refused when the run goes on, as it is while the run is under way. One that
// the scene has is not new.
func TestOrderOfAnEndedScene(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	list, err := orders.Parse("x.jsonl", []byte(`{"id": "end", "scene": "night", "do": [{"end": {}}]}
{"id": "late", "scene": "night", "at": "1000h", "do": [{"event": {"type": "bell"}}]}
{"id": "late", "scene": "day", "at": "1000h", "do": [{"event": {"type": "bell"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Start(loadTown(t), Options{Dir: dir, Scenes: []string{"night", "day"}, Ticks: 1 << 30, Control: []control.Command{{Do: control.Pause}}}) // so that the night ends by the order
	if err != nil {
		t.Fatal(err)
	}
	if got := r.give(t.Context(), &list[0]); got.Refused != "" {
		t.Fatalf("%+v", got)
	}
	r.Scenes[0].Run.Wait()
	if got := r.give(t.Context(), &list[1]); got.Kind != protocol.KindConflict {
		t.Errorf("%+v", got)
	}
	r.Interrupt()
	wait(t, r)
	if r, err := Resume(dir, Options{Orders: list}); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "order late: the scene night does not run: it has ended (request)") {
		if err == nil {
			r.Interrupt()
			wait(t, r)
		}
		t.Errorf("%v", err)
	}
	if kept, err := orders.Kept(dir); err != nil || len(kept) > 0 {
		t.Error(kept, err)
	}
	if r, err = Resume(dir, Options{Orders: []order.Entry{list[0], list[2]}}); err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	wait(t, r)
}
