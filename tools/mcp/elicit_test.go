package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/toolstest"
)

// question is a form as servers send it.
func question() *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: "How many\x1b[31m for table 4?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"count": map[string]any{"type": "integer", "minimum": 1}}, "required": []any{"count"}}}
}

// outcome is what the tool answers when it was answered.
func outcome(r *sdk.ElicitResult) *sdk.CallToolResult {
	if r.Action != "accept" {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: r.Action}}}
	}
	return &sdk.CallToolResult{StructuredContent: map[string]any{"action": r.Action, "count": r.Content["count"]}}
}

// asker is a server whose tool asks a person before it answers: by a request of its own, or in
// its answer.
func asker(t *testing.T, inAnswer bool) *manifest.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "asker", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "say", Description: "Says it.", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		form, in := question(), struct{ Say string }{}
		_ = json.Unmarshal(q.Params.Arguments, &in)
		if in.Say == "page" {
			form = &sdk.ElicitParams{Mode: "url", Message: "Open it.", URL: "https://example.com", ElicitationID: "1"}
		}
		if in.Say == "aside" {
			ctx = context.Background() // on no stream of a call
		}
		r, err := q.Session.Elicit(ctx, form)
		if err != nil {
			return nil, err
		}
		return outcome(r), nil
	})
	if !inAnswer {
		return webServer(t, s)
	}
	below := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Arguments      struct{ Say string }
				RequestState   string
				InputResponses map[string]*sdk.ElicitResult
			}
		}
		if _ = json.Unmarshal(body, &m); m.Method != "tools/call" {
			below.ServeHTTP(w, q)
			return
		}
		var said any
		switch r := m.Params.InputResponses["f"]; {
		case m.Params.Arguments.Say == "busy":
			said = map[string]any{"resultType": "input_required", "content": []any{}}
		case r == nil || m.Params.Arguments.Say == "endless":
			said = map[string]any{"resultType": "input_required", "requestState": "kept", "content": []any{}, "inputRequests": map[string]any{"f": map[string]any{"method": "elicitation/create", "params": question()}}}
		case m.Params.RequestState != "kept":
			t.Errorf("%s", body)
		default:
			said = outcome(r)
		}
		result, err := json.Marshal(said)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": %s}`, m.ID, result)
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return webDefinition(t, h.URL)
}

// Promise 2: what a server asks a person for, by a request or in its answer, reaches whoever
// answers for the call, and the answer the server; a page is not opened. Who is asked is told
// of the call that it is for.
func TestQuestionsToPersons(t *testing.T) {
	for _, inAnswer := range []bool{false, true} {
		t.Run(fmt.Sprint(inAnswer), func(t *testing.T) {
			x, tool := New([]Server{{asker(t, inAnswer), sayPin()}}, Options{}), sayTool(t, manifest.Never)
			defer x.Close()
			ask := func(say string, f tools.Filled, nobody bool) tools.Result {
				c := &tools.Call{Tool: tool, Params: map[string]any{"say": say}, Key: "k"}
				if !nobody {
					c.Ask = func(_ context.Context, form tools.Form) tools.Filled {
						if err := form.Tame(); err != nil || form.Message != "How many for table 4?" || !form.Required("count") || form.Fields()["count"]["type"] != "integer" {
							t.Errorf("%+v %v", form, err)
						}
						return f
					}
				}
				return tools.Run(t.Context(), x, c, tools.Options{Timeout: toolstest.Long})
			}
			for _, c := range []struct {
				say    string
				filled tools.Filled
				nobody bool
				want   string
			}{
				{"x", tools.Filled{Given: true, Answer: map[string]any{"count": 4.0}}, false, "ok map[action:accept count:4] "},
				{"x", tools.Filled{Why: "too many guests"}, false, "error <nil> decline; it asked, and had no answer: too many guests"},
				{"x", tools.Filled{Silent: true, Why: "nobody answered in time"}, false, "error <nil> cancel; it asked, and had no answer: nobody answered in time"},
				{"x", tools.Filled{}, true, "error <nil> decline; it asked, and had no answer: nobody can be asked here"},
				{"page", tools.Filled{Given: true}, false, `does not support "url"`},
				{"aside", tools.Filled{Given: true, Answer: map[string]any{"count": 4.0}}, false, "ok map[action:accept count:4] "},
				{"busy", tools.Filled{}, true, "the MCP server s is busy"},
				{"endless", tools.Filled{Given: true, Answer: map[string]any{"count": 4.0}}, false, "it asks for input again and again"},
			} {
				if own := c.say == "busy" || c.say == "endless"; inAnswer != own && c.say != "x" {
					continue
				}
				r := ask(c.say, c.filled, c.nobody)
				message := ""
				if r.Error != nil {
					message = r.Error.Message
				}
				if got := fmt.Sprint(r.Status, " ", r.Output, " ", message); !strings.Contains(got, c.want) {
					t.Errorf("%+v\ngot  %s\nwant %s", c, got, c.want)
				}
			}
		})
	}
}

// A question that could be for one of several calls is nobody's, unless it came in the answer
// to one.
func TestQuestionsOfSeveralCalls(t *testing.T) {
	for inAnswer, want := range map[bool]int{false: 0, true: 2} {
		x, tool := New([]Server{{asker(t, inAnswer), sayPin()}}, Options{}), sayTool(t, manifest.Never)
		open, _ := x.servers["s"].Session(t.Context())
		_, _, end := open.asks(t.Context(), &tools.Call{}) // a call that stays out
		var all sync.WaitGroup
		var mu sync.Mutex
		given := 0
		for range 2 {
			all.Go(func() {
				r := tools.Run(t.Context(), x, &tools.Call{Tool: tool, Params: map[string]any{"say": "x"}, Ask: func(context.Context, tools.Form) tools.Filled {
					return tools.Filled{Given: true, Answer: map[string]any{"count": 1.0}}
				}}, tools.Options{Timeout: toolstest.Long})
				mu.Lock()
				defer mu.Unlock()
				if r.Status == tools.OK {
					given++
				} else if !strings.Contains(r.Error.Message, "does not say which of them it is for") {
					t.Errorf("%+v %+v", r, r.Error)
				}
			})
		}
		all.Wait()
		end()
		x.Close()
		if given != want {
			t.Errorf("in answers: %t; %d questions had an answer, want %d", inAnswer, given, want)
		}
	}
}

// What is no form is no question: the server gets an error, as the protocol wants it.
func TestPagesAreNotOpened(t *testing.T) {
	o := &session{}
	ctx, _, end := o.asks(t.Context(), &tools.Call{})
	defer end()
	if _, err := o.elicit(ctx, &sdk.ElicitParams{Mode: "url", URL: "https://example.com"}); err == nil || !strings.Contains(err.Error(), "forms alone") {
		t.Error(err)
	}
}
