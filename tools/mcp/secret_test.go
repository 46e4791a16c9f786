package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/protocol"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// A server gets the secret in its header, with each request; without the secret nobody
// asks it, and it is not tried again.
func TestSecrets(t *testing.T) {
	var right, wrong atomic.Int64
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return saying(toolstest.Answers) }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cr3t" {
			wrong.Add(1)
			http.Error(w, "who", http.StatusUnauthorized)
			return
		}
		right.Add(1)
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	d := webDefinition(t, h.URL)
	d.Headers, d.Needs = map[string]string{"Authorization": "Bearer $KARYI{key}"}, append(d.Needs, "secret:key")
	if faults := d.Check(); len(faults) > 0 {
		t.Fatal(faults)
	}
	give := func(id string, names []string) (map[string]string, error) {
		if id != "mcp:s" || len(names) != 1 || names[0] != "key" {
			t.Error(id, names)
		}
		return map[string]string{"key": "s3cr3t"}, nil
	}
	x := New([]Server{{d, sayPin()}}, Options{Secrets: give})
	if r := call(t.Context(), x, sayTool(t, manifest.Free), toolstest.Long); r.Error != nil || right.Load() == 0 || wrong.Load() > 0 {
		t.Errorf("%+v, %d right, %d wrong", r.Error, right.Load(), wrong.Load())
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	before := right.Load()
	none := New([]Server{{d, sayPin()}}, Options{Secrets: func(string, []string) (map[string]string, error) {
		return nil, protocol.Errorf(protocol.KindDenied, "not granted")
	}})
	for range 3 {
		if r := call(t.Context(), none, sayTool(t, manifest.Free), toolstest.Long); r.Error == nil || !strings.Contains(r.Error.Message, "not granted") {
			t.Errorf("%+v", r.Error)
		}
	}
	if err := none.Close(); err != nil || right.Load() != before || wrong.Load() > 0 {
		t.Error(err, right.Load(), wrong.Load())
	}
	for want, change := range map[string]func(*manifest.Server){
		"not among the needs": func(s *manifest.Server) { s.Needs = s.Needs[:1] },
		"stands in no header": func(s *manifest.Server) { s.Headers = nil },
		"is set by simd":      func(s *manifest.Server) { s.Headers = map[string]string{"Mcp-Session-Id": "$KARYI{key}"} },
		"no name of a header": func(s *manifest.Server) { s.Headers = map[string]string{"a b": "$KARYI{key}"} },
		"cannot have":         func(s *manifest.Server) { s.Headers = map[string]string{"a": "x\r\ny: $KARYI{key}"} },
		"part of the url":     func(s *manifest.Server) { s.URL += "?k=$KARYI{key}" },
		"headers go with a url": func(s *manifest.Server) {
			s.URL, s.Command, s.Needs = "", "server", nil
		},
	} {
		s := manifest.Server{ID: "s", URL: h.URL, Headers: d.Headers, Needs: d.Needs}
		change(&s)
		said := ""
		for _, f := range s.Check() {
			said += f.Message + "\n"
		}
		if !strings.Contains(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
	}
}
