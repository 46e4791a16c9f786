package project

import (
	"tavernsim/engine/agent/profile"
	"tavernsim/internal/source"
)

// interrupt refuses to say what becomes of interrupted deliberations when nothing interrupts them.
// The interrupt of an instance takes the place of the profile's as a whole.
func (l *loader) interrupt(doc *source.Document, c *profile.RuntimeConfig, steps ...any) {
	if c == nil || c.Interrupt == nil || c.Interrupt.Then == "" || c.Interrupt.By != "" && c.Interrupt.By != profile.InterruptNever {
		return
	}
	l.strict(doc, at(append(steps, "custom_runtime_config", "interrupt", "then")...), "add by, such as critical", "then never comes to pass: no event interrupts these deliberations")
}

// Inbox is what bounds the lanes of an agent: its runtime configuration, else
// the scene.
func (s *Scene) Inbox(c *profile.RuntimeConfig) *profile.InboxConfig {
	if c != nil && c.Inbox != nil {
		return c.Inbox
	}
	return s.Definition.EventBusConfig.Inbox
}

// blockingLanes holds the lanes that block to max_inbox: behind it events are
// refused, so lanes that are not full before would never block.
func (l *loader) blockingLanes(s *Scene, steps func(...any) []string, e *entry) {
	c := s.Inbox(e.runtime)
	if c == nil {
		return
	}
	sum := 0
	for _, lane := range [...]*profile.LaneConfig{c.Low, c.Normal, c.High, c.Critical} {
		if lane != nil && lane.Policy == profile.LaneBlock {
			sum += lane.Max
		}
	}
	if limit := e.runtime.MaxInbox; sum >= limit {
		l.fault(s.doc, steps(), "raise max_inbox, or lower the lanes",
			"the inbox lanes with the policy block take %d events and max_inbox is %d; want more room in the inbox than in these lanes, for what comes until the publishers stop", sum, limit)
	}
}
