package anthropic

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
