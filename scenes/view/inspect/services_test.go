package inspect

import (
	"reflect"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/statecmd"
	"tavernsim/protocol"
	"tavernsim/protocol/protocoltest"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/runner"
)

// effectless are facts of services that are no fate of a request of an agent, with the
// reason.
var effectless = map[string]string{
	"channel.listener":     "of the channel alone",
	"channel.refused":      observed,
	"knowledge.embedded":   "the scene asks for it, and no agent",
	"knowledge.reviewed":   "orders ask for it, and no agent",
	"subscription.changed": "of the channel alone",
	"throttle.changed":     "of the channel alone",
	"space.moved":          "steps of walks; space.set_out shows the walk",
	"space.stopped":        observed,
	"agent.released":       "orders ask for it, and no agent",
	"agent.taken_over":     "orders ask for it, and no agent",
	"tool.task_refused":    observed,
	"tool.task_sent":       "it stands behind tool.task_opened",
	"tool.task_uncharged":  "of budgets alone",
	"world.granted":        observed,
	"world.leased":         observed,
	"world.released":       "of the world alone",
}

const inAudit = "package audit shows what becomes of tasks"

const observed = "the next turn observes it, and shows it there"

// unaudited are facts of services that change no value, with the reason.
var unaudited = map[string]string{
	"agent.released":       "who plays an agent is no value",
	"agent.taken_over":     "who plays an agent is no value",
	"channel.listener":     "what agents hear is no value",
	"channel.refused":      "nothing was changed",
	"knowledge.forwarded":  "the scene that keeps the base decides, and its answer is the change",
	"event.refused":        "an event is no value",
	"event.routed":         "an event is no value",
	"knowledge.embedded":   "a vector is no value",
	"space.moved":          "where agents are is no value",
	"space.put":            "where agents are is no value",
	"space.refused":        "nothing was changed",
	"space.set_out":        "where agents are is no value",
	"space.stopped":        "where agents are is no value",
	"subscription.changed": "what agents hear is no value",
	"throttle.changed":     "rules are no values",
	"tool.task_cancelled":  inAudit,
	"tool.task_ended":      inAudit,
	"tool.task_opened":     inAudit,
	"tool.task_refused":    "nothing was changed",
	"tool.task_reported":   inAudit,
	"tool.task_sent":       inAudit,
	"tool.task_uncharged":  "of budgets alone",
	"world.granted":        "what was granted has facts of its own",
	"world.leased":         "a lease is no value",
	"world.released":       "a lease is no value",
}

// Every fact of a service is shown where somebody asks what came of a deliberation, and
// in the audit of changes, or is named here: the facts of a new service are not left out
// without a word.
func TestFactsOfServicesAreShown(t *testing.T) {
	for _, service := range machines.Services() {
		for _, typ := range service.Facts() {
			fact := reflect.New(typ.Type).Interface().(protocol.Fact)
			protocoltest.Fill(fact)
			if x, ok := fact.(*statecmd.Committed); ok {
				x.Audit[0].Status = statecmd.Rejected
			}
			shown, why := len(effectsOf(fact)) > 0, effectless[typ.Kind]
			if shown == (why != "") {
				t.Errorf("%s: inspect deliberation shows it (effectsOf in deliberation.go: %v), or a line of effectless says why not (%q), and not both", typ.Kind, shown, why)
			}
			shown, why = len(Changes(protocol.Record{}, 1, fact)) > 0, unaudited[typ.Kind]
			if shown == (why != "") {
				t.Errorf("%s: inspect audit shows it (changes in change.go: %v), or a line of unaudited says why not (%q), and not both", typ.Kind, shown, why)
			}
		}
	}
}

// What a service says about a request may have a secret in it, and is shown without.
func TestFatesHideSecrets(t *testing.T) {
	const text = "it said password=hunter2"
	for _, service := range machines.Services() {
		for _, typ := range service.Facts() {
			fact := reflect.New(typ.Type)
			protocoltest.Fill(fact.Interface())
			say(fact.Elem(), text)
			for _, e := range effectsOf(fact.Interface().(protocol.Fact)) {
				if strings.Contains(e.Detail, "hunter2") {
					t.Errorf("%s: the effect says %q", typ.Kind, e.Detail)
				}
			}
			for _, c := range Changes(protocol.Record{}, 1, fact.Interface().(protocol.Fact)) {
				if strings.Contains(c.Error+c.Reason, "hunter2") {
					t.Errorf("%s: the change says %q, %q", typ.Kind, c.Error, c.Reason)
				}
			}
		}
	}
}

// say puts a text into every text of a fact.
func say(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(text)
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			say(f, text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			say(v.Index(i), text)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			say(v.Elem(), text)
		}
	}
}

// What the stage decides about agents is no fact of a deliberation of the scene itself.
func TestFactsOfTheStageAreOfNoTurn(t *testing.T) {
	s := opened(t, ran(t, runner.Options{}, false))
	for _, typ := range agenda.Facts() {
		if s.ofTurn(sceneActor, typ.Kind) {
			t.Errorf("%s is taken for a fact of a deliberation", typ.Kind)
		}
	}
	if !s.ofTurn(sceneActor, agentfact.FactTurnEnded) || !s.ofTurn("bo", agentfact.FactTurnEnded) || s.ofTurn("$world", "world.committed") {
		t.Error("facts of deliberations are not told from those of services")
	}
}
