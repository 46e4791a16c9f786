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
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/workflow"
	"tavernsim/persistence"
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
		Interactive: name == "takeover" || name == "asks", Ticks: recordedTicks[name],
		Seeds: map[string]uint64{id: 1}, Clocks: map[string]agenda.ClockKind{id: sim.Clock}, Durability: persistence.Process,
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
	if _, _, err := rundir.Make(filepath.Join(r.root, name), "", m, s.Project, nil); err != nil {
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
	if _, err := rundir.Fork(r.t.Context(), filepath.Join(r.root, "town"), fork, rundir.ForkOptions{At: "wave:9", Seed: &seed, Set: []string{"world.fountain=\"full\"", fmt.Sprint("simulation.stop.ticks=", recordedTicks["fork"])}, Version: r.release}); err != nil {
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
