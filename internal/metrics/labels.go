package metrics

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxValues bounds the values of one label.
const MaxValues = 200

const (
	overflowed = "__other__" // beyond MaxValues, or a value that no constant names
	undeclared = "other"     // not named in the project's files
)

// cache resolves the labels of a metric once per value, for at most MaxValues
// values; what comes after shares one series. It is an interface: a package compiles every method of each generic
// type in the fields of the types that it names, and sets are named everywhere.
type cache[K comparable, V any] interface {
	get(K) *V
	// drop forgets keys whose series were deleted; they are made anew when they come
	// again.
	drop([]K)
	// keys are the values that have a series of their own.
	keys() iter.Seq[K]
}

// resolved is the one cache. Reading takes no lock: the map is replaced, never changed.
type resolved[K comparable, V any] struct {
	known    atomic.Pointer[map[K]*V]
	rest     atomic.Pointer[V] // nil until the cache is full
	mu       sync.Mutex        // one writer
	build    func(K) *V
	others   K // the key that stands for all beyond the bound
	overflow prometheus.Counter
}

// newCache counts overflow under the label's name.
func newCache[K comparable, V any](s *Set, label string, others K, build func(K) *V) cache[K, V] {
	c := &resolved[K, V]{build: build, others: others, overflow: s.overflow.WithLabelValues(label)}
	c.known.Store(&map[K]*V{})
	return c
}

func (c *resolved[K, V]) get(key K) *V {
	if v, ok := (*c.known.Load())[key]; ok {
		return v
	}
	return c.miss(key)
}

func (c *resolved[K, V]) miss(key K) *V {
	if v := c.rest.Load(); v != nil {
		c.overflow.Inc()
		return v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := *c.known.Load()
	if v, ok := known[key]; ok {
		return v
	}
	if len(known) >= MaxValues {
		if c.rest.Load() == nil {
			c.rest.Store(c.build(c.others))
		}
		c.overflow.Inc()
		return c.rest.Load()
	}
	next := maps.Clone(known)
	v := c.build(key)
	next[key] = v
	c.known.Store(&next)
	return v
}

func (c *resolved[K, V]) drop(keys []K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := maps.Clone(*c.known.Load())
	for _, key := range keys {
		delete(next, key)
	}
	c.known.Store(&next)
	c.rest.Store(nil)
}

func (c *resolved[K, V]) keys() iter.Seq[K] { return maps.Keys(*c.known.Load()) }

// closed is a counter by a label whose values are known: all of them stand at 0
// from the start, and what no constant names is "__other__".
type closed struct {
	names    []string
	counters []prometheus.Counter
	rest     func() prometheus.Counter
}

// newClosed resolves the last label of vec; first are the values of the others.
func newClosed(vec *prometheus.CounterVec, names []string, first ...string) closed {
	with := func(last string) prometheus.Counter { return vec.WithLabelValues(append(slices.Clone(first), last)...) }
	c := closed{names: names, rest: func() prometheus.Counter { return with(overflowed) }}
	for _, n := range names {
		c.counters = append(c.counters, with(n))
	}
	return c
}

// closedBy is a cache of counters like newClosed, by the value of the first label.
func closedBy(s *Set, label string, vec *prometheus.CounterVec, names []string) cache[string, closed] {
	return newCache(s, label, overflowed, func(value string) *closed {
		c := newClosed(vec, names, value)
		return &c
	})
}

func (c *closed) inc(name string) { c.of(name).Inc() }

func (c *closed) of(name string) prometheus.Counter {
	for i, n := range c.names {
		if n == name {
			return c.counters[i]
		}
	}
	return c.rest()
}

// texts turns named constants into label values.
func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
