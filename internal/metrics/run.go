package metrics

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Run is what one run of a process counts: its scenes have their own lives, clocks
// and readiness, also when another run has scenes with the same ids. In a set that
// is not ByRun, their series are shared by id.
type Run struct {
	*Set
	name string
}

// Run is the run of a name that is unique in the process; "" is the only run of a
// process that has one.
func (s *Set) Run(name string) *Run { return &Run{s, name} }

// SeveralRuns reports whether the set tells runs apart.
func (s *Set) SeveralRuns() bool { return s.opts.byRun }

// Scene returns the counters of a scene that is starting.
func (r *Run) Scene(id string) *Scene { return r.scene(sceneKey{r.name, id}) }

// Waits moves a scene that stopped before its end into the state waiting.
func (r *Run) Waits(id string) {
	key := sceneKey{r.name, id}
	if is := r.lives.state(key); is == SceneFailed || is == SceneInterrupted {
		r.lives.get(key).Became(SceneWaiting)
	}
}

// Ended counts a scene that had ended before the process, or this life, began.
func (r *Run) Ended(id string) {
	if r.lives.state(sceneKey{r.name, id}) != SceneEnded {
		r.Scene(id).Became(SceneEnded)
	}
}

// Ready says that this run is no reason why the process is not.
func (r *Run) Ready() { r.ready.set(r.name, "") }

// NotReady keeps the process from being ready until Ready or Forget.
func (r *Run) NotReady(why string) { r.ready.set(r.name, why) }

// Forget takes the run out of the process: its scenes out of simd_scenes and, in a set
// that is ByRun, its series. Nothing of the run may count any more.
func (r *Run) Forget() {
	keys, scenes := r.lives.take(r.name)
	for _, sc := range scenes {
		sc.Forget()
	}
	if r.opts.byRun {
		for _, v := range r.time.perScene() {
			v.DeletePartialMatch(prometheus.Labels{"run": r.name})
		}
		r.time.byScene.drop(keys)
	}
	r.ready.set(r.name, "")
}

// sceneKey names a scene of a run.
type sceneKey struct{ run, scene string }

// sceneLabels are the labels of a metric that each scene has.
func (s *Set) sceneLabels(more ...string) []string {
	if s.opts.byRun {
		return append([]string{"run", "scene"}, more...)
	}
	return append([]string{"scene"}, more...)
}

func (s *Set) sceneValues(key sceneKey) []string {
	if s.opts.byRun {
		return []string{key.run, key.scene}
	}
	return []string{key.scene}
}

// readiness is why a process is not ready, by run; "" = the process itself.
type readiness struct {
	mu   sync.Mutex
	whys map[string]string
}

// set notes why a run is not ready; "" = it is.
func (r *readiness) set(run, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whys == nil {
		r.whys = map[string]string{}
	}
	if r.whys[run] = why; why == "" {
		delete(r.whys, run)
	}
}

// WhyNotReady is what /readyz answers; nil = the set is ready.
func (s *Set) WhyNotReady() error { return s.ready.why() }

func (r *readiness) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, run := range slices.Sorted(maps.Keys(r.whys)) {
		all = append(all, strings.TrimPrefix(run+": "+r.whys[run], ": "))
	}
	if all == nil {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}
