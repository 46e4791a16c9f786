package overrides

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/plugin"
)

func wants(list ...string) *protocol.ModelRequest {
	q := &protocol.ModelRequest{Model: "near", Purpose: protocol.PurposeEmbed}
	for _, text := range list {
		q.Messages = append(q.Messages, protocol.ModelMessage{Role: protocol.RoleUser, Text: text})
	}
	return q
}

// Vectors of a service are those of a model: one for each text, asked for once.
func TestVectors(t *testing.T) {
	var asked atomic.Int32
	v := NewVectors(&Winner{Interface: plugin.OfEmbedder, Plugin: "p", Service: "p/s", Price: &plugin.Price{Input: 2}})
	m := v.Of("small", 2)
	if _, err := m.Complete(t.Context(), wants("a"), nil); err == nil || !strings.Contains(err.Error(), "the service is not open") {
		t.Error(err)
	}
	Models{Vectors: v}.Open(func() Asked {
		return heard(func(_ context.Context, service, method string, params json.RawMessage) (string, *tools.Result) {
			asked.Add(1)
			var q texts
			if err := json.Unmarshal(params, &q); err != nil || service != "p/s" || method != "vectors/embed" || q.Model != "small" || q.Dimensions != 2 || q.Timeout <= 0 || len(q.Texts) != 2 {
				return "", refused(protocol.KindInvalid)
			}
			return `{"vectors": [[1, 0.5], [0, -2]], "usage": {"input": 7}, "model": "s-2"}`, nil
		})
	})
	for range 3 {
		a, err := m.Complete(t.Context(), wants("a", "b"), nil)
		if err != nil || a.Model != "s-2" || a.Text != vector.Pack([][]int8{{127, 64}, {0, -127}}) || a.Usage.Input != 7 || a.Origin.Endpoint != "plugin:p/s" {
			t.Fatalf("%+v %v", a, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if p, ok := m.(interface{ Name() string }); !ok || p.Name() != "plugin:p/s" {
		t.Error(m)
	}
	if _, err := m.Complete(t.Context(), &protocol.ModelRequest{Model: "near", Messages: wants("a").Messages}, nil); err == nil || !strings.Contains(err.Error(), "gives vectors and answers nothing") {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Complete(t.Context(), wants("c", "d"), nil); outcome(err) != llm.OutcomeClosed {
		t.Error(err)
	}
}

func outcome(err error) llm.Outcome {
	f, ok := errors.AsType[*llm.Failure](err)
	if !ok {
		return ""
	}
	return f.Outcome
}

// An answer that is none is a failure, and is asked for again; so is what the service refuses.
func TestWrongVectors(t *testing.T) {
	for said, want := range map[string]string{
		`{"vectors": [[1, 2]]}`:                          "1 vectors for 2 texts",
		`{"vectors": [[1, 2], [1]]}`:                     "vectors[1] has 1 dimensions",
		`{"vectors": [[], []]}`:                          "vectors[0] has 0 dimensions",
		`{"vectors": [[1, 2, 3], [1, 2, 3]]}`:            "vectors[0] has 3 dimensions",
		`{"vectors": [[1e999, 2], [1, 2]]}`:              "no object with vectors",
		`{"vectors": "none"}`:                            "no object with vectors",
		`{"vectors": [[1, 2], [1, 2]], "colour": "red"}`: "no object with vectors",
		`[]`:                   "no object with vectors",
		``:                     "no object with vectors",
		"refused rate_limited": "said no",
	} {
		v := NewVectors(winner(plugin.OfEmbedder))
		asked := 0
		v.asks.Open(heard(func(context.Context, string, string, json.RawMessage) (string, *tools.Result) {
			asked++
			if kind, ok := strings.CutPrefix(said, "refused "); ok {
				return "", refused(protocol.ErrorKind(kind))
			}
			return said, nil
		}))
		m := v.Of("small", 2)
		for i := range 2 {
			_, err := m.Complete(t.Context(), wants("a", "b"), nil)
			if err == nil || !strings.Contains(err.Error(), want) || asked != i+1 {
				t.Errorf("%s: asked %d times: %v", said, asked, err)
			}
			if got := fmt.Sprint(outcome(err)); got != string(llm.OutcomeBadOutput) && (got != string(llm.OutcomeRateLimited) || want != "said no") {
				t.Errorf("%s: %s", said, got)
			}
		}
	}
}
