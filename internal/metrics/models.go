package metrics

import (
	"cmp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/agent/effect"
	"tavernsim/internal/metrics/prompts"
	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// defaultModel stands for the model of requests that name none.
const defaultModel = "default"

// operation is what models are asked for so far.
const operation = "chat"

// Kinds of tokens, in the order of modelSeries.tokens.
func tokenTypes() []string {
	return []string{"input", "output", "cache_read", "cache_write", "reasoning"}
}

type modelVecs struct {
	known    cache[modelKey, modelSeries]
	gates    cache[string, gateSeries]
	effects  cache[string, closed]
	ahead    closed
	prefixes *prompts.Prefixes
	served   cache[string, servedSeries]
	passed   cache[string, closed]
}

// servedSeries are those of a model that was chosen among several.
type servedSeries struct{ by, audits closed }

type modelKey struct{ provider, model string }

type modelSeries struct {
	requests closed
	took     prometheus.Observer
	first    prometheus.Observer
	tokens   [5]prometheus.Counter
	answers  closed // of endpoints
	cost     prometheus.Counter
	saved    prometheus.Counter
	unpriced prometheus.Counter
}

// gateSeries are those of an endpoint's gate.
type gateSeries struct {
	waits   [4]prometheus.Observer // by class
	retries closed
	prefix  prometheus.Observer
}

func (s *Set) makeModels() {
	s.area = "models"
	requests := s.counter("llm_requests_total", "Attempts at model requests that ended, and requests that a gate refused.", "provider", "model", "operation", "outcome")
	took := s.histogram("llm_request_duration_seconds", "Wall time of an attempt at a model request, without its wait at the gate. Answers that the program makes at once are not measured.", modelSeconds(), "provider", "model", "operation")
	tokens := s.counter("llm_tokens_total", "Tokens that were read and written by models.", "provider", "model", "token_type")
	first := s.histogram("llm_time_to_first_chunk_seconds", "Wall time to the first part of an answer of an endpoint, without the wait at the gate; to the whole answer if it does not stream.", modelSeconds(), "provider", "model")
	answers := s.counter("llm_cassette_requests_total", "Answers of models at endpoints: recorded ones were asked for now and are kept, hits were taken from a record.", "provider", "model", "result")
	cost := s.counter("llm_cost_dollars_total", "Dollars that the answers of endpoints cost. Answers from a record cost nothing.", "provider", "model")
	saved := s.counter("llm_saved_dollars_total", "Dollars that answers from a record cost when they were asked for.", "provider", "model")
	unpriced := s.counter("llm_unpriced_answers_total", "Answers of endpoints whose price is not known; their cost is not counted.", "provider", "model")
	effects := s.counter("effects_total", "Requests to the outside, by what became of them: requested and answered are the ordinary way, reused answers were kept before a kill, repeated ones (of models and under budgets) were not, the outcome of unknown ones may not be asked for again. Shared ones got the answer to another request. Turns that run ahead make those of ahead; foretold ones are made by the turn itself, too, wasted ones are not, and late ones are not sent.", "effect", "outcome")
	s.models.effects = closedBy(s, "effect", effects, []string{"requested", "answered", "repeated", "reused", "joined", "shared", "unknown", "ahead", "foretold", "wasted", "late"})
	s.models.effects.get("model")
	s.models.ahead = newClosed(s.counter("schedule_turns_total", "Turns that ran ahead of the committed run (--schedule), by what became of them: used ones became facts; committed ones were undone by what the committed run did, viewed ones because what they had seen had changed.", "outcome"), []string{"ended", "used", "committed", "viewed", "panicked"})
	outcomes := texts(llm.Outcomes()...)
	waits := s.histogram("llm_queue_wait_seconds", "Wall time for which a model request waited at the gate of its endpoint before an attempt.", seconds(), "provider", "class")
	retries := s.counter("llm_retries_total", "Model requests that are sent again, by the outcome of the attempt before.", "provider", "reason")
	prefix := s.histogram("llm_prompt_prefix_ratio", "Share of a prompt, from its beginning, that is the same as in the prompt before of the same agent; of prompts to endpoints.", prometheus.LinearBuckets(0.1, 0.1, 10), "provider")
	s.models.prefixes = prompts.New()
	s.models.gates = newCache(s, "provider", overflowed, func(name string) *gateSeries {
		g := &gateSeries{retries: newClosed(retries, texts(repeated()...), name), prefix: prefix.WithLabelValues(name)}
		for i, c := range limit.Classes() {
			g.waits[i] = waits.WithLabelValues(name, c.String())
		}
		return g
	})
	served := s.counter("llm_served_total", "Requests that a model answered which was chosen among several, by how it comes to its answers.", "model", "by")
	audits := s.counter("llm_surrogate_audits_total", "Requests that a model answered although a surrogate had an answer, by whether both agree.", "model", "result")
	passed := s.counter("llm_fallbacks_total", "Requests that another model took over, by the model that was asked for and the outcome that it ended with.", "model", "reason")
	s.models.served = newCache(s, "model", overflowed, func(name string) *servedSeries {
		return &servedSeries{newClosed(served, []string{llm.ByRule, llm.BySurrogate, llm.ByLLM, llm.ByStore}, name), newClosed(audits, []string{llm.Agreed, llm.Differed}, name)}
	})
	s.models.passed = closedBy(s, "model", passed, outcomes)
	s.models.known = newCache(s, "model", modelKey{overflowed, overflowed}, func(k modelKey) *modelSeries {
		m := &modelSeries{
			requests: newClosed(requests, outcomes, k.provider, k.model, operation), took: took.WithLabelValues(k.provider, k.model, operation),
			first: first.WithLabelValues(k.provider, k.model), answers: newClosed(answers, []string{"recorded", "hit"}, k.provider, k.model),
			cost: cost.WithLabelValues(k.provider, k.model), saved: saved.WithLabelValues(k.provider, k.model), unpriced: unpriced.WithLabelValues(k.provider, k.model),
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
	if kind == effect.KindModel {
		s.models.gates.get(gate).waits[class-limit.Interactive].Observe(d.Seconds())
	}
}

// Repeated counts a request that is sent again, if it is one to a model.
func (s *Set) Repeated(kind, gate string, because llm.Outcome) {
	if kind == effect.KindModel {
		s.models.gates.get(gate).retries.inc(string(because))
	}
}

// Model counts an attempt at a model request. model "" is the provider's default; took 0:
// nothing was sent, or the program answers at once. Of an answer from a record only what it saved is counted.
func (s *Set) Model(provider, model, outcome string, took time.Duration, a *protocol.ModelAnswer) {
	o, u := a.Origin, &a.Usage
	if o != nil && o.Endpoint != "" {
		provider = o.Endpoint
	}
	m := s.model(provider, model)
	if o != nil && o.Reused {
		m.answers.inc("hit")
		m.saved.Add(dollars(o.Cost))
		return
	}
	m.requests.inc(outcome)
	if took > 0 {
		m.took.Observe(took.Seconds())
	}
	for i, n := range [5]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n > 0 {
			m.tokens[i].Add(float64(n))
		}
	}
	if o != nil && o.Endpoint != "" && outcome == string(llm.OutcomeOK) {
		m.charge(o)
	}
}

// charge counts an answer of an endpoint.
func (m *modelSeries) charge(o *protocol.ModelOrigin) {
	m.answers.inc("recorded")
	m.cost.Add(dollars(o.Cost))
	if o.FirstChunk > 0 {
		m.first.Observe(o.FirstChunk.Seconds())
	}
	if !o.Priced {
		m.unpriced.Inc()
	}
}

func dollars(nano int64) float64 { return float64(max(nano, 0)) / 1e9 }

// Served counts the answer of a model that was chosen among several.
func (s *Set) Served(x *llm.Served) {
	m := s.models.served.get(x.Model)
	m.by.inc(x.By)
	if x.Audit != "" {
		m.audits.inc(x.Audit)
	}
}

// Elsewhere counts a request that another model takes over. model "" is the provider's
// default.
func (s *Set) Elsewhere(model string, because llm.Outcome) {
	s.models.passed.get(cmp.Or(model, defaultModel)).inc(string(because))
}

// Ahead counts what became of turns that ran ahead.
func (s *Set) Ahead(outcome string, n int) { s.models.ahead.of(outcome).Add(float64(n)) }

// Effect counts a step of a request that is recorded.
func (s *Set) Effect(kind, outcome string) { s.models.effects.get(kind).inc(outcome) }

func (s *Set) model(provider, model string) *modelSeries {
	return s.models.known.get(modelKey{provider, cmp.Or(model, defaultModel)})
}

// Prompt measures how much of a prompt an endpoint that answered may have read before.
func (s *Scene) Prompt(provider string, q *protocol.ModelRequest, a *protocol.ModelAnswer) {
	if ratio, ok := s.models.prefixes.Share(s, q, a); ok {
		s.models.gates.get(provider).prefix.Observe(ratio)
	}
}
