package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// SceneState is where a scene's life stands.
type SceneState uint8

const (
	SceneStarting    SceneState = iota // being built, or restored from its journal
	SceneRunning                       // time moves
	ScenePaused                        // durable, and nobody is woken
	SceneEnded                         // for good
	SceneInterrupted                   // stopped so that it can be resumed
	SceneFailed                        // stopped by an error
	SceneWaiting                       // for the disk: it goes on when that can be written again
	sceneStates
)

func (s SceneState) String() string {
	return [...]string{"starting", "running", "paused", "ended", "interrupted", "failed", "waiting"}[s]
}

// Phases of a wave beside those of its services, which are named like their
// addressees.
const (
	PhaseTurns = "turns" // agents deliberate, and their decisions are merged
	PhaseKeep  = "keep"  // handing over to the journal
)

type timeVecs struct {
	scenes      [sceneStates]prometheus.Gauge
	transitions [sceneStates]closed
	byScene     cache[sceneKey, sceneSeries]
	perScene    func() []*prometheus.MetricVec // with labels of the scene
	phases      *prometheus.HistogramVec
}

// sceneSeries are the metrics that have a scene label.
type sceneSeries struct {
	steps    prometheus.Counter
	took     prometheus.Observer
	passed   prometheus.Counter
	now      prometheus.Gauge
	failures [2]prometheus.Counter // of filters: error, steps
	commits  prometheus.Counter    // of the world
	blocked  prometheus.Counter    // publishers
	waiting  prometheus.Gauge      // publishers
}

func (s *Set) makeTime() {
	s.area = "scenes and time"
	states := s.gauge("scenes", "Scenes of the process by state.", "state")
	transitions := s.counter("scene_transitions_total", "Scenes that came into a state, or failed to.", "to", "outcome")
	for i := range sceneStates {
		s.time.scenes[i] = states.WithLabelValues(i.String())
		s.time.transitions[i] = newClosed(transitions, []string{"ok", "failed"}, i.String())
	}
	steps := s.counter("sim_steps_total", "Waves closed.", s.sceneLabels()...)
	took := s.histogram("step_duration_seconds", "Wall time of a wave, from its first wake to its hand-over to the journal.", seconds(), s.sceneLabels()...)
	s.time.phases = s.histogram("step_phase_duration_seconds", "Wall time of one phase of a wave: turns, world, knowledge, events, keep.", seconds(), "phase")
	for _, phase := range []string{PhaseTurns, PhaseKeep} {
		s.time.phases.WithLabelValues(phase)
	}
	passed := s.counter("sim_seconds_total", "Scene time that has passed; its rate is the speed of the simulation.", s.sceneLabels()...)
	now := s.gauge("sim_time_seconds", "The scene's clock, in seconds since the epoch.", s.sceneLabels()...)
	s.time.byScene = newCache(s, "scene", sceneKey{overflowed, overflowed}, func(key sceneKey) *sceneSeries {
		v := s.sceneValues(key)
		of := func(fault string) prometheus.Counter {
			return s.events.failures.WithLabelValues(append(slices.Clone(v), fault)...)
		}
		return &sceneSeries{
			steps: steps.WithLabelValues(v...), took: took.WithLabelValues(v...), passed: passed.WithLabelValues(v...),
			now: now.WithLabelValues(v...), failures: [2]prometheus.Counter{of("error"), of("steps")}, commits: s.world.commits.WithLabelValues(v...),
			blocked: s.events.blocked.WithLabelValues(v...), waiting: s.events.waiting.WithLabelValues(v...),
		}
	})
	s.time.perScene = func() []*prometheus.MetricVec {
		return []*prometheus.MetricVec{steps.MetricVec, took.MetricVec, passed.MetricVec, now.MetricVec, s.events.failures.MetricVec, s.world.commits.MetricVec, s.events.blocked.MetricVec, s.events.waiting.MetricVec}
	}
	s.makeFacts()
}

func (s *Set) makeFacts() {
	facts := s.counter("scene_facts_total", "Facts that the machines of live scenes decided.", "kind")
	s.facts = newCache(s, "kind", overflowed, func(kind string) *prometheus.Counter {
		c := facts.WithLabelValues(kind)
		return &c
	})
}
