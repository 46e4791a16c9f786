package openai

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/internal/doctest"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
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
