package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// operation is what models are asked for so far.
const operation = "chat"

// Kinds of tokens, in the order of modelSeries.tokens.
func tokenTypes() []string { return []string{"input", "output", "cache_read", "reasoning"} }

type modelVecs struct {
	known   *cache[modelKey, modelSeries]
	effects *cache[string, closed]
}

type modelKey struct{ provider, model string }

type modelSeries struct {
	requests closed
	took     prometheus.Observer
	tokens   [4]prometheus.Counter
}

func (s *Set) makeModels() {
	s.area = "models"
	requests := s.counter("llm_requests_total", "Model requests that ended.", "provider", "model", "operation", "outcome")
	took := s.histogram("llm_request_duration_seconds", "Wall time of a model request, with its wait for a slot.", modelSeconds(), "provider", "model", "operation")
	tokens := s.counter("llm_tokens_total", "Tokens that were read and written by models.", "provider", "model", "token_type")
	effects := s.counter("effects_total", "Requests to the outside, by what became of them: requested and answered are the ordinary way, reused answers were kept before a kill, repeated ones were not, the outcome of unknown ones may not be asked for again.", "effect", "outcome")
	s.models.effects = newCache(s, "effect", overflowed, func(kind string) *closed {
		c := newClosed(effects, []string{"requested", "answered", "repeated", "reused", "joined", "unknown"}, kind)
		return &c
	})
	s.models.effects.get("model")
	outcomes := texts(llm.Outcomes()...)
	s.models.known = newCache(s, "model", modelKey{overflowed, overflowed}, func(k modelKey) *modelSeries {
		m := &modelSeries{
			requests: newClosed(requests, outcomes, k.provider, k.model, operation), took: took.WithLabelValues(k.provider, k.model, operation),
		}
		for i, t := range tokenTypes() {
			m.tokens[i] = tokens.WithLabelValues(k.provider, k.model, t)
		}
		return m
	})
}

// modelSeconds are the buckets that the conventions for model telemetry ask
// for: 10 ms to 82 s, doubling.
func modelSeconds() []float64 { return prometheus.ExponentialBuckets(0.01, 2, 14) }

// Model counts a model request. model "" is the provider's default.
func (s *Set) Model(provider, model, outcome string, took time.Duration, u protocol.Usage) {
	m := s.model(provider, model)
	m.requests.inc(outcome)
	m.took.Observe(took.Seconds())
	for i, n := range [4]int64{u.Input, u.Output, u.CacheRead, u.Reasoning} {
		if n > 0 {
			m.tokens[i].Add(float64(n))
		}
	}
}

// Effect counts a step of a request that is recorded.
func (s *Set) Effect(kind, outcome string) { s.models.effects.get(kind).inc(outcome) }

func (s *Set) model(provider, model string) *modelSeries {
	if model == "" {
		model = "default"
	}
	return s.models.known.get(modelKey{provider, model})
}
