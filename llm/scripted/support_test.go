package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/template"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// request is a model request as the test files and the documentation write it.
type request struct {
	Agent, Profile, Scene, Model string
	Purpose                      protocol.Purpose
	Variables                    map[string]any
	Events                       []string
	Prompt                       string
	Tools                        []string
	JSON                         bool
	Rounds                       int
	Seed                         uint64
	MaxTokens                    int
	Stop                         []string
	Timeout                      string
}

func (r request) make(t testing.TB) *protocol.ModelRequest {
	t.Helper()
	variables, err := protocol.Normalize(r.Variables)
	if err != nil {
		t.Fatal(err)
	}
	out := &protocol.ModelRequest{
		Model: r.Model, MaxTokens: r.MaxTokens, Stop: r.Stop, JSON: r.JSON, Scene: r.Scene, Agent: r.Agent, Profile: r.Profile, Purpose: r.Purpose,
		Events: r.Events, Draw: protocol.NewDraw(r.Seed), Now: protocol.TimeOf(time.Date(2000, 1, 1, 8, 0, 0, 0, time.UTC)),
	}
	out.Variables, _ = variables.(map[string]any)
	for i := range r.Rounds {
		out.Messages = append(out.Messages, protocol.ModelMessage{Role: protocol.RoleAssistant, Calls: []protocol.Call{{ID: fmt.Sprint(i)}}})
	}
	if r.Prompt != "" {
		out.Messages = append(out.Messages, protocol.ModelMessage{Role: protocol.RoleUser, Text: r.Prompt})
	}
	for _, name := range r.Tools {
		out.Tools = append(out.Tools, protocol.ToolSpec{Name: name})
	}
	if r.Timeout != "" {
		if out.Timeout, err = time.ParseDuration(r.Timeout); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func parseRequest(t testing.TB, s string) *protocol.ModelRequest {
	t.Helper()
	var r request
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return r.make(t)
}

// show writes an answer, or a failure, in one line: what is empty is left out.
func show(a protocol.ModelAnswer, err error) string {
	if err != nil {
		var f *llm.Failure
		if !errors.As(err, &f) {
			return "NO FAILURE " + err.Error()
		}
		s := fmt.Sprintf("! %s: %s", f.Outcome, f.Message)
		if f.Latency > 0 {
			s += " after " + f.Latency.String()
		}
		if f.RetryAfter > 0 {
			s += ", retry after " + f.RetryAfter.String()
		}
		return s
	}
	var b strings.Builder
	if a.Reasoning != "" {
		fmt.Fprintf(&b, "(%s) ", a.Reasoning)
	}
	b.WriteString(a.Text)
	for _, c := range a.Calls {
		fmt.Fprintf(&b, " <%s %s>", c.Tool, template.AppendJSON(nil, c.Params))
	}
	if a.Finish != protocol.FinishStop && a.Finish != protocol.FinishToolCalls {
		fmt.Fprintf(&b, " [%s]", a.Finish)
	}
	if a.Latency > 0 {
		fmt.Fprintf(&b, " in %s", a.Latency)
	}
	return strings.TrimSpace(b.String())
}

func load(t testing.TB, script string) *Model {
	t.Helper()
	m, err := Load("test.yaml", []byte(script))
	if err != nil {
		t.Fatalf("%v\nin %s", err, script)
	}
	return m
}

func say(t testing.TB, m *Model, req string) string {
	t.Helper()
	return show(m.Answer(parseRequest(t, req)))
}
