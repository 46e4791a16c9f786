// Package metrics holds the Prometheus collectors of the program, with the
// names, labels and units of docs/metrics.md.
//
// A [Set] belongs to a process, a [Scene] to one scene in it. Labels are
// resolved once and cached: counting on a hot path is a map look-up and an
// atomic addition. Nothing here is touched by the replay of a journal.
//
// Cardinality is bounded: no label holds an agent, run or event id, and every
// label whose values come from a project stops at [MaxValues].
package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"tavernsim/protocol"
)

// MaxValues bounds the values of one label; what comes after is "__other__".
const MaxValues = 200

const other = "__other__"

// Set is the collectors of a process.
type Set struct {
	Registry *prometheus.Registry

	deliberations   *prometheus.CounterVec
	deliberationSec *prometheus.HistogramVec
	restarts        *prometheus.CounterVec
	published       *prometheus.CounterVec
	delivered       *prometheus.CounterVec
	dropped         *prometheus.CounterVec
	filters         *prometheus.CounterVec
	commits         *prometheus.CounterVec
	steps           *prometheus.CounterVec
	stepSec         *prometheus.HistogramVec
	simSec          *prometheus.CounterVec
	simTime         *prometheus.GaugeVec
	requests        *prometheus.CounterVec
	requestSec      *prometheus.HistogramVec
	tokens          *prometheus.CounterVec
	calls           *prometheus.CounterVec
	deadLetters     *prometheus.CounterVec
	journalFacts    prometheus.Counter
	journalBytes    prometheus.Counter
	journalBatch    prometheus.Histogram
	journalCommit   prometheus.Histogram
	journalWait     prometheus.Counter
	snapshots       *prometheus.CounterVec
	snapshotSec     prometheus.Histogram
	snapshotBytes   prometheus.Gauge
	overflow        *prometheus.CounterVec

	mu   sync.Mutex
	seen map[string]map[string]bool // label -> values so far
}

// seconds are histogram buckets from 10 µs to about 80 s, doubling.
func seconds() []float64 { return prometheus.ExponentialBuckets(10e-6, 2, 23) }

// New registers every collector, those of the Go runtime and the process too.
func New() *Set {
	s := &Set{Registry: prometheus.NewRegistry(), seen: map[string]map[string]bool{}}
	s.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.agents()
	s.events()
	s.time()
	s.models()
	s.journal()
	s.overflow = s.counter("metrics_label_overflow_total", "Label values beyond the bound, counted as __other__.", "label")
	return s
}

func (s *Set) agents() {
	s.deliberations = s.counter("agent_deliberations_total", "Deliberations that ended.", "profile", "outcome")
	s.deliberationSec = s.histogram("agent_deliberation_duration_seconds", "Wall time of a deliberation, from waking to its last fact.", "profile")
	s.restarts = s.counter("agent_restarts_total", "Actors restarted after a failure, or given up.", "profile", "reason")
	s.calls = s.counter("tool_calls_total", "Calls of tools and skills.", "tool", "outcome")
	s.deadLetters = s.counter("dead_letters_total", "Envelopes that no mailbox took.", "kind")
}

func (s *Set) events() {
	s.published = s.counter("events_published_total", "Events that the channel routed.", "event_type")
	s.delivered = s.counter("events_delivered_total", "Deliveries of events to agents.", "event_type")
	s.dropped = s.counter("events_dropped_total", "Events and deliveries refused.", "reason")
	s.filters = s.counter("event_filter_failures_total", "Filter conditions that failed at run time and did not match.", "scene")
	s.commits = s.counter("world_updates_total", "World requests by what became of them.", "scene", "outcome")
}

func (s *Set) time() {
	s.steps = s.counter("sim_steps_total", "Waves closed.", "scene")
	s.stepSec = s.histogram("step_duration_seconds", "Wall time of a wave, from its first wake to its hand-over to the journal.", "scene")
	s.simSec = s.counter("sim_seconds_total", "Scene time that has passed.", "scene")
	s.simTime = s.gauge("sim_time_seconds", "The scene's clock, in seconds since the epoch.", "scene")
}

func (s *Set) models() {
	s.requests = s.counter("llm_requests_total", "Model requests.", "provider", "model", "outcome")
	s.requestSec = s.histogram("llm_request_duration_seconds", "Wall time of a model request.", "provider", "model")
	s.tokens = s.counter("llm_tokens_total", "Tokens.", "provider", "model", "token_type")
}

func (s *Set) journal() {
	s.journalFacts = s.one("journal_events_total", "Facts stored.")
	s.journalBytes = s.one("journal_written_bytes_total", "Bytes of stored blocks, after compression.")
	s.journalWait = s.one("journal_wait_seconds_total", "Time that scenes waited because the disk was behind.")
	s.journalBatch = s.bare("journal_batch_events", "Facts of one stored block.", prometheus.ExponentialBuckets(1, 4, 11))
	s.journalCommit = s.bare("journal_commit_duration_seconds", "From the hand-over of a wave to its being durable.", seconds())
	s.snapshots = s.counter("snapshots_total", "Snapshots.", "outcome")
	s.snapshotSec = s.bare("snapshot_duration_seconds", "Time to write a snapshot.", seconds())
	s.snapshotBytes = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "simd", Name: "snapshot_last_size_bytes", Help: "Size of the newest snapshot."})
	s.Registry.MustRegister(s.snapshotBytes)
}

func (s *Set) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "simd", Name: name, Help: help}, labels)
	s.Registry.MustRegister(v)
	return v
}

func (s *Set) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "simd", Name: name, Help: help}, labels)
	s.Registry.MustRegister(v)
	return v
}

// histogram is a classic and a native one at once.
func (s *Set) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(histogramOpts(name, help, seconds()), labels)
	s.Registry.MustRegister(v)
	return v
}

func (s *Set) bare(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(histogramOpts(name, help, buckets))
	s.Registry.MustRegister(h)
	return h
}

func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace: "simd", Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}
}

func (s *Set) one(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "simd", Name: name, Help: help})
	s.Registry.MustRegister(c)
	return c
}

// bound keeps a label below MaxValues.
func (s *Set) bound(label, value string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	values := s.seen[label]
	if values == nil {
		values = map[string]bool{}
		s.seen[label] = values
	}
	if !values[value] {
		if len(values) >= MaxValues {
			s.overflow.WithLabelValues(label).Inc()
			return other
		}
		values[value] = true
	}
	return value
}

// DeadLetter counts an envelope that no mailbox took.
func (s *Set) DeadLetter(k protocol.Kind) { s.deadLetters.WithLabelValues(k.String()).Inc() }
