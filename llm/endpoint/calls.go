package endpoint

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// Call makes a call of what a model wrote: its arguments are read leniently, and kept as
// text if they are no JSON object or break off.
func (n *Names) Call(id, name, arguments string) protocol.Call {
	c := protocol.Call{ID: id, Tool: n.ID(name), Origin: protocol.OriginNative}
	if t := strings.TrimSpace(arguments); t == "" || t == "null" {
		return c
	}
	text, err := lenient.Read(arguments, lenient.Options{})
	if object, ok := text.Value.(*lenient.Object); err == nil && ok && !object.Cut {
		if plain, err := lenient.Plain(object); err == nil {
			c.Params, _ = plain.(map[string]any)
			return c
		}
	}
	c.Broken = arguments
	return c
}

// MaxCalls bounds the calls of one answer; the agent has its own, lower bound.
const MaxCalls = 1000

// Unique gives ids to the calls that lack one or share it.
func Unique(calls []protocol.Call) {
	if unique(calls) {
		return
	}
	taken := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		for k := i + 1; c.ID == "" || taken[c.ID]; k++ {
			c.ID = fmt.Sprintf("call_%d", k)
		}
		taken[c.ID] = true
	}
}

// unique reports whether few calls have ids that differ, as nearly all do.
func unique(calls []protocol.Call) bool {
	for i := range calls {
		if calls[i].ID == "" || i > 8 || slices.ContainsFunc(calls[:i], func(c protocol.Call) bool { return c.ID == calls[i].ID }) {
			return false
		}
	}
	return true
}

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
