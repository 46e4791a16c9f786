package machines_test

import (
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/span"
	"tavernsim/scenes/scenestest"
)

const vectors = `-- agent_profiles/scout.yaml --
id: scout
name: Scout
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: lore, access_permissions: [read]}]
tool_ids_inventory: [QueryKnowledgeBaseTool]
-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
embedding: {model: near}
entries:
  - {id: ford, entry_type: lore, content: The ford is deep.}
-- models/voices.yaml --
otherwise: {text: ""}
-- models/near.yaml --
kind: static
words: models/words/small.txt
-- models/words/small.txt --
ford 1 0
-- scenes/s.yaml --
id: s
name: Lore
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: scout}]
`

// asking is a stage of a scene whose base has an entry without a vector.
type asking struct {
	t     *testing.T
	made  *setup.Scene
	state *machines.State
	stage *machines.Stage
}

// asks begins behind a history.
func asks(t *testing.T, history ...protocol.Fact) *asking {
	t.Helper()
	return asksOn(t, "virtual", history...)
}

func asksOn(t *testing.T, clock string, history ...protocol.Fact) *asking {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(vectors+"simulation: {clock: "+clock+", stop: {after: 100h}}\n"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	made := scenestest.New(t, p, "").Made(t, scenestest.Settings{})
	s := begin(t, made)
	for _, f := range history {
		raw, err := machines.NewCodec().Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(protocol.Record{Actor: setup.ActorScene, Kind: f.FactKind(), Data: raw}); err != nil {
			t.Fatal(err)
		}
	}
	stage := machines.NewStage(s.StageState, machines.StageConfig{Snapshots: machines.SnapshotPolicy{Facts: -1}}, machines.Kept{}, s.Shown())
	return &asking{t, made, s, stage}
}

// woken are the agents that an input wakes, with their workflows. The channel has nobody to tell.
func (a *asking) woken(in machines.Input) (kinds []string) {
	effects, err := a.stage.Decide(machines.Moment{Time: 1}, in)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range effects {
		switch e.Act {
		case machines.ActWake:
			kinds = append(kinds, a.made.Name(e.Agent)+" "+e.Kind)
		case machines.ActAsk:
			return append(kinds, a.woken(&machines.ServiceAnswered{View: a.state.Shown()})...)
		}
	}
	return kinds
}

// ended is the end of a turn without facts of its own.
func (a *asking) ended(o uint32, wave uint64) machines.Input {
	in := &machines.TurnsEnded{Span: &span.Span{}}
	in.Open(false, wave, 1)
	end := &agentfact.TurnEnded{Agent: o, Turn: 1, Wave: wave, Outcome: agentfact.OutcomeOK}
	if err := in.Ended(machines.NewCodec(), o, a.made.Name(o), []protocol.Fact{end}, nil); err != nil {
		a.t.Fatal(err)
	}
	return in
}

// Where a turn gave no vectors, the agents go on before the scene asks again.
func TestVectorsThatNobodyGives(t *testing.T) {
	a := asks(t)
	a.woken(&machines.Begin{})
	if got, want := a.woken(a.ended(uint32(a.made.OwnOrdinal()), 2)), []string{"ada "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// On the realtime clock the scene asks beside the agents, once at a time, and not again right behind a turn that gave no vectors.
func TestVectorsBesideOthers(t *testing.T) {
	a := asksOn(t, "realtime")
	own := uint32(a.made.OwnOrdinal())
	if got, want := a.woken(&machines.Begin{}), []string{"ada ", setup.ActorScene + " " + knowledge.MomentEmbed}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if got := a.woken(&machines.Tick{}); len(got) > 0 {
		t.Errorf("while it asks, it wakes %q", got)
	}
	if got := a.woken(a.ended(own, 2)); len(got) > 0 {
		t.Errorf("behind a turn that gave no vectors it wakes %q", got)
	}
	if got, want := a.woken(a.ended(0, 2)), []string{setup.ActorScene + " " + knowledge.MomentEmbed}; !slices.Equal(got, want) {
		t.Errorf("a wave later it wakes %q, want %q", got, want)
	}
}

// Where the turn failed in which the scene asks for vectors, the agents go on before it asks again.
func TestVectorsBehindAFailure(t *testing.T) {
	a := asks(t)
	if got, want := a.woken(&machines.Begin{}), []string{setup.ActorScene + " " + knowledge.MomentEmbed}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if got, want := a.woken(&machines.ActorFailed{Actor: setup.ActorScene, Error: "it broke"}), []string{"ada "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The same holds for a stage that begins behind the failure.
func TestVectorsOfAResumedScene(t *testing.T) {
	a := asks(t, &agenda.Started{Scene: "s"}, &agenda.AgentFailed{Agent: 1, Error: "it broke", Failures: 1, WakeAt: 1}, &agenda.WaveClosed{Wave: 1})
	if got := a.woken(&machines.Begin{}); slices.Contains(got, setup.ActorScene+" "+knowledge.MomentEmbed) {
		t.Errorf("the scene wakes %q", got)
	}
}

// A scene asks again behind a later wave, unless its own agent was given up: then it never does.
func TestVectorsOfAGivenUpScene(t *testing.T) {
	for _, again := range []protocol.Time{1, 0} { // 0 = never
		failed := &agenda.AgentFailed{Agent: 1, Error: "it broke", Failures: 1, WakeAt: again}
		a := asks(t, &agenda.Started{Scene: "s"}, failed, &agenda.WaveClosed{Wave: 1}, &agenda.WaveClosed{Wave: 2})
		if int(failed.Agent) != a.made.OwnOrdinal() {
			t.Fatal("the scene's own agent has another ordinal: nothing is tested")
		}
		if got := a.woken(&machines.Begin{}); slices.Contains(got, setup.ActorScene+" "+knowledge.MomentEmbed) != (again != 0) {
			t.Errorf("woken again at %d: the scene wakes %q", again, got)
		}
	}
}
