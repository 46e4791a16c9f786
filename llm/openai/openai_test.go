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
