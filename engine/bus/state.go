package bus

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/bus/filter"
	"tavernsim/engine/bus/naming"
	"tavernsim/engine/bus/team"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// State is the event channel of one scene. It has one owner.
type State struct {
	cfg         Config
	subscribers Subscribers
	selves      []filter.Self // by ordinal; nil = no filter asked for one
	filters     map[string]*shared
	index       index
	changes     map[uint32][]changed // subscriptions and unsubscriptions of agents at run time, sorted
	defined     int                  // number of filters of the definition
	throttle    *throttle.Table
	holds       holds
	away        Ranges          // agents that are not there
	teams       map[*group]bool // of subscriptions with a Group
	grouped     Ranges          // agents in teams
	regroup     bool            // grouped is to be made anew

	// Space tells where agents are; nil = nobody knows. Set it before Decide.
	Space Space

	// Load is how much waits for agents, for groups of subscriptions. Set it before Decide.
	Load team.Load

	Names naming.Names // of new events

	Seq        uint64 // published events so far
	Routed     uint64
	Deliveries uint64
	Failures   uint64 // filters that failed, once per receiver
	Held       uint64 // deliveries that were held so far
	Refusals   map[Reason]uint64
}

type changed struct {
	sub Subscription
	on  bool // it is a subscription
}

// New makes the channel. The subscribers stay the caller's and must not change. Its error lists all distinct faults of the configuration and
// of the subscriptions.
func New(cfg Config, subscribers Subscribers) (*State, error) {
	s := &State{cfg: cfg.withDefaults(), subscribers: subscribers, filters: map[string]*shared{},
		index:   index{exact: map[string][]*group{}, prefix: map[string][]*group{}, keys: map[string][]*group{}},
		changes: map[uint32][]changed{}, teams: map[*group]bool{}, Refusals: map[Reason]uint64{}, holds: newHolds()}
	s.Names = naming.Names{Prefix: cfg.NamespacePrefix, Numbered: cfg.Numbered}
	faults := faults{seen: map[string]bool{}}
	faults.add(cfg.Check())
	s.throttle = throttle.New(cfg.Throttle, subscribers.Len())
	var shared []Subscription // of the previous subscriber, and their groups
	var groups []*group
	s.seats()
	for o := range uint32(subscribers.Len()) {
		id, subscriptions := subscribers.Name(o), subscribers.Subscriptions(o)
		if first, _ := subscribers.Ordinal(id); first != o || id == "" {
			faults.add(protocol.Errorf(protocol.KindInvalid, "bus: subscriber %d: instance id %q is empty or taken", o, id))
		}
		if !same(subscriptions, shared) {
			shared, groups = subscriptions, groups[:0]
			for _, subscription := range shared {
				g, err := s.define(subscription)
				faults.add(err)
				groups = append(groups, g)
			}
		}
		if s.away.Contains(o) {
			continue
		}
		for _, g := range groups {
			g.join(o)
		}
	}
	s.defined = len(s.filters)
	if err := errors.Join(faults.list...); err != nil {
		return nil, err
	}
	return s, s.tidy()
}

// same reports whether two lists share their memory, as those of agents of a class do.
func same(a, b []Subscription) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// faults keeps each text once, so that a fault of a profile is not repeated for every
// instance.
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

// join adds a subscriber of the definition. Ordinals come in ascending order, so
// the newest is always the last of its group.
func (g *group) join(o uint32) {
	if g == nil {
		return // the fault is in the list already
	}
	if n := len(g.members); n == 0 || g.members[n-1].End() <= uint64(o) {
		g.members.Push(o)
	}
}

// define finds or makes the group of a subscription.
func (s *State) define(sub Subscription) (*group, error) {
	sub, err := sub.Normal()
	if err != nil {
		return nil, err
	}
	groups, at, found := s.index.find(&sub)
	if found {
		return groups[at], nil
	}
	f, err := s.filter(sub)
	if err != nil {
		return nil, err
	}
	g := &group{sub: sub, filter: f}
	s.index.put(&sub, slices.Insert(groups, at, g))
	if sub.Group != "" {
		s.teams[g], s.regroup = true, true
	}
	return g, nil
}

func (s *State) filter(sub Subscription) (*shared, error) {
	if sub.FilterCondition == "" {
		return nil, nil
	}
	f, ok := s.filters[sub.FilterCondition]
	if !ok {
		compiled, err := filter.Compile(sub.FilterCondition, s.cfg.FilterSteps)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "bus: subscription to %q: filter_condition: %w", sub.Type, err)
		}
		f = &shared{Filter: compiled}
		s.filters[sub.FilterCondition] = f
	}
	f.uses++
	return f, nil
}

// drop removes a group without members, and its filter if no other group has it.
func (s *State) drop(g *group) {
	groups, at, found := s.index.find(&g.sub)
	if !found {
		return
	}
	s.index.put(&g.sub, slices.Delete(groups, at, at+1))
	if g.sub.Group != "" {
		delete(s.teams, g)
		s.regroup = true
	}
	if g.filter == nil {
		return
	}
	if g.filter.uses--; g.filter.uses == 0 {
		delete(s.filters, g.filter.Text)
	}
}

// MaxFilters bounds the distinct filters of subscriptions at run time, of all agents
// together.
const MaxFilters = 10_000

// Change decides about a change of subscriptions. It leaves out additions that exist
// and removals that do not; the fact is nil if nothing is left.
func (s *State) Change(c Change) (*SubscriptionChanged, error) {
	o, ok := s.subscribers.Ordinal(c.Agent)
	if !ok || s.away.Contains(o) {
		return nil, protocol.Errorf(protocol.KindNotFound, "bus: subscribe: no agent %q", c.Agent)
	}
	f := &SubscriptionChanged{Agent: o}
	for _, sub := range c.Add {
		sub, err := s.check(sub)
		if err != nil {
			return nil, err
		}
		removed := slices.ContainsFunc(c.Remove, func(r Subscription) bool { return sub.agrees(&r) })
		if !removed && !s.hears(o, &sub) && !slices.Contains(f.Add, sub) {
			f.Add = append(f.Add, sub)
		}
	}
	for _, sub := range c.Remove {
		if err := s.unsubscribe(o, sub, f); err != nil {
			return nil, err
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

// unsubscribe finds the matching subscriptions of an agent, in the order of the index.
func (s *State) unsubscribe(o uint32, which Subscription, f *SubscriptionChanged) error {
	which, err := Subscription{Type: which.Type, FilterCondition: which.FilterCondition, Path: which.Path, Group: which.Group}.Normal()
	if err != nil {
		return err
	}
	for _, sub := range s.subscribed(o) {
		if sub.agrees(&which) && !slices.Contains(f.Remove, sub) {
			f.Remove = append(f.Remove, sub)
		}
	}
	return nil
}

// subscribed lists the subscriptions of an agent, in the order of the index.
func (s *State) subscribed(o uint32) (list []Subscription) {
	add := func(sub Subscription) {
		if s.hears(o, &sub) && !slices.Contains(list, sub) {
			list = append(list, sub)
		}
	}
	for _, sub := range s.subscribers.Subscriptions(o) {
		if sub, err := sub.Normal(); err == nil {
			add(sub)
		}
	}
	for _, c := range s.changes[o] {
		if c.on {
			add(c.sub)
		}
	}
	slices.SortFunc(list, func(a, b Subscription) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), (&group{sub: a}).compare(&b))
	})
	return list
}

// inForce counts the differences to the definition after a change. A change that
// reverts another one reduces the number.
func (s *State) inForce(f *SubscriptionChanged) int {
	n := len(s.changes[f.Agent]) + len(f.Add) + len(f.Remove)
	for _, sub := range slices.Concat(f.Add, f.Remove) {
		if _, ok := s.change(f.Agent, sub); ok {
			n -= 2
		}
	}
	return n
}

// check validates a new subscription and returns its normal form.
func (s *State) check(sub Subscription) (Subscription, error) {
	sub, err := sub.Normal()
	if err != nil || sub.FilterCondition == "" || s.filters[sub.FilterCondition] != nil {
		return sub, err
	}
	if len(s.filters)-s.defined >= MaxFilters {
		return sub, protocol.Errorf(protocol.KindLimit, "bus: subscription to %q: filter_condition: the scene has %d distinct filters more than at its start; no other is taken", sub.Type, MaxFilters)
	}
	return sub, sub.checkFilter()
}

// checkFilter compiles a filter without keeping it.
func (sub Subscription) checkFilter() error {
	if sub.FilterCondition == "" {
		return nil
	}
	if _, err := filter.Compile(sub.FilterCondition, 0); err != nil {
		return protocol.Errorf(protocol.KindInvalid, "bus: subscription to %q: filter_condition: %w", sub.Type, err)
	}
	return nil
}

// check refuses a stored subscription that Change cannot have accepted.
func (sub Subscription) check() error {
	normal, err := sub.Normal()
	if err == nil && normal != sub {
		err = protocol.Errorf(protocol.KindInvalid, "bus: subscription to %q is not in its normal form", sub.Type)
	}
	if err != nil {
		return err
	}
	return sub.checkFilter()
}

// hears reports whether an agent has exactly this subscription, in its normal form.
func (s *State) hears(o uint32, sub *Subscription) bool {
	groups, at, found := s.index.find(sub)
	return found && groups[at].members.Contains(o)
}

// Apply folds a fact of this package; other facts change nothing.
func (s *State) Apply(fact protocol.Fact) {
	own, _ := fact.(Fact)
	switch f := own.(type) {
	case *Routed:
		s.Seq = f.Seq
		s.Deliveries += uint64(f.Receivers.Len())
		s.Failures += uint64(f.FilterErrors)
		s.applyRouted(f)
	case *Refused:
		s.Seq = f.Seq
		s.Names.Follow(&f.EventHeader)
		s.Refusals[f.Reason]++
	case *ThrottleChanged:
		if f.Removed {
			s.throttle.Remove(f.Rule)
		} else {
			s.throttle.Set(f.Rule, f.Time)
		}
	case *SubscriptionChanged:
		if int(f.Agent) >= s.subscribers.Len() {
			return // the fact is of another scene
		}
		for _, sub := range f.Remove {
			s.subscribe(f.Agent, sub, false)
		}
		for _, sub := range f.Add {
			s.subscribe(f.Agent, sub, true)
		}
	case *Listener:
		s.listener(f)
	case *NotDone: // changes nothing
	}
}

// applyRouted counts the event against the throttle rules and adds its holds, or ends
// a hold.
func (s *State) applyRouted(f *Routed) {
	if f.Released != 0 {
		s.holds.release(f.Released)
		return
	}
	s.Names.Follow(&f.EventHeader)
	s.Routed++
	if !s.throttle.Idle() && !s.exempt(f.Source) {
		s.throttle.Take(f.Type, f.Source, f.Time)
	}
	for i := range f.Held {
		if f.Held[i].Receivers.Beyond(s.subscribers.Len()) {
			continue // the fact is of another scene
		}
		s.Held += uint64(f.Held[i].Receivers.Len())
		s.holds.hold(f, &f.Held[i])
	}
}

// subscribe changes the index. A subscription that does not compile is a defect of the
// caller, because Change and the decoder refuse it.
func (s *State) subscribe(o uint32, sub Subscription, on bool) {
	g, err := s.define(sub)
	if err != nil {
		panic(fmt.Sprintf("bus: apply %s: %v", FactSubscription, err))
	}
	s.put(g, o, on)
	s.note(o, changed{sub, on})
}

// put adds an agent to a group, or takes it out. A group without members is dropped.
func (s *State) put(g *group, o uint32, in bool) {
	if g.lent {
		g.members, g.lent = slices.Clone(g.members), false
	}
	if in {
		g.members.Put(o)
	} else {
		g.members.Drop(o)
	}
	s.regroup = s.regroup || g.sub.Group != ""
	if len(g.members) == 0 {
		s.drop(g)
	}
}

// change finds a difference to the definition among those of an agent, or its place.
func (s *State) change(o uint32, sub Subscription) (at int, found bool) {
	return slices.BinarySearchFunc(s.changes[o], sub, func(c changed, sub Subscription) int { return compareSubscriptions(&c.sub, &sub) })
}

// note keeps the difference to the definition. A change and its opposite cancel out.
func (s *State) note(o uint32, c changed) {
	list := s.changes[o]
	switch at, found := s.change(o, c.sub); {
	case !found:
		list = slices.Insert(list, at, c)
	case list[at].on != c.on:
		list = slices.Delete(list, at, at+1)
	}
	if len(list) == 0 {
		delete(s.changes, o)
		return
	}
	s.changes[o] = list
}

// snapshot is a State without the parts that follow from the definition.
type snapshot struct {
	Seq, Routed, Deliveries, Failures uint64
	Refusals                          []refusals // by reason, in byte order
	Changes                           []SubscriptionChanged
	Held, LastHold                    uint64
	Holds                             []storedHold
	Throttle                          throttle.Stored
}

// refusals counts one reason. A list is stored in a fixed order; a map is not.
type refusals struct {
	Reason Reason
	Count  uint64
}

// Snapshot encodes the state. Equal states have equal bytes.
func (s *State) Snapshot(codec *protocol.Codec) (protocol.Raw, error) {
	snap := snapshot{Seq: s.Seq, Routed: s.Routed, Deliveries: s.Deliveries, Failures: s.Failures,
		Held: s.Held, LastHold: s.holds.last, Holds: s.holds.store(), Throttle: s.throttle.Store()}
	for _, reason := range slices.Sorted(maps.Keys(s.Refusals)) {
		snap.Refusals = append(snap.Refusals, refusals{Reason: reason, Count: s.Refusals[reason]})
	}
	for _, o := range slices.Sorted(maps.Keys(s.changes)) {
		f := SubscriptionChanged{Agent: o}
		f.Add, f.Remove = s.Changed(o)
		snap.Changes = append(snap.Changes, f)
	}
	if s.peopled() {
		return codec.Marshal(&peopled{snap, s.away})
	}
	return codec.Marshal(&snap)
}

func compareSubscriptions(x, y *Subscription) int {
	return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Path, y.Path),
		cmp.Compare(x.FilterCondition, y.FilterCondition), cmp.Compare(x.Debounce, y.Debounce), cmp.Compare(x.Quiet, y.Quiet), cmp.Compare(x.Most, y.Most), cmp.Compare(x.Group, y.Group))
}

// Restore decodes a snapshot of a state with the same definition.
func Restore(cfg Config, subscribers Subscribers, codec *protocol.Codec, raw protocol.Raw) (*State, error) {
	s, err := New(cfg, subscribers)
	if err != nil {
		return nil, err
	}
	snap, err := s.stored(codec, raw)
	if err != nil {
		return nil, err
	}
	for i := range snap.Changes {
		if err := s.restorable(&snap.Changes[i]); err != nil {
			return nil, err
		}
		s.Apply(&snap.Changes[i])
	}
	s.Seq, s.Routed, s.Deliveries, s.Failures, s.Held = snap.Seq, snap.Routed, snap.Deliveries, snap.Failures, snap.Held
	for _, r := range snap.Refusals {
		s.Refusals[r.Reason] = r.Count
	}
	if s.throttle, err = throttle.Restore(cfg.Throttle, subscribers.Len(), snap.Throttle); err != nil {
		return nil, err
	}
	return s, s.holds.restore(snap.Holds, snap.LastHold, subscribers.Len())
}

// restorable checks a stored change, which may be damaged or of another scene.
func (s *State) restorable(f *SubscriptionChanged) error {
	if int(f.Agent) >= s.subscribers.Len() {
		return protocol.Errorf(protocol.KindCorrupt, "bus: restore: subscriber %d of %d", f.Agent, s.subscribers.Len())
	}
	for _, sub := range slices.Concat(f.Add, f.Remove) {
		if err := sub.check(); err != nil {
			return protocol.Errorf(protocol.KindCorrupt, "bus: restore: %w", err)
		}
	}
	return nil
}

// Plain reports whether an event, the subscriptions and their filters alone decide which agents hear it. In a scene
// in space filters may ask for places, too.
func (s *State) Plain(inSpace bool) bool {
	return !s.cfg.Numbered && len(s.cfg.Middleware) == 0 && len(s.teams) == 0 && s.throttle.Idle() && !(inSpace && len(s.filters) > 0)
}
