package tooling_test

import (
	"fmt"
	"io"
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
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/secrets"
)

const brokered = `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- models/m.yaml --
rules:
  - answer:
      calls:
        - {tool: srv.echo, params: {text: "$KARYI{api_key}"}}
        - {tool: srv.away, params: {}}
        - {tool: srv.none, params: {}}
-- tools/echo.tool.yaml --
id: srv.echo
parameters: {properties: {text: {type: string}}}
implementation:
  type: http
  method: POST
  url: "http://127.0.0.1:PORT/echo"
  headers: {Authorization: "Bearer $KARYI{api_key}", X-Text: {from: /text}}
  query: {key: "$KARYI{api_key}"}
  body: {list: ["<$KARYI{api_key}>"], said: {from: /text}}
needs: ["net:127.0.0.1:PORT", "secret:api_key"]
-- tools/away.tool.yaml --
id: srv.away
implementation: {type: http, url: "http://127.0.0.1:PORT/away", headers: {X-Key: "$KARYI{api_key}"}}
needs: ["net:127.0.0.1:PORT", "secret:api_key"]
-- tools/none.tool.yaml --
id: srv.none
implementation: {type: http, url: "http://127.0.0.1:PORT/none", headers: {X-Key: "$KARYI{other}"}}
needs: ["net:127.0.0.1:PORT", "secret:other"]
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [srv.echo, srv.away, srv.none]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {stop: {ticks: 3}}
`

// A server gets the secret of the operator, and nobody else: no parameter is read as one, no
// redirection is followed with it, and neither what the server says of it nor an error
// leaves it in the run.
func TestBroker(t *testing.T) {
	const value = "sk-Demo_7pW4yH8cR2nM"
	var echoed, followed, refused atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/echo":
			if r.Header.Get("Authorization") == "Bearer "+value && r.URL.Query().Get("key") == value && string(body) == `{"list":["\u003c`+value+`\u003e"],"said":"$KARYI{api_key}"}` && r.Header.Get("X-Text") == "$KARYI{api_key}" {
				echoed.Add(1)
			}
			if echoed.Load()%2 == 0 {
				w.WriteHeader(http.StatusTeapot)
			}
			fmt.Fprintf(w, "%v %s %s", r.Header, r.URL, body)
		case "/away":
			http.Redirect(w, r, "/home", http.StatusFound)
		case "/home":
			followed.Add(1)
		case "/none":
			refused.Add(1)
		}
	}))
	defer server.Close()
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(brokered, "PORT", server.URL[strings.LastIndexByte(server.URL, ':')+1:])))), nil)
	if err != nil {
		t.Fatal(err)
	}
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"api_key": {Value: value, Tools: []string{"srv.*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Secrets: store}); r.Err != nil {
		t.Fatal(r)
	}
	if echoed.Load() < 3 || followed.Load() != 0 || refused.Load() != 0 {
		t.Errorf("echoed %d, followed %d, without a secret %d", echoed.Load(), followed.Load(), refused.Load())
	}
	masker, err := mask.New([]mask.Secret{{Name: "api_key", Value: value}})
	if err != nil {
		t.Fatal(err)
	}
	said := textOfFacts(t, s)
	if _, found := masker.Text(said); found.Any() || !strings.Contains(said, "Bearer $KARYI{api_key}") || !strings.Contains(said, "the request has a secret, and is not followed") || !strings.Contains(said, "the secret other is not granted") {
		t.Errorf("%+v\n%.3000s", found, said)
	}
	if err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), value) {
			t.Errorf("%s has the secret", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
