package models

import (
	"context"
	"strings"
	"testing"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/protocol"
)

const nearFile = "kind: embedder\nendpoint: cloud\nmodel: small\ndimensions: 16\n"

func vectorsOf(texts ...string) *protocol.ModelRequest {
	q := &protocol.ModelRequest{Model: "near", Purpose: protocol.PurposeEmbed}
	for _, text := range texts {
		q.Messages = append(q.Messages, protocol.ModelMessage{Role: protocol.RoleUser, Text: text})
	}
	return q
}

// An embedder is a model at an endpoint: a request passes its gate, the answer names its
// question and has a cost, and a text is asked for once in a process.
func TestEmbedder(t *testing.T) {
	server := served.Server(t, mock.Options{})
	to := map[string]*endpoint.Endpoint{"cloud": served.Named(t, "cloud", "", server, endpoint.Definition{Preset: "vllm"})}
	s, err := New(Options{Files: files("near", nearFile, "thinker", thinker), Endpoints: to})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a, err := s.Complete(context.Background(), vectorsOf("the ford", "taxes"), nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := vector.Unpack(a.Text, 2)
		if err != nil || list[0].Dimensions() != 16 || len(a.Origin.Question) != 32 || !a.Origin.Priced || a.Usage.Input == 0 || a.Usage.Output != 0 || a.Latency != 0 {
			t.Errorf("%v: %+v, %+v", err, a, a.Origin)
		}
	}
	if n := server.Report(0).Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
	g, tokens := s.Gate(vectorsOf("the ford"))
	if b := s.Bound(vectorsOf("the ford")); g == nil || tokens > 100 || b.Output != 0 || b.Input == 0 {
		t.Errorf("gate %v, %d tokens, at most %+v", g, tokens, b)
	}
	asked := s.Asked()
	if len(asked) != 2 || !asked[0].Vectors || asked[1].Vectors {
		t.Errorf("%+v", asked)
	}
	words := vectorsOf("the ford")
	words.Purpose = protocol.PurposeDeliberate
	other := vectorsOf("the ford")
	other.Model = "thinker"
	for want, q := range map[string]*protocol.ModelRequest{"gives vectors and answers nothing": words, "thinker gives no vectors": other} {
		if _, err := s.Complete(context.Background(), q, nil); llm.OutcomeOf(err) != llm.OutcomeBadRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Without endpoints nobody gives vectors, and a note says so; a static model computes them.
func TestVectorsWithoutEndpoints(t *testing.T) {
	all := files("near", nearFile, "offline", "kind: static\nwords: models/words.txt\n")
	s, err := New(Options{Files: all, Others: []File{{"models/words.txt", []byte("ford 1 0\ntax 0 1\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	p, ok := s.Provider().(llm.Instant)
	if !ok || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "near") {
		t.Fatalf("%v, notes %q", ok, s.Notes)
	}
	if _, err := p.Answer(vectorsOf("a ford")); llm.OutcomeOf(err) != llm.OutcomeUnavailable {
		t.Error(err)
	}
	q := vectorsOf("a ford")
	q.Model = "offline"
	if a, err := p.Answer(q); err != nil || a.Text != vector.Pack([][]int8{{127, 0}}) {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := New(Options{Files: all}); err == nil || !strings.Contains(err.Error(), "there is no file models/words.txt") {
		t.Error(err)
	}
}

// Estimating asks nobody, and counts the tokens of what would be asked.
func TestVectorsEstimated(t *testing.T) {
	e := &Estimate{}
	s, err := New(Options{Files: files("near", nearFile), Estimate: e})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := s.Complete(context.Background(), vectorsOf("the ford", "taxes"), nil); err != nil || a.Text == "" {
		t.Errorf("%+v, %v", a, err)
	}
	if list := e.Played(); len(list) != 1 || list[0].Calls != 1 || list[0].Input == 0 || list[0].Output != 0 || list[0].MaxOutput != 0 {
		t.Errorf("%+v", list)
	}
}
