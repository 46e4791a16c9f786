package interact_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	early := &panel.Asked{ID: "bo/1.1", Scene: "s", Agent: "bo", Action: "choice", Wait: "run", Schema: map[string]any{"enum": []any{"a"}}, Payload: map[string]any{"n": int64(1<<53 + 1)}, Asked: 3, Due: 40}
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

// look is about the time between two looks for replies.
const look = 200 * time.Millisecond

// Promise 3: of replies from several processes one counts; what does not fit is passed over, and
// one for a question that has ended is refused.
func TestReplies(t *testing.T) {
	dir := t.TempDir()
	d, err := interact.NewDesk(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	q := &panel.Asked{ID: "ada/1.q1", Scene: "s", Agent: "ada", Action: "text", Wait: panel.WaitTurn}
	synctest.Test(t, func(t *testing.T) {
		if err := interact.Reply(dir, q, &panel.Reply{By: "bo"}); err == nil {
			t.Error("nobody asks")
		}
		got := make(chan *panel.Reply)
		go func() {
			r, err := d.Of("s").Ask(t.Context(), q, func(r *panel.Reply) error {
				if r.Value == "unfit" {
					return errors.New("unfit")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		synctest.Wait()
		for _, value := range []any{"unfit", "fits"} {
			var won, lost int
			for range 5 {
				switch err := interact.Reply(dir, q, &panel.Reply{By: "bo", Value: value}); {
				case err == nil:
					won++
				case protocol.KindOf(err) == protocol.KindConflict:
					lost++
				default:
					t.Error(err)
				}
			}
			if won != 1 || lost != 4 {
				t.Errorf("%v: %d count, %d do not", value, won, lost)
			}
			<-time.After(time.Second + look/2) // no look for replies is at hand
		}
		if r := <-got; r.Value != "fits" || r.By != "bo" {
			t.Errorf("%+v", r)
		}
		if err := interact.Reply(dir, q, &panel.Reply{By: "bo"}); protocol.KindOf(err) != protocol.KindNotFound {
			t.Error("it has ended:", err)
		}
		if files, err := os.ReadDir(filepath.Join(dir, "interactions")); err != nil || len(files) != 0 {
			t.Error(files, err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errors.New("stopped"))
		if _, err := d.Of("s").Ask(ctx, q, nil); err == nil || err.Error() != "stopped" {
			t.Error(err)
		}
		if list, err := interact.List(dir); err != nil || len(list) != 0 {
			t.Error(list, err)
		}
	})
}
