package interact_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tavernsim/engine/panel"
	"tavernsim/protocol"
	"tavernsim/scenes/run/interact"
)

// Promises 1 and 2.
func TestDesk(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "interactions")
	if err := os.MkdirAll(in, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "killed.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := interact.List(dir); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error(err)
	}
	d, err := interact.NewDesk(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := interact.List(dir); err != nil || list != nil {
		t.Error(list, err)
	}
	late := &panel.Asked{ID: "../ada/2.1", Scene: "s", Agent: "../ada", Action: "text", Wait: "hold", Asked: 9}
	early := &panel.Asked{ID: "bo/1.1", Scene: "s", Agent: "bo", Action: "choice", Wait: "run", Schema: map[string]any{"enum": []any{"a"}}, Payload: "x", Asked: 3, Due: 40}
	for _, q := range []*panel.Asked{late, early, late} {
		d.Of("s").Asked(q)
	}
	d.Of("other").Settled(early.ID)
	list, err := interact.List(dir)
	if err != nil || !reflect.DeepEqual(list, []panel.Asked{*early, *late}) {
		t.Errorf("%+v, %v", list, err)
	}
	files, err := os.ReadDir(in)
	if err != nil || len(files) != 2 {
		t.Error(files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(f.Name(), "ada") {
			t.Error(f, err)
		}
	}
	d.Of("s").Settled(late.ID)
	if list, err := interact.List(dir); err != nil || len(list) != 1 || list[0].ID != early.ID {
		t.Error(list, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(in); !os.IsNotExist(err) {
		t.Error(err)
	}
}
