package history

import (
	"tavernsim/persistence"
	"tavernsim/scenes/machines"
)

// traceRule is the version of the rule; it changes when the rule reads other traces.
const traceRule = 1

// Traces is the rule by which the journal's index finds the causal traces of a fact
// ([protocol.FactType]). Facts of turns have none, because a deliberation perceives
// events of many traces; its events and changes have their own. Every store of scenes
// must be opened with this rule.
func Traces() persistence.Traces {
	return persistence.Traces{Rule: traceRule, Of: machines.NewCodec().Traces}
}
