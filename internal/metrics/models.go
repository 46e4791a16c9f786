package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// operation is what models are asked for so far.
const operation = "chat"

// Kinds of tokens, in the order of modelSeries.tokens.
func tokenTypes() []string { return []string{"input", "output", "cache_read", "reasoning"} }

type modelVecs struct {
	known   *cache[modelKey, modelSeries]
	gates   *cache[string, gateSeries]
	effects *cache[string, closed]
}

type modelKey struct{ provider, model string }

type modelSeries struct {
	requests closed
	took     prometheus.Observer
	tokens   [4]prometheus.Counter
}

// gateSeries are those of an endpoint's gate.
type gateSeries struct {
	waits   [4]prometheus.Observer // by class
	retries closed
}

func (s *Set) makeModels() {
	s.area = "models"
	requests := s.counter("llm_requests_total", "Attempts at model requests that ended, and requests that a gate refused.", "provider", "model", "operation", "outcome")
	took := s.histogram("llm_request_duration_seconds", "Wall time of an attempt at a model request, without its wait at the gate.", modelSeconds(), "provider", "model", "operation")
	tokens := s.counter("llm_tokens_total", "Tokens that were read and written by models.", "provider", "model", "token_type")
	effects := s.counter("effects_total", "Requests to the outside, by what became of them: requested and answered are the ordinary way, reused answers were kept before a kill, repeated ones were not, the outcome of unknown ones may not be asked for again.", "effect", "outcome")
	s.models.effects = newCache(s, "effect", overflowed, func(kind string) *closed {
		c := newClosed(effects, []string{"requested", "answered", "repeated", "reused", "joined", "unknown"}, kind)
		return &c
	})
	s.models.effects.get("model")
	outcomes := texts(llm.Outcomes()...)
	waits := s.histogram("llm_queue_wait_seconds", "Wall time for which a model request waited at the gate of its endpoint before an attempt.", seconds(), "provider", "class")
	retries := s.counter("llm_retries_total", "Model requests that are sent again, by the outcome of the attempt before.", "provider", "reason")
	s.models.gates = newCache(s, "provider", overflowed, func(name string) *gateSeries {
		g := &gateSeries{retries: newClosed(retries, texts(repeated()...), name)}
		for i, c := range limit.Classes() {
			g.waits[i] = waits.WithLabelValues(name, c.String())
		}
		return g
	})
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

// repeated are the outcomes after which a request is sent again.
func repeated() (out []llm.Outcome) {
	for _, o := range llm.Outcomes() {
		if o.AskAgain() {
			out = append(out, o)
		}
	}
	return out
}

// modelSeconds are the buckets that the conventions for model telemetry ask
// for: 10 ms to 82 s, doubling.
func modelSeconds() []float64 { return prometheus.ExponentialBuckets(0.01, 2, 14) }

// Waited measures how long a request waited at a gate, if it is one to a model.
func (s *Set) Waited(kind, gate string, class limit.Class, d time.Duration) {
	if kind == agent.KindModel {
		s.models.gates.get(gate).waits[class-limit.Interactive].Observe(d.Seconds())
	}
}

// Repeated counts a request that is sent again, if it is one to a model.
func (s *Set) Repeated(kind, gate string, because llm.Outcome) {
	if kind == agent.KindModel {
		s.models.gates.get(gate).retries.inc(string(because))
	}
}

// Model counts an attempt at a model request. model "" is the provider's default; took 0:
// nothing was sent.
func (s *Set) Model(provider, model, outcome string, took time.Duration, u protocol.Usage) {
	m := s.model(provider, model)
	m.requests.inc(outcome)
	if took > 0 {
		m.took.Observe(took.Seconds())
	}
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
