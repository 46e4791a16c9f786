package bus

import (
	"errors"
	"strings"
	"time"

	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// LoopAction is the action for a delivery that would loop.
type LoopAction = delivery.LoopAction

const (
	LoopDrop         = delivery.LoopDrop
	LoopDeprioritize = delivery.LoopDeprioritize
	LoopWarn         = delivery.LoopWarn
)

// Config sets a scene's event channel. A zero field takes the default.
type Config struct {
	Scene           string
	NamespacePrefix string        // put before event and trace ids
	Numbered        bool          // all ids are numbers, as in runs that began before events of turns had names
	DefaultTTL      time.Duration // 0 = events do not expire
	MaxDepth        int           // causes of an event; default 32
	MaxRevisits     int           // default 2; below 0 = none: an agent hears a type once in a chain
	LoopAction      LoopAction    // default drop
	MaxBodyBytes    int           // encoded payload; default 1 MiB
	MaxTargets      int           // of a directed event; default 10,000
	MaxChanges      int           // runtime subscriptions and unsubscriptions in force, per agent; default 256
	FilterSteps     int           // budget of one filter; default expr.DefaultSteps
	MaxHeld         int           // deliveries held at once; default 1,000,000
	Throttle        []throttle.Rule
	// Middleware judges every receiver of every event. An empty chain costs nothing.
	Middleware delivery.Chain
	Away       func(ordinal uint32) bool // it is not there when the scene begins; nil = all agents are, always
	Owner      string                    // instance id of the scene's own agent: never throttled, and the only one that may throttle

	// Validate checks a payload against the schema of its type; nil accepts all. It
	// must be deterministic and must not keep or change the payload.
	Validate func(eventType string, payload any) error
}

func (c Config) withDefaults() Config {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&c.MaxDepth, 32)
	fill(&c.MaxRevisits, 2)
	fill(&c.MaxBodyBytes, 1<<20)
	fill(&c.MaxTargets, 10_000)
	fill(&c.MaxChanges, 256)
	fill(&c.MaxHeld, 1_000_000)
	c.MaxRevisits = max(0, c.MaxRevisits)
	if c.LoopAction == "" {
		c.LoopAction = LoopDrop
	}
	return c
}

// Check reports every fault at once.
func (c Config) Check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, protocol.Errorf(protocol.KindInvalid, "bus: event_bus_config: "+format, args...))
	}
	switch c.LoopAction {
	case "", LoopDrop, LoopDeprioritize, LoopWarn:
	default:
		fault("loop_action %q: want drop, deprioritize or warn", c.LoopAction)
	}
	if c.DefaultTTL < 0 || c.DefaultTTL > protocol.MaxTTL {
		fault("default_event_ttl_seconds: want 0 to 100 years, got %v", c.DefaultTTL)
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"max_depth", c.MaxDepth}, {"max_body_bytes", c.MaxBodyBytes}, {"max_targets", c.MaxTargets}, {"max_changes", c.MaxChanges}, {"filter_steps", c.FilterSteps}, {"max_held", c.MaxHeld}} {
		if f.value < 0 {
			fault("%s: want a positive number, got %d", f.name, f.value)
		}
	}
	if len(c.Throttle) > throttle.MaxRules {
		fault("throttle: %d rules; the limit is %d", len(c.Throttle), throttle.MaxRules)
	}
	for i, r := range c.Throttle {
		if field, what := CheckRule(r); what != "" {
			fault("throttle[%d].%s: %s", i, field, what)
		}
	}
	return errors.Join(faults...)
}

// CheckRule finds a fault of a throttle rule, with its field; "" = the rule is sound.
func CheckRule(r throttle.Rule) (field, fault string) {
	if field, fault = r.Check(); fault != "" {
		return field, fault
	}
	if r.Type == "*" {
		return "", ""
	}
	if fault = eventtype.Check(strings.TrimSuffix(r.Type, ".*")); fault != "" {
		return "type", fault
	}
	return "", ""
}
