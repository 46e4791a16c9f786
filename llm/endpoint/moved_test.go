package endpoint

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// A reload takes the key, the headers and the parameters together. It takes none of them if the file has the endpoint at
// another place: the old server got the new key, and the Host and the headers that were for the new one.
func TestReloadKeepsThePlace(t *testing.T) {
	got := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-A"), r.URL.RawQuery}, " ")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "providers.yaml")
	write := func(base, more, of string) {
		t.Helper()
		text := "endpoints:\n  cloud: {base_url: '" + base + "', key_file: key, headers: {X-A: header-" + of + "}, query: {token: query-" + of + "}" + more + "}\n"
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
	m := NewModel(to["cloud"], "m", false, plain{})
	asks := func(of string) {
		t.Helper()
		_, _ = m.Complete(t.Context(), &protocol.ModelRequest{}, nil)
		if want := "Bearer sk-of-" + of + " header-" + of + " token=query-" + of; got != want {
			t.Errorf("the server got %q, want %q", got, want)
		}
	}
	asks("before")
	for _, moved := range []struct{ what, base, more string }{
		{"base_url", "http://other.example:18082/v1", ""},
		{"base_url", server.URL + "/v2", ""},
		{"protocol", server.URL, ", protocol: anthropic"},
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
