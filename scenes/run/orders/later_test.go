package orders_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/engine/order"
	"tavernsim/protocol"
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

// A run has more orders in the course of time than a file of the user may have.
func TestManyLaterOrders(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads a long file")
	}
	dir, file := t.TempDir(), ""
	var lines strings.Builder
	for i := range order.MaxOrders + 5 {
		fmt.Fprintf(&lines, `{"id":"o%d","scene":"s","at":"5s","do":[{"end":{}}]}`+"\n", i)
	}
	file = filepath.Join(dir, "orders.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()+`{"id":"o0","scene":"s","at":"5s","do":[{"end":{}}]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := orders.Kept(dir)
	if err != nil || len(list) != order.MaxOrders+5 {
		t.Fatal(len(list), err)
	}
	if err := orders.Keep(dir, list); err != nil {
		t.Fatal(err)
	}
	if again, err := orders.Kept(dir); err != nil || len(again) != len(list) || again[len(again)-1].ID != list[len(list)-1].ID {
		t.Error(len(again), err)
	}
}

// A line that cannot be read is named, with what to do.
func TestFaultyLaterOrder(t *testing.T) {
	dir := t.TempDir()
	text := `{"id":"a","scene":"s","at":"5s","do":[{"end":{}}]}` + "\n" + `{"id":"b","scene":` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "orders.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := orders.Kept(dir); protocol.KindOf(err) != protocol.KindCorrupt || !strings.Contains(err.Error(), "orders.jsonl, line 2: ") || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
}
