package history

import (
	"tavernsim/persistence"
	"tavernsim/scenes/load/setup"
)

// traceRule changes whenever other traces are read than before.
const traceRule = 1

// Traces is how the journal's index knows which causal traces a fact belongs to
// ([protocol.FactType]). Facts of turns name none: a deliberation perceives events
// of many traces, and what it published or changed names its own. Every store of
// scenes is opened with it.
func Traces() persistence.Traces {
	return persistence.Traces{Rule: traceRule, Of: setup.NewCodec().Traces}
}
