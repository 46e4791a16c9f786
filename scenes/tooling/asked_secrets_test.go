package tooling_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/secret/mask"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/approvals"
	"tavernsim/tools/secrets"
)

// inviting is a server over HTTP without sessions whose tool wants a form before it answers.
func inviting(t *testing.T, form string) *httptest.Server {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				InputResponses map[string]struct{ Action string }
			}
		}
		if err := json.NewDecoder(q.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}, "resultType": "complete"`
		switch said, is := m.Params.InputResponses["f"]; {
		case m.Method == "tools/list":
			result = `"resultType": "complete", "tools": [{"name": "book", "inputSchema": {"type": "object"}}]`
		case m.Method == "tools/call" && !is:
			result = `"resultType": "input_required", "requestState": "x", "content": [], "inputRequests": {"f": {"method": "elicitation/create", "params": ` + form + `}}`
		case m.Method == "tools/call":
			result = fmt.Sprintf(`"resultType": "complete", "content": [{"type": "text", "text": "heard %s"}]`, said.Action)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": {%s}}`, m.ID, result)
	}))
	t.Cleanup(h.Close)
	return h
}

// door notes what is asked, and says yes.
type door struct {
	asked atomic.Int64
	said  atomic.Value
}

func (d *door) Ask(_ context.Context, q *approvals.Question) (approvals.Verdict, error) {
	d.asked.Add(1)
	b, err := json.Marshal(q)
	d.said.Store(string(b))
	return approvals.Verdict{Yes: true}, err
}

// No file of a run has a secret that a server writes into a form, and nobody is shown one: not even where only the message has it. Of a
// call that is withheld nobody is asked at all.
func TestSecretsInForms(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	masker, err := mask.New([]mask.Secret{{Name: "shop", Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		form  string
		quiet bool
		asked int64
		hears string
	}{
		{`{"message": "Which?", "requestedSchema": {"type": "object", "properties": {"x": {"type": "string", "title": "` + value + `"}}}}`, false, 0, "heard decline"},
		{`{"message": "Which?", "requestedSchema": {"type": "object", "properties": {"` + value + `": {"type": "object"}}}}`, false, 0, "heard decline"},
		{`{"message": "` + value + `", "requestedSchema": {"type": "object", "properties": {"x": {"type": "object"}}}}`, false, 0, "heard decline"},
		{`{"message": "May ` + value + ` go?", "requestedSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}`, false, 1, "heard accept"},
		{`{"message": "Which?", "requestedSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}`, true, 0, "bytes:"},
	} {
		h := inviting(t, c.form)
		port := h.URL[strings.LastIndexByte(h.URL, ':')+1:]
		text := strings.NewReplacer("command: python3 ./table.py", "url: http://127.0.0.1:"+port+"/\nneeds: [\"net:127.0.0.1:"+port+"\", \"secret:shop\"]\nheaders: {X-Key: \"$KARYI{shop}\"}").Replace(hosts)
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
		if err != nil {
			t.Fatal(err)
		}
		g := secrets.Grant{Value: value, Tools: []string{"mcp:table"}}
		if c.quiet {
			g.Show = secrets.Withheld
		}
		store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"shop": &g}})
		if err != nil {
			t.Fatal(err)
		}
		d := &door{}
		s := scenestest.New(t, p, "")
		if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Secrets: store, Leave: tooling.Leave{Door: d, Run: "r"}}); r.Err != nil {
			t.Fatal(r)
		}
		said := textOfFacts(t, s)
		if !strings.Contains(said, c.hears) || d.asked.Load() != c.asked {
			t.Errorf("%s: %d asked\n%.3000s", c.form, d.asked.Load(), said)
		}
		if shown, _ := d.said.Load().(string); shown != "" {
			said += shown
		}
		if _, found := masker.Text(said); found.Any() {
			t.Errorf("%s: %+v", c.form, found)
		}
		if kept, err := artifacts.Of(s.Dir).List(); err != nil || (len(kept) == 0) != c.quiet {
			t.Errorf("%s: %v %v", c.form, kept, err)
		}
		if err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if _, found := masker.Text(string(b)); found.Any() || strings.Contains(string(b), value) {
				t.Errorf("%s: %s has the secret: %+v", c.form, path, found)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}
