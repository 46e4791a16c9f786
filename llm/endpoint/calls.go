package endpoint

import "tavernsim/protocol"

// MaxCalls bounds the calls of one answer; the agent has its own, lower bound.
const MaxCalls = 1000

// Count checks the tokens that an endpoint gave, and estimates those that it did not
// give, or that cannot be: four bytes a token.
func Count(u *protocol.Usage, question, answer int) {
	const most = 1 << 40
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > most {
			*u = protocol.Usage{}
		}
	}
	if cached := u.CacheRead + u.CacheWrite; cached > u.Input {
		u.Input += cached // the server left out what its cache has
	}
	if u.Reasoning > u.Output {
		u.Output += u.Reasoning // and this one the reasoning
	}
	if u.Input == 0 {
		u.Input, u.Estimated = int64(question/4+1), true
	}
	if u.Output == 0 && answer > 0 {
		u.Output, u.Estimated = int64(answer/4+1), true
	}
}
