package llmtest

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// Fake is a provider that is not instant and counts what it is asked. It never
// answers the same twice, so that an answer tells which call it is of.
type Fake struct {
	// Reply makes the text of the nth answer, from 1; nil = "answer <n>". It may
	// wait. It is called on many goroutines.
	Reply func(ctx context.Context, n int, req *protocol.ModelRequest) (string, error)
	// Once forbids a second request.
	Once bool

	mu     sync.Mutex
	calls  int
	asked  map[string]int // by the text of the last message
	closed bool
}

// Name implements llm.Provider.
func (f *Fake) Name() string { return "fake" }

// MayRepeat implements llm.Repeater.
func (f *Fake) MayRepeat(*protocol.ModelRequest) bool { return !f.Once }

// Complete implements llm.Provider.
func (f *Fake) Complete(ctx context.Context, req *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	n, err := f.begin(ctx, req)
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	text := fmt.Sprint("answer ", n)
	if f.Reply != nil {
		if text, err = f.Reply(ctx, n, req); err != nil {
			return protocol.ModelAnswer{}, err
		}
	}
	a := protocol.ModelAnswer{Model: "fake", Text: text, Finish: protocol.FinishStop, Usage: protocol.Usage{Input: 1, Output: 1}}
	return a, llm.Deliver(&a, sink)
}

func (f *Fake) begin(ctx context.Context, req *protocol.ModelRequest) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, &llm.Failure{Outcome: llm.OutcomeClosed, Message: "fake: closed"}
	}
	if err := llm.Stopped(ctx, "fake"); err != nil {
		return 0, err
	}
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	f.calls++
	f.asked[LastText(req)]++
	return f.calls, nil
}

// Close implements llm.Provider.
func (f *Fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

// All is how often each request came, by its last message.
func (f *Fake) All() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.asked)
}

// Calls is how many requests came.
func (f *Fake) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// LastText is the text of a request's last message.
func LastText(req *protocol.ModelRequest) string {
	if len(req.Messages) == 0 {
		return ""
	}
	return req.Messages[len(req.Messages)-1].Text
}

var _ llm.Repeater = (*Fake)(nil)
