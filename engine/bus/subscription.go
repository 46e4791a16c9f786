package bus

import (
	"fmt"
	"time"

	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// TypeWorldUpdated is the event that announces a change of the world. Only
// subscriptions to it may name a path.
const TypeWorldUpdated = "world.state.updated"

// TypeWorldWatched is the event that tells an agent of a change at a place that conditions of
// its goals read. Nobody else hears it: only subscriptions with this very type and a path do.
const TypeWorldWatched = "world.state.watched"

// Subscription selects events. Type may end in ".*", for every type that begins with
// the part before the star; "*" alone is every event. Two subscriptions with the same
// fields are one.
type Subscription struct {
	Type            string
	FilterCondition string       // expression over payload, event and self; "" = all
	Path            string       // pattern of world paths, with Type TypeWorldUpdated; "" = every change
	Debounce        DebounceMode // "" = latest, when Quiet is set
	Quiet           time.Duration
	Most            time.Duration // 0 = DefaultMost times Quiet
	Group           string        // of subscribers, of which one hears an event; "" = every subscriber does
	// Underscored: Type is that of an event with its dots written as underscores. Definitions alone have it: no
	// request adds or removes such a subscription, so no fact carries one.
	Underscored bool
}

// DebounceMode says what is heard of the events that came while a subscription
// was not quiet.
type DebounceMode string

const (
	DebounceLatest DebounceMode = "latest" // the last one
	DebounceMerge  DebounceMode = "merge"  // one event that lists them
)

// Bounds of a debounce.
const (
	DefaultMost = 10        // default of Subscription.Most, in Quiets
	MaxQuiet    = time.Hour // also bounds Most
	MaxMerged   = 100       // events that one merged event lists; the newest
)

// Fault is a fault of a subscription.
type Fault struct {
	Type    string // of the subscription
	Field   string // as a definition writes it
	Message string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("bus: subscription to %q: %s: %s", f.Type, f.Field, f.Message)
}

func (sub *Subscription) fault(field, format string, args ...any) error {
	return protocol.Errorf(protocol.KindInvalid, "%w", &Fault{sub.Type, field, fmt.Sprintf(format, args...)})
}

// Normal returns the normal form of a subscription, or its fault. It does not check
// the filter.
func (sub Subscription) Normal() (Subscription, error) {
	if _, _, fault := eventtype.Split(sub.Type); fault != "" {
		return sub, sub.fault("type", "it %s", fault)
	}
	if sub.Path != "" {
		p, err := sub.pattern()
		if err != nil {
			return sub, err
		}
		sub.Path = p.String()
	}
	return sub, sub.debounce()
}

// pattern parses the path of the subscription.
func (sub *Subscription) pattern() (world.Pattern, error) {
	if sub.Type != TypeWorldUpdated && sub.Type != TypeWorldWatched {
		return nil, sub.fault("path", "goes with type %s only", TypeWorldUpdated)
	}
	p, err := world.ParsePattern(sub.Path)
	if err != nil {
		return nil, sub.fault("path", "is no pattern of world paths: %v", err)
	}
	return p, nil
}

func (sub *Subscription) debounce() error {
	switch {
	case len(sub.Group) > eventtype.MaxBytes || sub.Group != "" && sub.Quiet != 0:
		return sub.fault("group", "want at most %d bytes, and no debounce_seconds: who hears is chosen when the event is published", eventtype.MaxBytes)
	case sub.Quiet < 0 || sub.Quiet > MaxQuiet:
		return sub.fault("debounce_seconds", "want 0 to %s, got %s", protocol.Decimal(MaxQuiet.Seconds()), protocol.Decimal(sub.Quiet.Seconds()))
	case sub.Quiet == 0 && (sub.Debounce != "" || sub.Most != 0):
		return sub.fault("debounce_seconds", "is missing; without it nothing is held")
	case sub.Quiet == 0:
		return nil
	}
	if sub.Debounce == "" {
		sub.Debounce = DebounceLatest
	}
	if sub.Most == 0 {
		sub.Most = min(DefaultMost*sub.Quiet, MaxQuiet)
	}
	switch {
	case sub.Debounce != DebounceLatest && sub.Debounce != DebounceMerge:
		return sub.fault("debounce", "want latest or merge, got %q", sub.Debounce)
	case sub.Most < sub.Quiet || sub.Most > MaxQuiet:
		return sub.fault("debounce_max_seconds", "want debounce_seconds to %s, got %s", protocol.Decimal(MaxQuiet.Seconds()), protocol.Decimal(sub.Most.Seconds()))
	}
	return nil
}

// Check refuses a faulty subscription.
func (sub Subscription) Check() error {
	if _, err := sub.Normal(); err != nil {
		return err
	}
	return sub.checkFilter()
}

// Means reports whether the subscription is to events of this type, as far as the type decides.
func (sub *Subscription) Means(t string) bool {
	return sub.Underscored && sub.Type == eventtype.Underscored(t) || !sub.Underscored && eventtype.Matches(sub.Type, t)
}

// agrees reports whether an unsubscription covers this subscription: it has the same
// type, and the same filter, path and group if it names any.
func (sub *Subscription) agrees(with *Subscription) bool {
	return sub.Type == with.Type && sub.Underscored == with.Underscored && (with.FilterCondition == "" || with.FilterCondition == sub.FilterCondition) &&
		(with.Path == "" || with.Path == sub.Path) && (with.Group == "" || with.Group == sub.Group)
}
