package embed

import (
	"context"
	"strings"
	"sync"
	"testing"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/protocol"
)

func ask(texts ...string) *protocol.ModelRequest {
	q := &protocol.ModelRequest{Model: "near", Purpose: protocol.PurposeEmbed}
	for _, text := range texts {
		q.Messages = append(q.Messages, protocol.ModelMessage{Role: protocol.RoleUser, Text: text})
	}
	return q
}

func vectors(t *testing.T, a protocol.ModelAnswer, n int) []vector.Vector {
	t.Helper()
	list, err := vector.Unpack(a.Text, n)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Promise 1: the mock is asked once for each text, however many ask at once, and all get the same.
func TestAskedOnce(t *testing.T) {
	server := served.Server(t, mock.Options{})
	e := New(served.At(t, server, endpoint.Definition{Preset: "vllm"}), "v", 64)
	t.Cleanup(func() { _ = e.Close() })
	var wg sync.WaitGroup
	answers := make([]protocol.ModelAnswer, 16)
	for i := range answers {
		wg.Go(func() {
			a, err := e.Complete(context.Background(), ask([]string{"the ford is deep", "taxes are due"}[i%2]), nil)
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
		})
	}
	wg.Wait()
	if n := server.Report(0).Requests; n != 2 {
		t.Errorf("%d requests for 2 texts", n)
	}
	for i := range answers {
		if first := answers[i%2]; answers[i].Text != first.Text || answers[i].Usage != first.Usage || vectors(t, first, 1)[0].Dimensions() != 64 {
			t.Errorf("answer %d is another one", i)
		}
	}
}

// A failure is not kept, and a request that asks for no vectors is refused before it leaves.
func TestFailuresAreNotKept(t *testing.T) {
	server := served.Server(t, mock.Options{Faults: mock.Faults{Rates: map[string]float64{"server_error": 1}}})
	e := New(served.At(t, server, endpoint.Definition{Preset: "vllm"}), "v", 0)
	for range 2 {
		if _, err := e.Complete(context.Background(), ask("a text"), nil); llm.OutcomeOf(err) != llm.OutcomeServerError {
			t.Error(err)
		}
	}
	if n := server.Report(0).Requests; n != 2 {
		t.Errorf("%d requests; want 2", n)
	}
	if _, err := e.Complete(context.Background(), served.Ask("Hello?"), nil); llm.OutcomeOf(err) != llm.OutcomeBadRequest {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Complete(context.Background(), ask("a text"), nil); err == nil {
		t.Error("answered after Close")
	}
}

// Who waits for another's request that is cancelled asks again.
func TestCancelledForOthers(t *testing.T) {
	server := served.Server(t, mock.Options{})
	e := New(served.At(t, server, endpoint.Definition{Preset: "vllm"}), "v", 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Complete(ctx, ask("a text"), nil); llm.OutcomeOf(err) != llm.OutcomeCancelled {
		t.Error(err)
	}
	if _, err := e.Complete(context.Background(), ask("a text"), nil); err != nil {
		t.Error(err)
	}
}

const file = `3 2
ford 1 0
River 0.9 0.1
tax 0 -1
河流 1 0
`

// Promise 2: known answers, in whole numbers.
func TestWords(t *testing.T) {
	w, err := Read("small", "models/words.txt", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.Answer(ask("The ford!", "the river, a ford", "Tax", "nothing known", "河流"))
	if err != nil {
		t.Fatal(err)
	}
	list := vectors(t, a, 5)
	for i, want := range []int64{1_000_000, 998_484, 0, 0, 1_000_000} {
		if got := list[0].Cosine(list[i]); got != want {
			t.Errorf("text %d: %d, want %d", i, got, want)
		}
	}
	if !list[3].None() {
		t.Error("a text without a known word has a vector")
	}
}

func TestWordsRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"": "no vectors of words", "a": "0 components", "a 1\nb 1 2": "line 2: 2 components; the vectors before have 1", "a x": `"x"; want a number`, "a 0 0": "no vectors", "a 1e9": "want a number",
	} {
		if _, err := Read("m", "f.txt", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
