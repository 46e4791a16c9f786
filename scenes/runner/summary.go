package runner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Summary is what a run came to (docs/formats/summary.md). With one scene the
// fields of that scene stand at the top.
type Summary struct {
	*SceneSummary
	Scenes      []*SceneSummary `json:"scenes,omitempty"` // of a run of several
	RunDir      string          `json:"run_dir"`
	WallSeconds float64         `json:"wall_seconds"`
	Resumable   bool            `json:"resumable"` // at least one scene has not ended
}

// SceneSummary is what one scene came to.
type SceneSummary struct {
	Scene         string       `json:"scene"`
	Seed          uint64       `json:"seed"`
	Digest        string       `json:"digest"`
	Clock         string       `json:"clock"`
	StartTime     time.Time    `json:"start_time"`
	EndTime       time.Time    `json:"end_time"`
	VirtualTime   string       `json:"virtual_time"` // scene time that passed, as text
	SceneSeconds  float64      `json:"scene_seconds"`
	StoppedBy     string       `json:"stopped_by"`
	Ended         bool         `json:"ended"` // false: it can be resumed
	Error         string       `json:"error,omitempty"`
	Waves         uint64       `json:"waves"`
	Agents        int          `json:"agents"`
	GivenUp       int64        `json:"agents_given_up"`
	Deliberations int64        `json:"deliberations"`
	Failed        int64        `json:"deliberations_failed"`
	Reflections   int64        `json:"reflections"`
	Said          int64        `json:"said"`
	Latency       LatencyQ     `json:"deliberation_seconds"`
	Events        EventCounts  `json:"events"`
	World         WorldCounts  `json:"world"`
	Model         ModelCounts  `json:"model"`
	Tools         ToolCounts   `json:"tools"`
	Knowledge     int64        `json:"knowledge_entries_written"`
	Restarts      int64        `json:"restarts"`
	DeadLetters   int64        `json:"dead_letters"`
	Troubles      []string     `json:"troubles,omitempty"` // the first failures, in words
	Journal       Journal      `json:"journal"`
	ByProfile     []Count      `json:"by_profile"`
	ByAgent       []Count      `json:"by_agent,omitempty"` // scenes of at most 200 agents
	Report        []WorldValue `json:"report,omitempty"`   // simulation.report at the end
}

// Count is a name with how often.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// LatencyQ are quantiles of the wall time of a deliberation of this process.
type LatencyQ struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// EventCounts are events by what became of them.
type EventCounts struct {
	Routed    int64   `json:"routed"`
	Delivered int64   `json:"delivered"`
	Refused   int64   `json:"refused"`
	ByType    []Count `json:"by_type"`
	ByReason  []Count `json:"refused_by_reason,omitempty"`
}

// WorldCounts are the world's.
type WorldCounts struct {
	Version   int64 `json:"version"`
	Commits   int64 `json:"commits"`
	Changes   int64 `json:"changes"`
	Conflicts int64 `json:"conflicts"`
	Refused   int64 `json:"refused"`
	Bytes     int   `json:"bytes"`
}

// ModelCounts are the model's.
type ModelCounts struct {
	Calls  int64  `json:"calls"`
	Failed int64  `json:"failed"`
	Tokens Tokens `json:"tokens"`
}

// Tokens in and out.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// ToolCounts are calls of tools and skills.
type ToolCounts struct {
	Calls  int64   `json:"calls"`
	Failed int64   `json:"failed"`
	ByTool []Count `json:"by_tool"`
}

// Journal is what was kept.
type Journal struct {
	Facts      int64  `json:"facts"`
	Bytes      uint64 `json:"bytes"` // of the facts, before compression
	Waves      uint64 `json:"waves"`
	Durability string `json:"durability"`
}

// WorldValue is a reported path with its value at the end and, for numbers,
// what it was over time.
type WorldValue struct {
	Path   string    `json:"path"`
	Value  any       `json:"value"`
	Series []float64 `json:"series,omitempty"`
}

func (r *Runner) summarize() *Summary {
	s := &Summary{RunDir: r.Dir, WallSeconds: time.Since(r.started).Seconds()}
	for _, sc := range r.inOrder() {
		one := r.scene(sc)
		s.Scenes = append(s.Scenes, one)
		s.Resumable = s.Resumable || !one.Ended
	}
	if len(s.Scenes) == 1 {
		s.SceneSummary, s.Scenes = s.Scenes[0], nil
	}
	return s
}

// inOrder lists all scenes of the run as the manifest does.
func (r *Runner) inOrder() []*Scene {
	all := slices.Concat(r.Scenes, r.idle)
	slices.SortFunc(all, func(a, b *Scene) int {
		return cmp.Compare(slices.Index(r.Manifest.Scenes, a.ID), slices.Index(r.Manifest.Scenes, b.ID))
	})
	return all
}

// world is the world of a scene at its end, or as it stands.
func (sc *Scene) world() *world.Document {
	if sc.Run == nil {
		return sc.outcome.State.World
	}
	return sc.Run.World()
}

func (r *Runner) scene(sc *Scene) *SceneSummary {
	if sc.outcome.State == nil {
		return r.notBegun(sc)
	}
	o, t, d := sc.outcome, &sc.outcome.State.Tally, sc.outcome.State.Director
	doc := sc.world()
	s := &SceneSummary{
		Scene: sc.ID, Seed: sc.Seed, Digest: o.Wave.Digest.String(), Clock: string(r.Manifest.Clocks[sc.ID]),
		StartTime: d.Begun().Std(), EndTime: d.Now.Std(), VirtualTime: d.Now.Sub(d.Begun()).String(), SceneSeconds: d.Now.Sub(d.Begun()).Seconds(),
		StoppedBy: o.Reason, Ended: o.Final, Waves: d.Wave, Agents: o.State.Size(), GivenUp: t.GivenUp,
		Deliberations: t.Deliberations, Failed: t.Failed, Reflections: t.Reflections, Said: t.Said,
		Latency: LatencyQ{P50: sc.latency.Quantile(50).Seconds(), P99: sc.latency.Quantile(99).Seconds(), Max: sc.latency.Quantile(100).Seconds()},
		Events:  EventCounts{Routed: t.EventsRouted, Delivered: t.EventsDelivered, Refused: sum(t.Refused), ByType: counts(t.ByEvent), ByReason: counts(t.Refused)},
		World:   WorldCounts{Version: doc.Version(), Commits: t.Commits, Changes: t.Changes, Conflicts: t.Conflicts, Refused: t.WorldRefused, Bytes: doc.Size()},
		Model:   ModelCounts{Calls: t.ModelCalls, Failed: t.ModelFailed, Tokens: Tokens{Input: t.TokensIn, Output: t.TokensOut}},
		Tools:   ToolCounts{Calls: t.Calls, Failed: t.CallsFailed, ByTool: counts(t.ByTool)},
		Journal: Journal{Facts: t.Facts, Bytes: o.Wave.Total, Waves: o.Wave.Number, Durability: string(r.store.Durability())},

		Knowledge: t.Entries, Restarts: t.Restarts, Troubles: t.Troubles, DeadLetters: t.DeadLetters,
		ByProfile: counts(t.ByProfile), ByAgent: counts(t.ByAgent), Report: sc.reported(doc),
	}
	if o.Err != nil {
		s.Error = o.Err.Error()
	}
	return s
}

// reported reads the paths that the scene wants shown.
func (sc *Scene) reported(doc *world.Document) []WorldValue {
	var out []WorldValue
	for _, text := range sc.report {
		path, err := world.ParsePath(text)
		if err != nil {
			continue // validated when the project was loaded
		}
		v, _ := doc.Get(path)
		value := WorldValue{Path: text, Value: v}
		if sc.Run != nil {
			value.Series = sc.Run.Series(text)
		}
		out = append(out, value)
	}
	return out
}

// counts lists a tally, the most frequent first.
func counts(m map[string]int64) []Count {
	out := make([]Count, 0, len(m))
	for _, name := range protocol.SortedKeys(m) {
		out = append(out, Count{name, m[name]})
	}
	slices.SortStableFunc(out, func(a, b Count) int {
		switch {
		case a.Count != b.Count:
			return int(min(1, max(-1, b.Count-a.Count)))
		default:
			return strings.Compare(a.Name, b.Name)
		}
	})
	return out
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// all lists the scenes of the run.
func (s *Summary) all() []*SceneSummary {
	if s.SceneSummary != nil {
		return []*SceneSummary{s.SceneSummary}
	}
	return s.Scenes
}

// Digests names the digest of every scene, in the order of the run.
func (s *Summary) Digests() string {
	var list []string
	for _, sc := range s.all() {
		list = append(list, sc.Digest)
	}
	return strings.Join(list, " ")
}

// Seeds are the seeds of the scenes.
func (s *Summary) Seeds() map[string]uint64 {
	seeds := map[string]uint64{}
	for _, sc := range s.all() {
		seeds[sc.Scene] = sc.Seed
	}
	return seeds
}

// IDs are the scenes of the run.
func (s *Summary) IDs() (ids []string) {
	for _, sc := range s.all() {
		ids = append(ids, sc.Scene)
	}
	return ids
}

// WavesOf is how far a scene of the run came: durable waves.
func (s *Summary) WavesOf(scene string) uint64 {
	for _, sc := range s.all() {
		if sc.Scene == scene {
			return sc.Journal.Waves
		}
	}
	return 0
}
