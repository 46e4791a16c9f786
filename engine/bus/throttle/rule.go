package throttle

import (
	"strings"
	"time"

	"tavernsim/protocol"
)

// Per is the key by which a rule counts.
type Per string

const (
	PerType   Per = "type"   // every event type by itself
	PerSource Per = "source" // every publisher by itself
	PerScene  Per = "scene"  // all together
)

// Action is what happens to an event whose window is full.
type Action string

const (
	Drop         Action = "drop"         // refused
	Delay        Action = "delay"        // held until a window has room
	Deprioritize Action = "deprioritize" // heard at low priority
)

// Bounds of rules and tables.
const (
	MaxRules  = 64
	MaxEvents = 1_000_000_000 // Rule.Max
	// MaxWindows bounds a delay.
	MaxWindows = 100
	// Keys is the least number of counters of a rule; a table for more agents has one
	// for each agent.
	Keys = 100_000
	// MaxWindow is the longest window: 30 days.
	MaxWindow = 30 * 24 * time.Hour
)

// Rule lets Max events through in Window.
type Rule struct {
	Type   string // event type, "prefix.*" or "*"
	Source string // instance id; "" = any
	Per    Per    // "" = PerType
	Max    int64  // 0 lets nothing through
	Window time.Duration
	Action Action        // "" = Drop
	Until  protocol.Time // the rule ends by itself; 0 = never
}

// Key identifies a rule: a later rule with the same key replaces it.
func (r Rule) Key() string { return r.Type + "\x00" + r.Source + "\x00" + string(r.Per) }

// Normal fills in the defaults.
func (r Rule) Normal() Rule {
	if r.Per == "" {
		r.Per = PerType
	}
	if r.Action == "" {
		r.Action = Drop
	}
	return r
}

// Check finds a fault of a rule, with its field; "" = none. The channel checks types.
func (r Rule) Check() (field, fault string) {
	r = r.Normal()
	switch {
	case r.Type == "":
		return "type", "is missing"
	case r.Per != PerType && r.Per != PerSource && r.Per != PerScene:
		return "per", "want type, source or scene"
	case r.Action != Drop && r.Action != Delay && r.Action != Deprioritize:
		return "action", "want drop, delay or deprioritize"
	case r.Max < 0 || r.Max > MaxEvents:
		return "max", "want 0 to 1,000,000,000"
	case r.Max == 0 && r.Action == Delay:
		return "max", "want at least 1 with the action delay: what is never let through cannot wait for its time"
	case r.Window <= 0 || r.Window > MaxWindow:
		return "window_seconds", "want more than 0 and at most 30 days"
	}
	return "", ""
}

// Drops reports whether the rule may have an event refused.
func (r Rule) Drops(eventType, source string, now protocol.Time) bool {
	return r.Normal().Action == Drop && r.covers(eventType, source, now)
}

// covers reports whether the rule applies to an event.
func (r *Rule) covers(eventType, source string, now protocol.Time) bool {
	if r.Until != 0 && now >= r.Until || r.Source != "" && r.Source != source {
		return false
	}
	if r.Type == "*" {
		return true
	}
	if prefix, wild := strings.CutSuffix(r.Type, "*"); wild {
		return strings.HasPrefix(eventType, prefix)
	}
	return r.Type == eventType
}

// key is the counter of an event.
func (r *Rule) key(eventType, source string) string {
	switch r.Per {
	case PerSource:
		return source
	case PerScene:
		return ""
	}
	return eventType
}
