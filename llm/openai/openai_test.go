package openai

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const script = `
latency: { fixed: 0s }
rules:
  - match: { prompt_contains: use a tool }
    answer: { text: "I will.", calls: [{ tool: "wf_skills_hum", params: { bars: 2 } }, { tool: "SayTool", params: { text: "x" } }] }
  - match: { prompt_contains: slow }
    latency: { fixed: 20s }
    answer: "at last"
  - match: { prompt_contains: think }
    answer: { text: "4", reasoning: "two and two" }
  - answer: "Good day, <b>traveller</b> & friend: \u4f60\u597d."
`

const key = "sk-test-0123456789"

// at makes an endpoint for a handler.
func at(t *testing.T, h http.Handler, d endpoint.Definition) *endpoint.Endpoint {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	d.BaseURL = server.URL + "/v1"
	e, err := endpoint.New("test", d, "", func(string) string { return key })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func server(t *testing.T, o mock.Options) *mock.Server {
	t.Helper()
	m, err := scripted.Load("script.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	o.Model = m
	s, err := mock.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(text string) protocol.ModelRequest {
	return protocol.ModelRequest{Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: text}}}
}

func withTools(text string) protocol.ModelRequest {
	q := ask(text)
	q.Tools = []protocol.ToolSpec{{Name: "workflow:skills/hum", Description: "hums"}, {Name: "SayTool", Parameters: map[string]any{"type": "object"}}}
	return q
}

func TestProvider(t *testing.T) {
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			llmtest.Run(t, llmtest.Options{
				New: func(t *testing.T) llm.Provider {
					return New(at(t, server(t, mock.Options{Key: key}), endpoint.Definition{Preset: "vllm", KeyEnv: "K"}), "small", stream)
				},
				Plain: func() protocol.ModelRequest { return ask("hello") },
				Calls: func() protocol.ModelRequest { return withTools("use a tool") },
				Slow:  func() protocol.ModelRequest { return ask("be slow") },
			})
		})
	}
}

func TestNamesTravel(t *testing.T) {
	for _, stream := range []bool{false, true} {
		p := New(at(t, server(t, mock.Options{}), endpoint.Definition{Preset: "vllm"}), "small", stream)
		a, err := p.Complete(context.Background(), withTools("use a tool"), nil)
		if err != nil || len(a.Calls) != 2 || a.Calls[0].Tool != "workflow:skills/hum" || a.Calls[0].Params["bars"] != int64(2) || a.Calls[1].Tool != "SayTool" {
			t.Errorf("stream %v: %+v, %v", stream, a.Calls, err)
		}
		if a.Origin == nil || a.Origin.Endpoint != "test" || a.Origin.ID == "" || a.Origin.FirstChunk <= 0 {
			t.Errorf("origin %+v", a.Origin)
		}
	}
}

// Minds, outcome table: every fault of a server is a class of failure, or an answer.
func TestFaults(t *testing.T) {
	want := map[string]llm.Outcome{
		"rate_limited": llm.OutcomeRateLimited, "rate_limited_bare": llm.OutcomeRateLimited, "quota": llm.OutcomeQuota, "unauthorized": llm.OutcomeAuth,
		"server_error": llm.OutcomeServerError, "loading": llm.OutcomeServerError, "reset": llm.OutcomeServerError, "reset_within": llm.OutcomeServerError,
		"timeout": llm.OutcomeTimeout, "slow": llm.OutcomeTimeout, "stall": llm.OutcomeTimeout,
		"context_too_long": llm.OutcomeContext, "unknown_model": llm.OutcomeBadRequest,
		"malformed": llm.OutcomeBadOutput, "html": llm.OutcomeBadOutput, "empty_choices": llm.OutcomeBadOutput, "huge": llm.OutcomeBadOutput,
		"error_within": llm.OutcomeRateLimited,                       // "overloaded", of a stream
		"no_end_mark":  llm.OutcomeOK, "null_content": llm.OutcomeOK, // the model said nothing
		"no_finish": llm.OutcomeOK, "wrong_tool": llm.OutcomeOK, "cut_arguments": llm.OutcomeOK, "refusal": llm.OutcomeOK, "filtered": llm.OutcomeOK,
		"length": llm.OutcomeOK, "doubled_chunk": llm.OutcomeOK, "no_usage": llm.OutcomeOK, "absurd_usage": llm.OutcomeOK, "split_character": llm.OutcomeOK,
	}
	finish := map[string]protocol.FinishReason{"refusal": protocol.FinishFiltered, "filtered": protocol.FinishFiltered, "length": protocol.FinishLength}
	d := endpoint.Definition{Preset: "vllm", Timeouts: endpoint.Timeouts{
		FirstByte: protocol.Duration(300 * time.Millisecond), Silence: protocol.Duration(300 * time.Millisecond), Whole: protocol.Duration(time.Second),
	}}
	for _, k := range mock.FaultNames() {
		for name, stream := range map[string]bool{"whole": false, "stream": true} {
			t.Run(k+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := New(at(t, server(t, mock.Options{Faults: mock.Faults{Rates: map[string]float64{k: 1}}}), d), "small", stream)
				a, err := p.Complete(context.Background(), withTools("use a tool"), nil)
				w := want[k]
				if k == "error_within" && !stream {
					w = llm.OutcomeOK
				}
				if llm.OutcomeOf(err) != w {
					t.Fatalf("outcome %s (%v), want %q", llm.OutcomeOf(err), err, w)
				}
				if f := finish[k]; f != "" && (a.Finish != f || len(a.Calls) > 0) {
					t.Errorf("finish %s with %d calls, want %s without", a.Finish, len(a.Calls), f)
				}
				if k == "cut_arguments" && a.Calls[0].Broken == "" && a.Calls[1].Broken == "" {
					t.Errorf("%+v: no call has broken arguments", a.Calls)
				}
				if estimated := k == "no_usage" || k == "absurd_usage"; err == nil && (a.Usage.Estimated != estimated || a.Usage.Input <= 0 || a.Usage.Output <= 0) {
					t.Errorf("usage %+v", a.Usage)
				}
				if f := (*llm.Failure)(nil); err != nil && (!errors.As(err, &f) || !strings.HasPrefix(err.Error(), "test: ")) {
					t.Errorf("%v is no failure with the endpoint's name", err)
				}
				if k == "rate_limited" && err.(*llm.Failure).RetryAfter != time.Second {
					t.Errorf("retry after %s, want the second that the server asks for", err.(*llm.Failure).RetryAfter)
				}
			})
		}
	}
}
