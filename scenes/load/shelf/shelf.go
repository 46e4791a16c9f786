// Package shelf holds the editions of a scene that reloads of plugins made. A run may add one while
// others read.
package shelf

import (
	"sync"

	"tavernsim/scenes/load/setup"
)

// Shelf has the editions of one scene, by number. The zero value is empty.
type Shelf struct {
	mu   sync.Mutex
	list map[uint64]*setup.Scene
}

// Edition implements setup.Editions.
func (e *Shelf) Edition(number uint64) *setup.Scene {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.list[number]
}

// Add adds one. Its number is at least 2.
func (e *Shelf) Add(number uint64, s *setup.Scene) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.list == nil {
		e.list = map[uint64]*setup.Scene{}
	}
	e.list[number] = s
}

// Drop takes one away that no fact names.
func (e *Shelf) Drop(number uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.list, number)
}

// Of is that of a scene, which it gets if it has none.
func Of(s *setup.Scene) *Shelf {
	x, ok := s.Editions.(*Shelf)
	if !ok {
		x = &Shelf{}
		s.Editions = x
	}
	return x
}
