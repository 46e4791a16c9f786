package mock

import (
	"encoding/binary"
	"sync"

	"github.com/zeebo/xxh3"

	"tavernsim/engine/prompt"
	"tavernsim/protocol"
)

// Bounds of a cache.
const (
	maxCached  = 1 << 18 // beginnings in each of two generations
	bytesToken = 4       // of a prompt are a token of the cache
)

// cache remembers beginnings of prompts, as the servers of providers do: in blocks of so
// many tokens. What a later prompt shares with any earlier one of its model is read from
// the cache.
type cache struct {
	block int64 // tokens; 0 = there is no cache

	mu          sync.Mutex
	now, before map[uint64]struct{} // beginnings, by their hashes
}

// read is how many tokens of a prompt an earlier one has, and remembers the prompt.
func (c *cache) read(q *protocol.ModelRequest) int64 {
	if c.block == 0 {
		return 0
	}
	text, size := prompt.AppendBytes(nil, q), int(c.block)*bytesToken
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], xxh3.HashString(q.Model))
	c.mu.Lock()
	defer c.mu.Unlock()
	shared, whole := int64(0), true
	for at := 0; at+size <= len(text); at += size {
		h := xxh3.New()
		_, _ = h.Write(sum[:])
		_, _ = h.Write(text[at : at+size])
		next := h.Sum64()
		binary.BigEndian.PutUint64(sum[:], next)
		if whole = whole && c.has(next); whole {
			shared += c.block
		}
		c.keep(next)
	}
	return shared
}

func (c *cache) has(beginning uint64) bool {
	if _, ok := c.now[beginning]; ok {
		return true
	}
	_, ok := c.before[beginning]
	return ok
}

func (c *cache) keep(beginning uint64) {
	if len(c.now) >= maxCached {
		c.before, c.now = c.now, nil
	}
	if c.now == nil {
		c.now = map[uint64]struct{}{}
	}
	c.now[beginning] = struct{}{}
}
