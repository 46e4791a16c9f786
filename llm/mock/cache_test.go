package mock

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// A question reads from the cache what it shares from its beginning with an earlier one of
// its model, in whole blocks.
func TestCache(t *testing.T) {
	ask := func(model, system, user string) *protocol.ModelRequest {
		return &protocol.ModelRequest{Model: model, Messages: []protocol.ModelMessage{{Role: protocol.RoleSystem, Text: system}, {Role: protocol.RoleUser, Text: user}}}
	}
	long := strings.Repeat("abcd", 100)
	c := cache{block: 10}
	for i, step := range []struct {
		q    *protocol.ModelRequest
		want int64
	}{
		{ask("a", long, "one"), 0},
		{ask("a", long, "one"), 100},
		{ask("a", long, "two "+long), 100}, // role and end of the message are a part of the block behind
		{ask("a", long, "two "+long), 200},
		{ask("b", long, "one"), 0},
		{ask("a", "x"+long, "one"), 0}, // one byte at the beginning
		{ask("a", long[:200], "one"), 50},
	} {
		if got := c.read(step.q); got != step.want {
			t.Errorf("question %d reads %d tokens from the cache, want %d", i, got, step.want)
		}
	}
	if none := (&cache{}); none.read(ask("a", long, "")) != 0 || none.now != nil {
		t.Error("a server without a cache remembers")
	}
}

// What a cache remembers is bounded.
func TestCacheForgets(t *testing.T) {
	c := cache{block: 1}
	for i := range 3 * maxCached / 4 {
		c.read(&protocol.ModelRequest{Model: fmt.Sprint(i), Messages: []protocol.ModelMessage{{Text: "eight by"}}})
	}
	if n := len(c.now) + len(c.before); n > 2*maxCached || n < maxCached {
		t.Errorf("%d beginnings are remembered", n)
	}
}
