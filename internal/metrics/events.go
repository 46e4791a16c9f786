package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
)

// Source says who published an event.
type Source uint8

const (
	SourceAgent Source = iota
	SourceScene        // the scene and its services
	sourceCount
)

func (s Source) String() string { return [...]string{"agent", "scene"}[s] }

// SourceOf tells it by the source's name.
func SourceOf(instanceID string) Source {
	if cast.OfScene(instanceID) {
		return SourceScene
	}
	return SourceAgent
}

// ReasonQueueFull is why a mailbox refuses a delivery; the other reasons are
// the channel's.
const (
	ReasonQueueFull     = "queue_full"
	ReasonDroppedOldest = "dropped_oldest"
)

type eventVecs struct {
	types    cache[string, eventSeries]
	dropped  closed
	held     closed
	failures *prometheus.CounterVec
	blocked  *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
}

type eventSeries struct {
	published [sourceCount]prometheus.Counter
	delivered prometheus.Counter
}

func (s *Set) makeEvents() {
	s.area = "event channel"
	published := s.counter("events_published_total", "Events that the channel routed.", "event_type", "source")
	delivered := s.counter("events_delivered_total", "Deliveries of events to agents.", "event_type")
	s.events.types = newCache(s, "event_type", overflowed, func(name string) *eventSeries {
		e := &eventSeries{delivered: delivered.WithLabelValues(name)}
		for i := range sourceCount {
			e.published[i] = published.WithLabelValues(name, i.String())
		}
		return e
	})
	reasons := append(texts(bus.ReasonInvalid, bus.ReasonDepth, bus.ReasonLoop, bus.ReasonTTL, bus.ReasonSchema, bus.ReasonSize, bus.ReasonFlood, bus.ReasonNoSuchTarget, bus.ReasonOutOfReach, bus.ReasonThrottled, bus.ReasonMiddleware, "expired", "inbox_full", "redeliveries", "restart"), ReasonQueueFull, ReasonDroppedOldest)
	s.events.dropped = newClosed(s.counter("events_dropped_total", "Events and single deliveries that were refused.", "reason"), reasons)
	s.events.held = newClosed(s.counter("events_held_total", "Deliveries that were held: until a subscription is quiet, a throttle rule has room, or a middleware wants them.", "reason"),
		texts(bus.ReasonDebounced, bus.ReasonThrottled, bus.ReasonMiddleware))
	s.events.failures = s.counter("event_filter_failures_total", "Filter conditions that failed at run time and did not match.", s.sceneLabels("fault")...)
	s.events.blocked = s.counter("publishers_blocked_total", "Events whose publisher has to wait, because they met a full lane with the policy block.", s.sceneLabels()...)
	s.events.waiting = s.gauge("publishers_waiting", "Agents that are not woken before the receivers of their events have had a turn.", s.sceneLabels()...)
}

func (e *eventSeries) add(from Source, receivers int) {
	e.published[from].Inc()
	e.delivered.Add(float64(receivers))
}

// Held counts deliveries that were held.
func (s *Set) Held(reason string, deliveries int) { s.events.held.of(reason).Add(float64(deliveries)) }

// Dropped counts a refused event or delivery.
func (s *Set) Dropped(reason string) { s.events.dropped.inc(reason) }
