package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/engine/budget"
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
	entry := func(id string) []order.Entry {
		return []order.Entry{{ID: id, At: 5, Do: []any{map[string]any{"end": map[string]any{}}}}}
	}
	if sum := run(t, p, Options{Dir: dir, Agents: 10, Ticks: 3, Endpoints: of(900), Orders: entry("mine"), Budget: parsed(t, "calls=7,on_exhausted=pause")}); !sum.Resumable {
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
	refused(Options{Endpoints: of(800), Orders: entry("mine"), Budget: parsed(t, "calls=1000")})
	r, err := Resume(dir, Options{Endpoints: of(700), Orders: entry("another"), Budget: parsed(t, "calls=1000")})
	if err != nil {
		t.Fatal(err)
	}
	if sum := wait(t, r); !sum.Ended || r.Manifest.AtEndpoints["cloud"].Calls != 700 {
		t.Fatalf("%+v", sum.SceneSummary)
	}
	refused(Options{Endpoints: of(600), Orders: entry("third"), Budget: parsed(t, "calls=2000")})
}

// An order that only its scene can refuse is not kept: it would be refused whenever the run goes on.
func TestRefusedOrders(t *testing.T) {
	p, dir := loadRacers(t), filepath.Join(t.TempDir(), "run")
	mine := order.Entry{ID: "mine", At: 5, Do: []any{map[string]any{"end": map[string]any{}}}}
	if sum := run(t, p, Options{Dir: dir, Agents: 10, Ticks: 3, Orders: []order.Entry{mine}, Budget: parsed(t, "calls=7,on_exhausted=pause")}); !sum.Resumable {
		t.Fatalf("%+v", sum.SceneSummary)
	}
	late := order.Entry{ID: "late", Wave: 1, Do: mine.Do}
	nobody := order.Entry{ID: "nobody", At: 5, Do: []any{map[string]any{"rest": map[string]any{"agents": "nobody"}}}}
	for _, e := range []order.Entry{late, nobody} {
		if r, err := Resume(dir, Options{Orders: []order.Entry{e}}); err == nil || !strings.Contains(err.Error(), "order "+e.ID) {
			if err == nil {
				wait(t, r)
			}
			t.Errorf("order %s: %v", e.ID, err)
		}
		if kept, err := orders.Kept(dir); err != nil || len(kept) != 1 || kept[0].ID != "mine" {
			t.Errorf("order %s was refused, and the run has %v, %v", e.ID, kept, err)
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
