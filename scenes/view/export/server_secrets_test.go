package export

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
	"tavernsim/tools/secrets"
)

const guarded = "sk-Demo_7pW4yH8cR2nM"

// spellings are a secret as a server may write it.
func spellings() map[string]string {
	escaped, percent := "", ""
	for _, b := range []byte(guarded) {
		escaped += fmt.Sprintf(`\u%04x`, b)
		percent += fmt.Sprintf("%%%02X", b)
	}
	return map[string]string{
		"plain": guarded, "base64": base64.StdEncoding.EncodeToString([]byte(guarded)), "hex": hex.EncodeToString([]byte(guarded)), "percent": percent, "escaped": escaped,
	}
}

// places are where a server may write it: in the text of an answer, in that of a failure, in an error of the protocol,
// as the name of a field and as its value, in a file, in the name of a file, and in what it says of how far it is.
func places() []string {
	return []string{"text", "fails", "fault", "name", "value", "file", "link", "far"}
}

// telling is an MCP server that tells the token that it was sent.
func telling(t *testing.T) *httptest.Server {
	var sent string
	s := sdk.NewServer(&sdk.Implementation{Name: "t", Version: "1"}, nil)
	for spelling, text := range spellings() {
		for _, place := range places() {
			s.AddTool(&sdk.Tool{Name: place + "-" + spelling, InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				a := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "it is " + text + "."}}}
				switch place {
				case "fails":
					a.IsError = true
				case "fault":
					return nil, errors.New("no: " + text)
				case "name":
					a.StructuredContent = map[string]any{text: 1}
				case "value":
					a.StructuredContent = map[string]any{"a": []any{map[string]any{"b": text}}}
				case "file":
					a.Content = []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png " + text)}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "t://a", MIMEType: "text/plain", Text: text}}}
				case "link":
					a.Content = []sdk.Content{&sdk.ResourceLink{URI: "t://" + text, Name: text}}
				case "far":
					_ = q.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: q.Params.GetProgressToken(), Progress: 1, Message: text})
					a.Content = nil
				}
				return a, nil
			})
		}
	}
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if sent = q.Header.Get("Authorization"); sent != "Bearer "+guarded {
			t.Errorf("the server was sent %q", sent)
		}
		h.ServeHTTP(w, q)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

// listeners are a project whose agents call all tools of such a server, an agent those of one place.
func listeners(address string) []byte {
	var pins, ids, rules, agents []string
	for _, place := range places() {
		var calls []string
		for spelling := range spellings() {
			name := place + "-" + spelling
			pins = append(pins, fmt.Sprintf(`{"name": %q, "inputSchema": {"type": "object"}}`, name))
			ids = append(ids, fmt.Sprintf("%q", "mcp:t/"+name))
			calls = append(calls, fmt.Sprintf("{tool: %q}", "mcp:t/"+name))
		}
		rules = append(rules, fmt.Sprintf("  - {match: {agent: %s}, answer: {calls: [%s]}}", place, strings.Join(calls, ", ")))
		agents = append(agents, fmt.Sprintf("{instance_id: %s, profile_id: a}", place))
	}
	return []byte(fmt.Sprintf(`
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- models/m.yaml --
rules:
%s
otherwise: {text: ""}
-- mcp/t.yaml --
id: t
url: %s/
headers: {Authorization: "Bearer $KARYI{api_key}"}
needs: ["net:%s", "secret:api_key"]
-- mcp/t.pin.json --
{"server": "t", "tools": [%s]}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [%s]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [%s]
simulation: {seed: 1, stop: {ticks: 1}}
`, strings.Join(rules, "\n"), address, strings.TrimPrefix(address, "http://"), strings.Join(pins, ", "), strings.Join(ids, ", "), strings.Join(agents, ", ")))
}

// What a server of others tells of the secret that it was sent is nowhere, however it spells it and wherever it
// writes it: not in a file of the run, not in a fact, a table or the log.
func TestServersTellNoSecrets(t *testing.T) {
	for _, show := range []string{"", secrets.Withheld} {
		server := telling(t)
		p, err := runner.LoadFS(scenestest.Files(txtar.Parse(listeners(server.URL))), "listeners", true)
		if err != nil {
			t.Fatal(err)
		}
		allowed := &grants.Store{}
		for _, a := range needs.Of(p, needs.Place{}) {
			allowed.Give(&a)
		}
		store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"api_key": {Value: guarded, Tools: []string{"mcp:t"}, Show: show}}})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		var log bytes.Buffer
		r, err := runner.Start(p, runner.Options{Dir: dir, Tools: tooling.Live, Grants: allowed, Secrets: store, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(); err != nil {
			t.Fatal(err)
		}
		facts := toldNowhere(t, dir, log.Bytes())
		err = openRun(t, dir).Journal().Scan(persistence.Query{}, func(r protocol.Record) error {
			if show == secrets.Withheld && bytes.Contains(r.Data, []byte("it is ")) {
				t.Errorf("words beside it are told: %.300q", r.Data)
			}
			return nil
		})
		if want := len(places()) * len(spellings()); err != nil || facts[agentfact.FactCallAnswered] != want {
			t.Errorf("%v; %d answers, want %d", err, facts[agentfact.FactCallAnswered], want)
		}
		if kept, err := artifacts.Of(dir).List(); err != nil || len(kept) > 0 {
			t.Errorf("%v, %v", kept, err)
		}
	}
}

func tellsNothing(t *testing.T, where string, text []byte) {
	t.Helper()
	low := bytes.ToLower(text)
	for spelling, secret := range spellings() {
		// Within JSON a backslash may stand twice, and base64 without its end.
		for _, form := range []string{strings.ToLower(secret), strings.ReplaceAll(strings.ToLower(secret), `\`, `\\`), strings.TrimRight(strings.ToLower(secret), "=")} {
			if at := bytes.Index(low, []byte(form)); at >= 0 {
				t.Errorf("%s tells it (%s): %q", where, spelling, text[max(0, at-100):min(len(text), at+len(form))])
				break
			}
		}
	}
}
