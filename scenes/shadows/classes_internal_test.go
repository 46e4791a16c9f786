package shadows

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/schedule"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/shadows/heard"
)

// pair is a scene of an agent a of the profile p, which the cases change, and an agent b that hears what is said.
const pair = `
-- project.json --
{"id": "test", "model": "models/voices.yaml"}
-- models/voices.yaml --
rules: []
otherwise: {text: ""}
-- workflows/w.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}, READS}
interfaceOutputs: {calls: {dataFlowType: ARRAY}}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "{{.turn}}SHOWS"}}
  - {id: model, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: model, targetHandle: prompt}
  - {source: model, sourceHandle: calls, target: out, targetHandle: calls}
-- workflows/silent.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes: [{id: c, type: Constant, configValues: {value: {}}}, {id: out, type: GroupOutput}]
edges: [{source: c, sourceHandle: value, target: out, targetHandle: decision}]
-- knowledgebases/k.yaml --
id: k
schema_version: "1.0"
entries: []
-- agent_profiles/p.yaml --
id: p
name: P
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: w
PROFILE
-- agent_profiles/q.yaml --
id: q
name: Q
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: silent
subscribed_event_types: [agent.said]
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances:
  - {instance_id: a, profile_id: p, PLACE}
  - {instance_id: b, profile_id: q, OTHER}
initial_world_state: {x: 0}
SCENE
simulation: {stop: {ticks: 1}}
`

func sceneOf(t *testing.T, set ...string) *setup.Scene {
	t.Helper()
	text := strings.NewReplacer(append(set, "READS", "", "SHOWS", "", "PROFILE\n", "", "PLACE", "", "OTHER", "", "SCENE\n", "")...).Replace(pair)
	files := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	p, err := project.Load(files, project.Options{Name: "test", Tools: agent.ProfileTools(), Kinds: setup.NodeKinds(), Stops: true})
	if err != nil {
		t.Fatal(err)
	}
	def, err := p.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := setup.New(p, def, setup.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// shown is a class as text: what it hears, publishes, perceives, changes, reads and writes of bases, where it is.
func shown(c *class, of schedule.Class) string {
	var publishes []string
	for _, p := range of.Publishes {
		publishes = append(publishes, strings.TrimPrefix(p.Type, typed))
	}
	hears := strings.ReplaceAll(strings.Join(of.Hears, ", "), typed, "")
	s := fmt.Sprintf("hears %s; publishes %s; world %s, %s; bases %s, %s", hears, strings.Join(publishes, ", "), some(of.Perceives), some(of.Writes), some(of.Consults), some(of.Edits))
	if of.Space != nil {
		s += fmt.Sprintf("; reaches %d, walks %d", of.Space.Reach, of.Space.Speed)
	}
	if c.wakeable {
		s += "; wakeable"
	}
	if c.never != "" {
		s += "; never, for " + c.never
	}
	return s
}

func some(list []string) string {
	switch {
	case list == nil:
		return "all"
	case len(list) == 0:
		return "none"
	}
	return strings.Join(list, " ")
}

const grid = "space: {grid: {width: 9, height: 9}, places: {in: {at: [0, 0]}}, perception: {radius: 3, types: [\"space.*\", agent.said]}, speed: 2}\n"

// Promise 2: whom a turn waits for comes from what the definitions say that its class reads and writes.
func TestClasses(t *testing.T) {
	inside := func(set ...string) []string {
		return append(set, "PLACE", "place: in", "OTHER", "place: in", "SCENE\n", grid)
	}
	profile := func(set ...string) []string { return []string{"PROFILE", strings.Join(set, "\n")} }
	reads := func(what string, set ...string) []string {
		return append(set, "READS", what+": {dataFlowType: OBJECT}", "SHOWS", "{{json ."+what+"}}")
	}
	const none = "world none, none; bases none, none"
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"nothing":             {nil, "hears to 0.; publishes agent.said; " + none},
		"reads the world":     {reads("world_state"), "hears to 0.; publishes agent.said; world all, none; bases none, none"},
		"reads a part of it":  {reads("world_state", profile("perceives: [x.y]")...), "hears to 0.; publishes agent.said; world x.y, none; bases none, none"},
		"names its version":   {reads("world_version"), "hears to 0.; publishes agent.said; " + none + "; never, for its prompts may name world_version"},
		"changes the world":   {profile("tool_ids_inventory: [RequestWorldStateUpdateTool]"), "hears to 0.; publishes agent.said, world.state.updated; world none, all; bases none, none"},
		"changes a part":      {profile("tool_ids_inventory: [RequestWorldStateUpdateTool]", "world_write_permissions: {allow: [x.y]}"), "hears to 0.; publishes agent.said, world.state.updated; world none, x.y; bases none, none"},
		"changes what all do": {append(profile("tool_ids_inventory: [RequestWorldStateUpdateTool]"), "SCENE", "world_write_permissions: {\"*\": {allow: [x.z]}}"), "hears to 0.; publishes agent.said, world.state.updated; world none, x.z; bases none, none"},
		"publishes to two":    {profile("tool_ids_inventory: [PublishEventTool]", "publishes: [t.u]", "publishes_to: [a, b]"), "hears to 0.; publishes to 0., to 1., agent.said, t.u; " + none + "; wakeable"},
		"publishes to all":    {profile("tool_ids_inventory: [PublishEventTool]"), "hears to 0.; publishes to *, *, agent.said; " + none + "; wakeable"},
		"subscribes":          {profile("tool_ids_inventory: [SubscribeEventTool]"), "hears to 0., *; publishes agent.said; " + none + "; wakeable"},
		"directs":             {profile("tool_ids_inventory: [RestAgentTool]"), "hears to 0.; publishes to *, agent.said; " + none + "; wakeable"},
		"reports on tasks":    {profile("tool_ids_inventory: [ReportTaskTool]"), "hears to 0.; publishes report, agent.said; " + none},
		"asks for reports":    {profile("tool_ids_inventory: [ReportTaskTool, PublishEventTool]", "publishes: [t.u]", "publishes_to: [b]"), "hears to 0., report; publishes report, to 1., agent.said, t.u; " + none + "; wakeable"},
		"hears what is said":  {profile("subscribed_event_types: [agent.said]"), "hears to 0., agent.said; publishes agent.said; " + none + "; wakeable"},
		"is interrupted":      {profile("custom_runtime_config: {interrupt: {by: critical}}"), "hears to 0.; publishes agent.said; " + none + "; never, for events interrupt it"},
		"rests":               {profile("ceilings: {tokens_per_hour: 12}"), "hears to 0.; publishes agent.said; " + none + "; never, for it rests at its ceilings, or longer while it does nothing"},
		"asks a base":         {profile("knowledge_base_references: [{source_id: k}]", "tool_ids_inventory: [QueryKnowledgeBaseTool]"), "hears to 0.; publishes agent.said; world all, none; bases all, all"},
		"has a base":          {profile("knowledge_base_references: [{source_id: k}]"), "hears to 0.; publishes agent.said; world none, none; bases none, all"},
		"walks":               {inside(profile("tool_ids_inventory: [MoveTool]")...), "hears to 0.; publishes ; " + none + "; reaches 3, walks 2"},
		"hears who is near":   {inside(profile("subscribed_event_types: [agent.said]")...), "hears to 0., agent.said; publishes ; " + none + "; reaches 3, walks 2; wakeable"},
		"another is nowhere":  {append(profile("tool_ids_inventory: [MoveTool]"), "PLACE", "place: in", "SCENE\n", grid), "hears to 0.; publishes agent.said, space.left, space.entered; " + none + "; reaches 3, walks 2"},
		"is nowhere":          {append(profile("tool_ids_inventory: [MoveTool]"), "OTHER", "place: in", "SCENE\n", grid), "hears to 0.; publishes agent.said, space.left, space.entered; " + none},
		"is nowhere and sees": {append(profile("tool_ids_inventory: [LookTool]"), "OTHER", "place: in", "SCENE\n", grid), "hears to 0.; publishes agent.said; " + none + "; never, for some of its agents are nowhere in space"},
	} {
		sc := sceneOf(t, c.set...)
		list, of := classesOf(sc)
		if got := shown(&list[sc.Class[0]], of[sc.Class[0]]); got != c.want {
			t.Errorf("who %s:\n%s, want\n%s", name, got, c.want)
		}
	}
	sc := sceneOf(t, "SCENE", "scene_lifecycle_workflows: {on_agent_said_event: silent}")
	list, of := classesOf(sc)
	own := sc.Class[sc.OwnOrdinal()]
	if got := shown(&list[own], of[own]); got != "hears to 2., report, *; publishes report, to *, *, agent.said, world.state.updated; world all, all; bases all, all; wakeable; never, for it is the scene's own agent" {
		t.Errorf("the scene that hears what is said: %s", got)
	}
}

// Who may hear an event is who subscribed, unless it names its receivers.
func TestWhoMayHear(t *testing.T) {
	some, any := class{subscriptions: []bus.Subscription{{Type: "t.*"}}}, class{Reach: agent.Reach{Listens: true}}
	for _, c := range []struct {
		p         heard.Publication
		some, any bool
	}{
		{heard.Publication{Kind: "t.u"}, true, true},
		{heard.Publication{Kind: "u"}, false, true},
		{heard.Publication{Kind: "t.u", Targets: []string{"b"}}, false, false},
		{heard.Publication{Kind: "u", Targets: []string{"b", "a"}}, true, true},
	} {
		if is, too := some.hearsOf("a", &c.p), any.hearsOf("a", &c.p); is != c.some || too != c.any {
			t.Errorf("%s to %q: %v and %v, want %v and %v", c.p.Kind, c.p.Targets, is, too, c.some, c.any)
		}
	}
}

// What cannot run ahead is refused with the reason.
func TestCheck(t *testing.T) {
	many := func(n int) []string {
		return []string{"instance_id: b,", `instance_id: "b_{n}",`, "OTHER", fmt.Sprint("count: ", n)}
	}
	for want, set := range map[string][]string{
		"":                      many(MaxAgents - 1),
		"at most 20000 can":     many(MaxAgents),
		"places without a grid": {"PLACE", "place: in", "OTHER", "place: out", "SCENE", "space: {places: {in: {exits: {out: 2s}}, out: {exits: {in: 2s}}}}"},
		"come and go":           {"OTHER", "spawnable: true"},
		"wait for their turn":   {"SCENE", "turns: {policy: round_robin}"},
	} {
		if err := Check(sceneOf(t, set...), schedule.Tracked); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
