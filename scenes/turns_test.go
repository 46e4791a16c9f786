package scenes_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	order "tavernsim/engine/script/turns"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// randomTurns draws an order of turns.
func randomTurns(t *rapid.T) string {
	policy := rapid.SampledFrom([]string{"round_robin", "initiative", "simultaneous", "director"}).Draw(t, "policy")
	text := "turns: {policy: " + policy
	add := func(field string, values ...string) string {
		v := rapid.SampledFrom(append(values, "")).Draw(t, field)
		if v != "" {
			text += ", " + field + ": " + v
		}
		return v
	}
	add("per_turn", "1", "2")
	add("interject", "critical")
	add("rounds", "1", "3")
	add("participants", `["profile:person"]`, "[a_1]")
	if policy == "initiative" {
		text += ", by: " + rapid.SampledFrom([]string{"roll", "world.n + roll * agent.ordinal"}).Draw(t, "by")
		add("reroll", "scene")
	}
	limit := add("time_limit", "2s", "7s")
	if policy == "director" && limit == "" {
		text += ", time_limit: 1s"
	}
	if limit != "" {
		add("on_timeout", "skip", "forfeit")
	}
	if policy == "director" {
		text += ", fallback: " + rapid.SampledFrom([]string{"round_robin", "free"}).Draw(t, "fallback")
	}
	return text + "}\n"
}

// Random projects with turns, on both clocks: nobody without a grant has a turn and rounds
// are whole, as their facts show; and what holdRandom holds.
func TestTurnsOfRandomProjects(t *testing.T) {
	dirs, rounds, taken, stood := t, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if !scenestest.Long() && rapid.IntRange(0, 4).Draw(t, "one in five, but for the long test") > 0 {
			return
		}
		text := strings.ReplaceAll(scenestest.RandomProject(t, 64), "policy: block", "policy: drop_oldest")
		text = strings.Replace(text, "scene_lifecycle_workflows:", randomTurns(t)+"scene_lifecycle_workflows:", 1)
		text = strings.Replace(text, "stop: {ticks: ", "stop: {ticks: 1", 1)
		holdRandom(t, dirs, text, func(s *scenestest.Scene, set scenestest.Settings) {
			a, b, c := mustTakeTurns(t, dirs, s, set)
			if set.Clock != agenda.Realtime {
				rounds, taken, stood = rounds+a, taken+b, stood+c
			}
		})
	})
	if t.Logf("%d rounds, %d turns under a grant, %d turns out of turn", rounds, taken, stood); scenestest.Long() && (rounds == 0 || taken == 0) {
		t.Error("nobody had a turn: nothing is tested")
	}
}

// permits is what the facts of a scene say of who may be woken.
type permits struct {
	rules     *order.Rules
	left      map[uint32]int64
	since     map[uint32]uint64 // wave of the last fact that took its turns away
	loose     bool
	round     int64
	last      int64
	alarmed   map[uint32]uint64 // the last wave in which it heard something critical
	cancelled map[uint32]bool
}

// mustTakeTurns holds the facts of a scene to its order.
func mustTakeTurns(t *rapid.T, dirs *testing.T, s *scenestest.Scene, set scenestest.Settings) (rounds, taken, stood int) {
	made := s.Made(dirs, set)
	c := permits{rules: made.Turns, left: map[uint32]int64{}, since: map[uint32]uint64{}, alarmed: map[uint32]uint64{}, cancelled: map[uint32]bool{}}
	wave := uint64(1)
	s.Facts(dirs, func(r protocol.Record, fact protocol.Fact) {
		switch x := fact.(type) {
		case *agenda.WaveClosed:
			wave++
		case *agentfact.TurnEnded:
			if made.Turns.Member(x.Agent) {
				if c.took(t, x, r) {
					taken++
				} else {
					stood++
				}
			}
		case *agenda.Interrupted:
			c.left[x.Agent]++ // its turn is given back, if it was one
			c.cancelled[x.Agent] = true
		case *bus.Routed:
			for o := range x.Receivers.All() {
				if machines.PriorityFor(x, made, o) == protocol.Critical {
					c.alarmed[o] = wave
				}
			}
		case *order.Began:
			if c.round != 0 || x.Round != c.last+1 {
				t.Fatalf("seq %d: round %d begins in round %d, behind %d", r.Seq, x.Round, c.round, c.last)
			}
			rounds++
			c.round, c.last, c.loose = x.Round, x.Round, false
		case *order.Granted:
			if x.Round != c.round {
				t.Fatalf("seq %d: a turn of round %d in round %d", r.Seq, x.Round, c.round)
			}
			for _, o := range x.Agents {
				c.left[o] = x.Turns
			}
		case *order.Forfeited:
			for _, o := range x.Agents {
				c.left[o], c.since[o] = 0, wave
			}
		case *order.Ended:
			if x.Round != c.round {
				t.Fatalf("seq %d: round %d ends in round %d", r.Seq, x.Round, c.round)
			}
			c.round = 0
		case *order.Stalled:
			c.loose = x.Fallback == "free"
		}
	})
	return rounds, taken, stood
}

// took holds one turn to the order: it has a grant, it began before its grant was taken away,
// or something critical was heard.
func (c *permits) took(t *rapid.T, x *agentfact.TurnEnded, r protocol.Record) (granted bool) {
	switch {
	case c.loose:
	case c.left[x.Agent] > 0:
		c.left[x.Agent]--
		return true
	case c.since[x.Agent] >= x.Wave: // on the realtime clock it was in flight then
	case c.rules.Interjects() && c.alarmed[x.Agent] > 0:
	default:
		t.Fatalf("seq %d: %s has a turn, woken in wave %d, without a grant", r.Seq, r.Actor, x.Wave)
	}
	return false
}

// An agent is told whose turn it is, and a stop condition may read the round.
func TestAgentsSeeWhoseTurnItIs(t *testing.T) {
	p := turnsProject(t, "turns: {policy: round_robin, order: [bo], rounds: 2}", "{{.scene.turn.round}}.{{.scene.turn.turn}} {{.scene.turn.holder}} {{.scene.turn.mine}}", "round.number === 2 && round.turn === 2")
	s := scenestest.New(t, p, "")
	r := s.Run(t, scenestest.Settings{})
	if r.Err != nil || r.Reason != agenda.StoppedByCondition {
		t.Fatal(r)
	}
	var said []string
	s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
		if f := fact.(*bus.Routed); f.Type == "agent.said" {
			v, _ := f.Body.Value()
			said = append(said, fmt.Sprint(f.Source, v))
		}
	}, bus.FactRouted)
	want := "bomap[text:1.1 bo true] amap[text:1.2 a true] bomap[text:2.1 bo true]"
	if got := strings.Join(said, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	mustVerify(t, s, scenestest.Settings{})
}

// turnsProject is a scene of the agents a and bo who say what the scripted model answers.
func turnsProject(t *testing.T, block, text, until string) *project.Project {
	t.Helper()
	files := "-- workflows/look.yaml --\nid: look\ninterfaceInputs: {scene: {dataFlowType: OBJECT}}\ninterfaceOutputs: {response: {dataFlowType: STRING}}\n" +
		"nodes: [{id: in, type: GroupInput}, {id: say, type: TextTemplate, configValues: {template: \"" + text + "\"}}, {id: out, type: GroupOutput}]\n" +
		"edges: [{source: in, sourceHandle: scene, target: say, targetHandle: scene}, {source: say, sourceHandle: text, target: out, targetHandle: response}]\n" +
		"-- models/voices.yaml --\notherwise: {text: \"\"}\n-- agent_profiles/looker.yaml --\nid: looker\nname: L\nversion: \"1.0.0\"\nschema_version: \"1.0\"\ncore_deliberation_workflow_id: look\ntool_ids_inventory: [SayTool]\n" +
		"-- scenes/s.yaml --\nid: s\nname: S\nschema_version: \"1.0\"\nagent_instances: [{instance_id: a, profile_id: looker}, {instance_id: bo, profile_id: looker}]\n" + block + "\n" +
		"simulation: {stop: {ticks: 100, until: \"" + until + "\"}}\n"
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(files))), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, files)
	}
	return p
}
