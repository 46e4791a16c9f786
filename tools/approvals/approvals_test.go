package approvals_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
)

func question(id string) *approvals.Question {
	return &approvals.Question{ID: id, Agent: "a", Tool: "t", Params: map[string]any{"x": 1.0}, Rule: "r"}
}

// Promises 1 and 4: a question is listed until it is answered, once; its answer reaches
// whoever asks. Nobody else reads the files.
func TestAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	synctest.Test(t, func(t *testing.T) {
		for _, want := range []approvals.Verdict{{Yes: true, Reason: "go"}, {Reason: "no"}} {
			id := map[bool]string{true: "1a", false: "2b"}[want.Yes]
			got := make(chan approvals.Verdict)
			go func() {
				v, err := (&approvals.Door{Dir: dir}).Ask(t.Context(), question(id))
				if err != nil {
					t.Error(err)
				}
				got <- v
			}()
			synctest.Wait()
			list, err := approvals.List(dir)
			if err != nil || len(list) != 1 || list[0].ID != id || list[0].Params["x"] != int64(1) {
				t.Fatal(list, err)
			}
			if err := approvals.Answer(dir, id, want); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := approvals.Answer(dir, id, approvals.Verdict{Yes: !want.Yes}); protocol.KindOf(err) != protocol.KindConflict {
					t.Error(err)
				}
			}
			if v := <-got; !reflect.DeepEqual(v, want) {
				t.Errorf("%+v, want %+v", v, want)
			}
			if list, err := approvals.List(dir); err != nil || len(list) != 0 {
				t.Error(list, err)
			}
		}
	})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the answers
		t.Error(entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
	}
}

// Promises 2 and 3: after the deadline nobody can answer; a question that is asked again
// finds its answer.
func TestSilence(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		begun := time.Now()
		if v, err := (&approvals.Door{Dir: dir}).Ask(ctx, question("0f")); !errors.Is(err, context.DeadlineExceeded) || v.Yes || time.Since(begun) != time.Minute {
			t.Error(v, err, time.Since(begun))
		}
	})
	if err := approvals.Answer(dir, "0f", approvals.Verdict{Yes: true}); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "0f.answer.json"), []byte(`{"yes": true, "reason": "before"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "0f.ask.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := (&approvals.Door{Dir: dir}).Ask(t.Context(), question("0f")); err != nil || !v.Yes || v.Reason != "before" {
		t.Error(v, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"", "..", "../x", "1/2", "XY", strings.Repeat("a", 65), "12"} {
		if err := approvals.Answer(dir, id, approvals.Verdict{}); protocol.KindOf(err) != protocol.KindNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, text := range []string{"", "no", `{"yes": 1}`, `{"yes": true, "more": 1}`} {
		if err := os.WriteFile(filepath.Join(dir, "12.answer.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if v, err := (&approvals.Door{Dir: dir}).Ask(ctx, question("12")); err == nil || v.Yes {
			t.Errorf("%q: %+v %v", text, v, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "13.ask.json"), []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := approvals.List(dir); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error(err)
	}
	if list, err := approvals.List(filepath.Join(dir, "none")); err != nil || list != nil {
		t.Error(list, err)
	}
}

// Promise 5.
func TestValues(t *testing.T) {
	const value = "s3cret-value\n'x'"
	dir := t.TempDir()
	ask := func(id string) chan approvals.Verdict {
		got := make(chan approvals.Verdict, 1)
		go func() {
			q := question(id)
			q.Kind = approvals.KindValue
			v, err := (&approvals.Door{Dir: dir}).Ask(t.Context(), q)
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
		for {
			if list, err := approvals.List(dir); err != nil || len(list) == 1 && list[0].Kind == approvals.KindValue {
				return got
			}
		}
	}
	got := ask("1a")
	if err := approvals.AnswerValue(dir, "1a", strings.Repeat("x", approvals.MaxValue+1), ""); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
	if err := approvals.AnswerValue(dir, "1a", value, "here"); err != nil {
		t.Fatal(err)
	}
	if v := <-got; !v.Yes || v.Reason != "here" || v.Value != value || v.Token != "" {
		t.Errorf("%+v", v)
	}
	if err := approvals.AnswerValue(dir, "1a", "another", ""); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
	got = ask("1a") // after a kill: the value is gone, and is asked for again
	if err := approvals.Answer(dir, "1a", approvals.Verdict{Reason: "not twice"}); err != nil {
		t.Fatal(err)
	}
	if v := <-got; v.Yes || v.Reason != "not twice" {
		t.Errorf("%+v", v)
	}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "s3cret") || strings.HasSuffix(name, ".value") {
			t.Errorf("%s: %s", name, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Promise 6: an answer that does not fit is refused, and the question stays open; one that fits
// reaches whoever asks. A question for leave takes none.
func TestForms(t *testing.T) {
	dir := t.TempDir()
	q := question("f0")
	q.Kind, q.Form = approvals.KindForm, &tools.Form{Message: "How many?", Schema: map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []any{"n"}}}
	synctest.Test(t, func(t *testing.T) {
		got := make(chan approvals.Verdict)
		go func() {
			v, err := (&approvals.Door{Dir: dir}).Ask(t.Context(), q)
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
		synctest.Wait()
		for _, bad := range []map[string]any{nil, {}, {"n": "many"}, {"n": 1.0, "m": 2.0}} {
			if err := approvals.Answer(dir, q.ID, approvals.Verdict{Yes: true, Answer: bad}); protocol.KindOf(err) != protocol.KindInvalid {
				t.Errorf("%v: %v", bad, err)
			}
		}
		answer := approvals.Verdict{Yes: true}
		if err := answer.ReadAnswer(`{"n": 9007199254740993}`); err != nil {
			t.Fatal(err)
		}
		if line := q.Line("run"); !strings.Contains(line, `asks "How many?"`) || !strings.Contains(line, "simd approve run f0 yes --answer JSON") {
			t.Error(line)
		}
		if err := approvals.Answer(dir, q.ID, approvals.Verdict{Yes: true, Answer: answer.Answer}); err != nil {
			t.Fatal(err)
		}
		if v := <-got; !v.Yes || v.Answer["n"] != int64(1<<53+1) {
			t.Errorf("%+v", v)
		}
		go func() { v, _ := (&approvals.Door{Dir: dir}).Ask(t.Context(), question("a0")); got <- v }()
		synctest.Wait()
		if err := approvals.Answer(dir, "a0", approvals.Verdict{Yes: true, Answer: map[string]any{"n": 4.0}}); protocol.KindOf(err) != protocol.KindInvalid {
			t.Error(err)
		}
		if err := approvals.Answer(dir, "a0", approvals.Verdict{}); err != nil {
			t.Error(err)
		}
		<-got
		late := question("b0")
		late.Until = time.Now().Add(-time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		go func() { v, _ := (&approvals.Door{Dir: dir}).Ask(ctx, late); got <- v }()
		synctest.Wait()
		if list, err := approvals.List(dir); err != nil || len(list) > 0 {
			t.Error("a question whose time is over is listed:", list, err)
		}
		stop()
		<-got
	})
}

// A long question is asked whole or refused; one that cannot be read hides no other.
func TestLongQuestions(t *testing.T) {
	dir := t.TempDir()
	d := &approvals.Door{Dir: dir}
	ask := func(id, text string) chan error {
		q := question(id)
		q.Params = map[string]any{"text": text}
		told := make(chan error, 1)
		go func() {
			_, err := d.Ask(t.Context(), q)
			told <- err
		}()
		return told
	}
	if err := <-ask("aa", strings.Repeat("x", 9<<20)); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bb.ask.json"), []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	long, short := ask("cc", strings.Repeat("<\x01", 1<<19)), ask("dd", "x")
	var list []approvals.Question
	var err error
	for len(list) < 2 {
		select {
		case err := <-long:
			t.Fatal("it was not asked:", err)
		case err := <-short:
			t.Fatal("it was not asked:", err)
		case <-time.After(5 * time.Millisecond):
		}
		if list, err = approvals.List(dir); protocol.KindOf(err) != protocol.KindCorrupt || !strings.Contains(err.Error(), "bb.ask.json") {
			t.Fatal(err)
		}
	}
	if list[0].Params["text"] != strings.Repeat("<\x01", 1<<19) {
		t.Error("the long question is not whole")
	}
	if err := approvals.Answer(dir, "bb", approvals.Verdict{}); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Error(err)
	}
	for id, told := range map[string]chan error{"cc": long, "dd": short} {
		if err := approvals.Answer(dir, id, approvals.Verdict{Yes: true}); err != nil {
			t.Error(err)
		}
		if err := <-told; err != nil {
			t.Error(err)
		}
	}
}
