package scenes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/script"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// holdRandom holds a random project, on one clock or the other, to what every scene keeps:
// on the virtual clock the digest is the same on 1, 2 and 7 workers, interrupted and killed
// or not; on both a fold comes to the same state, and verify decides everything again, and takes turns of which not
// enough was recorded. look
// sees the facts of a scene that nobody disturbed. Rapid prints the project and how to
// repeat it.
func holdRandom(t *rapid.T, dirs *testing.T, text string, look func(*scenestest.Scene, scenestest.Settings)) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	settled := func(s *scenestest.Scene, set scenestest.Settings) {
		mustRestore(dirs, s, set)
		mustVerify(dirs, s, set)
		if dirs.Failed() {
			t.Fatalf("%+v\n%s", set, text)
		}
	}
	first := scenestest.New(dirs, p, "")
	if rapid.IntRange(0, 3).Draw(t, "clock") == 0 {
		set := scenestest.Settings{Clock: agenda.Realtime, Workers: 2, Snapshots: 20, Passivate: passivated(t), Stop: &agenda.Stop{Deliberations: 30, After: protocol.Duration(200_000_000)}}
		if r := first.Run(dirs, set); r.Err != nil {
			t.Fatalf("%v\n%s", r, text)
		}
		settled(first, set)
		mustVerifyLost(dirs, first, set, everyOtherTurn)
		look(first, set)
		return
	}
	want := first.Run(dirs, scenestest.Settings{Workers: 1})
	look(first, scenestest.Settings{})
	mustVerifyLost(dirs, first, scenestest.Settings{}, everyOtherTurn)
	set := scenestest.Settings{
		Workers: rapid.SampledFrom([]int{2, 7}).Draw(t, "workers"), BatchFacts: rapid.IntRange(1, 50).Draw(t, "batch"),
		Snapshots: int64(rapid.IntRange(1, 40).Draw(t, "snapshots")), InterruptAt: uint64(rapid.IntRange(0, 9).Draw(t, "interrupt")),
		Passivate: passivated(t),
	}
	s := scenestest.New(dirs, p, "")
	if set.InterruptAt > 0 {
		s.Run(dirs, set)
		set.InterruptAt = 0
	}
	if rapid.Bool().Draw(t, "killed") {
		s = killed(dirs, s, set, rapid.IntRange(0, 3).Draw(t, "after operations"))
	}
	if r, err := s.Start(set); err == nil { // else the end came before
		r.Close()
	}
	s.Journal(dirs, func(j *persistence.Journal) {
		if got := j.Durable(); got.Digest != want.Wave.Digest {
			t.Fatalf("digest %s, want %s; %+v\n%s", got.Digest, want.Digest(), set, text)
		}
	})
	settled(s, set)
}

// passivated draws when agents are passive: after each turn, soon, or as the scene says.
func passivated(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 1, time.Second, 3 * time.Second}).Draw(t, "passivate after")
}

// randomScript draws the script of a scene of agents a_1 to a_5.
func randomScript(t *rapid.T) string {
	one := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	actions := func(name string) string {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{
			`{set: {v: "=vars.v + 1"}}`, `{set: {w: "=world.n"}}`,
			`{publish: {type: talk.x, payload: "=vars.v"}}`, `{publish: {type: talk.z, to: ["role:first"], priority: critical, requires_ack: true}}`,
			`{world: {path: n, op: add, value: 1}}`, `{world: {path: n.x, value: 1}}`, `{world: {path: seen, value: "=vars.w"}}`,
			`{goal: {to: ["*"], id: g9, deadline_seconds: 2, completion_criteria: [{expr: "world.n > 3"}]}}`, `{reflect: {to: [a_1]}}`,
			`{private_state: {agent: a_1, path: n, op: add, value: 2, reason: gift}}`,
			`{spawn: {profile: "='person'", state: {n: 3}}}`, `{spawn: {agent: "='g_1'"}}`, `{remove: {agents: "='role:crowd'"}}`, `{remove: {agents: "='g_2'"}}`, `{publish: {type: talk.y, to: "=['role:crowd', 'a_1']"}}`, // there may be no crowd
			`{rest: {agents: a_1}}`, `{wake: {agents: "*"}}`, `{set: {v: "=vars.nothing.x"}}`,
			`{ask: {action: confirm, result: w}}`, `{run: {workflow: note, result: w}}`, `{run: {workflow: note}}`,
		}), 0, 3).Draw(t, name)
		if rapid.IntRange(0, 19).Draw(t, name+" ends") == 0 {
			list = append(list, `{end: {outcome: over, reason: "='v is ' + vars.v"}}`)
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	var b strings.Builder
	b.WriteString("script:\n  variables: {v: 0, w: null}\n  states:\n")
	states := rapid.IntRange(1, 3).Draw(t, "states")
	for i := range states {
		fmt.Fprintf(&b, "    - {id: s%d, context: \"{{.vars.v}} in {{.state}}\", on_enter: %s, on_leave: %s", i, actions("on_enter"), actions("on_leave"))
		b.WriteString(one("active", "", `, active: ["role:first"]`, `, active: ["profile:person"]`))
		if rapid.Bool().Draw(t, "collects") {
			fmt.Fprintf(&b, ", collect: [{id: c%d, event: %s, from: [\"*\"], secret: %s%s, until: {%s}}]", i,
				one("answers", "talk.x", "talk.y", "agent.said"), one("secret", "true", "false"), one("tally", "", ", tally: text"), one("until", "count: 2", "share: 0.5", "after: 2s"))
		}
		b.WriteString(", transitions: [")
		for k := range rapid.IntRange(1, 3).Draw(t, "transitions") {
			to := (i + 1) % states // each state is reached
			if k > 0 {
				to = rapid.IntRange(0, states-1).Draw(t, "to")
			}
			fmt.Fprintf(&b, "{to: s%d, %s}, ", to,
				one("if", "after: 1s", "after: 3s", "on: talk.x", `on: talk.x, if: "event.payload > 3"`, `when: "world.n > 2"`, `when: "vars.v < 3", after: 1s`))
		}
		b.WriteString("]}\n")
	}
	if rapid.Bool().Draw(t, "schedules") {
		do := actions("do")
		if do == "[]" {
			do = "[{run: {workflow: note}}]" // a schedule does something
		}
		fmt.Fprintf(&b, "  schedules: [{id: bell, %s, do: %s}]\n", one("when", "every: 2s", "at: 3s", `cron: "*/5 * * * * *"`), do)
	}
	b.WriteString("  outcome: {outcome: open}\n")
	return b.String()
}

// motives is the profile of agents whose goals rules weigh, and what they begin with.
const motives = `-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
subscribed_event_types: [talk.*]
knowledge_base_references: [{source_id: wants, access_permissions: [read, write_caiu]}]
initial_goals_reference: [{caiu_id: g1}, {caiu_id: g2}, {caiu_id: g3}]
motivation: {drives: [{id: tired, path: n, grows_per_hour: 900, serves: [g2], wakes_at: 0.5}], max_active: 2, patience: 3s, forget_below: 0.1}
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool, UpdateGoalTool, SleepTool, SayTool]
-- knowledgebases/wants.yaml --
id: wants
schema_version: "1.0"
entries:
  - {id: g1, entry_type: goal, title: Much, priority: 0.9, goal: {completion_criteria: [{expr: "world.n > 4"}], exclusive: [hands], rewards: {commands: [{action: add, key: self.n, value: 1}]}}}
  - {id: g2, entry_type: goal, title: Rest, priority: 0.8, goal: {preconditions: [{expr: "self.drives.tired > 0.4"}], completion_criteria: [{expr: "self.drives.tired < 0.2"}], exclusive: [hands], recurs: 2s}}
  - {id: g3, entry_type: goal, title: Whole, priority: 0.5, goal: {completes_by: any, deadline: 5s, penalties: {commands: [{action: set, key: self.sad, value: true}]}}}
`

// remembering draws entries of the base of motives that stay, rest, wake others and look at
// this and that.
func remembering(t *rapid.T) string {
	var b strings.Builder
	for i := range rapid.IntRange(1, 5).Draw(t, "entries") {
		fmt.Fprintf(&b, "  - {id: e%d, entry_type: lore, content: \"%s\", activation_criteria: {%s, sticky: %d, cooldown: %d, delay: %d, chance: %d%s}}\n", i,
			rapid.SampledFrom([]string{"much", "{{{world.n}}} and {{{nothing}}}", "a_1 whole"}).Draw(t, "content"),
			rapid.SampledFrom([]string{"always: true", "keywords: [much, whole]", "keywords: [a_1], scan: {events: true, history: 3, observations: true}", "keywords: [n], scan: {self: [n], world: [n]}", `condition: "world.n > 1"`, "similar: {to: much whole, above: 0.3}"}).Draw(t, "criteria"),
			rapid.IntRange(0, 2).Draw(t, "sticky"), rapid.IntRange(0, 2).Draw(t, "cooldown"), rapid.IntRange(0, 2).Draw(t, "delay"), rapid.SampledFrom([]int{100, 50}).Draw(t, "chance"),
			rapid.SampledFrom([]string{"", ", wakes: true", ", group: g, choose: matches", ", scope: {agents: [a_1], except: true}", ", purposes: [deliberate]"}).Draw(t, "whose"))
	}
	return b.String()
}

// unforgetting gives agents with motives a memory that forgets soon, asks them for it, and
// lets them reflect unasked.
func unforgetting(t *rapid.T, text string) string {
	text = strings.Replace(text, "\nmotivation:", fmt.Sprintf(`
reflection_workflow_id: std/reflect
memory: {episodes: {keep: %d, recall: 2, half_life: 3s, consolidate: 2}, summary: {tokens: 20}}
reflection: {failures: %d, importance: %d, every: %d, before_sleep: true, min_interval: 1s, max_per_day: %d}
motivation:`, rapid.IntRange(1, 6).Draw(t, "keep"), rapid.IntRange(0, 2).Draw(t, "failures"), rapid.SampledFrom([]int{0, 5, 30}).Draw(t, "importance"),
		rapid.IntRange(0, 3).Draw(t, "every"), rapid.IntRange(1, 6).Draw(t, "a day")), 1)
	text = strings.Replace(text, "SleepTool, SayTool]\n-- knowledgebases", "SleepTool, SayTool, QueryKnowledgeBaseTool, ReflectTool]\n-- knowledgebases", 1)
	return strings.Replace(text, "otherwise: {text", `  - match: {chance: 0.8}
    answer: {text: "Well, {{pick \"goal\" \"talk\"}}.", calls: [{tool: QueryKnowledgeBaseTool, params: {kb: episodes, query: "you said well goal n"}}, {tool: "{{pick \"ReflectTool\" \"NoTool\" \"SleepTool\"}}"}]}
otherwise: {text`, 1)
}

// walking gives the agents of a random project a small yard, in which they get in each
// other's way.
func walking(t *rapid.T, text string) string {
	text = strings.Replace(text, "count: ", "place: \"0,0..4,3\", count: ", 1)
	text = strings.Replace(text, "scene_lifecycle_workflows:", fmt.Sprintf(`space:
  grid: {width: 5, height: 4, capacity: %d}
  places: {well: {at: [1, 1]}, tavern: {at: [3, 0], size: [2, 2], capacity: 2}}
  perception: {radius: %d, types: [%s]}
  speed: %d
scene_lifecycle_workflows:`, rapid.IntRange(1, 2).Draw(t, "capacity"), rapid.IntRange(0, 3).Draw(t, "radius"),
		rapid.SampledFrom([]string{"talk.x", "talk.*, agent.said", `"space.*"`}).Draw(t, "near"), rapid.IntRange(1, 3).Draw(t, "speed")), 1)
	text = strings.ReplaceAll(text, "{set: {w: \"=world.n\"}}", "{move: {agents: \"*\", to: tavern}}, {move: {agents: a_1, to: \"4,3\", at_once: true}}")
	text = strings.Replace(text, "otherwise: {text", `  - match: {chance: 0.8}
    answer: {calls: [{tool: MoveTool, params: {to: "{{pick \"north\" \"southwest\" \"well\" \"tavern\" \"a_1\" \"a_2\" \"4,3\" \"stay\"}}"}}, {tool: LookTool}, {tool: PublishEventTool, params: {type: talk.y, reach: "{{pick \"near\" \"place\" \"scene\"}}"}}]}
otherwise: {text`, 1)
	return text + `-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
subscribed_event_types: [talk.*, "space.*"]
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool, UpdateGoalTool, SleepTool, SayTool, MoveTool, LookTool]
`
}

// working lets the agents of a random project ask each other for work with a deadline, report on it,
// and hear of some of it as a group, of which one hears each.
func working(t *rapid.T, text string) string {
	text = strings.Replace(text, "subscribed_event_types: [", "subscribed_event_types: [{type: talk.w, group: desk}, ", 1)
	return strings.Replace(text, "otherwise: {text", fmt.Sprintf(`  - match: {chance: 0.6}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.w, task_id: t1, expects_reply: true, deadline_seconds: "{{randInt 1 %d}}"}}, {tool: PublishEventTool, params: {type: talk.v, target_agent_instance_id: "a_{{randInt 1 3}}", task_id: t2, expects_reply: true, deadline_seconds: 2}}]}
  - match: {chance: 0.9}
    answer: {calls: [{tool: ReportTaskTool, params: {task_id: "t{{randInt 1 2}}", status: "{{pick \"accepted\" \"progress\" \"done\" \"failed\" \"refused\"}}"}}, {tool: "{{pick \"SubscribeEventTool\" \"UnsubscribeEventTool\" \"NoTool\"}}", params: {type: talk.w, group: desk}}]}
otherwise: {text`, rapid.IntRange(1, 4).Draw(t, "deadline")), 1) + `-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
subscribed_event_types: [talk.*]
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool, UpdateGoalTool, SleepTool, SayTool, ReportTaskTool, SubscribeEventTool, UnsubscribeEventTool]
`
}

// leading makes a director of an agent of a random project.
func leading(text string) string {
	text = strings.Replace(text, "\nevent_bus_config:", "\ndirectors: [a_1]\nevent_bus_config:", 1)
	return strings.Replace(text, "otherwise: {text", `  - match: {agent: a_1, chance: 0.9}
    answer: {calls: [{tool: RestAgentTool, params: {agents: "{{pick \"*\" \"a_2\" \"nobody\"}}", wake: "{{pick \"true\" \"false\"}}"}}, {tool: "{{pick \"SpawnAgentTool\" \"NoTool\"}}", params: {profile: person}}, {tool: "{{pick \"RemoveAgentTool\" \"NoTool\"}}", params: {agents: "role:crowd"}}, {tool: SetSceneVariableTool, params: {variable: v, value: "{{randInt 1 3}}"}}, {tool: TransitionSceneTool, params: {to: s0}}, {tool: "{{pick \"EndSceneTool\" \"NoTool\" \"GiveTurnTool\"}}", params: {outcome: enough, agents: a_2}}]}
otherwise: {text`, 1) + `-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
subscribed_event_types: [talk.*]
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool, UpdateGoalTool, SleepTool, SayTool, RestAgentTool, SpawnAgentTool, RemoveAgentTool, SetSceneVariableTool, TransitionSceneTool, EndSceneTool, GiveTurnTool]
`
}

// Random projects with scripts, in space, with goals that rules weigh, with tasks, with directors and with agents
// that come and go keep what holdRandom holds.
func TestScriptsAndGoalsOfRandomProjects(t *testing.T) {
	dirs, entered, answers, changed, came, left, walks, active, reflected, tasks, ended := t, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if !scenestest.Long() && rapid.IntRange(0, 4).Draw(t, "one in five, but for the long test") > 0 {
			return
		}
		text := strings.Replace(scenestest.RandomProject(t, 64), "stop: {ticks: ", "stop: {ticks: 1", 1)
		if rapid.IntRange(0, 3).Draw(t, "script") > 0 {
			text = strings.Replace(text, "scene_lifecycle_workflows:", randomScript(t)+"scene_lifecycle_workflows:", 1)
			text = strings.Replace(text, "profile_id: person,", "profile_id: person, roles: [first],", 1)
		}
		more := rapid.SampledFrom([]string{"", "motives", "space", "crowd", "motives and crowd", "work", "work and crowd", "leaders", "leaders and crowd"}).Draw(t, "more")
		if strings.HasPrefix(more, "motives") {
			text += motives + remembering(t)
			if rapid.Bool().Draw(t, "memory") {
				text = unforgetting(t, text)
			}
		}
		if strings.HasPrefix(more, "work") {
			text = working(t, text)
		}
		if strings.HasPrefix(more, "leaders") {
			text = leading(text)
		}
		if more == "space" {
			text = walking(t, text)
		}
		if strings.HasSuffix(more, "crowd") {
			text = strings.ReplaceAll(text, "policy: block", "policy: drop_oldest") // refused with a crowd
			text = strings.Replace(text, "\nscript:", "\n  - {instance_id: \"g_{n}\", profile_id: person, roles: [crowd], count: 3, spawnable: true}\nscript:", 1)
			text = strings.Replace(text, "on_enter: [", "on_enter: [{spawn: {profile: \"='person'\", count: 2}}, ", 1)
		}
		holdRandom(t, dirs, text, func(s *scenestest.Scene, _ scenestest.Settings) {
			s.Facts(dirs, func(_ protocol.Record, fact protocol.Fact) {
				switch fact.(type) {
				case *script.Entered:
					entered++
				case *script.Answered:
					answers++
				case *space.SetOut:
					walks++
				case *tooltask.Reported:
					tasks++
				case *tooltask.Ended:
					ended++
				case *agenda.Spawned:
					came++
				case *agenda.Removed:
					left++
				case *agentfact.GoalChanged:
					changed++
				case *agentfact.EntriesActivated:
					active++
				case *agentfact.Reflected:
					reflected++
				}
			})
		})
	})
	t.Logf("%d states entered, %d answers collected, %d goals changed, %d agents came and %d left, %d walks, %d times entries began to stay or rest, %d reflections, %d reports on tasks and %d that ended", entered, answers, changed, came, left, walks, active, reflected, tasks, ended)
	if scenestest.Long() && (entered == 0 || changed == 0 || active == 0) {
		t.Error("no script moved, no goal changed or no entry stayed: nothing is tested")
	}
}
