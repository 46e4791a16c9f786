package orders_test

import (
	"os"
	"path/filepath"
	"testing"

	"tavernsim/engine/order"
	"tavernsim/scenes/run/orders"
)

func ids(t *testing.T, dir string) (text string) {
	t.Helper()
	list, err := orders.Kept(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		text += e.ID
	}
	return text
}

// Orders that come later are kept behind those of the beginning, each once; half of a line
// that a kill left is no order.
func TestAdd(t *testing.T) {
	dir := t.TempDir()
	if err := orders.Keep(dir, entries(t)); err != nil {
		t.Fatal(err)
	}
	add := func(id string) {
		t.Helper()
		if err := orders.Add(dir, order.Entry{ID: id, Scene: "s", At: 5, Do: []any{map[string]any{"end": map[string]any{}}}}); err != nil {
			t.Fatal(err)
		}
	}
	add("c")
	add("d")
	if got := ids(t, dir); got != "abcd" {
		t.Error(got)
	}
	file := filepath.Join(dir, "orders.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(data); cut += 7 {
		if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := ids(t, dir)
		add("e")
		if got := ids(t, dir); got != whole+"e" {
			t.Fatalf("cut at %d: %s, then %s", cut, whole, got)
		}
	}
	list, err := orders.Kept(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := orders.Keep(dir, list); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, dir); got != "abce" {
		t.Error(got)
	}
	if err := orders.Forget(dir); err != nil || ids(t, dir) != "" {
		t.Error(err)
	}
}
