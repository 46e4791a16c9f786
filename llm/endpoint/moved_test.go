package endpoint

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// A reload takes the key, the headers and the parameters together. It takes none of them if the file has the endpoint at
// another place: the old server got the new key, and the Host and the headers that were for the new one.
func TestReloadKeepsThePlace(t *testing.T) {
	got := ""
	dir := t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-A"), r.URL.RawQuery}, " ")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	file := filepath.Join(dir, "providers.yaml")
	secure(t, &tls.Config{Certificates: []tls.Certificate{certificate(t, time.Now().Add(time.Hour), "localhost")}}, filepath.Join(dir, "ca.pem"))
	write := func(base, more, of string) {
		t.Helper()
		one := func(name, base, more string) string {
			return "  " + name + ": {base_url: '" + base + "', key_file: key, headers: {X-A: header-" + of + "}, query: {token: query-" + of + "}" + more + "}\n"
		}
		text := "endpoints:\n" + one("attic", server.URL, "") + one("cloud", base, more) + one("house", server.URL, "")
		for name, text := range map[string]string{file: text, filepath.Join(dir, "key"): "sk-of-" + of} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(server.URL, "", "before")
	to, err := Load(file, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseAll(to)
	asks := func(of string) {
		t.Helper()
		for _, name := range []string{"attic", "cloud", "house"} { // those that stayed keep their keys, too
			_, _ = NewModel(to[name], "m", false, plain{}).Complete(t.Context(), &protocol.ModelRequest{}, nil)
			if want := "Bearer sk-of-" + of + " header-" + of + " token=query-" + of; got != want {
				t.Errorf("%s: the server got %q, want %q", name, got, want)
			}
		}
	}
	asks("before")
	for _, moved := range []struct{ what, base, more string }{
		{"base_url", "http://other.example:18082/v1", ""},
		{"base_url", server.URL + "/v2", ""},
		{"protocol", server.URL, ", protocol: anthropic"},
		{"ca_file", server.URL, ", ca_file: ca.pem"},
	} {
		write(moved.base, moved.more, "elsewhere")
		if err := Reload(file, os.Getenv, to); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "endpoint cloud: the file has another "+moved.what) || strings.Contains(err.Error(), "sk-of") {
			t.Errorf("%s: %v", moved.what, err)
		}
		asks("before")
	}
	write(server.URL+"/", "", "after")
	if err := Reload(file, os.Getenv, to); err != nil {
		t.Fatal(err)
	}
	asks("after")
	if said := to["cloud"].Hide("query-before query-after sk-of-before sk-of-after"); said != "[key] [key] [key] [key]" {
		t.Errorf("%q", said)
	}
}

// The error of a reload has the faults of all endpoints, in the order of their names: one that was chosen by chance said
// half of what was wrong, and another half the next time.
func TestReloadNamesEveryFault(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "providers.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("endpoints:\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("sk-of-all"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("  c: {base_url: 'http://c', key_file: key}\n  a: {base_url: 'http://a', key_file: key}\n  b: {base_url: 'http://b', key_file: key}\n")
	to, err := Load(file, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseAll(to)
	write("  c: {base_url: 'http://d', key_file: key}\n  a: {base_url: 'http://d', key_file: key}\n  b: {base_url: 'http://b', key_file: none}\n")
	for range 8 {
		err := Reload(file, os.Getenv, to)
		if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "endpoint a: ") || !strings.HasPrefix(lines[1], "endpoints.b.key_file: ") || !strings.HasPrefix(lines[2], "endpoint c: ") || protocol.KindOf(err) != protocol.KindConflict {
			t.Fatal(err)
		}
	}
}
