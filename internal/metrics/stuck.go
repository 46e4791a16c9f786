package metrics

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// stuck is the actors that do not return.
type stuck struct {
	actors *prometheus.GaugeVec // by kind
	mu     sync.Mutex
	vital  map[string]int // what /livez says of those that their scene stands without
}

func (s *Set) makeStuck() {
	s.stuck.actors = s.gauge("stuck_actors", "Actors that have been at one message for longer than 30 seconds: each holds a worker, and nothing can take it away.", "kind")
	s.stuck.actors.WithLabelValues(KindAgent)
}

// Stuck shows an actor that does not return until free is called. When it is not
// an agent its scene stands, and /livez answers 503 with the text.
func (s *Set) Stuck(kind, text string) (free func()) {
	s.stuck.add(kind, text, 1)
	return sync.OnceFunc(func() { s.stuck.add(kind, text, -1) })
}

func (s *stuck) add(kind, text string, n int) {
	s.actors.WithLabelValues(kind).Add(float64(n))
	if kind == KindAgent {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vital == nil {
		s.vital = map[string]int{}
	}
	if s.vital[text] += n; s.vital[text] == 0 {
		delete(s.vital, text)
	}
}

// Alive is what /livez answers; nil = no vital actor is stuck.
func (s *Set) Alive() error {
	s.stuck.mu.Lock()
	defer s.stuck.mu.Unlock()
	if len(s.stuck.vital) == 0 {
		return nil
	}
	return errors.New(strings.Join(slices.Sorted(maps.Keys(s.stuck.vital)), "; "))
}
