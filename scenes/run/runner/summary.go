package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/secret"
	"tavernsim/engine/world"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines/tally"
	"tavernsim/scenes/run/rundir"
)

func (r *Runner) summarize() *rundir.Summary {
	s := &rundir.Summary{RunDir: r.Dir, WallSeconds: time.Since(r.started).Seconds()}
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
		return sc.outcome.State.View.World()
	}
	return sc.Run.World()
}

func (r *Runner) scene(sc *Scene) *rundir.SceneSummary {
	if sc.outcome.State == nil {
		return r.notBegun(sc)
	}
	o, t, d := sc.outcome, &sc.outcome.State.Tally, sc.outcome.State.Agenda
	doc := sc.world()
	s := &rundir.SceneSummary{
		Scene: sc.ID, Seed: sc.Seed, Digest: o.Wave.Digest.String(), Clock: string(r.Manifest.Clocks[sc.ID]),
		StartTime: d.Begun().Std(), EndTime: d.Now.Std(), VirtualTime: d.Now.Sub(d.Begun()).String(), SceneSeconds: d.Now.Sub(d.Begun()).Seconds(),
		StoppedBy: o.Reason, Ended: o.Final, Waves: d.Wave, Agents: o.State.Size(), GivenUp: t.GivenUp,
		Deliberations: t.Deliberations, Failed: t.Failed, Reflections: t.Reflections, Said: t.Said,
		Latency: rundir.LatencyQ{P50: sc.latency.Quantile(50).Seconds(), P99: sc.latency.Quantile(99).Seconds(), Max: sc.latency.Quantile(100).Seconds()},
		Events:  rundir.EventCounts{Routed: t.EventsRouted, Delivered: t.EventsDelivered, Refused: sum(t.Refused), ByType: rundir.Counts(t.ByEvent), ByReason: rundir.Counts(t.Refused)},
		World:   rundir.WorldCounts{Version: doc.Version(), Commits: t.Commits, Changes: t.Changes, Conflicts: t.Conflicts, Refused: t.WorldRefused, Bytes: doc.Size()},
		Model:   rundir.ModelCounts{Calls: t.ModelCalls, Failed: t.ModelFailed, Tokens: rundir.Tokens{Input: t.TokensIn, Output: t.TokensOut}, Answers: sc.answers()},
		Budgets: rundir.Budgets(o.State.Spending.Lines()),
		Tools:   rundir.ToolCounts{Calls: t.Calls, Failed: t.CallsFailed, ByTool: rundir.Counts(t.ByTool)},
		Journal: rundir.Journal{Facts: t.Facts, Bytes: o.Wave.Total, Waves: o.Wave.Number, Durability: string(r.store.Durability())},

		Knowledge: t.Entries, Restarts: t.Restarts, Troubles: t.Troubles, DeadLetters: t.DeadLetters,
		ByProfile: rundir.Counts(t.ByProfile), ByAgent: rundir.Counts(t.ByAgent), Refusals: refusals(t.Refusals), Report: sc.reported(doc),
	}
	s.Model.ByModel, s.Model.Lost = r.byModel(sc)
	s.Tools.Replayed, s.Tools.Missed = sc.tools.Replayed()
	s.Schedule = sc.ahead()
	if sc.Run != nil {
		paths, of := sc.Run.Paths()
		s.Critical = rundir.Critical(paths, of.Name, of.Profile)
	}
	if st, _ := o.State.Script(); st != nil {
		s.Outcome = st.Outcome.Result()
	}
	if o.Err != nil {
		s.Error = o.Err.Error()
	}
	return s
}

// ahead is nil for a scene of which no turn ran ahead.
func (sc *Scene) ahead() *rundir.Schedule {
	if sc.Run == nil {
		return nil
	}
	c := sc.Run.Ahead()
	if c == nil {
		return nil
	}
	return &rundir.Schedule{
		Name: c.Name, Turns: c.Turns, Used: c.Used, Calls: c.Calls.Asked, CallsUsed: c.Calls.Used, CallsWasted: c.Calls.Wasted, CallsAhead: c.Calls.Ahead(), Undone: c.Undone + c.Missed, Panics: c.Panics,
		Paid: rundir.Spent(c.Paid), PaidUnused: rundir.Spent(c.Vain),
		BarrierSeconds: c.Calls.Barrier.Seconds(), WallSeconds: c.Wall.Seconds(), GaveUp: c.Off, Advice: c.Advice,
	}
}

// answers is nil for a scene that asked no endpoint and took no recorded answer.
func (sc *Scene) answers() *rundir.Answers {
	if sc.models == nil {
		return nil
	}
	c := sc.models.Counts()
	if c.Reused+c.Shared+c.Asked+c.Missed == 0 {
		return nil
	}
	a := &rundir.Answers{Reused: c.Reused, Stored: c.Stored, Shared: c.Shared, Asked: c.Asked, Paid: c.Paid, Saved: c.Saved, Unpriced: c.Unpriced, Missed: c.Missed}
	if c.Missed > 0 {
		a.First = fmt.Sprintf("%s/%d", c.First.Agent, c.First.Turn)
	}
	return a
}

// byModel reads what endpoints gave to a scene, out of its whole journal: processes before this one
// asked, too. It is nil for a scene whose models are all scripts. lost is that of [history.Models].
func (r *Runner) byModel(sc *Scene) (list []history.ModelUse, lost rundir.Spent) {
	if len(r.Manifest.Endpoints) == 0 && r.Manifest.Answers == 0 || sc.journal == nil {
		return nil, lost
	}
	list, most, err := history.Models(sc.journal, 0)
	if err != nil {
		r.log.Warn("the summary lacks what models cost", "scene", sc.ID, "error", err)
	}
	return list, rundir.Spent(most)
}

// reported reads the paths of simulation.report, without secrets.
func (sc *Scene) reported(doc *world.Document) []rundir.WorldValue {
	var out []rundir.WorldValue
	for _, text := range sc.report {
		path, err := world.ParsePath(text)
		if err != nil {
			continue // validated when the project was loaded
		}
		v, there := doc.Get(path)
		v, _ = secret.Hide(v)
		hidden := secret.OnPath(text)
		if hidden && there {
			v = secret.Redacted
		}
		value := rundir.WorldValue{Path: text, Value: v}
		if sc.Run != nil && !hidden {
			value.Seconds, value.Series = sc.Run.Series(text)
		}
		out = append(out, value)
	}
	return out
}

func refusals(m map[string]int64) (out []rundir.Refused) {
	for _, c := range rundir.Counts(m) {
		what, reason, _ := strings.Cut(c.Name, " ")
		out = append(out, rundir.Refused{What: what, Reason: reason, Count: c.Count, Setting: tally.Setting(what, reason)})
	}
	return out
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}
