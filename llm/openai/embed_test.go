package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/internal/doctest"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// The mock's vectors come in the order of the texts, with tokens and cost; like texts are
// near each other.
func TestEmbed(t *testing.T) {
	d := endpoint.Definition{Preset: "vllm", Prices: price.List{"*": {Input: 2}}}
	e := NewEmbedder(served.At(t, served.Server(t, mock.Options{Key: served.Key}), withKey(d)), "vectors")
	v, err := e.Embed(context.Background(), "the ford is deep", "taxes are due", "deep is the ford")
	if err != nil {
		t.Fatal(err)
	}
	if len(v.List) != 3 || v.Dimensions() < 2 || v.Model != "vectors" || v.Usage.Input <= 0 || v.Usage.Estimated || !v.Priced || v.Cost != 2000*v.Usage.Input || v.Latency <= 0 {
		t.Errorf("%d vectors of %d, %+v, cost %d", len(v.List), v.Dimensions(), v.Usage, v.Cost)
	}
	if near, far := cosine(v.List[0], v.List[2]), cosine(v.List[0], v.List[1]); near <= far {
		t.Errorf("cosines %.3f and %.3f", near, far)
	}
}

func withKey(d endpoint.Definition) endpoint.Definition {
	d.KeyEnv = "K"
	return d
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}

func TestEmbedRefuses(t *testing.T) {
	e := NewEmbedder(served.At(t, http.NotFoundHandler(), endpoint.Definition{Preset: "vllm"}), "v")
	for want, texts := range map[string][]string{"0 texts": {}, "257 texts": make([]string, MaxTexts+1), "text 2 is empty": {"a", ""}} {
		if _, err := e.Embed(context.Background(), texts...); llm.OutcomeOf(err) != llm.OutcomeBadRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Every fault that a server of vectors can have is the class of failure that it is for a
// chat; those of chats alone change nothing.
func TestEmbedFaults(t *testing.T) {
	want := map[string]llm.Outcome{
		"rate_limited": llm.OutcomeRateLimited, "rate_limited_bare": llm.OutcomeRateLimited, "quota": llm.OutcomeQuota, "unauthorized": llm.OutcomeAuth,
		"server_error": llm.OutcomeServerError, "loading": llm.OutcomeServerError, "reset": llm.OutcomeServerError, "reset_within": llm.OutcomeServerError,
		"timeout": llm.OutcomeTimeout, "slow": llm.OutcomeTimeout, "stall": llm.OutcomeTimeout, "context_too_long": llm.OutcomeContext, "unknown_model": llm.OutcomeBadRequest,
		"malformed": llm.OutcomeTruncated, "html": llm.OutcomeTruncated, "empty_choices": llm.OutcomeTruncated, "huge": llm.OutcomeBadOutput,
	}
	for _, fault := range mock.FaultNames() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			d := endpoint.Definition{Preset: "vllm"}
			if want[fault] == llm.OutcomeTimeout {
				short := protocol.Duration(200 * time.Millisecond)
				d.Timeouts = endpoint.Timeouts{FirstByte: short, Silence: short, Whole: 2 * short}
			}
			e := NewEmbedder(served.At(t, served.Server(t, mock.Options{Faults: mock.Faults{Rates: map[string]float64{fault: 1}}}), d), "v")
			v, err := e.Embed(context.Background(), "a text", "another one")
			outcome := llm.OutcomeOf(err)
			if expected, known := want[fault]; known && outcome != expected || !known && outcome != llm.OutcomeOK {
				t.Fatalf("outcome %s: %v", outcome, err)
			}
			if f := (*llm.Failure)(nil); err != nil && (!errors.As(err, &f) || !strings.HasPrefix(err.Error(), "test: ")) {
				t.Errorf("%v is no failure with the endpoint's name", err)
			}
			if err == nil && (len(v.List) != 2 || v.Usage.Input <= 0 || v.Usage.Estimated != (fault == "no_usage" || fault == "absurd_usage")) {
				t.Errorf("%d vectors, %+v", len(v.List), v.Usage)
			}
		})
	}
}

// A vector with a null is refused: it was read as 0, and entries were found by it.
func TestEmbedNull(t *testing.T) {
	e := &Embedder{to: served.At(t, nil, endpoint.Definition{Preset: "vllm"})}
	for _, vector := range []string{"[null,1]", "[1, null ]", "null"} {
		if v, err := e.read([]byte(`{"data":[{"embedding":`+vector+`}]}`), []string{"a text"}); llm.OutcomeOf(err) != llm.OutcomeBadOutput {
			t.Errorf("%s: %+v, %v", vector, v, err)
		}
	}
}

// What servers of several kinds are asked for vectors, byte by byte, and what is made of what
// they say. Rewrite with: go test ./llm/openai -run EmbedConversations -update
func TestEmbedConversations(t *testing.T) {
	doctest.Scripts(t, "testdata/embed/*.txtar", *update, func(t *testing.T, text string) string {
		a := txtar.Parse([]byte(text))
		var played []txtar.File
		for i := 0; i+1 < len(a.Files); i++ {
			if a.Files[i].Name != "texts" {
				continue
			}
			response := i + 1
			for a.Files[response].Name != "response" {
				response++
			}
			wire := ""
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				wire = fmt.Sprintf("%s %s\n%s\n", r.Method, r.URL, body)
				_, _ = w.Write(a.Files[response].Data)
			})
			e := NewEmbedder(served.At(t, h, endpoint.Definition{Preset: "vllm"}), "vectors")
			v, err := e.Embed(context.Background(), strings.Split(strings.TrimSpace(string(a.Files[i].Data)), "\n")...)
			answer := ""
			if err != nil {
				answer = fmt.Sprintf("%s: %v\n", llm.OutcomeOf(err), err)
			} else {
				answer = fmt.Sprintf("%s %v\n%+v\n", v.Model, v.List, v.Usage)
			}
			played = append(played, a.Files[i], txtar.File{Name: "wire", Data: []byte(wire)}, a.Files[response], txtar.File{Name: "answer", Data: []byte(answer)})
		}
		a.Files = played
		return string(txtar.Format(a))
	})
}

// Vectors are taken although the tokens are no object; then these are estimated.
func TestEmbedFieldsOfAnotherType(t *testing.T) {
	e := NewEmbedder(served.At(t, http.NotFoundHandler(), endpoint.Definition{Preset: "vllm"}), "v")
	for _, usage := range []string{`[]`, `"none"`, `0`, `null`, `{"prompt_tokens":[]}`} {
		v, err := e.read([]byte(`{"data":[{"embedding":[1,2]}],"usage":`+usage+`}`), []string{"a text"})
		if err != nil || len(v.List) != 1 || v.Usage.Input <= 0 || !v.Usage.Estimated {
			t.Errorf("%s: %+v %v", usage, v, err)
		}
	}
}
