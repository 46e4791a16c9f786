package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/protocol"
)

// Scene counts for one scene. Its methods are safe for concurrent use.
type Scene struct {
	set *Set
	id  string

	took     cache[prometheus.Observer]
	outcomes cache[prometheus.Counter]
	events   cache[eventPair]
	models   cache[modelSet]
	dropped  cache[prometheus.Counter]
	calls    cache[prometheus.Counter]

	steps   prometheus.Counter
	stepSec prometheus.Observer
	simSec  prometheus.Counter
	simTime prometheus.Gauge
	filters prometheus.Counter
	applied prometheus.Counter

	mu   sync.Mutex
	last protocol.Time // of the scene's clock
}

type eventPair struct{ published, delivered prometheus.Counter }

type modelSet struct {
	requests          prometheus.Counter
	seconds           prometheus.Observer
	input, output     prometheus.Counter
	cached, reasoning prometheus.Counter
}

// cache resolves the labels of a metric once.
type cache[T any] struct{ m sync.Map }

func (c *cache[T]) get(key [2]string, make func() T) T {
	if v, ok := c.m.Load(key); ok {
		return v.(T)
	}
	v, _ := c.m.LoadOrStore(key, make())
	return v.(T)
}

// Scene returns the counters of a scene.
func (s *Set) Scene(id string) *Scene {
	label := s.bound("scene", id)
	sc := &Scene{
		set: s, id: label, steps: s.steps.WithLabelValues(label), stepSec: s.stepSec.WithLabelValues(label),
		simSec: s.simSec.WithLabelValues(label), simTime: s.simTime.WithLabelValues(label), filters: s.filters.WithLabelValues(label),
		applied: s.commits.WithLabelValues(label, "applied"),
	}
	for _, outcome := range []string{"conflict", "rejected"} {
		s.commits.WithLabelValues(label, outcome)
	}
	return sc
}

// Deliberated counts an ended deliberation.
func (s *Scene) Deliberated(profile, outcome string) {
	s.outcomes.get([2]string{profile, outcome}, func() prometheus.Counter {
		return s.set.deliberations.WithLabelValues(s.set.bound("profile", profile), outcome)
	}).Inc()
}

// Took measures a deliberation.
func (s *Scene) Took(profile string, d time.Duration) {
	s.took.get([2]string{profile}, func() prometheus.Observer {
		return s.set.deliberationSec.WithLabelValues(s.set.bound("profile", profile))
	}).Observe(d.Seconds())
}

// Failed counts an agent's actor that failed.
func (s *Scene) Failed(profile string, givenUp bool) {
	reason := "failure"
	if givenUp {
		reason = "given_up"
	}
	s.set.restarts.WithLabelValues(s.set.bound("profile", profile), reason).Inc()
	s.Deliberated(profile, "crashed")
}

// ActorFailed counts a failed service.
func (s *Scene) ActorFailed(actor string) {
	s.set.restarts.WithLabelValues(s.set.bound("profile", actor), "failure").Inc()
}

// Routed counts an event and its deliveries.
func (s *Scene) Routed(eventType string, receivers int) {
	p := s.events.get([2]string{eventType}, func() eventPair {
		label := s.set.bound("event_type", eventType)
		return eventPair{s.set.published.WithLabelValues(label), s.set.delivered.WithLabelValues(label)}
	})
	p.published.Inc()
	p.delivered.Add(float64(receivers))
}

// Dropped counts a refused event or delivery.
func (s *Scene) Dropped(reason string) {
	s.dropped.get([2]string{reason}, func() prometheus.Counter { return s.set.dropped.WithLabelValues(s.set.bound("reason", reason)) }).Inc()
}

// Called counts a call of a tool.
func (s *Scene) Called(tool, outcome string) {
	s.calls.get([2]string{tool, outcome}, func() prometheus.Counter {
		return s.set.calls.WithLabelValues(s.set.bound("tool", tool), outcome)
	}).Inc()
}

// FilterFailures counts filters that failed at run time.
func (s *Scene) FilterFailures(n int) {
	if n > 0 {
		s.filters.Add(float64(n))
	}
}

// WorldApplied counts applied requests, WorldRefused a refused one.
func (s *Scene) WorldApplied(n int) { s.applied.Add(float64(n)) }

// WorldRefused counts a refused request: a conflict, or one that broke a rule.
func (s *Scene) WorldRefused(conflict bool) {
	outcome := "rejected"
	if conflict {
		outcome = "conflict"
	}
	s.set.commits.WithLabelValues(s.id, outcome).Inc()
}

// WaveClosed counts a wave and moves the scene's clock.
func (s *Scene) WaveClosed(took time.Duration, now protocol.Time) {
	s.steps.Inc()
	s.stepSec.Observe(took.Seconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != 0 && now > s.last {
		s.simSec.Add(now.Sub(s.last).Seconds())
	}
	s.last = now
	s.simTime.Set(float64(now) / 1e9)
}

// Model counts a model request.
func (s *Scene) Model(provider, model, outcome string, took time.Duration, u protocol.Usage) {
	m := s.models.get([2]string{model, outcome}, func() modelSet { return s.set.modelSet(provider, model, outcome) })
	m.requests.Inc()
	m.seconds.Observe(took.Seconds())
	m.input.Add(float64(u.Input))
	m.output.Add(float64(u.Output))
	m.cached.Add(float64(u.CacheRead))
	m.reasoning.Add(float64(u.Reasoning))
}

func (s *Set) modelSet(provider, model, outcome string) modelSet {
	if model == "" {
		model = "default"
	}
	model = s.bound("model", model)
	token := func(kind string) prometheus.Counter { return s.tokens.WithLabelValues(provider, model, kind) }
	return modelSet{
		requests: s.requests.WithLabelValues(provider, model, outcome), seconds: s.requestSec.WithLabelValues(provider, model),
		input: token("input"), output: token("output"), cached: token("cache_read"), reasoning: token("reasoning"),
	}
}
