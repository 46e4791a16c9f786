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

// lender serves one sender at a time: with cells, from what is left of a block,
// and with a place to count that hardly anybody else counts in.
type lender struct {
	block  *block
	used   int
	counts *counts
}

// lenders has about one for each processor.
type lenders struct {
	pool   sync.Pool
	depths *depths
}

// cell makes the cell of an envelope and counts it: before a worker can take it.
func (s *lenders) cell(env *protocol.Envelope, kind uint8, l delivery.Lane) *cell {
	from, ok := s.pool.Get().(*lender)
	if !ok {
		from = &lender{used: blockCells, counts: s.depths.share()}
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
