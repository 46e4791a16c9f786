package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
)

const (
	saidWhole = `{"id":"c1","model":"m","choices":[{"index":0,"message":{"content":"Welcome to the token, x EMPTY ollama message tool.","tool_calls":[{"id":"1","type":"function","function":{"name":"SayTool","arguments":"{\"message\":\"an x of ollama\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`
	saidPart  = `data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"Welcome to the token, x"},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"c1","choices":[{"index":0,"delta":{"content":" EMPTY","tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"SayTool","arguments":"{\"message\":1}"}}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	saidError = `{"error":{"message":"no such model, token x","code":"x"}}`
)

// A key that stands for none, as servers of one's own are given, changes no answer, stream or error, whatever word
// of them it is. It was replaced in the JSON of the server: "token" broke prompt_tokens, and "e" everything.
func TestKeysThatStandForNone(t *testing.T) {
	var reply atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := reply.Load()
		switch said {
		case saidError:
			w.WriteHeader(http.StatusBadRequest)
		case saidPart:
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = fmt.Fprint(w, said)
	}))
	defer server.Close()
	for _, said := range []string{saidWhole, saidPart, saidError} {
		reply.Store(said)
		want := answered(t, server.URL, "", said == saidPart)
		for _, key := range []string{"token", "tool", "message", "e", "o", "x", "EMPTY", "ollama", "not-needed"} {
			if got := answered(t, server.URL, key, said == saidPart); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", key, got, want)
			}
		}
	}
	// A real one is found in what the JSON means, however the server writes it.
	const key = "sk-Zq9/leak+Key=="
	escaped := ""
	for _, c := range key {
		escaped += fmt.Sprintf(`\\u%04x`, c)
	}
	reply.Store(strings.Replace(strings.Replace(saidWhole, "Welcome", strings.ReplaceAll(escaped, `\\`, `\`), 1), "an x", escaped, 1))
	got := answered(t, server.URL, key, false)
	if text := fmt.Sprint(got); strings.Count(text, "[key]") != 3 || strings.Contains(text, "leak") {
		t.Errorf("%s", text)
	}
}

// answered is what a model says, and what a sink is shown.
func answered(t *testing.T, url, key string, stream bool) (all [4]any) {
	e, err := endpoint.New("x", endpoint.Definition{BaseURL: url, KeyEnv: "K", Auth: map[bool]string{true: "none"}[key == ""]}, "", func(string) string { return key })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	shown := ""
	a, err := New(e, "m", stream).Complete(t.Context(), &protocol.ModelRequest{Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "hi"}}}, func(c llm.Chunk) error {
		shown += c.Text
		return nil
	})
	return [4]any{a.Text, fmt.Sprint(a.Calls, a.Usage), shown, fmt.Sprint(err)}
}
