package actors

import (
	"sync"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// block is cells that are allocated together: one by one, they and the garbage
// they leave cost as much as the rest of a send.
type block [blockCells]cell

const blockCells = 16

// cellPool serves one sender at a time: with cells, from what is left of a block,
// and with a place to count that few other senders count in.
type cellPool struct {
	block  *block
	used   int
	counts *counts
}

// cellPools has about one for each processor.
type cellPools struct {
	pool   sync.Pool
	depths *depths
}

// cell makes the cell of an envelope and counts it: before a worker can take it.
func (s *cellPools) cell(env *protocol.Envelope, kind uint8, l delivery.Lane) *cell {
	from, ok := s.pool.Get().(*cellPool)
	if !ok {
		from = &cellPool{used: blockCells, counts: s.depths.share()}
	}
	if from.used == blockCells {
		from.block, from.used = new(block), 0
	}
	c := &from.block[from.used]
	c.env = env
	from.used++
	from.counts[kind][l].Add(1)
	s.pool.Put(from)
	return c
}
