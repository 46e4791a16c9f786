package bus

import "slices"

// Subscriber is one agent of a [List].
type Subscriber struct {
	InstanceID    string
	ProfileID     string
	Subscriptions []Subscription
}

// List makes Subscribers of a list: the place of each is its ordinal.
func List(subscribers []Subscriber) Subscribers {
	l := &list{subscribers: subscribers, ordinals: make(map[string]uint32, len(subscribers))}
	for o, sub := range slices.Backward(subscribers) {
		l.ordinals[sub.InstanceID] = uint32(o)
	}
	return l
}

type list struct {
	subscribers []Subscriber
	ordinals    map[string]uint32 // of ids; of equal ones the first
}

func (l *list) Len() int                              { return len(l.subscribers) }
func (l *list) Name(o uint32) string                  { return l.subscribers[o].InstanceID }
func (l *list) Profile(o uint32) string               { return l.subscribers[o].ProfileID }
func (l *list) Subscriptions(o uint32) []Subscription { return l.subscribers[o].Subscriptions }
func (l *list) Ordinal(id string) (o uint32, ok bool) { o, ok = l.ordinals[id]; return o, ok }
