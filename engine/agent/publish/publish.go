// Package publish holds the tool that publishes events: its description for models, the events that a
// profile lets its agents publish, the receivers that these may name, and what those of them say that are
// orders.
package publish

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus/eventtype"
	"tavernsim/protocol"
)

// Tool is the id of the tool that publishes events.
const Tool = "PublishEventTool"

// Params are what the tool takes.
func Params() []tool.Param {
	return []tool.Param{
		tool.Required("type", "string", "event type, words with dots"),
		tool.Optional("payload", "", "what it says"),
		tool.Optional("target_agent_instance_id", "", "receiver or list of receivers; without it whoever subscribed"),
		tool.OneOf("priority", "normal when it is missing", "low", "normal", "high", "critical"),
		tool.Optional("ttl_seconds", "number", "it expires after this time"),
		tool.Optional("ephemeral", "boolean", "a passing matter: neither the journal nor histories keep what it says"),
		tool.Optional("requires_ack", "boolean", "delivered again until a deliberation of the receiver has handled it"),
		tool.Optional("task_id", "string", "task that this answers; with expects_reply a name of your own for a new one"),
		tool.Optional("expects_reply", "boolean", "it asks for an answer with the task_id that the call returns"),
	}
}

// Rules bound what the tool does for an agent. A nil list bounds nothing.
type Rules struct {
	Types []string // types of events; one may end in ".*", and "*" is every type
	To    []string // instance ids that events may name as receivers; one may end in "*"
}

// Check denies an event that the rules do not allow.
func (r Rules) Check(eventType string, targets []string) error {
	if r.Types != nil && !among(r.Types, eventType) {
		return protocol.Errorf(protocol.KindDenied, "the event type %q: the profile publishes %s (publishes)", protocol.Short(eventType, 80), listed(r.Types))
	}
	for _, id := range targets {
		if !r.Reaches(id) {
			return protocol.Errorf(protocol.KindDenied, "the receiver %q: events of the profile may name %s (publishes_to)", protocol.Short(id, 80), listed(r.To))
		}
	}
	return nil
}

// Of are the rules of an agent that may not have the tool, and may have goals: it answers whoever gave
// it one.
func (r Rules) Of(tool, goals bool) Rules {
	if !tool {
		r = Rules{Types: []string{}, To: []string{}}
	}
	if goals {
		r.To = nil
	}
	return r
}

// Reaches reports whether an event may name an agent.
func (r Rules) Reaches(id string) bool { return r.To == nil || among(r.To, id) }

func among(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return eventtype.Matches(p, s) })
}

// listed names at most eight, for models that read the refusal.
func listed(patterns []string) string {
	const most = 8
	switch n := len(patterns); {
	case n == 0:
		return "none"
	case n > most:
		return strings.Join(patterns[:most], ", ") + ", …"
	}
	return strings.Join(patterns, ", ")
}
