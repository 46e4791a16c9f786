package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/world"
)

// What became of a world request.
const (
	worldApplied  = "applied"
	worldConflict = "conflict"
	worldRejected = "rejected"
)

type worldVecs struct {
	ops     map[string]*closed // by op
	rest    closed
	took    prometheus.Observer
	commits *prometheus.CounterVec
}

func (s *Set) makeWorld() {
	s.area = "world state"
	updates := s.counter("world_updates_total", "Requests to change the world, by what became of them.", "op", "outcome")
	outcomes := []string{worldApplied, worldConflict, worldRejected}
	s.world.ops = map[string]*closed{}
	for _, op := range texts(world.OpSet, world.OpAdd, world.OpPush, world.OpMerge, world.OpDelete) {
		c := newClosed(updates, outcomes, op)
		s.world.ops[op] = &c
	}
	s.world.rest = newClosed(updates, outcomes, undeclared)
	s.world.commits = s.counter("world_commits_total", "Versions that the world went through.", s.sceneLabels()...)
	s.world.took = s.histogram("world_update_duration_seconds", "Wall time in which the world decided about the requests of a wave.", seconds()).WithLabelValues()
}

// op is "other" for the operations that only a machine asks for.
func (w *worldVecs) op(op string) *closed {
	if c := w.ops[op]; c != nil {
		return c
	}
	return &w.rest
}

// WorldApplied counts a request that changed the world.
func (s *Set) WorldApplied(op string) { s.world.op(op).inc(worldApplied) }

// WorldRefused counts a request that did not: a conflict, or one that broke a
// rule. code is the fact's.
func (s *Set) WorldRefused(op, code string) {
	if code == string(world.CodeConflict) {
		s.world.op(op).inc(worldConflict)
		return
	}
	s.world.op(op).inc(worldRejected)
}

// WorldTook measures one decision of the world.
func (s *Set) WorldTook(d time.Duration) { s.world.took.Observe(d.Seconds()) }
