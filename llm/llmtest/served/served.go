// Package served tests providers of endpoints against the mock server of models: the
// suite of package llmtest, and the table of outcomes under every fault. Only tests
// import it.
package served

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// Key is what the endpoints of [At] send.
const Key = "sk-test-0123456789"

// At makes an endpoint with the name "test" for a handler. Of the address in the
// definition the path counts; without one it is /v1.
func At(t *testing.T, h http.Handler, d endpoint.Definition) *endpoint.Endpoint {
	t.Helper()
	return Named(t, "test", Key, h, d)
}

// Named is At for an endpoint with a name and a key of its own.
func Named(t *testing.T, name, key string, h http.Handler, d endpoint.Definition) *endpoint.Endpoint {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	path := "/v1"
	if u, err := url.Parse(d.BaseURL); err == nil && u.Path != "" {
		path = u.Path
	}
	d.BaseURL = server.URL + path
	e, err := endpoint.New(name, d, "", func(string) string { return key })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

const script = `
latency: { fixed: 0s }
rules:
  - match: { prompt_contains: use a tool }
    answer: { text: "I will.", calls: [{ tool: "workflow_skills_hum_a3ada9", params: { bars: 2 } }, { tool: "SayTool", params: { text: "x" } }] }
  - match: { prompt_contains: slow }
    latency: { fixed: 20s }
    answer: "at last"
  - match: { prompt_contains: think }
    answer: { text: "4", reasoning: "two and two" }
  - match: { prompt_contains: as JSON }
    answer: { text: "", calls: [{ tool: "_answer_29848c", params: { mood: calm } }] }
  - answer: "Good day, <b>traveller</b> & friend: \u4f60\u597d."
`

// Server is a mock server that answers what [Run] and [Faults] ask.
func Server(t *testing.T, o mock.Options) *mock.Server {
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

// Ask is a request with one text.
func Ask(text string) *protocol.ModelRequest {
	return &protocol.ModelRequest{Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: text}}}
}

// WithTools is a request with a skill and a tool.
func WithTools(text string) *protocol.ModelRequest {
	q := Ask(text)
	q.Tools = []protocol.ToolSpec{{Name: "workflow:skills/hum", Description: "hums"}, {Name: "SayTool", Parameters: map[string]any{"type": "object"}}}
	return q
}

// Maker makes the provider under test: of a model at an endpoint.
type Maker func(to *endpoint.Endpoint, model string, stream bool) llm.Provider

// Run runs the suite and the tests that every provider of an endpoint must pass
// against the mock server, whole and streamed.
func Run(t *testing.T, make Maker, d endpoint.Definition) {
	d.KeyEnv = "K"
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			fresh := func(t *testing.T) llm.Provider {
				return make(At(t, Server(t, mock.Options{Key: Key}), d), "small", stream)
			}
			llmtest.Run(t, llmtest.Options{
				New:   fresh,
				Plain: func() *protocol.ModelRequest { return Ask("hello") },
				Calls: func() *protocol.ModelRequest { return WithTools("use a tool") },
				Slow:  func() *protocol.ModelRequest { return Ask("be slow") },
			})
			t.Run("names travel", func(t *testing.T) { namesTravel(t, fresh(t)) })
		})
	}
}

func namesTravel(t *testing.T, p llm.Provider) {
	a, err := p.Complete(context.Background(), WithTools("use a tool"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Calls) != 2 || a.Calls[0].Tool != "workflow:skills/hum" || a.Calls[0].Params["bars"] != int64(2) || a.Calls[1].Tool != "SayTool" {
		t.Errorf("calls %+v", a.Calls)
	}
	if o := a.Origin; o == nil || o.Endpoint != "test" || o.ID == "" || o.FirstChunk <= 0 || o.Attempts != 1 {
		t.Errorf("origin %+v", a.Origin)
	}
	if a, err = p.Complete(context.Background(), Ask("think"), nil); err != nil || a.Text != "4" || a.Reasoning != "two and two" || a.Finish != protocol.FinishStop {
		t.Errorf("answer %+v, %v", a, err)
	}
}

// faults are what a client makes of the faults of a server.
func faults() map[string]llm.Outcome {
	return map[string]llm.Outcome{
		"rate_limited": llm.OutcomeRateLimited, "rate_limited_bare": llm.OutcomeRateLimited, "quota": llm.OutcomeQuota, "unauthorized": llm.OutcomeAuth,
		"server_error": llm.OutcomeServerError, "loading": llm.OutcomeServerError, "reset": llm.OutcomeServerError, "reset_within": llm.OutcomeServerError,
		"timeout": llm.OutcomeTimeout, "slow": llm.OutcomeTimeout, "stall": llm.OutcomeTimeout,
		"context_too_long": llm.OutcomeContext, "unknown_model": llm.OutcomeBadRequest,
		"malformed": llm.OutcomeTruncated, "html": llm.OutcomeTruncated, "empty_choices": llm.OutcomeTruncated, "huge": llm.OutcomeBadOutput,
		"error_within": llm.OutcomeRateLimited, // "overloaded", of a stream
		"no_end_mark":  llm.OutcomeOK, "no_finish": llm.OutcomeOK, "null_content": llm.OutcomeOK, "wrong_tool": llm.OutcomeOK, "cut_arguments": llm.OutcomeOK, "refusal": llm.OutcomeOK, "filtered": llm.OutcomeOK,
		"length": llm.OutcomeOK, "doubled_chunk": llm.OutcomeOK, "no_usage": llm.OutcomeOK, "absurd_usage": llm.OutcomeOK, "split_character": llm.OutcomeOK,
	}
}

// Faults asks a server with every fault of the mock, and holds what comes of it
// to the table of outcomes. other are the outcomes in which the protocol differs, by
// the fault and, if it matters, "/whole" or "/stream".
func Faults(t *testing.T, make Maker, d endpoint.Definition, other map[string]llm.Outcome) {
	for _, fault := range mock.FaultNames() {
		outcome, known := faults()[fault]
		if !known {
			t.Fatalf("the table lacks the fault %s", fault)
		}
		for name, stream := range map[string]bool{"/whole": false, "/stream": true} {
			t.Run(fault+name, func(t *testing.T) {
				t.Parallel()
				want := outcome
				for _, by := range []string{fault, fault + name} {
					if o, ok := other[by]; ok {
						want = o
					}
				}
				if fault == "error_within" && !stream {
					want = llm.OutcomeOK // there is no stream
				}
				d := d
				if want == llm.OutcomeTimeout { // the others have the time of a busy machine
					d.Timeouts = endpoint.Timeouts{FirstByte: short, Silence: short, Whole: 2 * short}
				}
				p := make(At(t, Server(t, mock.Options{Faults: mock.Faults{Rates: map[string]float64{fault: 1}}}), d), "small", stream)
				a, err := p.Complete(context.Background(), WithTools("use a tool"), nil)
				if got := llm.OutcomeOf(err); got != want {
					t.Fatalf("outcome %s (%v), want %s", got, err, want)
				}
				if err != nil {
					failedWell(t, fault, err)
					return
				}
				answeredWell(t, fault, stream, &a)
			})
		}
	}
}

const short = protocol.Duration(200 * time.Millisecond)

func failedWell(t *testing.T, fault string, err error) {
	var f *llm.Failure
	if !errors.As(err, &f) || !strings.HasPrefix(err.Error(), "test: ") {
		t.Fatalf("%v is no failure with the endpoint's name", err)
	}
	if fault == "rate_limited" && f.RetryAfter != time.Second {
		t.Errorf("retry after %s, want the second that the server asks for", f.RetryAfter)
	}
}

func answeredWell(t *testing.T, fault string, stream bool, a *protocol.ModelAnswer) {
	finish := map[string]protocol.FinishReason{"refusal": protocol.FinishFiltered, "filtered": protocol.FinishFiltered, "length": protocol.FinishLength}
	if f := finish[fault]; f != "" && (a.Finish != f || len(a.Calls) > 0) {
		t.Errorf("finish %s with %d calls, want %s without", a.Finish, len(a.Calls), f)
	}
	if (fault == "refusal" || a.Finish == protocol.FinishFiltered && a.Text == "") && a.Origin.Refused == "" {
		t.Error("the refusal is not kept")
	}
	if fault == "cut_arguments" && stream && a.Calls[0].Broken == "" && a.Calls[1].Broken == "" {
		t.Errorf("%+v: no call has broken arguments", a.Calls)
	}
	estimated := fault == "no_usage" || fault == "absurd_usage"
	blocked := a.Finish == protocol.FinishFiltered && a.Text == "" // the server counts nothing
	if a.Usage.Input <= 0 || !blocked && (a.Usage.Estimated != estimated || a.Usage.Output <= 0) {
		t.Errorf("usage %+v", a.Usage)
	}
}
