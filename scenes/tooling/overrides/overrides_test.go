package overrides

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/permit"
	"tavernsim/llm"
	"tavernsim/llm/llmtest"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
	"tavernsim/tools/rpc"
	"tavernsim/tools/secrets"
)

// services is a function in the place of programs.
type services func(ctx context.Context, service, method string, params json.RawMessage) (string, *tools.Result)

func (f services) Ask(ctx context.Context, q *rpc.Request) (json.RawMessage, *tools.Result) {
	if q.Begins != nil {
		q.Begins()
	}
	raw, err := json.Marshal(q.Params)
	if err != nil {
		r := tools.Fail(protocol.KindInternal, err.Error())
		return nil, &r
	}
	out, failed := f(ctx, q.Service, q.Method, raw)
	return json.RawMessage(out), failed
}

// heard are services whose words have no secrets, but for one.
func heard(f services) Asked {
	return Asked{Services: f, Mask: func(v any) (any, error) {
		if b, err := json.Marshal(v); err != nil || !strings.Contains(string(b), "Sesame-9f3k2q") {
			return v, err
		}
		return nil, protocol.Errorf(protocol.KindDenied, "the output is withheld")
	}}
}

func winner(name string) *Winner { return &Winner{Interface: name, Plugin: "p", Service: "p/s"} }

func refused(kind protocol.ErrorKind) *tools.Result {
	r := tools.Fail(kind, "said no")
	return &r
}

// A model of a service keeps all promises of a provider.
func TestProvider(t *testing.T) {
	ask := func(text string) func() *protocol.ModelRequest {
		return func() *protocol.ModelRequest {
			return &protocol.ModelRequest{Model: "m", Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: text}}}
		}
	}
	llmtest.Run(t, llmtest.Options{
		New: func(*testing.T) llm.Provider {
			m := NewModel(winner("model"))
			m.Open(heard(func(ctx context.Context, service, method string, params json.RawMessage) (string, *tools.Result) {
				var q question
				if err := json.Unmarshal(params, &q); err != nil || service != "p/s" || method != "model/complete" || q.Model != "m" || q.Timeout <= 0 || q.Attempt != 1 {
					return "", refused(protocol.KindInvalid)
				}
				switch q.Messages[0].Text {
				case "slow":
					select {
					case <-ctx.Done():
						return "", refused(protocol.KindCancelled)
					case <-time.After(10 * time.Second):
					}
				case "calls":
					return `{"calls": [{"tool": "a", "params": {"x": 1}}, {"tool": "b", "id": "i"}, {"tool": "b", "id": "i", "params": null}]}`, nil
				}
				return `{"text": "yes", "reasoning": "hm", "usage": {"input": 3}}`, nil
			}))
			return m
		},
		Plain: ask("plain"), Calls: ask("calls"), Slow: ask("slow"),
	})
}

// Promises 2 and 3: an answer of another form is a failure, and what a service says no to has
// the outcome of its kind.
func TestWrongAnswers(t *testing.T) {
	for said, want := range map[string]string{
		`[]`:                        "is no object",
		`{"text": 1}`:               "is no object",
		`{"answer": "x"}`:           `unknown field "answer"`,
		`{"text": "Sesame-9f3k2q"}`: "the output is withheld",
		`{"calls": [{"tool": "a", "params": {"x": ["Sesame-9f3k2q"]}}]}`: "the output is withheld",
		`{"Sesame-9f3k2q": 1}`:                      "(withheld: it has a secret)",
		`{"finish": "done"}`:                        `finish is "done"; want stop`,
		`{"calls": [{"params": {}}]}`:               "calls[0]: it names no tool",
		`{"calls": [{"tool": "a", "params": [1]}]}`: "calls[0]: the parameters are no object",
		`{"calls": [{"tool": "a", "params": {"x": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}]}`: "calls[0]: the parameters are no value",
		`{"calls": [` + strings.Repeat(`{"tool": "a"},`, 1000) + `{"tool": "a"}]}`:                                 "1001 calls, more than 1000",
	} {
		m := NewModel(winner("model"))
		m.Open(heard(func(context.Context, string, string, json.RawMessage) (string, *tools.Result) { return said, nil }))
		_, err := m.Complete(t.Context(), &protocol.ModelRequest{}, nil)
		if llm.OutcomeOf(err) != llm.OutcomeBadOutput || !strings.Contains(fmt.Sprint(err), want) || !strings.HasPrefix(fmt.Sprint(err), "plugin:p/s: ") {
			t.Errorf("%.80s: %v (%s), want %s", said, err, llm.OutcomeOf(err), want)
		}
	}
	for kind, want := range map[protocol.ErrorKind]llm.Outcome{
		protocol.KindTransient: llm.OutcomeServerError, tools.KindRateLimited: llm.OutcomeRateLimited, protocol.KindDenied: llm.OutcomeAuth, tools.KindTool: llm.OutcomeBadRequest,
		protocol.KindInvalid: llm.OutcomeBadRequest, protocol.KindLimit: llm.OutcomeContext, protocol.KindTimeout: llm.OutcomeTimeout, protocol.KindUnknown: llm.OutcomeClosed,
	} {
		m := NewModel(winner("model"))
		m.Open(heard(func(context.Context, string, string, json.RawMessage) (string, *tools.Result) {
			return "", refused(kind)
		}))
		if _, err := m.Complete(t.Context(), &protocol.ModelRequest{}, nil); llm.OutcomeOf(err) != want {
			t.Errorf("%s: %v (%s), want %s", kind, err, llm.OutcomeOf(err), want)
		}
	}
	if _, err := NewModel(winner("model")).Complete(t.Context(), &protocol.ModelRequest{}, nil); llm.OutcomeOf(err) != llm.OutcomeBadRequest {
		t.Error(err)
	}
}

// Promise 2: an answer that is no answer any more without its secret is withheld, and is no empty one.
func TestMaskedAnswersOfAnotherForm(t *testing.T) {
	call := func(params any) map[string]any {
		return map[string]any{"model": "m", "text": "yes", "reasoning": "", "calls": []any{map[string]any{"id": "i", "tool": "a", "params": params}}}
	}
	const plain, called = `{"text": "yes"}`, `{"calls": [{"tool": "a", "params": {"x": 1}}]}`
	for _, c := range []struct {
		said   string
		masked any
		good   bool
	}{
		{plain, `{"text": "***, "calls": []}`, false}, {plain, nil, false},
		{plain, map[string]any{"model": "m", "text": 1, "reasoning": "", "calls": []any{}}, false},
		{plain, map[string]any{"model": "m", "text": "yes", "reasoning": ""}, false},
		{plain, map[string]any{"model": "m", "text": "***", "reasoning": "", "calls": []any{}}, true},
		{called, call("***"), false}, {called, call(nil), false}, {called, call(map[string]any{"x": "***"}), true},
		{called, map[string]any{"model": "m", "text": "yes", "reasoning": "", "calls": []any{"***"}}, false},
		{called, map[string]any{"model": "m", "text": "yes", "reasoning": "", "calls": []any{map[string]any{"id": "i", "params": map[string]any{}}}}, false},
		{`{"calls": [{"tool": "a"}]}`, call(nil), true},
	} {
		m := NewModel(winner("model"))
		a := heard(func(context.Context, string, string, json.RawMessage) (string, *tools.Result) { return c.said, nil })
		a.Mask = func(v any) (any, error) {
			if _, text := v.(string); text { // of the failure
				return v, nil
			}
			return c.masked, nil
		}
		m.Open(a)
		answer, err := m.Complete(t.Context(), &protocol.ModelRequest{}, nil)
		if c.good != (err == nil) || err != nil && !strings.Contains(err.Error(), "the answer is withheld: it has a secret") {
			t.Errorf("%s, masked %v: %+v, %v", c.said, c.masked, answer, err)
		}
	}
}

// persons is a person who gives a secret, and is asked for nothing else.
type persons struct{}

func (persons) Ask(_ context.Context, q *approvals.Question) (approvals.Verdict, error) {
	return approvals.Verdict{Yes: q.Kind == approvals.KindValue, Value: "given"}, nil
}

func TestApprover(t *testing.T) {
	answer := ""
	a := &Approver{Winner: winner("approver"), People: persons{}, Services: services(func(ctx context.Context, service, method string, params json.RawMessage) (string, *tools.Result) {
		if service != "p/s" || method != "approval/ask" || !strings.Contains(string(params), `"tool":"pay"`) {
			return "", refused(protocol.KindInvalid)
		}
		if answer == "no answer" {
			<-ctx.Done()
		}
		if answer == "" {
			return "", refused(protocol.KindTransient)
		}
		return answer, nil
	}), Mask: strings.NewReplacer("small", "***", "said", "***").Replace}
	q := &approvals.Question{Tool: "pay", Contents: map[string]string{"fam://run/x": "missing"}}
	for _, c := range []struct {
		said string
		yes  bool
		want string // of the error
	}{
		{`{"yes": true, "reason": "small"}`, true, ""}, {`{"yes": false}`, false, ""},
		{`{}`, false, "want"}, {`{"yes": "true"}`, false, "want"}, {`{"yes": true, "by": "person"}`, false, "want"}, {``, false, "plugin:p/s: *** no"},
	} {
		answer = c.said
		v, err := a.Ask(t.Context(), q)
		if c.want == "want" {
			c.want = "is no object with yes"
		}
		if v.Yes != c.yes || (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && (v.By != permit.ByService || v.Contents["fam://run/x"] != "missing" || v.Reason != strings.Repeat("***", min(1, strings.Count(c.said, "small")))) {
			t.Errorf("%s: %+v, %v", c.said, v, err)
		}
	}
	answer = "no answer"
	ctx, stop := context.WithTimeoutCause(t.Context(), time.Millisecond, fmt.Errorf("silence"))
	defer stop()
	if _, err := a.Ask(ctx, q); err == nil || err.Error() != "silence" {
		t.Error(err)
	}
	if v, err := a.Ask(t.Context(), &approvals.Question{Kind: approvals.KindValue}); err != nil || v.Value != "given" {
		t.Error(v, err)
	}
	a.People = nil
	if _, err := a.Ask(t.Context(), &approvals.Question{Kind: approvals.KindValue}); protocol.KindOf(err) != protocol.KindDenied {
		t.Error(err)
	}
}

// A value is in no error, and without one of the values there is none.
func TestSecrets(t *testing.T) {
	held := secrets.Hold(nil, "")
	s := &Secrets{Refused: func() error { return nil }, Winner: winner("secret_store"), Held: func() *secrets.Held { return held }, Services: services(func(_ context.Context, _, method string, params json.RawMessage) (string, *tools.Result) {
		switch {
		case method != "secret/get" || !strings.Contains(string(params), `"tool":"shop"`) || !strings.Contains(string(params), `"agent":"ann"`):
			return "", refused(protocol.KindInvalid)
		case strings.Contains(string(params), `"name":"a"`):
			return `{"value": "hunter2hunter2"}`, nil
		case strings.Contains(string(params), `"name":"short"`):
			return `{"value": "hi"}`, nil
		case strings.Contains(string(params), `"name":"long"`):
			return `{"value": "` + strings.Repeat("long", maxSecret/4) + `!"}`, nil
		case strings.Contains(string(params), `"name":"b"`):
			return `{"value": "hunter2hunter2", "also": 1}`, nil
		}
		return "", refused(protocol.KindDenied)
	})}
	if got, err := s.For(t.Context(), "ann", "shop", []string{"a"}); err != nil || got["a"] != "hunter2hunter2" {
		t.Error(got, err)
	}
	for name, want := range map[string]string{"b": "the secret b: plugin:p/s: the answer is no object", "c": "the secret c: plugin:p/s: said no", "short": "the secret short of plugin:p/s: ", "long": "has more than 65536 bytes"} {
		if got, err := s.For(t.Context(), "ann", "shop", []string{"a", name}); err == nil || got != nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), want) {
			t.Error(got, err)
		}
	}
	if masked, err := held.Store().Text("it is hunter2hunter2"); err != nil || masked != "it is $KARYI{a}" {
		t.Error(masked, err)
	}
	if err := held.Give("ann's session", "a", "of-a-person-1"); err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]string{"ann's session": "of-a-person-1", "another": "hunter2hunter2"} {
		if got, err := s.Own(t.Context(), session, "ann", "shop", []string{"a"}); err != nil || got["a"] != want {
			t.Error(session, got, err)
		}
	}
	s.Refused = func() error { return protocol.Errorf(protocol.KindDenied, "not granted") }
	if got, err := s.For(t.Context(), "ann", "shop", []string{"a"}); got != nil || err == nil {
		t.Error(got, err)
	}
}

const two = `
-- project.json --
{"id": "test", "plugins": [{"name": "zeal"}, {"name": "able"}]}
-- plugins/zeal/plugin.yaml --
{name: zeal, version: 1.0.0, services: {s: {command: ./s}}, overrides: [{interface: model, service: s}, {interface: approver, service: s}], permissions: {services: {override: [model, approver]}}}
-- plugins/zeal/s --
-- plugins/able/plugin.yaml --
{name: able, version: 1.0.0, services: {s: {command: ./s}}, overrides: [{interface: model, service: s}], permissions: {services: {override: [model]}}}
-- plugins/able/s --
-- scenes/s.yaml --
{id: s, name: S, agent_instances: []}
`

// Promise 1.
func TestTheLastOneWins(t *testing.T) {
	files, err := txtar.FS(txtar.Parse([]byte(two)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(files, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := Of(p)
	if len(all) != 2 || all["model"].String() != "the service able/s replaces model, and not that of zeal, listed before it" || all["approver"].String() != "the service zeal/s replaces approver" {
		t.Errorf("%s; %s", all["model"], all["approver"])
	}
}
