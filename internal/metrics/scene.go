package metrics

import (
	"cmp"
	"sync"
	"time"

	"tavernsim/protocol"
)

// Scene counts for one scene. What it does not say itself, its Set says: a
// metric without a scene label is the same for all scenes. Its methods, but for
// Declare, are safe for concurrent use.
type Scene struct {
	*Set
	series *sceneSeries

	types named[eventSeries]
	tools named[toolSeries]

	mu    sync.Mutex // guards what follows
	state SceneState
	gone  bool          // taken out of simd_scenes
	last  protocol.Time // of the scene's clock
}

// Scene returns the counters of a scene of the process' only run, which is starting.
func (s *Set) Scene(id string) *Scene { return s.Run("").Scene(id) }

// scene returns the counters of a scene that is starting.
func (s *Set) scene(key sceneKey) *Scene {
	sc := &Scene{Set: s, series: s.time.byScene.get(key)}
	if before := s.lives.replace(key, sc); before != nil {
		before.leave()
	}
	s.time.scenes[SceneStarting].Inc()
	s.time.transitions[SceneStarting].inc("ok")
	return sc
}

// Declared is what the files of a project name: the label values that are known
// before the scene runs.
type Declared struct {
	Profiles   []string
	EventTypes []string // subscribed to, or published by a workflow; nil = not known
	Tools      []string // tools, and skills as "workflow:<id>"; nil = not known
	KBs        []string
	Provider   string // of the models
	Models     []string
	Services   []string // of the scene
	Facts      []string // kinds of all that its machines may decide
}

// Declare makes the counters of known label values stand at 0. Where event types
// or tools are known, the scene counts every other one as "other" from then on:
// those are values that a model can invent. Call it once, before the scene runs.
func (s *Scene) Declare(d Declared) {
	for _, p := range d.Profiles {
		s.Profile(p)
	}
	for _, name := range d.Services {
		s.agents.actors.get(name)
		s.time.phases.WithLabelValues(name)
	}
	for _, kind := range d.Facts {
		s.facts.get(kind)
	}
	for _, kb := range d.KBs {
		s.agents.knowledge.get(kb)
	}
	if d.Provider != "" {
		s.model(d.Provider, "")
		for _, m := range d.Models {
			s.model(d.Provider, m)
		}
	}
	if d.EventTypes != nil {
		s.types = resolve(s.events.types, d.EventTypes)
	}
	if d.Tools != nil {
		s.tools = resolve(s.agents.tools, d.Tools)
	}
}

// named has the series of the values that a project's files name, and that of all others. Without
// known ones every value is taken, up to MaxValues.
type named[V any] struct {
	known map[string]*V
	rest  *V
}

// resolve looks the declared values up once.
func resolve[V any](c cache[string, V], values []string) named[V] {
	n := named[V]{make(map[string]*V, len(values)), c.get(undeclared)}
	for _, v := range values {
		n.known[v] = c.get(v)
	}
	return n
}

func (n *named[V]) get(all cache[string, V], value string) *V {
	if n.known == nil {
		return all.get(value)
	}
	return cmp.Or(n.known[value], n.rest)
}

// Deliberated counts an ended deliberation.
func (s *Scene) Deliberated(profile, outcome string) { s.Profile(profile).Deliberated(outcome) }

// Took measures a deliberation.
func (s *Scene) Took(profile string, d time.Duration) { s.Profile(profile).Took(d) }

// Failed counts an agent's actor that failed.
func (s *Scene) Failed(profile string, forGood bool) { s.Profile(profile).Failed(forGood) }

// ActorFailed counts a failed service that is restarted.
func (s *Scene) ActorFailed(actor string) { s.Set.ActorFailed(actor, false) }

// ActorGivenUp counts a failed service that ends the scene.
func (s *Scene) ActorGivenUp(actor string) { s.Set.ActorFailed(actor, true) }

// Routed counts an event of an agent and its deliveries.
func (s *Scene) Routed(eventType string, receivers int) {
	s.Published(eventType, SourceAgent, receivers)
}

// Published counts a routed event and its deliveries.
func (s *Scene) Published(eventType string, from Source, receivers int) {
	s.eventType(eventType).add(from, receivers)
}

// Released counts deliveries of an event that was held.
func (s *Scene) Released(eventType string, receivers int) {
	s.eventType(eventType).delivered.Add(float64(receivers))
}

func (s *Scene) eventType(name string) *eventSeries { return s.types.get(s.events.types, name) }

// Called counts a call of a tool.
func (s *Scene) Called(tool, outcome string, n int64) { s.tool(tool).calls.of(outcome).Add(float64(n)) }

func (s *Scene) tool(name string) *toolSeries { return s.tools.get(s.agents.tools, name) }

// FilterFailed counts a filter that failed on an event, or used up its steps.
func (s *Scene) FilterFailed(steps bool) {
	if steps {
		s.series.failures[1].Inc()
	} else {
		s.series.failures[0].Inc()
	}
}

// Blocked counts an event whose publisher has to wait.
func (s *Scene) Blocked() { s.series.blocked.Inc() }

// PublishersWait says how many agents wait for receivers.
func (s *Scene) PublishersWait(n int) { s.series.waiting.Set(float64(n)) }

// WorldCommitted counts a new version of the world.
func (s *Scene) WorldCommitted() { s.series.commits.Inc() }

// Phase measures one phase of a wave.
func (s *Scene) Phase(phase string, d time.Duration) {
	s.time.phases.WithLabelValues(phase).Observe(d.Seconds())
}

// WaveClosed counts a wave and moves the scene's clock.
func (s *Scene) WaveClosed(took time.Duration, now protocol.Time) {
	s.series.steps.Inc()
	s.series.took.Observe(took.Seconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != 0 && now > s.last {
		s.series.passed.Add(now.Sub(s.last).Seconds())
	}
	s.last = now
	s.series.now.Set(float64(now) / 1e9)
}

// Became moves the scene into a state.
func (s *Scene) Became(to SceneState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.state == to {
		return
	}
	s.time.scenes[s.state].Dec()
	s.time.scenes[to].Inc()
	s.time.transitions[to].inc("ok")
	s.state = to
	s.models.prefixes.Runs(s, to < SceneEnded)
}

// CouldNot counts a transition that did not happen: the scene stays what it is.
func (s *Scene) CouldNot(to SceneState) { s.time.transitions[to].inc("failed") }

// leave forgets a life that ended without the scene's end: the next one counts.
func (s *Scene) leave() {
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	if state == SceneFailed || state == SceneWaiting {
		s.Forget()
	}
}

// lives holds the newest life of each scene.
type lives struct {
	mu    sync.Mutex
	byKey map[sceneKey]*Scene
}

func (l *lives) replace(key sceneKey, sc *Scene) (before *Scene) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = map[sceneKey]*Scene{}
	}
	before, l.byKey[key] = l.byKey[key], sc
	return before
}

func (l *lives) get(key sceneKey) *Scene {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byKey[key]
}

// take removes the lives of a run.
func (l *lives) take(run string) (keys []sceneKey, scenes []*Scene) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, sc := range l.byKey {
		if key.run == run {
			keys, scenes = append(keys, key), append(scenes, sc)
			delete(l.byKey, key)
		}
	}
	return keys, scenes
}

// state of the newest life; starting when there was none.
func (l *lives) state(key sceneKey) SceneState {
	sc := l.get(key)
	if sc == nil {
		return SceneStarting
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.state
}

// Forget takes the scene out of simd_scenes. Its counters stay: Prometheus
// never wants to see one vanish.
func (s *Scene) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		s.gone = true
		s.time.scenes[s.state].Dec()
		s.models.prefixes.Runs(s, false)
	}
}
