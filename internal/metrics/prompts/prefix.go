// Package prompts measures how much of a prompt equals the previous prompt of the same agent.
package prompts

import (
	"hash/maphash"
	"sync"

	"tavernsim/engine/prompt"
	"tavernsim/protocol"
)

const (
	maxPrefixes = 1 << 14 // agents of all scenes that are kept; the prompts of others are not measured
	prefixBlock = 64      // bytes
	maxBlocks   = 1 << 14 // of a prompt; the rest counts as new
	maxKept     = 1 << 20 // bytes of the room for a prompt
)

// Prefixes remembers the last prompt of each agent of the scenes that run, as hashes of its
// blocks.
type Prefixes struct {
	mu     sync.Mutex
	seed   maphash.Seed
	last   map[any]map[string][]uint32 // by scene and agent
	agents int                         // in last
	text   []byte                      // room for a prompt
}

// New makes one without prompts.
func New() *Prefixes {
	return &Prefixes{seed: maphash.MakeSeed(), last: map[any]map[string][]uint32{}}
}

// Share is the part of a prompt with which the agent's prompt before began; false for its
// first one, for an answer of no endpoint, and for a scene that does not run.
func (p *Prefixes) Share(scene any, q *protocol.ModelRequest, a *protocol.ModelAnswer) (float64, bool) {
	if a.Origin == nil { // a model inside the program, or none
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := prompt.AppendBytes(p.text[:0], q)
	if p.text = text; cap(text) > maxKept {
		p.text = nil
	}
	last := p.last[scene]
	blocks, known := last[q.Agent] // of the prompt before, which this one takes the place of
	if last == nil || !known && p.agents >= maxPrefixes {
		return 0, false
	}
	if !known {
		p.agents++
	}
	before, n, same := len(blocks), 0, 0
	for at := 0; at < len(text) && n < maxBlocks; at += prefixBlock {
		h := uint32(maphash.Bytes(p.seed, text[at:min(at+prefixBlock, len(text))]))
		if n == len(blocks) {
			blocks = append(blocks, h)
		}
		if n < before && same == n && blocks[n] == h {
			same++
		}
		blocks[n] = h
		n++
	}
	last[q.Agent] = blocks[:n]
	if !known || len(text) == 0 {
		return 0, false
	}
	return float64(min(same*prefixBlock, len(text))) / float64(len(text)), true
}

// Runs says whether a scene, one in the process, runs. The room for the prompts of one that does
// not is given to others.
func (p *Prefixes) Runs(scene any, runs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch last := p.last[scene]; {
	case runs && last == nil:
		p.last[scene] = map[string][]uint32{}
	case !runs:
		p.agents -= len(last)
		delete(p.last, scene)
	}
}
