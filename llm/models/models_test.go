package models

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/mock"
	"tavernsim/llm/models/modelfile"
	"tavernsim/llm/price"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Promise 6: an answer has the price of its model at the endpoint; what is recorded keeps
// what it cost. Of models without a price, nothing is said.
func TestCostOfAnAnswer(t *testing.T) {
	_, to := cloud(t)
	named := map[string]price.List{"small": {"small": {Input: 1, Output: 2}}, "": nil}
	free := new(bool)
	for _, list := range named {
		e, err := endpoint.New("cloud", endpoint.Definition{Preset: "vllm", BaseURL: to["cloud"].BaseURL, Prices: list, Free: free}, "", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Files: files("scripted", rules, "thinker", thinker), Default: "models/scripted.yaml", Endpoints: map[string]*endpoint.Endpoint{"cloud": e}})
		if err != nil {
			t.Fatal(err)
		}
		q := ask("thinker")
		a, err := s.Complete(context.Background(), q, nil)
		if err != nil || a.Usage.Input == 0 || a.Usage.Output == 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		p, known := s.Price(q)
		if o := a.Origin; o.Cost != p.Cost(&a.Usage) || o.Priced != known || known != (list != nil) || known && o.Cost != 1000*a.Usage.Input+2000*a.Usage.Output {
			t.Errorf("%+v: %+v, %v", a.Usage, o, known)
		}
		script := ask("scripted")
		if p, known := s.Price(script); !known || !p.Free() {
			t.Errorf("a script costs %s, %v", p, known)
		}
		_ = e.Close()
	}
}

const (
	rules   = "rules: [{answer: by script}]\n"
	thinker = "kind: openai\nendpoint: cloud\nmodel: small\nlatency: {first_token: 1s, per_token: 1ms}\nparams: {temperature: 0, extra: {a: 1}}\n"
)

func files(texts ...string) (list []File) {
	for i := 0; i < len(texts); i += 2 {
		list = append(list, File{Path: "models/" + texts[i] + ".yaml", Data: []byte(texts[i+1])})
	}
	return list
}

// cloud is an endpoint, and the bodies that it was sent.
func cloud(t *testing.T) (*[]string, map[string]*endpoint.Endpoint) {
	t.Helper()
	sent := &[]string{}
	server, err := mock.New(mock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*sent = append(*sent, string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(at.Close)
	e, err := endpoint.New("cloud", endpoint.Definition{Preset: "vllm", BaseURL: at.URL}, "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return sent, map[string]*endpoint.Endpoint{"cloud": e}
}

func ask(model string) *protocol.ModelRequest {
	return &protocol.ModelRequest{Model: model, Messages: []protocol.ModelMessage{{Role: protocol.RoleUser, Text: "hello"}}}
}

// Promise 1: scripts alone answer at once, each by its name.
func TestScripts(t *testing.T) {
	one, err := New(Options{Files: files("scripted", rules), Default: "models/scripted.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := one.Provider().(*scripted.Model); !ok {
		t.Errorf("one script is %T", one.Provider())
	}
	two, err := New(Options{Files: files("scripted", rules, "other", "rules: [{answer: another}]"), Default: "models/scripted.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	at, ok := two.Provider().(llm.Instant)
	if !ok {
		t.Fatalf("two scripts are %T", two.Provider())
	}
	for name, want := range map[string]string{"": "by script", "other": "another", "unknown": "by script"} {
		if a, err := at.Answer(ask(name)); err != nil || a.Text != want {
			t.Errorf("%q: %q, %v", name, a.Text, err)
		}
	}
}

// Promise 2: without endpoints scripts answer, and that is said.
func TestNoEndpoints(t *testing.T) {
	s, err := New(Options{Files: files("scripted", rules, "thinker", thinker, "other", thinker), Default: "models/scripted.yaml"})
	if err != nil || len(s.Notes) != 0 {
		t.Fatalf("%v, %v", s.Notes, err)
	}
	var told []string
	s.Tell = func(note string) { told = append(told, note) }
	for _, name := range []string{"", "thinker", "thinker"} {
		for _, answer := range []func() (protocol.ModelAnswer, error){
			func() (protocol.ModelAnswer, error) { return s.Complete(context.Background(), ask(name), nil) },
			func() (protocol.ModelAnswer, error) { return s.Provider().(llm.Instant).Answer(ask(name)) },
		} {
			if a, err := answer(); err != nil || a.Text != "by script" {
				t.Errorf("%+v, %v", a, err)
			}
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "a script answers for thinker") {
		t.Errorf("told %q", told)
	}
	if _, ok := s.Provider().(llm.Instant); !ok {
		t.Errorf("%T does not answer at once", s.Provider())
	}
	_, to := cloud(t)
	for text, want := range map[string]string{
		strings.Replace(thinker, "cloud", "moon", 1):       "the file of endpoints has no moon (it has cloud)",
		strings.Replace(thinker, "openai", "anthropic", 1): "kind is anthropic, and endpoint cloud speaks openai",
	} {
		if _, err := New(Options{Files: files("thinker", text), Endpoints: to}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A file of endpoints may name some whose keys are elsewhere; only who asks them needs the keys.
func TestKeysOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "providers.yaml")
	if err := os.WriteFile(file, []byte("endpoints:\n  cloud: { preset: vllm }\n  moon: { preset: vllm, key_env: NOT_SET }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	to, err := endpoint.Load(file, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Files: files("thinker", thinker), Endpoints: to}); err != nil {
		t.Errorf("of moon nothing is asked: %v", err)
	}
	moon := strings.Replace(thinker, "cloud", "moon", 1)
	if _, err := New(Options{Files: files("thinker", moon), Endpoints: to}); err == nil || !strings.Contains(err.Error(), "models/thinker.yaml: endpoints.moon.key_env: the variable that it names is not set") {
		t.Errorf("moon has no key: %v", err)
	}
}

// Promises 3, 4 and 5: the file fills the request, the answer names its question, and the
// latency is the file's.
func TestAsked(t *testing.T) {
	sent, to := cloud(t)
	s, err := New(Options{Files: files("scripted", rules, "thinker", thinker), Default: "models/scripted.yaml", Endpoints: to})
	if err != nil || !slices.Equal(s.Asked(), []Asked{{"thinker", "cloud", "free", false}}) {
		t.Fatalf("%v, %v", s.Asked(), err)
	}
	if _, ok := s.Provider().(llm.Instant); ok {
		t.Error("a set with an endpoint answers at once")
	}
	a, err := s.Complete(context.Background(), ask("thinker"), nil)
	if err != nil || a.Origin == nil || len(a.Origin.Question) != 32 || a.Latency != time.Second+time.Duration(a.Usage.Output)*time.Millisecond {
		t.Fatalf("%+v, %v", a, err)
	}
	for _, want := range []string{`"model":"small"`, `"temperature":0`, `"max_tokens":1024`, `"a":1`} {
		if !strings.Contains((*sent)[0], want) {
			t.Errorf("%s lacks %s", (*sent)[0], want)
		}
	}
	hot := ask("thinker")
	hot.Temperature, hot.MaxTokens = new(float64), 7
	*hot.Temperature = 1
	hot.Options = &protocol.ModelOptions{Extra: map[string]any{"b": int64(2)}}
	b, err := s.Complete(context.Background(), hot, nil)
	if err != nil || b.Origin.Question == a.Origin.Question {
		t.Errorf("two questions have one hash: %v", err)
	}
	for _, want := range []string{`"temperature":1`, `"max_tokens":7`, `"a":1`, `"b":2`} {
		if !strings.Contains((*sent)[1], want) {
			t.Errorf("%s lacks %s", (*sent)[1], want)
		}
	}
}

func TestLatency(t *testing.T) {
	for _, c := range []struct {
		l    modelfile.Latency
		want time.Duration
	}{
		{modelfile.Latency{}, 700 * time.Millisecond}, {modelfile.Latency{Mode: "none", PerToken: 5}, 0}, {modelfile.Latency{Mode: "measured"}, 42},
		{modelfile.Latency{PerToken: protocol.Duration(time.Second)}, 10 * time.Second}, {modelfile.Latency{FirstToken: protocol.Duration(time.Second)}, time.Second},
	} {
		if got := c.l.Of(10, 42); got != c.want {
			t.Errorf("%+v: %s, want %s", c.l, got, c.want)
		}
	}
}

func TestReadFaults(t *testing.T) {
	for text, want := range map[string]string{
		"kind: opnai\nmodel: x":                      `did you mean "openai"`,
		"kind: llama\nmodel: x":                      `"llama" is no kind of model; want scripted, openai, anthropic, route, replay, faulty, surrogate, embedder, static`,
		"kind: openai":                               `missing required field "model"`,
		"kind: openai\nmodel: x\nlatency: sometimes": "latency",
		"kind: openai\nmodel: x\nroute: []":          `unknown field "route"`,
		"rules: [{answr: x}]":                        `did you mean "answer"`,
		"kind: [":                                    "x.yaml:",
	} {
		report := &source.Report{}
		if Read("x.yaml", []byte(text), report) || !strings.Contains(report.Err().Error(), want) {
			t.Errorf("%q: %v, want %q", text, report.Err(), want)
		}
	}
}
