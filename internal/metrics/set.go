package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

const namespace = "simd"

// Set is the collectors of a process.
type Set struct {
	Registry *prometheus.Registry

	opts    options
	area    string       // of docs/metrics.md, while collectors are made
	catalog []definition // everything registered, in the order of docs/metrics.md

	overflow *prometheus.CounterVec
	agents   agentVecs
	hands    toolVecs
	events   eventVecs
	world    worldVecs
	space    spaceSeries
	plays    playSeries
	time     timeVecs
	models   modelVecs
	journal  journalVecs
	facts    cache[string, prometheus.Counter]
	replayed prometheus.Counter
	diverged prometheus.Counter
	watched  *watched
	descs    []*prometheus.Desc // of watched
	lives    lives
	stuck    stuck
	ready    readiness
}

// definition is one line of docs/metrics.md.
type definition struct {
	area, name, kind, help string
	labels                 []string
}

type options struct {
	version string
	byRun   bool
}

// Option of New.
type Option func(*options)

// Version is what simd_build_info says; the revision is the build's own.
func Version(v string) Option { return func(o *options) { o.version = v } }

// ByRun gives every metric with a scene label a run label before it: for a process
// that has several runs, of one scene maybe. See [Set.Run].
func ByRun() Option { return func(o *options) { o.byRun = true } }

// New registers every collector, those of the Go runtime and the process too.
// The set is not ready until [Set.Ready].
func New(opts ...Option) *Set {
	s := &Set{Registry: prometheus.NewRegistry()}
	for _, o := range opts {
		o(&s.opts)
	}
	s.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.area = "self"
	s.overflow = s.counter("metrics_label_overflow_total", "Counts that went to __other__ because the label has its 200 values.", "label")
	s.makeProcess()
	s.makeStuck()
	s.makeTime()
	s.makeAgents()
	s.makeTools()
	s.makeEvents()
	s.makeWorld()
	s.makeSpace()
	s.makePlays()
	s.makeModels()
	s.makeJournal()
	s.watched = s.makeWatched()
	s.NotReady("starting")
	return s
}

// seconds are histogram buckets from 10 µs to about 42 s, doubling.
func seconds() []float64 { return prometheus.ExponentialBuckets(10e-6, 2, 23) }

func (s *Set) note(name, kind, help string, labels []string) {
	s.catalog = append(s.catalog, definition{area: s.area, name: namespace + "_" + name, kind: kind, help: help, labels: labels})
}

func (s *Set) counter(name, help string, labels ...string) *prometheus.CounterVec {
	s.note(name, "counter", help, labels)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	s.Registry.MustRegister(v)
	return v
}

// one is a counter without labels.
func (s *Set) one(name, help string) prometheus.Counter {
	return s.counter(name, help).WithLabelValues()
}

func (s *Set) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	s.note(name, "gauge", help, labels)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	s.Registry.MustRegister(v)
	return v
}

// computed is a gauge that a function answers.
func (s *Set) computed(name, help string, read func() float64) {
	s.note(name, "gauge", help, nil)
	s.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, read))
}

// The bounds of a native histogram: buckets grow by a tenth, which a quantile's
// error stays below; a hundred of them reach over four decades, beyond that the
// resolution halves.
const (
	nativeFactor     = 1.1
	nativeMaxBuckets = 100
)

// histogram is a classic and a native one at once.
func (s *Set) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	s.note(name, "histogram", help, labels)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeMaxBuckets, NativeHistogramMinResetDuration: time.Hour}, labels)
	s.Registry.MustRegister(v)
	return v
}

// Fact counts facts that a machine of a live scene decided.
func (s *Set) Fact(kind string, n int64) { (*s.facts.get(kind)).Add(float64(n)) }

// Replayed counts facts that were folded from a journal.
func (s *Set) Replayed(facts int) { s.replayed.Add(float64(facts)) }

// Diverged counts a replay or repetition whose digest was not the expected one.
func (s *Set) Diverged() { s.diverged.Inc() }
