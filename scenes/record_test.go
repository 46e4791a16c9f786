package scenes_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/workflow"
	"tavernsim/llm/llmtest"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
)

var (
	record  = flag.String("record", "", "name of a release: record its runs in testdata/histories")
	scripts = flag.String("scripts", "", "record runs of these scripts alone, separated by spaces")
)

// recordRuns writes the archives of a release.
func recordRuns(t *testing.T, release string) {
	r := &recorder{t: t, release: release, root: t.TempDir()}
	if *scripts != "" {
		r.scripts(*scripts)
		r.write("good")
		return
	}
	r.scripts("acknowledged blocked calls commands conflict debounce drops expiry interrupt lanes leases lifecycle loops orders own_commands permissions policy reflect request_id tool_tasks report reviews storm_filter subscriptions throttle transactions wave_bytes")
	r.tasks()
	r.town()
	r.live()
	r.letters()
	r.suggestions()
	r.goals()
	r.givenUp()
	r.oracle()
	r.unknown()
	r.write("good")
	r.root = t.TempDir()
	r.bad()
	r.write("bad")
}

func (r *recorder) scripts(names string) {
	for name := range strings.FieldsSeq(names) {
		data, err := os.ReadFile("testdata/script/" + name + ".txtar")
		if err != nil {
			r.t.Fatal(err)
		}
		archive := txtar.Parse(data)
		set := func(id string) scenestest.Settings {
			return scenestest.Settings{Snapshots: 25, People: asksPeople(data), Tools: toolsOf(name), Orders: ordersOf(r.t, archive, "orders.yaml", id)}
		}
		if ids := together(archive.Comment); ids != nil {
			r.begin(name, string(data), ids...).Beside(r.t, ids...).Run(r.t, func(s *scenestest.Scene) scenestest.Settings { return set(s.Def.Definition.ID) })
			continue
		}
		r.begin(name, string(data)).Run(r.t, set(""))
	}
}

// together are the scenes that the commands of a script run together; nil = they run one.
func together(commands []byte) []string {
	_, after, found := bytes.Cut(commands, []byte(" scenes="))
	if !found {
		return nil
	}
	return strings.Split(strings.Fields(string(after))[0], ",")
}

// asksPeople reports whether the run of a script asks people.
func asksPeople(script []byte) bool { return bytes.Contains(script, []byte("\nrun interactive ")) }

// toolsOf is the mode of the tools of a script's project.
func toolsOf(script string) tooling.Mode {
	if script == "tool_tasks" || script == "report" {
		return tooling.Mock
	}
	return ""
}

type recorder struct {
	t       *testing.T
	release string
	root    string // holds a folder for each run
}

// begin makes the run directory of scenes of a project; none = its default one.
func (r *recorder) begin(name, text string, ids ...string) *scenestest.Scene {
	r.t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), shakyKinds(), oracleTool)
	if err != nil {
		r.t.Fatal(name, err)
	}
	def, err := p.Scene("")
	if err != nil {
		r.t.Fatal(err)
	}
	s := &scenestest.Scene{Project: p, Def: def, Dir: filepath.Join(r.root, name, rundir.JournalDir)}
	r.manifest(name, s, "", ids...)
	return s
}

func (r *recorder) manifest(name string, s *scenestest.Scene, clock agenda.ClockKind, ids ...string) {
	id, sim := s.Def.Definition.ID, s.Def.Definition.Simulation
	if ids == nil {
		ids = []string{id}
	}
	m := &rundir.Manifest{
		Version: rundir.ManifestVersion, Run: name, Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Program: r.release,
		Project: s.Project.ID(), ProjectHash: s.Project.Hash(), Files: rundir.Files(s.Project), Scenes: ids,
		Interactive: name == "takeover" || name == "asks",
		Seeds:       map[string]uint64{id: 1}, Clocks: map[string]agenda.ClockKind{id: sim.Clock}, Durability: persistence.Process,
	}
	if sim.Seed != nil {
		m.Seeds[id] = *sim.Seed
	}
	for _, id := range ids[1:] { // linked ones have no seed of their own
		m.Seeds[id], m.Clocks[id] = 1, sim.Clock
	}
	if clock != "" {
		m.Clocks[id] = clock
	}
	if _, err := rundir.Make(filepath.Join(r.root, name), "", m, s.Project, nil); err != nil {
		r.t.Fatal(err)
	}
}

// town is the town, interrupted twice, with failures of an agent, of a service and of
// the scene itself, and a fork of it that goes on with another seed.
func (r *recorder) town() {
	s := r.begin("town", string(txtar.Format(scenestest.TownArchive())))
	for i, fail := range []func(*scenes.Options){scenes.FailAt(map[string]int64{"c_3": 9}), scenes.FailService(machines.ActorWorld, 9, 1), scenes.FailScene(60)} {
		set := scenestest.Settings{Snapshots: 150, InterruptAt: uint64(6 + 6*i)}
		run, err := s.StartWith(set, fail)
		if err != nil {
			r.t.Fatal(err)
		}
		run.Close()
	}
	seed := uint64(11)
	fork := filepath.Join(r.root, "fork")
	if _, err := rundir.Fork(filepath.Join(r.root, "town"), fork, rundir.ForkOptions{At: "wave:9", Seed: &seed, Set: []string{"world.fountain=\"full\""}, Version: r.release}); err != nil {
		r.t.Fatal(err)
	}
	forked := *s
	forked.Dir = filepath.Join(fork, rundir.JournalDir)
	forked.Run(r.t, scenestest.Settings{Seed: seed, Stop: &agenda.Stop{Ticks: 12}})
	s.Run(r.t, scenestest.Settings{Snapshots: 150})
}

// tasks ends before some of its tasks are answered.
func (r *recorder) tasks() {
	data, err := os.ReadFile("testdata/script/tasks.txtar")
	if err != nil {
		r.t.Fatal(err)
	}
	r.begin("tasks", string(data)).Run(r.t, scenestest.Settings{Stop: &agenda.Stop{Ticks: 12}})
}

// live is the town on the realtime clock: paused, resumed, interrupted, and with an
// agent that fails. What a full inbox dropped there a fold cannot know.
func (r *recorder) live() {
	s := r.beginLive("live", strings.ReplaceAll(string(txtar.Format(scenestest.TownArchive())), "max_inbox: 6", "max_inbox: 64"))
	synctest.Test(r.t, func(t *testing.T) {
		for _, interrupt := range []time.Duration{6 * time.Second, time.Minute} {
			set := scenestest.Settings{Clock: agenda.Realtime, Snapshots: 60, Stop: &agenda.Stop{After: protocol.Duration(9 * time.Second)}}
			run, err := s.StartWith(set, scenes.FailAt(map[string]int64{"c_2": 5}))
			if err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(time.Second/2, run.Pause).Stop()
			defer time.AfterFunc(5*time.Second, run.Resume).Stop()
			defer time.AfterFunc(interrupt, run.Interrupt).Stop()
			run.Close()
		}
	})
}

func (r *recorder) beginLive(name, text string) *scenestest.Scene {
	s := r.begin(name, text)
	if err := os.RemoveAll(filepath.Dir(s.Dir)); err != nil {
		r.t.Fatal(err)
	}
	r.manifest(name, s, agenda.Realtime)
	return s
}

// letters are messages that mailboxes did not take, and refused events that are sent
// again after an interruption.
func (r *recorder) letters() {
	data, err := os.ReadFile("testdata/script/storm_bomb.txtar")
	if err != nil {
		r.t.Fatal(err)
	}
	s := r.beginLive("dead_letters", strings.NewReplacer("max_deliveries_in_wave: 1500", "max_deliveries_in_wave: 1000000").Replace(string(data)))
	synctest.Test(r.t, func(t *testing.T) {
		set := scenestest.Settings{Clock: agenda.Realtime, Workers: 1, Snapshots: -1, Stop: &agenda.Stop{After: protocol.Duration(3 * time.Second)}}
		run, err := s.StartWith(set, func(o *scenes.Options) { o.Mailbox = actors.Capacity{Max: 1} })
		if err != nil {
			t.Fatal(err)
		}
		run.Close()
	})
	s = r.begin("redelivered", string(txtar.Format(scenestest.TownArchive())))
	s.RunUntil(r.t, scenestest.Settings{}, func(q *protocol.ModelRequest) bool { return q.Agent == "c_11" && q.Variables["turn"] == int64(7) })
	redeliver(r.t, s, refused(r.t, s))
	s.Run(r.t, scenestest.Settings{Snapshots: 500, Stop: &agenda.Stop{Ticks: 12}})
}

// suggestions is a scribe who may only suggest.
func (r *recorder) suggestions() {
	r.begin("suggestions", `-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
entries: [{id: rule, entry_type: lore, content: Be kind}]
-- agent_profiles/scribe.yaml --
id: scribe
name: Scribe
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: lore, access_permissions: [read, suggest_edits]}]
tool_ids_inventory: [WriteToKnowledgeBaseTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: Scribes
schema_version: "1.0"
agent_instances: [{instance_id: ann, profile_id: scribe}]
simulation: {stop: {ticks: 3}}
-- models/voices.yaml --
otherwise: {calls: [{tool: WriteToKnowledgeBaseTool, params: {kb: lore, entry: {id: "e{{randInt 1 9}}", entry_type: lore, content: Hm}}}]}
`).Run(r.t, scenestest.Settings{Snapshots: 5})
}

// goals is an agent whose goal has details.
func (r *recorder) goals() {
	r.begin("goal_details", `-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {stop: {ticks: 3}}
-- models/voices.yaml --
otherwise: {calls: [{tool: UpdateGoalTool, params: {id: g, description: Win, details: {by: noon}}}]}
`).Run(r.t, scenestest.Settings{Snapshots: 5})
}

// givenUp is a scene of which one agent fails until it is given up.
func (r *recorder) givenUp() {
	r.begin("given_up", shaky).Run(r.t, scenestest.Settings{Snapshots: 30, Stop: &agenda.Stop{Ticks: 40}})
}

func shakyKinds() workflow.Kinds {
	return workflow.Kinds{"test:Shaky": scenestest.Kind(func(in any) any {
		if instance(in) == "a_1" {
			panic("always")
		}
		return "ok"
	})}
}

const oracleTool = "AskOracleTool"

// consulting is an agent that asks an oracle in every turn.
const consulting = `-- workflows/ask.yaml --
interfaceOutputs: {calls: {dataFlowType: ARRAY}}
nodes: [{id: c, type: Constant, configValues: {value: [{tool: AskOracleTool, params: {q: why}}]}}, {id: out, type: GroupOutput}]
edges: [{source: c, sourceHandle: value, target: out, targetHandle: calls}]
-- agent_profiles/seeker.yaml --
id: seeker
name: Seeker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: ask
tool_ids_inventory: [AskOracleTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: Seekers
schema_version: "1.0"
agent_instances: [{instance_id: "s_{n}", profile_id: seeker, count: 2}]
simulation: {stop: {ticks: 4}}
-- models/voices.yaml --
otherwise: {text: ""}
`

func oracleTools() []agent.External {
	return []agent.External{{Kind: "oracle", Spec: protocol.ToolSpec{Name: oracleTool, Description: "Asks the oracle.", Parameters: map[string]any{
		"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []any{"q"},
	}}}}
}

// delphi is an executor that always says the same.
type delphi struct{}

func (delphi) Name() string               { return "delphi" }
func (delphi) MayRepeat(*effect.Ask) bool { return true }
func (delphi) Do(_ context.Context, _ *effect.Ask) effect.Answered {
	return effect.Answered{Output: "because"}
}

// oracle asks an executor that is no model.
func (r *recorder) oracle() {
	r.begin("oracle", consulting).Run(r.t, scenestest.Settings{
		Snapshots: 5, External: oracleTools(), Executors: []outside.Entry{{Kind: "oracle", Executor: delphi{}, AtOnce: 2}},
	})
}

// unknown is killed while it waits for a model that may be asked once only.
func (r *recorder) unknown() {
	s := r.begin("outcome_unknown", `-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {stop: {ticks: 5}}
-- models/voices.yaml --
otherwise: {text: ""}
`)
	dir, disk := s.Dir, persistencetest.NewCrashDisk()
	once := func(asked func(n int)) *llmtest.Fake {
		return &llmtest.Fake{Once: true, Reply: func(_ context.Context, n int, _ *protocol.ModelRequest) (string, error) {
			asked(n)
			return "Hm.", nil
		}}
	}
	left := make(chan error, 1)
	s.Dir = "run"
	s.Run(r.t, scenestest.Settings{FS: disk, Model: once(func(n int) {
		if n == 3 {
			left <- persistencetest.CopyDisk(disk.Kill(), "run", persistencetest.OSDisk(), dir)
		}
	})})
	if err := <-left; err != nil {
		r.t.Fatal(err)
	}
	s.Dir = dir
	s.Run(r.t, scenestest.Settings{Model: once(func(int) {})})
}

// bad are runs that nobody wrote: damaged, or changed by one who knew the digests.
func (r *recorder) bad() {
	data, err := os.ReadFile("testdata/script/calls.txtar")
	if err != nil {
		r.t.Fatal(err)
	}
	from := r.begin("from", string(data))
	for turn := range int64(2) {
		from.RunUntil(r.t, scenestest.Settings{Snapshots: 1}, func(q *protocol.ModelRequest) bool { return q.Variables["turn"] == turn+1 })
	}
	res := from.Run(r.t, scenestest.Settings{})
	summary := &rundir.Summary{SceneSummary: &rundir.SceneSummary{Scene: "s", Digest: res.Digest(), Journal: rundir.Journal{Waves: res.Wave.Number}}}
	changes := map[string]func([]protocol.Record) []protocol.Record{
		"unknown_kind":    func(w []protocol.Record) []protocol.Record { w[1].Kind = "agent.dreamt"; return w },
		"no_fact":         func(w []protocol.Record) []protocol.Record { w[1].Data = w[1].Data[:len(w[1].Data)/2]; return w },
		"another_actor":   func(w []protocol.Record) []protocol.Record { w[1].Actor = "nobody"; return w },
		"another_time":    func(w []protocol.Record) []protocol.Record { w[1].Time++; return w },
		"another_order":   func(w []protocol.Record) []protocol.Record { w[0], w[1] = w[1], w[0]; return w },
		"a_fact_is_gone":  func(w []protocol.Record) []protocol.Record { return slices.Delete(w, 1, 2) },
		"a_fact_is_twice": func(w []protocol.Record) []protocol.Record { return slices.Insert(w, 1, w[1]) },
		"a_wave_is_open":  func(w []protocol.Record) []protocol.Record { return w[:len(w)-1] },
		"of_another_agent": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agentfact.TurnEnded); ok {
				x.Agent = 99
			}
		}),
		"of_another_wave": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agenda.WaveClosed); ok {
				x.Wave += 3
			}
		}),
		"of_a_later_turn": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agentfact.TurnEnded); ok {
				x.Turn++
			}
		}),
		"other_words": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agentfact.CallMade); ok {
				x.Tool = "SleepTool"
			}
		}),
	}
	for name, change := range changes {
		r.changed(name, from, change)
	}
	dir := filepath.Join(r.root, "from")
	if err := summary.Write(dir); err != nil {
		r.t.Fatal(err)
	}
	r.damaged("manifest", dir, "manifest.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"s": 1`), []byte(`"s": 2`), 1) })
	r.damaged("inputs", dir, "inputs/models/voices.yaml", func(b []byte) []byte { return append(b, "# later\n"...) })
	r.damaged("snapshot", dir, "journal/snapshots/*/*.snap", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	r.damaged("log", dir, "journal/db/*.log", func(b []byte) []byte { b[len(b)/4] ^= 1; return b })
	if err := os.RemoveAll(dir); err != nil {
		r.t.Fatal(err)
	}
}

// each changes every fact of a wave by what it says.
func (r *recorder) each(change func(protocol.Fact)) func([]protocol.Record) []protocol.Record {
	codec := machines.NewCodec()
	return func(wave []protocol.Record) []protocol.Record {
		for i := range wave {
			f, err := codec.ReadFact(wave[i].Kind, wave[i].Data)
			if err == nil {
				change(f)
				wave[i].Data, err = codec.Marshal(f)
			}
			if wave[i].Data = bytes.Clone(wave[i].Data); err != nil {
				r.t.Fatal(err)
			}
		}
		return wave
	}
}

// changed is the run with its second wave changed, and with digests that hold.
func (r *recorder) changed(name string, from *scenestest.Scene, change func([]protocol.Record) []protocol.Record) {
	s := &scenestest.Scene{Project: from.Project, Def: from.Def, Dir: filepath.Join(r.root, name, rundir.JournalDir)}
	r.manifest(name, s, "")
	s.JournalIn(r.t, s.Dir, persistence.Options{}, func(to *persistence.Journal) {
		from.Journal(r.t, func(j *persistence.Journal) {
			err := j.Waves(1, func(w persistence.Wave) error {
				var wave []protocol.Record
				err := j.Scan(persistence.Query{From: w.First, To: w.Last}, func(f protocol.Record) error {
					f.Data = bytes.Clone(f.Data)
					wave = append(wave, f)
					return nil
				})
				if w.Number == 2 {
					wave = change(wave)
				}
				for _, f := range wave {
					_, failed := to.Append(f.Time, f.Actor, f.Kind, f.Data)
					err = errors.Join(err, failed)
				}
				_, failed := to.CloseWave(nil)
				return errors.Join(err, failed)
			})
			if err != nil {
				r.t.Fatal(err)
			}
		})
	})
}

// damaged is a copy of a run with other bytes in the last of its files of a pattern.
func (r *recorder) damaged(name, from, pattern string, damage func([]byte) []byte) {
	to := filepath.Join(r.root, name)
	err := os.CopyFS(to, os.DirFS(from))
	files, bad := filepath.Glob(filepath.Join(to, pattern))
	if errors.Join(err, bad) != nil || len(files) == 0 {
		r.t.Fatal(name, err, bad, files)
	}
	last := files[len(files)-1]
	data, err := os.ReadFile(last)
	if err == nil {
		err = os.WriteFile(last, damage(data), 0o644)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// write makes an archive of the runs, which must be new.
func (r *recorder) write(quality string) {
	name := filepath.Join("testdata", "histories", quality, r.release+".zip")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if err := errors.Join(z.AddFS(os.DirFS(r.root)), z.Close(), os.MkdirAll(filepath.Dir(name), 0o755)); err != nil {
		r.t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		r.t.Fatal(fmt.Errorf("recorded runs are never written again: %w", err))
	}
	if _, err := f.Write(b.Bytes()); errors.Join(err, f.Close()) != nil {
		r.t.Fatal(err)
	}
}
