package throttle

import "fmt"

// Room bounds the events and deliveries of one moment, so that a storm of events ends
// in refusals and does not exhaust the memory.
type Room struct {
	Events, Deliveries int
	// Urgent is more room for critical events only, so that a storm does not refuse
	// the alarm about it; nil = none.
	Urgent *Room
}

// Admit takes an event with its deliveries, or says which bound it breaks; "" = it is taken. A
// nil Room takes everything.
func (r *Room) Admit(critical bool, deliveries int) string {
	switch {
	case r == nil:
		return ""
	case r.Urgent != nil && critical && (r.Events < 1 || r.Deliveries < deliveries):
		return r.Urgent.Admit(critical, deliveries)
	case r.Events < 1:
		return "too many events at one moment (simulation.limits.max_events_in_wave)"
	case r.Deliveries < deliveries:
		return fmt.Sprintf("%d receivers; room for %d more deliveries at this moment (simulation.limits.max_deliveries_in_wave)", deliveries, r.Deliveries)
	}
	r.Events--
	r.Deliveries -= deliveries
	return ""
}
