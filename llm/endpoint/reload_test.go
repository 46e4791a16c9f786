package endpoint

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/limit"
)

// owner is a call that tells whether it may leave.
type owner chan bool

func (o owner) Released(limit.Class) { o <- true }
func (o owner) Refused(error)        { o <- false }

// An endpoint that refused a key takes requests again when the file has another; neither
// key is in what comes back. A file with a fault changes nothing.
func TestReload(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-second-key" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte("the-first-key and " + r.Header.Get("Authorization")))
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "providers.yaml")
	write("providers.yaml", "endpoints:\n  cloud: {base_url: \""+server.URL+"\", key_file: key}\n")
	write("key", "the-first-key")
	to, err := Load(file, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	e := to["cloud"]
	defer e.Close()
	leaves := func() bool {
		o := make(owner, 1)
		c := &limit.Call{Owner: o}
		e.Gate.Enter(c, 0, time.Hour)
		left := <-o
		if left {
			_, err := e.Do(t.Context(), Ask{Path: "/"})
			e.Gate.End(c, limit.End{Outcome: llm.OutcomeOf(err)})
		}
		return left
	}
	if !leaves() {
		t.Fatal("the first request does not leave")
	}
	if leaves() {
		t.Fatal("the endpoint is not closed")
	}
	write("key", " ")
	if err := Reload(file, os.Getenv, to); err == nil {
		t.Error("an empty key file has no fault")
	}
	if leaves() {
		t.Error("a fault opens the endpoint")
	}
	write("key", "the-second-key")
	if err := Reload(file, os.Getenv, to); err != nil {
		t.Fatal(err)
	}
	if !leaves() {
		t.Error("the endpoint stays closed")
	}
	r, err := e.Do(t.Context(), Ask{Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := r.ReadAll(); err != nil || e.Hide(string(data)) != "[key] and Bearer [key]" {
		t.Errorf("%q, %v", data, err)
	}
}

// An endpoint that answered with its old key has not answered with the new one. A reload that brings the same key keeps
// what is known of it.
func TestReloadAndPages(t *testing.T) {
	refuse := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuse {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("<html>nginx</html>"))
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "providers.yaml")
	write := func(key string) {
		t.Helper()
		for name, text := range map[string]string{file: "endpoints:\n  cloud: {base_url: '" + server.URL + "', key_file: key}\n", filepath.Join(dir, "key"): key} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("the-first-key")
	to, err := Load(file, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	e := to["cloud"]
	defer e.Close()
	ask := func() error {
		r, err := e.Do(t.Context(), Ask{Path: "/", Body: []byte("{}")})
		if err == nil {
			r.Close()
		}
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	refuse = true
	for _, c := range []struct {
		key  string
		want llm.Outcome
	}{{"the-first-key", llm.OutcomeBadRequest}, {"the-second-key", llm.OutcomeAuth}, {"the-first-key", llm.OutcomeAuth}} {
		write(c.key)
		if err := Reload(file, os.Getenv, to); err != nil {
			t.Fatal(err)
		}
		if f := outcome(t, ask()); f.Outcome != c.want {
			t.Errorf("%s: %v, want %s", c.key, f, c.want)
		}
	}
}
