package bus

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tavernsim/protocol"
)

// State is the event channel of one scene. It has one owner.
type State struct {
	cfg         Config
	subscribers []identity
	ordinals    map[string]uint32
	filters     map[string]*filter
	index       index
	changes     map[change]bool // runtime subscriptions (true) and unsubscriptions, against the definition
	perAgent    map[uint32]int  // entries of changes

	Seq        uint64 // published events so far
	Routed     uint64
	Deliveries uint64
	Failures   uint64 // filters that failed, once per receiver
	Refusals   map[Reason]uint64
}

// identity is what filters see as self, boxed once.
type identity struct{ id, profile any }

type change struct {
	agent uint32
	sub   Subscription
}

// New makes the channel. Its error lists every fault of the configuration and
// of the subscriptions, each distinct one once.
func New(cfg Config, subscribers []Subscriber) (*State, error) {
	s := &State{cfg: cfg.withDefaults(), subscribers: make([]identity, len(subscribers)),
		ordinals: make(map[string]uint32, len(subscribers)), filters: map[string]*filter{},
		index:   index{exact: map[string][]*group{}, prefix: map[string][]*group{}},
		changes: map[change]bool{}, perAgent: map[uint32]int{}, Refusals: map[Reason]uint64{}}
	faults := faults{seen: map[string]bool{}}
	faults.add(cfg.Check())
	profiles := map[string]any{} // one box per profile
	for i := range subscribers {
		sub := &subscribers[i]
		if _, ok := profiles[sub.ProfileID]; !ok {
			profiles[sub.ProfileID] = sub.ProfileID
		}
		if _, twice := s.ordinals[sub.InstanceID]; twice || sub.InstanceID == "" {
			faults.add(protocol.Errorf(protocol.KindInvalid, "bus: subscriber %d: instance id %q is empty or taken", i, sub.InstanceID))
		}
		s.subscribers[i] = identity{sub.InstanceID, profiles[sub.ProfileID]}
		s.ordinals[sub.InstanceID] = uint32(i)
		for _, subscription := range sub.Subscriptions {
			faults.add(s.define(uint32(i), subscription))
		}
	}
	if err := errors.Join(faults.list...); err != nil {
		return nil, err
	}
	return s, nil
}

// faults keeps each text once: a profile's fault is not told per instance.
type faults struct {
	list []error
	seen map[string]bool
}

func (f *faults) add(err error) {
	if err != nil && !f.seen[err.Error()] {
		f.seen[err.Error()] = true
		f.list = append(f.list, err)
	}
}

// define adds a subscription of the definition. Ordinals come in ascending
// order, so the newest is always the last of its group.
func (s *State) define(o uint32, sub Subscription) error {
	g, err := s.find(sub)
	if err != nil {
		return err
	}
	if n := len(g.members); n == 0 || g.members[n-1].end() <= uint64(o) {
		g.members.push(o)
	}
	return nil
}

// find reads a subscription and finds or makes its group.
func (s *State) find(sub Subscription) (*group, error) {
	name, wild, err := pattern(sub.Type)
	if err != nil {
		return nil, err
	}
	f, err := s.filter(sub)
	if err != nil {
		return nil, err
	}
	return s.index.group(name, wild, f), nil
}

func (s *State) filter(sub Subscription) (*filter, error) {
	if sub.FilterCondition == "" {
		return nil, nil
	}
	if f, ok := s.filters[sub.FilterCondition]; ok {
		return f, nil
	}
	f, err := compileFilter(sub.FilterCondition, s.cfg.FilterSteps)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "bus: subscription to %q: filter_condition: %w", sub.Type, err)
	}
	s.filters[sub.FilterCondition] = f
	return f, nil
}

// Change asks for other subscriptions of one agent at run time.
type Change struct {
	Agent  string // instance id
	Add    []Subscription
	Remove []Subscription
}

// Change decides about a change of subscriptions. What is there already, or not
// there, is no error and left out; the fact is nil when nothing remains.
func (s *State) Change(c Change) (*SubscriptionChanged, error) {
	o, ok := s.ordinals[c.Agent]
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "bus: subscribe: no agent %q", c.Agent)
	}
	f := &SubscriptionChanged{Agent: o}
	for _, sub := range c.Add {
		if err := s.check(sub); err != nil {
			return nil, err
		}
		if !s.hears(o, sub) && !slices.Contains(f.Add, sub) && !slices.Contains(c.Remove, sub) {
			f.Add = append(f.Add, sub)
		}
	}
	for _, sub := range c.Remove {
		if s.hears(o, sub) && !slices.Contains(f.Remove, sub) {
			f.Remove = append(f.Remove, sub)
		}
	}
	if len(f.Add)+len(f.Remove) == 0 {
		return nil, nil
	}
	if n := s.inForce(f); n > s.cfg.MaxChanges {
		return nil, protocol.Errorf(protocol.KindLimit, "bus: subscribe %s: %d changes in force; the limit is %d", c.Agent, n, s.cfg.MaxChanges)
	}
	return f, nil
}

// inForce counts the differences to the definition after a change; one that
// takes another back leaves fewer.
func (s *State) inForce(f *SubscriptionChanged) int {
	n := s.perAgent[f.Agent] + len(f.Add) + len(f.Remove)
	for _, sub := range slices.Concat(f.Add, f.Remove) {
		if _, ok := s.changes[change{f.Agent, sub}]; ok {
			n -= 2
		}
	}
	return n
}

// check reads a subscription that may be new.
func (s *State) check(sub Subscription) error {
	if s.filters[sub.FilterCondition] != nil {
		sub.FilterCondition = ""
	}
	return sub.check()
}

// check reads a subscription without keeping anything.
func (sub Subscription) check() error {
	if _, _, err := pattern(sub.Type); err != nil || sub.FilterCondition == "" {
		return err
	}
	if _, err := compileFilter(sub.FilterCondition, 0); err != nil {
		return protocol.Errorf(protocol.KindInvalid, "bus: subscription to %q: filter_condition: %w", sub.Type, err)
	}
	return nil
}

// hears reports whether an agent holds exactly this subscription.
func (s *State) hears(o uint32, sub Subscription) bool {
	name, wild, err := pattern(sub.Type)
	if err != nil {
		return false
	}
	for _, g := range s.index.table(wild)[name] {
		if g.filter.key() == sub.FilterCondition {
			return g.members.Contains(o)
		}
	}
	return false
}

// Apply folds a fact of this package; others are not the channel's.
func (s *State) Apply(fact protocol.Fact) {
	switch f := fact.(type) {
	case *Routed:
		s.Seq = f.Seq
		s.Routed++
		s.Deliveries += uint64(f.Receivers.Len())
		s.Failures += uint64(f.FilterErrors)
	case *Refused:
		s.Seq = f.Seq
		s.Refusals[f.Reason]++
	case *SubscriptionChanged:
		if int(f.Agent) >= len(s.subscribers) {
			return // of another scene
		}
		for _, sub := range f.Remove {
			s.subscribe(f.Agent, sub, false)
		}
		for _, sub := range f.Add {
			s.subscribe(f.Agent, sub, true)
		}
	}
}

// subscribe changes the index. Change and Decode let no subscription through
// that does not compile, so one that reaches this place is a caller's defect.
func (s *State) subscribe(o uint32, sub Subscription, on bool) {
	g, err := s.find(sub)
	if err != nil {
		panic(fmt.Sprintf("bus: apply %s: %v", FactSubscription, err))
	}
	if on {
		g.members = g.members.with(o)
	} else {
		g.members = g.members.without(o)
	}
	if len(g.members) == 0 {
		name, wild, _ := pattern(sub.Type)
		s.index.drop(name, wild, g)
	}
	s.note(change{o, sub}, on)
}

// note keeps the difference to the definition: a change and its opposite leave
// nothing.
func (s *State) note(c change, on bool) {
	if was, ok := s.changes[c]; ok && was != on {
		delete(s.changes, c)
		if s.perAgent[c.agent]--; s.perAgent[c.agent] == 0 {
			delete(s.perAgent, c.agent)
		}
		return
	} else if !ok {
		s.perAgent[c.agent]++
	}
	s.changes[c] = on
}

// snapshot is a State without what the definition gives.
type snapshot struct {
	Seq, Routed, Deliveries, Failures uint64
	Refusals                          []refusals // by reason, in byte order
	Changes                           []SubscriptionChanged
}

// refusals counts one reason. A map would be stored in any order.
type refusals struct {
	Reason Reason
	Count  uint64
}

// Snapshot encodes the state. Equal states have equal bytes.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	snap := snapshot{Seq: s.Seq, Routed: s.Routed, Deliveries: s.Deliveries, Failures: s.Failures}
	for _, reason := range slices.Sorted(maps.Keys(s.Refusals)) {
		snap.Refusals = append(snap.Refusals, refusals{Reason: reason, Count: s.Refusals[reason]})
	}
	for _, c := range slices.SortedFunc(maps.Keys(s.changes), compareChanges) {
		if n := len(snap.Changes); n == 0 || snap.Changes[n-1].Agent != c.agent {
			snap.Changes = append(snap.Changes, SubscriptionChanged{Agent: c.agent})
		}
		last := &snap.Changes[len(snap.Changes)-1]
		if s.changes[c] {
			last.Add = append(last.Add, c.sub)
		} else {
			last.Remove = append(last.Remove, c.sub)
		}
	}
	return codec.Marshal(&snap)
}

func compareChanges(a, b change) int {
	return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.sub.Type, b.sub.Type), cmp.Compare(a.sub.FilterCondition, b.sub.FilterCondition))
}

// Restore makes the state of a snapshot from the same definition.
func Restore(cfg Config, subscribers []Subscriber, codec *protocol.Codec, raw protocol.Raw) (*State, error) {
	s, err := New(cfg, subscribers)
	if err != nil {
		return nil, err
	}
	var snap snapshot
	if err := codec.Unmarshal(raw, &snap); err != nil {
		return nil, err
	}
	for i := range snap.Changes {
		if err := s.restorable(&snap.Changes[i]); err != nil {
			return nil, err
		}
		s.Apply(&snap.Changes[i])
	}
	s.Seq, s.Routed, s.Deliveries, s.Failures = snap.Seq, snap.Routed, snap.Deliveries, snap.Failures
	for _, r := range snap.Refusals {
		s.Refusals[r.Reason] = r.Count
	}
	return s, nil
}

// restorable checks stored bytes: they may be damaged, or of another scene.
func (s *State) restorable(f *SubscriptionChanged) error {
	if int(f.Agent) >= len(s.subscribers) {
		return protocol.Errorf(protocol.KindCorrupt, "bus: restore: subscriber %d of %d", f.Agent, len(s.subscribers))
	}
	for _, sub := range slices.Concat(f.Add, f.Remove) {
		if err := s.check(sub); err != nil {
			return protocol.Errorf(protocol.KindCorrupt, "bus: restore: %w", err)
		}
	}
	return nil
}
