package openai

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
	"tavernsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func maker(to *endpoint.Endpoint, model string, stream bool) llm.Provider {
	return New(to, model, stream)
}

func TestProvider(t *testing.T) { served.Run(t, maker, endpoint.Definition{Preset: "vllm"}) }

// Minds, outcome table: every fault of a server is a class of failure, or an answer.
func TestFaults(t *testing.T) {
	served.Faults(t, maker, endpoint.Definition{Preset: "vllm"}, nil)
}

var update = flag.Bool("update", false, "rewrite testdata from what the code does")

// Minds §2: what servers of six kinds are asked, byte by byte, and what is made of what
// they say. Rewrite with: go test ./llm/openai -run Conversations -update
func TestConversations(t *testing.T) {
	doctest.Scripts(t, "testdata/*.txtar", *update, func(t *testing.T, text string) string { return served.Conversation(t, maker, text) })
}

// An answer is taken although fields beside it that decide nothing have another type. A field that says what the answer
// is must have its own.
func TestFieldsOfAnotherType(t *testing.T) {
	to := served.At(t, http.NotFoundHandler(), endpoint.Definition{Preset: "vllm"})
	const call = `"tool_calls":[{"id":"a","type":"function","function":{"name":"SayTool","arguments":"{}"}}]`
	for _, c := range []struct {
		said, choice, rest string
		calls              int // -1 = the answer is damaged
	}{
		{said: `"tool_calls":[{"id":7,"type":"function","function":{"name":"SayTool","arguments":"{}"}}]`, calls: 1},
		{said: `"tool_calls":[{"index":"0","id":"a","function":{"name":"SayTool","arguments":"{}"}},{"index":"1","id":"b","function":{"name":"SayTool","arguments":"{}"}}]`, calls: 2},
		{said: `"tool_calls":[{"index":[],"id":"a","function":{"name":"SayTool","arguments":"{}"}},{"index":[],"id":"b","function":{"name":"SayTool","arguments":"{}"}}]`, calls: 2},
		{said: `"tool_calls":{}`},
		{said: `"tool_calls":false`},
		{said: `"refusal":false`},
		{said: `"refusal":[]`},
		{said: `"reasoning_content":[]`},
		{said: `"reasoning":{}`},
		{said: `"tool_calls":[{"index":0,"id":"","function":{"name":"SayTool","arguments":"{}"}},{"index":0,"id":"","function":{"name":"SayTool","arguments":"{}"}}]`, calls: 2},
		{said: `"tool_calls":[{"index":0,"id":"","function":{"name":"SayTool","arguments":"{"}},{"index":0,"id":"","function":{"name":"SayTool","arguments":"}"}},{"index":0,"function":{"name":"SayTool","arguments":""}}]`, calls: 1},
		{choice: `"index":"0"`},
		{choice: `"index":null`},
		{choice: `"index":{}`},
		{choice: `"finish_reason":0`},
		{said: call, choice: `"finish_reason":0`, calls: 1},
		{rest: `"usage":[]`},
		{rest: `"usage":"none"`},
		{rest: `"usage":{"prompt_tokens_details":[],"completion_tokens_details":0}`},

		{said: `"tool_calls":{"0":{"function":{"name":"SayTool"}}}`, calls: -1},
		{said: `"tool_calls":"SayTool"`, calls: -1},
		{said: `"tool_calls":[{"id":"a","function":{"name":7,"arguments":"{}"}}]`, calls: -1},
		{said: `"content":7`, calls: -1},
		{said: `"refusal":[`, calls: -1},
		{rest: `"usage":[1,]`, calls: -1},
	} {
		for _, name := range []string{"message", "delta"} {
			fields := func(own string, more ...string) string {
				for _, f := range more {
					if f != "" {
						own += "," + f
					}
				}
				return "{" + own + "}"
			}
			body := fields(`"id":"x","choices":[`+fields(`"`+name+`":`+fields(`"content":"hello"`, c.said), c.choice)+`]`, c.rest)
			_, r, err := (&chat{to: to, dialect: to.Dialect, model: "odd"}).Ask(served.Ask("hi"))
			if err != nil {
				t.Fatal(err)
			}
			if name == "message" {
				err = r.Whole([]byte(body))
			} else {
				_, err = r.Part(endpoint.Event{Data: []byte(body)})
			}
			if c.calls < 0 {
				if llm.OutcomeOf(err) != llm.OutcomeTruncated {
					t.Errorf("%s: %v; want %s", body, err, llm.OutcomeTruncated)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			a, err := r.Answer(10)
			finish := protocol.FinishStop
			if c.calls > 0 {
				finish = protocol.FinishToolCalls
			}
			if err != nil || a.Text != "hello" || a.Finish != finish || len(a.Calls) != c.calls || a.Reasoning+a.Origin.Refused != "" || a.Usage.Input <= 0 || !a.Usage.Estimated {
				t.Errorf("%s: %+v %v", body, a, err)
			}
			for _, x := range a.Calls {
				if x.Tool != "SayTool" || x.Broken != "" || strings.Contains(x.ID, "7") {
					t.Errorf("%s: %+v", body, x)
				}
			}
		}
	}
}

// streamed is the answer of a stream, and the texts that came meanwhile.
func streamed(t *testing.T, parts ...string) (a protocol.ModelAnswer, shown []string) {
	t.Helper()
	to := served.At(t, http.NotFoundHandler(), endpoint.Definition{Preset: "vllm"})
	_, r, err := (&chat{to: to, dialect: to.Dialect, model: "m"}).Ask(served.Ask("hi"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		chunk, err := r.Part(endpoint.Event{Data: []byte(`{"choices":[{"index":0,` + p + `}]}`)})
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, chunk.Text)
	}
	if a, err = r.Answer(10); err != nil {
		t.Fatal(err)
	}
	return a, shown
}

// Calls stand in the order of their indexes, whichever comes first.
func TestCallsInTheOrderOfTheirIndexes(t *testing.T) {
	a, _ := streamed(t,
		`"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"SayTool","arguments":"{\"n\":"}}]}`,
		`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"SayTool","arguments":"{\"n\":0}"}}]}`,
		`"delta":{"tool_calls":[{"index":1,"function":{"arguments":"1}"}}]}`,
		`"finish_reason":"tool_calls"`)
	if len(a.Calls) != 2 || a.Calls[0].ID != "a" || a.Calls[0].Params["n"] != int64(0) || a.Calls[1].ID != "b" || a.Calls[1].Params["n"] != int64(1) {
		t.Errorf("%+v", a.Calls)
	}
}

// A pair of surrogates may be split over two parts; what is shown of the answer on the way is text.
func TestSplitPairs(t *testing.T) {
	for _, c := range []struct{ parts, shown, want string }{
		{`A \ud83e|\udd8a B`, `A |🦊 B`, `A 🦊 B`},
		{`\ud83e||\udd8a`, `||🦊`, `🦊`},
		{`\ud83e|x`, "|\ufffdx", "\ufffdx"},
		{`\ud83e|\ud83e|\udd8a`, "|\ufffd|🦊", "\ufffd🦊"},
		{`a|\udd8a`, "a|\ufffd", "a\ufffd"},
		{`\ud83e`, ``, "\ufffd"},
		{`\ud83e|é`, "|\ufffdé", "\ufffdé"},
		{"\xed\xa0\xbe|\xed\xb6\x8a", "\ufffd\ufffd\ufffd|\ufffd\ufffd\ufffd", strings.Repeat("\ufffd", 6)}, // bytes that are no text
		{`x\ud83ey\udd8az`, "x\ufffdy\ufffdz", "x\ufffdy\ufffdz"},
	} {
		var said, called []string
		for p := range strings.SplitSeq(c.parts, "|") {
			said = append(said, `"delta":{"content":"`+p+`"}`)
			called = append(called, `"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"SayTool","arguments":"`+p+`"}}]}`)
		}
		a, shown := streamed(t, append(said, `"finish_reason":"stop"`)...)
		if got := strings.Join(shown[:len(said)], "|"); a.Text != c.want || got != c.shown {
			t.Errorf("%s: %q shown as %q, want %q and %q", c.parts, a.Text, got, c.want, c.shown)
		}
		called[0] = strings.Replace(called[0], `"arguments":"`, `"arguments":"{\"x\":\"`, 1)
		a, _ = streamed(t, append(called, `"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, `"finish_reason":"tool_calls"`)...)
		if len(a.Calls) != 1 || a.Calls[0].Params["x"] != c.want {
			t.Errorf("%s in a call: %+v", c.parts, a.Calls)
		}
	}
}

// Services have words of their own for the end of an answer.
func TestReasonsOfServices(t *testing.T) {
	const call = `"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"SayTool","arguments":"{}"}}]}`
	for reason, want := range map[string]protocol.FinishReason{
		"stop": protocol.FinishToolCalls, "eos": protocol.FinishToolCalls,
		"length": protocol.FinishLength, "model_length": protocol.FinishLength, "max_tokens": protocol.FinishLength,
		"content_filter": protocol.FinishFiltered, "sensitive": protocol.FinishFiltered,
	} {
		if a, _ := streamed(t, call, `"finish_reason":"`+reason+`"`); a.Finish != want {
			t.Errorf("%s is %s, want %s", reason, a.Finish, want)
		}
	}
}
