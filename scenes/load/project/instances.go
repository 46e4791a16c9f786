package project

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/cast"
	"tavernsim/internal/schema"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/numbered"
)

// Instance is one agent of a scene, ready to be made. What its fields point to
// is shared with other instances: read-only.
type Instance struct {
	Ordinal int    // in the scene, from 0, in the order of agent_instances
	ID      string // unique in the scene
	N       int    // number within its entry, from 1
	Profile *Profile
	// State is the initial private state: profile, override, schema defaults.
	State         map[string]any
	Goals         []profile.GoalReference // knowledge bases by id
	Runtime       *profile.RuntimeConfig  // every field set
	Subscriptions []Subscription          // profile's, then the runtime configuration's
}

// entry is one element of agent_instances, linked.
type entry struct {
	profile *Profile
	id      numbered.Template
	count   int
	counted bool // count is given
	// state is the merged state; texts in varying fields still hold templates.
	state         map[string]any
	varying       []string // fields of state in which {n} occurs, sorted
	goals         []profile.GoalReference
	runtime       *profile.RuntimeConfig
	subscriptions []Subscription
	roles         []string
	place         string
	spawnable     bool
}

func (e *entry) instance(n int) Instance {
	return Instance{ID: e.id.Expand(n), N: n, Profile: e.profile, State: e.stateOf(n), Goals: e.goals, Runtime: e.runtime, Subscriptions: e.subscriptions}
}

// stateOf copies the top level and what varies; the rest is shared.
func (e *entry) stateOf(n int) map[string]any {
	if len(e.varying) == 0 {
		return e.state
	}
	state := maps.Clone(e.state)
	for _, field := range e.varying {
		state[field] = numbered.Value(e.state[field], n)
	}
	return state
}

// Agents are the agents of a scene: a table of its entries from which instances
// are made on demand. It is immutable and safe for concurrent use.
type Agents struct {
	entries []*entry
	counts  []int
	starts  []int // ordinal of the first instance of each entry
	total   int
	ids     numbered.IDs // of entries
}

// Agents expands agent_instances. An override above 0 is the number of agents
// that the entries with a count make together: it is shared out in proportion to
// their counts, at least one each, the largest remainders first and the earlier
// entry at a tie. 0 leaves the counts as they are.
func (s *Scene) Agents(override int) (*Agents, error) {
	counts := s.counts()
	if override != 0 {
		if err := s.scale(counts, override); err != nil {
			return nil, err
		}
	}
	a := &Agents{entries: s.entries, counts: counts, starts: make([]int, len(counts))}
	for i, n := range counts {
		a.starts[i] = a.total
		a.total += n
	}
	ids := make([]numbered.Template, len(a.entries))
	for i, e := range a.entries {
		ids[i] = e.id
	}
	a.ids = numbered.Index(ids, counts)
	limit := s.Definition.Simulation.Limits.MaxAgents
	if a.total > limit {
		return nil, protocol.Errorf(protocol.KindInvalid, "scene %s: %d agents; simulation.limits.max_agents is %d", s.Definition.ID, a.total, limit)
	}
	if override != 0 {
		if err := s.badIDs(counts, override); err != nil {
			return nil, err
		}
		for _, c := range clashes(s.entries, counts) {
			return nil, protocol.Errorf(protocol.KindInvalid,
				"scene %s: with %d agents the instance id %q is made by agent_instances[%d] and agent_instances[%d]",
				s.Definition.ID, override, c.id, c.first, c.again)
		}
	}
	return a, nil
}

// badIDs refuses ids that other counts than those of the file make. The last id of an entry is its
// longest.
func (s *Scene) badIDs(counts []int, override int) error {
	for i, e := range s.entries {
		id := e.id.Expand(counts[i])
		problem := badID(id)
		if counts[i] > 1 && !e.id.HasN() {
			problem = fmt.Sprintf("would be that of all its %d agents; want a template with {n}", counts[i])
		}
		if problem != "" {
			return protocol.Errorf(protocol.KindInvalid, "scene %s: with %d agents the instance id %q of agent_instances[%d] %s", s.Definition.ID, override, id, i, problem)
		}
	}
	return nil
}

// counts are those of the entries, as they are written.
func (s *Scene) counts() []int {
	counts := make([]int, len(s.entries))
	for i, e := range s.entries {
		counts[i] = e.count
	}
	return counts
}

func (s *Scene) scale(counts []int, want int) error {
	counted, sum := []int(nil), 0
	for i, e := range s.entries {
		if e.counted && !e.spawnable {
			counted = append(counted, i)
			sum += e.count
		}
	}
	switch {
	case len(counted) == 0:
		return protocol.Errorf(protocol.KindInvalid, "scene %s: the number of agents cannot be changed, for no entry of agent_instances has a count", s.Definition.ID)
	case want < len(counted) || want > MaxInstances:
		return protocol.Errorf(protocol.KindInvalid, "scene %s: %d agents; want %d to %d", s.Definition.ID, want, len(counted), MaxInstances)
	}
	// One for each entry, the rest in proportion. Products stay below 2^47.
	rest, given := want-len(counted), 0
	for _, i := range counted {
		counts[i] = 1 + rest*s.entries[i].count/sum
		given += counts[i]
	}
	slices.SortStableFunc(counted, func(i, j int) int {
		return rest*s.entries[j].count%sum - rest*s.entries[i].count%sum
	})
	for k := range want - given {
		counts[counted[k]]++
	}
	return nil
}

// Len is the number of agents.
func (a *Agents) Len() int { return a.total }

// At makes the instance of an ordinal below Len.
func (a *Agents) At(ordinal int) Instance {
	i := a.entry(ordinal)
	in := a.entries[i].instance(ordinal - a.starts[i] + 1)
	in.Ordinal = ordinal
	return in
}

// Roles are those of an ordinal below Len.
func (a *Agents) Roles(ordinal int) []string { return a.entries[a.entry(ordinal)].roles }

// Place is where an ordinal below Len begins; "" = nowhere.
func (a *Agents) Place(ordinal int) string { return a.entries[a.entry(ordinal)].place }

// Spawnable reports whether an ordinal below Len is away when the scene begins.
func (a *Agents) Spawnable(ordinal int) bool { return a.entries[a.entry(ordinal)].spawnable }

// entry is the index of the entry that makes an ordinal.
func (a *Agents) entry(ordinal int) int {
	i, exact := slices.BinarySearch(a.starts, ordinal)
	if !exact {
		i--
	}
	for a.counts[i] == 0 { // an empty entry shares its start with the next
		i++
	}
	return i
}

// All makes every instance, in order.
func (a *Agents) All() iter.Seq[Instance] {
	return func(yield func(Instance) bool) {
		ordinal := 0
		for i, e := range a.entries {
			for n := range a.counts[i] {
				in := e.instance(n + 1)
				in.Ordinal = ordinal
				ordinal++
				if !yield(in) {
					return
				}
			}
		}
	}
}

// Find gives the ordinal of an instance id.
func (a *Agents) Find(id string) (int, bool) {
	i, n, ok := a.ids.Find(id)
	if !ok {
		return 0, false
	}
	return a.starts[i] + n - 1, true
}

// clash is an instance id that two entries make, the first and a later one.
type clash struct {
	id           string
	first, again int
}

// clashes finds at most one clash for each later entry. Only entries whose fixed
// beginnings agree are compared id by id.
func clashes(entries []*entry, counts []int) []clash {
	var list []clash
	single := map[string]int{}
	var counted []int
	for i, e := range entries {
		if e.id.HasN() {
			counted = append(counted, i)
		} else if first, ok := single[e.id.Text]; ok {
			list = append(list, clash{e.id.Text, first, i})
		} else {
			single[e.id.Text] = i
		}
	}
	singles := protocol.SortedKeys(single)
	for at, i := range counted {
		for _, id := range singles {
			if _, ok := entries[i].id.Number(id, counts[i]); ok {
				list = append(list, clash{id, min(single[id], i), max(single[id], i)})
				break
			}
		}
		for _, j := range counted[:at] {
			if id := common(entries[j].id, counts[j], entries[i].id, counts[i]); id != "" {
				list = append(list, clash{id, j, i})
				break
			}
		}
	}
	return list
}

// common finds an id that both templates write.
func common(a numbered.Template, countA int, b numbered.Template, countB int) string {
	if countA > countB {
		a, countA, b, countB = b, countB, a, countA
	}
	if !agree(a.Head(), b.Head()) {
		return ""
	}
	for n := range countA {
		id := a.Expand(n + 1)
		if _, ok := b.Number(id, countB); ok {
			return id
		}
	}
	return ""
}

// agree reports whether one text begins with the other.
func agree(a, b string) bool {
	n := min(len(a), len(b))
	return a[:n] == b[:n]
}

// merge lays an override over the profile's values, field by field.
func merge(values, override map[string]any) map[string]any {
	if len(override) == 0 {
		return values
	}
	state := make(map[string]any, len(values)+len(override))
	maps.Copy(state, values)
	maps.Copy(state, override)
	return state
}

// linkInstances checks agent_instances and makes the scene's entries.
func (l *loader) linkInstances(s *Scene) {
	total := 0
	var places []int // in agent_instances, of the entries that are sound
	for i := range s.Definition.AgentInstances {
		e := l.linkInstance(s, i)
		if e == nil {
			continue
		}
		s.entries, places = append(s.entries, e), append(places, i)
		total += e.count
	}
	if limit := s.Definition.Simulation.Limits.MaxAgents; total > limit {
		l.fault(s.doc, at("agent_instances"), "", "the scene has %d agents; simulation.limits.max_agents is %d", total, limit)
		return
	}
	l.uniqueInstances(s, places)
}

func (l *loader) uniqueInstances(s *Scene, places []int) {
	for _, c := range clashes(s.entries, s.counts()) {
		n, _ := s.doc.Root.Find(at("agent_instances", places[c.first], "instance_id")...)
		l.fault(s.doc, at("agent_instances", places[c.again], "instance_id"), "rename one of them",
			"the instance id %q is given twice; the first is at %s", c.id, place{s.doc, n})
	}
}

func (l *loader) linkInstance(s *Scene, i int) *entry {
	d := &s.Definition.AgentInstances[i]
	steps := func(more ...any) []string { return at(append([]any{"agent_instances", i}, more...)...) }
	node, reached := s.doc.Root.Find(steps()...)
	if reached < 2 || node.Kind != source.Object {
		return nil
	}
	e := &entry{id: numbered.Parse(d.InstanceID), count: max(d.Count, 1), counted: node.Get("count") != nil, roles: d.Roles, place: d.Place, spawnable: d.Spawnable}
	for k, role := range d.Roles {
		if bad := cast.CheckRole(role); role != "" && bad != "" {
			l.fault(s.doc, steps("roles", k), "", "the role %q %s", role, bad)
		}
	}
	l.instanceID(s, steps("instance_id"), e)
	p, ok := l.project.profiles[d.ProfileID]
	if !ok {
		if d.ProfileID != "" {
			l.fault(s.doc, steps("profile_id"), l.instead(profilesDir, d.ProfileID, protocol.SortedKeys(l.project.profiles)), "there is no profile %q", d.ProfileID)
		}
		return nil
	}
	e.profile = p
	l.instanceState(s, steps("initial_private_state_override"), d, e)
	e.goals = p.Definition.InitialGoalsReference
	if d.InitialGoalsOverrideReference != nil {
		d.InitialGoalsOverrideReference = l.goals(p, s.doc, steps("initial_goals_override_reference"), d.InitialGoalsOverrideReference)
		e.goals = d.InitialGoalsOverrideReference
	}
	e.runtime = l.runtime(p, node.Get("custom_runtime_config"), s.doc)
	l.interrupt(s.doc, d.CustomRuntimeConfig, "agent_instances", i)
	l.begins(s, steps, d, e)
	l.blockingLanes(s, steps, e)
	e.subscriptions = p.Subscriptions
	if d.CustomRuntimeConfig != nil {
		here, more := steps("custom_runtime_config", "subscribed_event_types"), d.CustomRuntimeConfig.SubscribedEventTypes
		e.subscriptions = addSubscriptions(p.Subscriptions, l.subscriptions(s.doc, here, more))
		l.idleFilters(s.doc, here, more, e.subscriptions)
	}
	return e
}

func (l *loader) instanceID(s *Scene, steps []string, e *entry) {
	id := e.id.Expand(e.count)
	switch {
	case id == "":
		return
	case badName(id) != "":
		l.fault(s.doc, steps, "", "the id %q %s", id, badName(id))
	case e.counted && e.count > 1 && !e.id.HasN():
		l.fault(s.doc, steps, fmt.Sprintf("write %q", e.id.Text+"_{n}"), "all %d agents would have the id %q; want a template with {n}", e.count, id)
	case !e.counted && e.id.HasN():
		l.fault(s.doc, steps, "add a count", "the id is a template, but the entry has no count")
	}
}

// instanceState merges the state of an entry and validates the first and, for
// texts that grow with the number, the last instance of it.
func (l *loader) instanceState(s *Scene, steps []string, d *agentInstance, e *entry) {
	p := e.profile
	e.state = merge(p.values(), d.InitialPrivateStateOverride)
	if p.schema != nil {
		filled, bounded := p.schema.Fill(e.state)
		if e.state = filled; !bounded {
			l.fault(s.doc, steps, "", "the defaults of the schema of profile %q fill more than %d values of this state", p.Definition.ID, schema.MaxDefaults)
			return
		}
	}
	if e.counted {
		for _, field := range protocol.SortedKeys(d.InitialPrivateStateOverride) {
			if numbered.Held(d.InitialPrivateStateOverride[field]) {
				e.varying = append(e.varying, field)
			}
		}
	}
	if p.schema == nil {
		return
	}
	for _, n := range slices.Compact([]int{1, e.count}) {
		for _, v := range p.schema.Check(e.stateOf(n)) {
			l.stateFault(p, s.doc, steps, v)
		}
	}
}
