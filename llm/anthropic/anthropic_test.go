package anthropic

import (
	"flag"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/internal/doctest"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
	"tavernsim/llm/mock"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func maker(to *endpoint.Endpoint, model string, stream bool) llm.Provider {
	return New(to, model, stream)
}

func TestProvider(t *testing.T) {
	served.Run(t, maker, endpoint.Definition{Preset: "anthropic"})
}

// Minds, outcome table: every fault of a server is a class of failure, or an answer.
func TestFaults(t *testing.T) {
	served.Faults(t, maker, endpoint.Definition{Preset: "anthropic"}, map[string]llm.Outcome{
		"loading": llm.OutcomeRateLimited, // 529
	})
}

var update = flag.Bool("update", false, "rewrite testdata from what the code does")

// Minds §2: what a server is asked, byte by byte, and what is made of what it says.
// Rewrite with: go test ./llm/anthropic -run Conversations -update
func TestConversations(t *testing.T) {
	doctest.Scripts(t, "testdata/*.txtar", *update, func(t *testing.T, text string) string { return served.Conversation(t, maker, text) })
}

// An answer is taken although fields beside it that decide nothing have another type.
func TestFieldsOfAnotherType(t *testing.T) {
	to := served.At(t, http.NotFoundHandler(), endpoint.Definition{Preset: "anthropic"})
	const text = `{"type":"text","text":"hello","thinking":[]}`
	for _, body := range []string{
		`{"type":"message","content":[` + text + `],"stop_reason":0}`,
		`{"type":"message","content":[` + text + `],"usage":[]}`,
		`{"type":"message","content":[` + text + `],"usage":"none","stop_reason":"end_turn"}`,
		`{"type":"message","content":[` + text + `,{"type":"tool_use","id":7,"name":"SayTool","input":{}}]}`,
		`{"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":` + text + `}
{"type":"message_delta","delta":{"stop_reason":0},"usage":[]}`,
		`{"type":"message_start","message":{"usage":[]}}
{"type":"content_block_start","index":0,"content_block":` + text + `}
{"type":"message_delta","delta":{"stop_reason":0},"usage":[]}`,
	} {
		_, r, err := (&messages{to: to, model: "odd"}).Ask(served.Ask("hi"))
		if err != nil {
			t.Fatal(err)
		}
		if parts := strings.Split(body, "\n"); len(parts) > 1 {
			for _, part := range parts {
				if _, err = r.Part(endpoint.Event{Data: []byte(part)}); err != nil {
					t.Errorf("%s: %v", part, err)
				}
			}
		} else if err = r.Whole([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		a, err := r.Answer(10)
		if err != nil || a.Text != "hello" || a.Reasoning != "" || a.Usage.Input <= 0 || !a.Usage.Estimated || strings.Contains(body, "tool_use") != (len(a.Calls) == 1) {
			t.Errorf("%s: %+v %v", body, a, err)
		}
	}
}

// A model may give its answer twice where it may have several calls: the first one counts.
func TestTwoAnswers(t *testing.T) {
	to := served.At(t, http.NotFoundHandler(), endpoint.Definition{Preset: "anthropic"})
	const name = `"name":"_answer_29848c"`
	for _, parts := range [][]string{
		{`{"type":"message","content":[{"type":"tool_use","id":"a",` + name + `,"input":{"x":1}},{"type":"tool_use","id":"b",` + name + `,"input":{"x":2}}],"stop_reason":"tool_use"}`},
		{
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a",` + name + `,"input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b",` + name + `,"input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":2}"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
		},
	} {
		q := served.WithTools("hi")
		q.JSON = true
		_, r, err := (&messages{to: to, model: "m"}).Ask(q)
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		for _, part := range parts {
			var chunk llm.Chunk
			if len(parts) == 1 {
				err = r.Whole([]byte(part))
			} else {
				chunk, err = r.Part(endpoint.Event{Data: []byte(part)})
			}
			if err != nil {
				t.Fatal(err)
			}
			shown += chunk.Text
		}
		if a, err := r.Answer(10); err != nil || a.Text != `{"x":1}` || len(parts) > 1 && shown != a.Text || len(a.Calls) > 0 || a.Finish != protocol.FinishStop {
			t.Errorf("%+v, shown as %q, %v", a, shown, err)
		}
	}
}

// A JSON answer comes from a server that obeys tool_choice and knows nothing of simd: alone, and beside tools.
func TestDocuments(t *testing.T) {
	m, err := scripted.Load("script.yaml", []byte("otherwise: { json: { mood: calm } }"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := mock.New(mock.Options{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	to := served.At(t, server, endpoint.Definition{Preset: "anthropic"})
	for _, stream := range []bool{false, true} {
		for _, q := range []*protocol.ModelRequest{served.Ask("hi"), served.WithTools("hi")} {
			q.JSON = true
			if a, err := New(to, "m", stream).Complete(t.Context(), q, nil); err != nil || a.Text != `{"mood":"calm"}` || a.Finish != protocol.FinishStop || len(a.Calls) > 0 {
				t.Errorf("%+v, %v", a, err)
			}
		}
	}
}

// A pair of surrogates may be split over two parts, of a text and of the parameters of a call.
func TestSplitPairs(t *testing.T) {
	to := served.At(t, http.NotFoundHandler(), endpoint.Definition{Preset: "anthropic"})
	_, r, err := (&messages{to: to, model: "m"}).Ask(served.Ask("hi"))
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	for _, part := range []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A \ud83e"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\udd8a B"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"SayTool","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":\"\ud83e"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\udd8a\"}"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
	} {
		chunk, err := r.Part(endpoint.Event{Data: []byte(part)})
		if err != nil {
			t.Fatal(err)
		}
		shown += chunk.Text
	}
	a, err := r.Answer(10)
	if err != nil || a.Text != "A 🦊 B" || shown != a.Text || len(a.Calls) != 1 || a.Calls[0].Params["x"] != "🦊" {
		t.Errorf("%q, shown as %q: %+v %v", a.Text, shown, a.Calls, err)
	}
}
