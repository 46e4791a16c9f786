package metrics

import (
	"hash/maphash"
	"sync"

	"tavernsim/engine/prompt"
	"tavernsim/protocol"
)

const (
	maxPrefixes = 1 << 14 // agents; the prompts of others are not measured
	prefixBlock = 64      // bytes
	maxBlocks   = 1 << 14 // of a prompt; the rest counts as new
)

// prefixes remembers the last prompt of each agent, as hashes of its blocks.
type prefixes struct {
	mu   sync.Mutex
	seed maphash.Seed
	last map[string][]uint32 // by scene and agent
}

func newPrefixes() *prefixes {
	return &prefixes{seed: maphash.MakeSeed(), last: map[string][]uint32{}}
}

// share is the part of a prompt with which the agent's prompt before began; false for its
// first one.
func (p *prefixes) share(scene string, q *protocol.ModelRequest) (float64, bool) {
	text := prompt.Bytes(q)
	blocks := make([]uint32, 0, min(len(text)/prefixBlock+1, maxBlocks))
	for at := 0; at < len(text) && len(blocks) < maxBlocks; at += prefixBlock {
		blocks = append(blocks, uint32(maphash.Bytes(p.seed, text[at:min(at+prefixBlock, len(text))])))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := scene + "\x00" + q.Agent
	before, known := p.last[key]
	if known || len(p.last) < maxPrefixes {
		p.last[key] = blocks
	}
	if !known || len(text) == 0 {
		return 0, false
	}
	same := 0
	for same < len(blocks) && same < len(before) && blocks[same] == before[same] {
		same++
	}
	return float64(min(same*prefixBlock, len(text))) / float64(len(text)), true
}

// Prompt measures how much of a prompt an endpoint that answered may have read before.
func (s *Set) Prompt(scene, provider string, q *protocol.ModelRequest, a *protocol.ModelAnswer) {
	if a.Origin == nil { // a model inside the program, or none
		return
	}
	if ratio, ok := s.models.prefixes.share(scene, q); ok {
		s.models.gates.get(provider).prefix.Observe(ratio)
	}
}
