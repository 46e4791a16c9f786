package machines_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/script"
	"tavernsim/engine/statecmd"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/tally"
	"tavernsim/scenes/scenestest"
)

// uncounted are the kinds of facts that move no count but that of the facts, with the
// reason.
var uncounted = map[string]string{
	"tool.plugins_changed":        "it is the order of simd, which inspect orders shows",
	"agent.turn_abandoned":        "it is of budgets alone",
	"agent.blocked":               "the event that is waited for counts",
	"agent.call_answered":         "the call counts",
	"agent.calls_charged":         "it is of budgets alone",
	"agent.goals_updated":         "of the agent alone",
	"agent.goal_changed":          "of the agent alone",
	"agent.drive_met":             "of the agent alone",
	"agent.hook_answered":         "what it is about counts",
	"agent.interrupted":           "its deliberation counts when it ends",
	"agent.model_answered":        "agent.turn_ended counts the requests",
	"agent.outcome_unknown":       "the call counts",
	"agent.private_state_updated": "of the agent alone",
	"agent.request_answered":      "the calls count",
	"agent.rest_ended":            "of the agenda alone",
	"agent.removed":               "of the agenda alone; what it had not perceived counts as dead letters",
	"agent.spawned":               "of the agenda alone",
	"agent.departed":              "of the trips alone",
	"knowledge.forwarded":         "the scene that keeps the base decides, and its answer counts",
	"parcel.posted":               "what it holds counts where it is decided",
	"parcel.received":             "what it held counts where it is decided",
	"parcel.delivered":            "what it held counts where it is decided",
	"agent.arrived":               "of the trips alone",
	"agent.reached":               "of the trips alone",
	"agent.returned":              "of the trips alone",
	"agent.turned_away":           "of the trips alone",
	"channel.listener":            "the fact of the stage before says who",
	"agent.rested":                "of the agenda alone",
	"agent.entries_activated":     "of the agent alone",
	"agent.steps_held":            "the calls count",
	"agent.steps_resumed":         "the calls count",
	"agent.reflected":             "agent.turn_ended counts the reflections",
	"channel.refused":             "the agent observes it; no event was refused",
	"knowledge.embedded":          "no entry was written; the answer of the model counts",
	"knowledge.reviewed":          "only entries that were written count",
	"knowledge.suggested":         "only entries that were written count",
	"round.began":                 "the turns count as deliberations",
	"round.ended":                 "the turns count as deliberations",
	"scene.effects_deferred":      "what they ask for counts when it is done",
	"scene.ended":                 "of the scene alone",
	"scene.forked":                "of the scene alone",
	"scene.intervened":            "what it changes counts",
	"scene.order_refused":         "the refusal of the world counts",
	"scene.paused":                "of the scene alone",
	"scene.redelivered":           "the events count when they are routed",
	"scene.resumed":               "of the scene alone",
	"script.entered":              "of the script alone",
	"script.fired":                "of the script alone",
	"script.set":                  "of the script alone",
	"collect.answered":            "the event counts",
	"collect.closed":              "of the script alone",
	"collect.opened":              "of the script alone",
	"collect.refused":             "the event counts; the agent observes it",
	"agent.rests":                 "the turn counts",
	"agent.summarised":            "the answer of the model counts",
	"scene.outcome":               "of the scene alone",
	"scene.started":               "of the scene alone",
	"scene.wave_closed":           "the agenda counts the waves",
	"space.moved":                 "of where agents are alone",
	"space.put":                   "of where agents are alone",
	"space.refused":               "who asked observes it",
	"space.set_out":               "of where agents are alone",
	"space.stopped":               "of where agents are alone",
	"subscription.changed":        "of the channel alone",
	"task.closed":                 "the events count",
	"task.opened":                 "the events count",
	"agent.taken_over":            "its turns count",
	"agent.released":              "its turns count",
	"tool.asked":                  "the call counts",
	"tool.judged":                 "the call counts",
	"tool.task_cancelled":         "the call counts",
	"tool.task_ended":             "the call counts",
	"tool.task_opened":            "the call counts",
	"tool.task_refused":           "the call counts",
	"tool.task_reported":          "the call counts",
	"tool.task_sent":              "the call counts",
	"tool.task_uncharged":         "it is of budgets alone",
	"throttle.changed":            "of the channel alone",
	"turn.forfeited":              "the turns that were taken count",
	"turn.granted":                "the turn counts as a deliberation",
	"turn.stalled":                "of the order alone",
	"world.granted":               "changes of the world count, leases do not",
	"world.leased":                "changes of the world count, leases do not",
	"world.released":              "changes of the world count, leases do not",
}

// A kind of fact moves some count, or it is named here: the facts of a new service are
// not left out without a word. A live scene does not decode some kinds; it counts them
// as a fold does.
func TestEveryFactIsCounted(t *testing.T) {
	codec := machines.NewCodec()
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	for _, kind := range codec.FactKinds() {
		typ := codec.FactType(kind)
		fact := filled(typ)
		if x, ok := fact.(*statecmd.Committed); ok {
			x.Audit[0].Status = statecmd.Rejected
		}
		got, none := tally.NewTally(), tally.NewTally()
		got.Count(made, "ana", kind, fact)
		none.Facts = 1
		if why := uncounted[kind]; reflect.DeepEqual(got, none) != (why != "") {
			t.Errorf("%s: Tally counts it, or a line of uncounted says why not, and not both (uncounted: %q): %+v", kind, why, got)
		}
		if !typ.Bytes {
			continue
		}
		live, seen := tally.NewTally(), protocol.Fact(nil)
		if kind == agentfact.FactCallMade {
			raw, err := codec.Marshal(fact)
			call := &tally.CallSeen{}
			if err = errors.Join(err, call.Read(raw)); err != nil {
				t.Fatal(err)
			}
			seen = call
		}
		if live.Count(made, "ana", kind, seen); !reflect.DeepEqual(live, got) {
			t.Errorf("%s: a live scene counts %+v, a fold %+v", kind, live, got)
		}
	}
}

// A turn that asks the person who plays its agent is no turn yet, and none that failed: it counts when it has its answer.
func TestTallyOfATurnThatAsks(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	got, want, asks := tally.NewTally(), tally.NewTally(), &agentfact.TurnEnded{Outcome: agentfact.OutcomeAsked}
	got.Count(made, "ana", asks.FactKind(), asks)
	if want.Facts = 1; !reflect.DeepEqual(got, want) || tally.TurnFailed(asks) {
		t.Errorf("%+v, failed %t", got, tally.TurnFailed(asks))
	}
}

// The failures of the scene's own workflows and of its script are told, however many agents fail. They are no failed
// deliberations.
func TestTallyTellsWhatFailedOfTheScene(t *testing.T) {
	made := scenestest.New(t, scenestest.Town(t), "").Made(t, scenestest.Settings{})
	x, fails := tally.NewTally(), &agentfact.TurnEnded{Outcome: agentfact.OutcomeFailed, Error: "no model"}
	for range 9 {
		x.Count(made, "ana", fails.FactKind(), fails)
	}
	own := *fails
	own.Agent, own.ModelCalls, own.ModelFailed, own.TokensIn, own.TokensOut = uint32(made.OwnOrdinal()), 2, 1, 30, 4
	x.Count(made, "$scene", own.FactKind(), &own)
	script := &script.Failed{Where: "states[0].on_enter[0]", Error: "there is no agent ghost"}
	for range 9 {
		x.Count(made, "$scene", script.FactKind(), script)
	}
	if x.Deliberations != 9 || x.Failed != 9 || len(x.Troubles) != 10 || x.Troubles[5] != "$scene: no model" || x.Troubles[6] != "$scene: states[0].on_enter[0]: there is no agent ghost" {
		t.Errorf("%+v", x)
	}
	if x.ModelCalls != 2 || x.ModelFailed != 1 || x.TokensIn != 30 || x.TokensOut != 4 {
		t.Errorf("%+v", x)
	}
}

// Names that models make up do not make a tally, which each snapshot has, grow for ever.
func TestTallyOfManyNames(t *testing.T) {
	x := tally.NewTally()
	for i := range 5_000 {
		name := fmt.Sprint("n", i)
		x.Called(name, protocol.CallOK, 1)
		x.Count(nil, "channel", bus.FactRouted, &bus.Routed{EventHeader: protocol.EventHeader{Type: name}})
	}
	x.Called("n7", protocol.CallOK, 1)
	for _, c := range []protocol.Counts{x.ByTool, x.ByEvent} {
		if len(c) != 1001 || c[tally.Other] != 4_000 {
			t.Errorf("%d names, %d other", len(c), c[tally.Other])
		}
	}
	if x.ByTool["n7"] != 2 || x.Calls != 5_001 {
		t.Errorf("%d of n7, %d of all", x.ByTool["n7"], x.Calls)
	}
}
