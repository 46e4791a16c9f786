package rundir

import (
	"cmp"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/budget"
	"tavernsim/engine/script"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/ownfile"
)

// Summary is the result of a run (docs/formats/summary.md). With one scene, the fields
// of that scene are at the top.
type Summary struct {
	*SceneSummary
	Scenes      []*SceneSummary `json:"scenes,omitempty"` // of a run of several
	RunDir      string          `json:"run_dir"`
	WallSeconds float64         `json:"wall_seconds"`
	Resumable   bool            `json:"resumable"` // at least one scene has not ended
}

// SceneSummary is the result of one scene.
type SceneSummary struct {
	Scene         string         `json:"scene"`
	Seed          uint64         `json:"seed"`
	Digest        string         `json:"digest"`
	Clock         string         `json:"clock"`
	StartTime     time.Time      `json:"start_time"`
	EndTime       time.Time      `json:"end_time"`
	VirtualTime   string         `json:"virtual_time"` // scene time that passed, as text
	SceneSeconds  float64        `json:"scene_seconds"`
	StoppedBy     string         `json:"stopped_by"`
	Outcome       *script.Result `json:"outcome,omitempty"` // by the script; nil = nothing was said
	Ended         bool           `json:"ended"`             // false: it can be resumed
	Error         string         `json:"error,omitempty"`
	Waves         uint64         `json:"waves"`
	Agents        int            `json:"agents"`
	GivenUp       int64          `json:"agents_given_up"`
	Deliberations int64          `json:"deliberations"`
	Failed        int64          `json:"deliberations_failed"`
	Reflections   int64          `json:"reflections"`
	Said          int64          `json:"said"`
	Latency       LatencyQ       `json:"deliberation_seconds"`
	Events        EventCounts    `json:"events"`
	World         WorldCounts    `json:"world"`
	Model         ModelCounts    `json:"model"`
	Budgets       []Budget       `json:"budgets,omitempty"`       // the widest first; of agents those that asked
	Schedule      *Schedule      `json:"schedule,omitempty"`      // nil = no turn ran ahead
	Critical      *CriticalPath  `json:"critical_path,omitempty"` // of this process, by the wall clock; nil = no wave waited for a model
	Tools         ToolCounts     `json:"tools"`
	Knowledge     int64          `json:"knowledge_entries_written"`
	Restarts      int64          `json:"restarts"`
	DeadLetters   int64          `json:"dead_letters"`
	Refusals      []Refused      `json:"refusals,omitempty"` // all that was refused, the most frequent first
	Troubles      []string       `json:"troubles,omitempty"` // the first failures, in words
	Journal       Journal        `json:"journal"`
	ByProfile     []Count        `json:"by_profile"`
	ByAgent       []Count        `json:"by_agent,omitempty"` // scenes of at most 200 agents
	Report        []WorldValue   `json:"report,omitempty"`   // simulation.report at the end
}

// Schedule is what came of turns that ran ahead of the committed run, in this process.
type Schedule struct {
	Name           string   `json:"name"` // tracked, speculative
	Turns          int64    `json:"turns"`
	Used           int64    `json:"turns_used"`
	Calls          int64    `json:"calls"`
	CallsUsed      int64    `json:"calls_used"`
	CallsWasted    int64    `json:"calls_wasted"`
	CallsAhead     int64    `json:"calls_ahead"` // neither yet: their turns had not ended when the scene stopped
	Paid           Spent    `json:"paid"`        // by those calls, as far as they were answered
	PaidUnused     Spent    `json:"paid_unused"` // of it, what no turn has used
	Undone         int64    `json:"undone"`
	Panics         int64    `json:"panics"`
	BarrierSeconds float64  `json:"barrier_seconds"`
	WallSeconds    float64  `json:"wall_seconds"`
	GaveUp         string   `json:"gave_up,omitempty"`
	Advice         []string `json:"advice,omitempty"`
}

// Count is a name with how often.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Counts lists a tally, the most frequent first.
func Counts(m map[string]int64) []Count {
	list := make([]Count, 0, len(m))
	for _, name := range protocol.SortedKeys(m) {
		list = append(list, Count{name, m[name]})
	}
	slices.SortStableFunc(list, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// Refused is something that was refused for one reason.
type Refused struct {
	What    string `json:"what"` // event, delivery, world, command, knowledge, mailbox, call
	Reason  string `json:"reason"`
	Count   int64  `json:"count"`
	Setting string `json:"setting,omitempty"` // that governs it
}

// LatencyQ are quantiles of the wall time of a deliberation of this process.
type LatencyQ struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// EventCounts counts events by outcome.
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
	Calls   int64              `json:"calls"`
	Failed  int64              `json:"failed"`
	Tokens  Tokens             `json:"tokens"`
	Answers *Answers           `json:"answers,omitempty"`
	ByModel []history.ModelUse `json:"by_model,omitempty"` // of models at endpoints
	Lost    Spent              `json:"lost,omitzero"`      // what budgets count, at most, for requests whose answer no turn took
}

// Answers count who answered for models at endpoints, since the run was last started.
type Answers struct {
	Reused   int64 `json:"reused"`   // recorded answers
	Stored   int64 `json:"stored"`   // of these out of the store
	Shared   int64 `json:"shared"`   // requests that got the answer to another one
	Asked    int64 `json:"asked"`    // attempts at endpoints
	Paid     int64 `json:"paid"`     // nano-dollars for the answers of endpoints
	Saved    int64 `json:"saved"`    // nano-dollars that the recorded and shared answers cost when they were asked for
	Unpriced int64 `json:"unpriced"` // answers of endpoints whose price is not known

	Missed int64  `json:"missed,omitempty"`       // questions without a recorded answer that nobody was asked
	First  string `json:"missed_first,omitempty"` // deliberation of the first of them: AGENT/TURN
}

// Budget is one budget of a scene, and what became of it.
type Budget struct {
	Ledger      string `json:"ledger"` // run (the scene's share), scene, tools, endpoint:NAME (its share), profile:ID, agent:ID
	Limit       Spent  `json:"limit"`  // 0 = none
	Window      string `json:"window"` // run, day, or WindowWallDay
	OnExhausted string `json:"on_exhausted"`
	Used        Spent  `json:"used"`  // in the present window
	Total       Spent  `json:"total"` // in all of them
	Saved       Spent  `json:"saved"` // what recorded answers would have taken
	Refused     int64  `json:"refused"`
	Degraded    int64  `json:"degraded"` // requests that another model answered
}

// Exceeded reports whether models took more than the budget has: a server answered beyond max_tokens, or the run goes on
// with less; or whether more calls of tools count than it has. Time and output of tools have no bound before the answer is
// there, and a budget a day is the endpoint's.
func (b *Budget) Exceeded() bool {
	return b.Window != WindowWallDay && budget.Exceeded(b.Ledger, budget.Amount(b.Used), budget.Amount(b.Limit))
}

// Spent is what requests to models, or calls of tools, took.
type Spent struct {
	Tokens int64 `json:"tokens,omitempty"`
	Calls  int64 `json:"calls,omitempty"`
	Nano   int64 `json:"nano,omitempty"`  // nano-dollars
	Micro  int64 `json:"micro,omitempty"` // time of tools, in microseconds
	Bytes  int64 `json:"bytes,omitempty"` // of outputs of tools
}

// WindowWallDay is the window of an endpoint's budget a day, which all runs share: Used is what the
// scene took of it, on all days.
const WindowWallDay = "wall_day"

// Budgets lists the budgets of a scene.
func Budgets(lines []budget.Line) (list []Budget) {
	for _, l := range lines {
		b := Budget{Ledger: l.Name, Limit: Spent(l.Amount), Window: budget.WindowRun, OnExhausted: l.On.String(), Used: Spent(l.Used), Total: Spent(l.Total), Saved: Spent(l.Saved), Refused: l.Refused, Degraded: l.Changed}
		if l.Daily {
			b.Window = budget.WindowDay
		}
		if l.Wall != (budget.Amount{}) {
			b.Window, b.Limit = WindowWallDay, Spent(l.Wall)
		}
		list = append(list, b)
	}
	return list
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

	// Since the run was last started, with --tools replay:RUN.
	Replayed int64 `json:"replayed,omitempty"` // got the answer that was recorded
	Missed   int64 `json:"missed,omitempty"`   // failed because none was
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
	Path    string    `json:"path"`
	Value   any       `json:"value"`
	Series  Samples   `json:"series,omitempty"`
	Seconds []float64 `json:"series_seconds,omitempty"` // scene time of each sample
}

// Samples are numbers; NaN, in JSON null, where there was none.
type Samples []float64

// MarshalJSON implements json.Marshaler.
func (s Samples) MarshalJSON() ([]byte, error) {
	list := make([]any, len(s))
	for i, f := range s {
		if !math.IsNaN(f) {
			list[i] = f
		}
	}
	return json.Marshal(list)
}

// Write puts the summary into its run directory.
func (s *Summary) Write(dir string) error { return writeJSON(filepath.Join(dir, parts.Summary), s) }

func readSummary(dir string) (*Summary, error) {
	s, file := &Summary{}, filepath.Join(dir, parts.Summary)
	data, err := ownfile.ReadAll(file, ownfile.MaxFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, protocol.Errorf(protocol.KindCorrupt, "%s: %w", file, err)
	}
	s.Scenes = slices.DeleteFunc(s.Scenes, func(sc *SceneSummary) bool { return sc == nil }) // null
	return s, nil
}

// All lists the scenes of the run.
func (s *Summary) All() []*SceneSummary {
	if s.SceneSummary != nil {
		return []*SceneSummary{s.SceneSummary}
	}
	return s.Scenes
}

// Digests names the digest of every scene, in the order of the run.
func (s *Summary) Digests() string {
	var list []string
	for _, sc := range s.All() {
		list = append(list, sc.Digest)
	}
	return strings.Join(list, " ")
}

// IDs are the scenes of the run.
func (s *Summary) IDs() (ids []string) {
	for _, sc := range s.All() {
		ids = append(ids, sc.Scene)
	}
	return ids
}

// WavesOf is how far a scene of the run came: durable waves.
func (s *Summary) WavesOf(scene string) uint64 {
	for _, sc := range s.All() {
		if sc.Scene == scene {
			return sc.Journal.Waves
		}
	}
	return 0
}
