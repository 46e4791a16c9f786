package endpoint

import (
	"cmp"

	"tavernsim/protocol"
	"tavernsim/protocol/bound"
)

// MaxCalls bounds the calls of one answer; the agent has its own, lower bound.
const MaxCalls = 1000

// Bounds of the tokens that an endpoint is believed.
const (
	unseen     = 1 << 15 // of what a server adds to a question by itself, and of reasoning that it does not show
	mostAnswer = 1 << 17 // of an answer without max_tokens
)

// Count checks the tokens that an endpoint gave for q, whose request has so many bytes, and for an answer of so many bytes.
// It estimates those that the endpoint did not give, and all of them if one cannot be: four bytes a token. A token has a byte
// at least. So a server that ignores max_tokens is believed as far as its answer shows it.
func Count(u *protocol.Usage, q *protocol.ModelRequest, question, answer int) {
	pictures := 0
	for i := range q.Messages {
		pictures += len(q.Messages[i].Images)
	}
	mostIn := int64(question + pictures*bound.Image + unseen)
	mostOut := int64(max(cmp.Or(q.MaxTokens, mostAnswer), answer) + unseen)
	if min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 || max(u.Input, u.CacheRead, u.CacheWrite) > mostIn || max(u.Output, u.Reasoning) > mostOut {
		*u = protocol.Usage{}
	}
	if cached := u.CacheRead + u.CacheWrite; cached > u.Input {
		u.Input += cached // the server left out what its cache has
	}
	if u.Reasoning > u.Output {
		u.Output += u.Reasoning // and this one the reasoning
	}
	if u.Input > mostIn || u.Output > mostOut {
		*u = protocol.Usage{}
	}
	if u.Input == 0 {
		u.Input, u.Estimated = int64(question/4+1), true
	}
	if u.Output == 0 && answer > 0 {
		u.Output, u.Estimated = int64(answer/4+1), true
	}
}
