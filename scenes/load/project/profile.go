package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/bus/filter"
	"tavernsim/engine/expr"
	"tavernsim/engine/workflow"
	"tavernsim/engine/world"
	"tavernsim/internal/schema"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/minds"
)

// Profile is a profile with its references resolved.
type Profile struct {
	// Definition names workflows by id, whatever the file says.
	Definition *profile.Profile
	File       string
	// Core and Reflection are its workflows with the profile's prompt; nil = as the
	// project has them.
	Core, Reflection *workflow.Plan
	// Subscriptions of the profile and of its custom_runtime_config.
	Subscriptions []Subscription
	Perceives     []world.Pattern // nil = the whole world

	rules   *world.Rules           // of world writes; nil = it says nothing
	schema  *schema.Schema         // of the private state; nil = any object
	runtime *profile.RuntimeConfig // of instances that set none themselves; nil = not asked for yet
	doc     *source.Document       // while loading
	said    []Fault                // by the decoder, while loading
	missing []Fault                // tools in its inventory that are perhaps of a broken plugin
}

// Subscription is a subscription with its filter compiled.
type Subscription struct {
	Type   string        // may be "*" or end in ".*"
	Filter *expr.Program // over payload, event and self; nil = all
	// Channel is the subscription as the event channel takes it.
	Channel bus.Subscription
}

// CheckState validates a private state against the profile's schema. Without a
// schema every object is valid.
func (p *Profile) CheckState(state map[string]any) error {
	if err := p.schema.Fits(state); err != nil {
		return protocol.Errorf(protocol.KindInvalid, "profile %s: private state: %w", p.Definition.ID, err)
	}
	return nil
}

// KnowledgeBase finds the id behind an alias or id that the profile may use;
// "" is the profile's first.
func (p *Profile) KnowledgeBase(aliasOrID string) (profile.KnowledgeReference, bool) {
	refs := p.Definition.KnowledgeBaseReferences
	if aliasOrID == "" && len(refs) > 0 {
		return refs[0], true
	}
	for _, r := range refs {
		if aliasOrID != "" && r.Alias == aliasOrID {
			return r, true
		}
	}
	for _, r := range refs {
		if r.SourceID == aliasOrID {
			return r, true
		}
	}
	return profile.KnowledgeReference{}, false
}

func (l *loader) loadProfiles() []*Profile {
	files := l.tree.definitions(profilesDir)
	for i, written := range l.project.Definition.AgentProfiles {
		clean, problem := l.tree.locate(written)
		if problem != "" {
			l.fault(l.def, at("agent_profiles", i), source.Suggest(written, files), "%s", problem)
		} else if !slices.Contains(files, clean) {
			files = append(files, clean)
		}
	}
	var list []*Profile
	for _, file := range files {
		doc := l.tree.parse(file)
		if doc == nil {
			continue
		}
		p := &Profile{Definition: &profile.Profile{}, File: file, doc: doc}
		before := l.report.Total()
		l.decoder.Decode(doc, p.Definition)
		p.said = slices.Clone(l.report.Since(before))
		l.version(doc, at("version"), p.Definition.Version)
		list = append(list, p)
		if l.claim("profile", p.Definition.ID, doc, at("id")) {
			l.project.profiles[p.Definition.ID] = p
		}
	}
	return list
}

func (l *loader) linkProfiles(list []*Profile) {
	l.comeAlong(list)
	for _, p := range list {
		d := p.Definition
		d.CoreDeliberationWorkflowID = l.workflowRef(p.doc, at("core_deliberation_workflow_id"), d.CoreDeliberationWorkflowID)
		l.ownInputs(p.doc, at("core_deliberation_workflow_id"), d.CoreDeliberationWorkflowID)
		l.checkCore(p)
		l.linkSkills(p)
		l.linkPrompt(p)
		l.linkTools(p)
		l.checkChoices(p)
		l.linkKnowledge(p)
		l.motivation(p)
		if m := d.Memory; m != nil && m.Summary != nil && m.Summary.By == profile.ByModel {
			l.wantModel(p.doc, at("memory", "summary", "model"), m.Summary.Model)
		}
		minds.Check(p.Definition, func(path []any, hint, format string, args ...any) { l.fault(p.doc, at(path...), hint, format, args...) })
		d.InitialGoalsReference = l.goals(p, p.doc, at("initial_goals_reference"), d.InitialGoalsReference)
		p.Subscriptions = l.subscriptions(p.doc, at("subscribed_event_types"), d.SubscribedEventTypes)
		if d.CustomRuntimeConfig != nil {
			p.Subscriptions = addSubscriptions(p.Subscriptions, l.subscriptions(p.doc,
				at("custom_runtime_config", "subscribed_event_types"), d.CustomRuntimeConfig.SubscribedEventTypes))
			l.idleFilters(p.doc, at("custom_runtime_config", "subscribed_event_types"), d.CustomRuntimeConfig.SubscribedEventTypes, p.Subscriptions)
		}
		l.idleFilters(p.doc, at("subscribed_event_types"), d.SubscribedEventTypes, p.Subscriptions)
		l.interrupt(p.doc, d.CustomRuntimeConfig)
		l.budget(p.doc, d.Budget, "budget")
		l.budget(p.doc, d.BudgetPerAgent, "budget_per_agent")
		l.linkState(p)
		if d.WorldWritePermissions != nil {
			rules := l.writeRules(p.doc, at("world_write_permissions"), d.WorldWritePermissions)
			p.rules = &rules
		}
		if d.Perceives != nil {
			p.Perceives = l.perceives(p.doc, d.Perceives)
		}
		l.publishes(p.doc, d)
	}
}

func (l *loader) linkSkills(p *Profile) {
	d := p.Definition
	seen := map[string]bool{}
	var skills, reflections []string
	add := func(steps []string, ref string) {
		id := l.workflowRef(p.doc, steps, ref)
		switch {
		case id == "":
			return
		case seen[id]:
			l.warn(p.doc, steps, "remove one", "the skill %q is listed twice", id)
			return
		}
		seen[id] = true
		skills = append(skills, id)
		if strings.Contains(strings.ToLower(id), "reflect") {
			reflections = append(reflections, id)
		}
	}
	for i, ref := range d.SkillWorkflowIDsInventory {
		add(at("skill_workflow_ids_inventory", i), ref)
	}
	for i, id := range d.ToolIDsInventory {
		if ref, skill := strings.CutPrefix(id, tool.SkillPrefix); skill {
			add(at("tool_ids_inventory", i), ref)
		}
	}
	d.SkillWorkflowIDsInventory = skills
	d.ReflectionWorkflowID = l.workflowRef(p.doc, at("reflection_workflow_id"), d.ReflectionWorkflowID)
	switch {
	case d.ReflectionWorkflowID != "":
	case len(reflections) == 1:
		d.ReflectionWorkflowID = reflections[0]
	case len(reflections) > 1:
		l.warn(p.doc, at("skill_workflow_ids_inventory"), "name one in reflection_workflow_id",
			"several skills could be the reflection: %s; the profile has none", strings.Join(reflections, ", "))
	}
	l.ownInputs(p.doc, at("reflection_workflow_id"), d.ReflectionWorkflowID, agent.ReflectionInputs(d.Memory != nil)...)
}

func (l *loader) linkTools(p *Profile) {
	skill := func(id string) bool { return strings.HasPrefix(id, tool.SkillPrefix) } // which linkSkills has taken
	for i, id := range p.Definition.ToolIDsInventory {
		steps := at("tool_ids_inventory", i)
		switch {
		case skill(id):
		case slices.Index(p.Definition.ToolIDsInventory, id) < i:
			l.warn(p.doc, steps, "remove one", "the tool %q is listed twice", id)
		case l.opt.Tools != nil && !slices.Contains(l.knownTools(), id):
			l.missingTool(p, steps, id)
		}
	}
	p.Definition.ToolIDsInventory = slices.DeleteFunc(p.Definition.ToolIDsInventory, skill)
}

func (l *loader) linkKnowledge(p *Profile) {
	names := map[string]int{}
	for i, ref := range p.Definition.KnowledgeBaseReferences {
		steps := at("knowledge_base_references", i)
		if _, ok := l.project.bases[ref.SourceID]; !ok && ref.SourceID != "" {
			l.fault(p.doc, append(steps, "source_id"), l.instead(knowledgeDir, ref.SourceID, protocol.SortedKeys(l.project.bases)),
				"there is no knowledge base %q", ref.SourceID)
		}
		name, field := ref.Alias, "alias"
		if name == "" {
			name, field = ref.SourceID, "source_id"
		}
		if first, ok := names[name]; ok && name != "" {
			l.fault(p.doc, append(steps, field), "give it an alias of its own", "the name %q is already that of knowledge_base_references[%d]", name, first)
		}
		names[name] = i
		l.linkWrites(p, steps, ref.Access())
	}
}

// linkWrites warns of what a reference says about writes that it does not permit.
func (l *loader) linkWrites(p *Profile, steps []string, a profile.Access) {
	if len(a.Types) > 0 && !a.Write && !a.Suggest {
		l.warn(p.doc, append(slices.Clip(steps), "write_types"), "add write_caiu or suggest_edits to access_permissions, or remove it", "the agents may write nothing there, of no type")
	}
	if a.Criteria && !a.Write {
		l.warn(p.doc, append(slices.Clip(steps), "access_permissions"), "add write_caiu, or remove it", "write_criteria permits nothing without write_caiu")
	}
}

// goals checks goal references of a profile or of an override, and names their
// knowledge bases by id.
func (l *loader) goals(p *Profile, doc *source.Document, steps []string, refs []profile.GoalReference) []profile.GoalReference {
	out, seen := slices.Clone(refs), make(map[string]int, len(refs))
	for i := range out {
		g := &out[i]
		here := append(slices.Clone(steps), at(i)...)
		ref, ok := p.KnowledgeBase(g.KBAliasOrID)
		if !ok && g.KBAliasOrID == "" {
			l.fault(doc, here, "", "the profile refers to no knowledge base that could hold this goal")
			continue
		}
		if !ok {
			l.fault(doc, append(here, "kb_alias_or_id"), suggestOr(g.KBAliasOrID, p.baseNames()),
				"the profile has no knowledge base %q", g.KBAliasOrID)
			continue
		}
		g.KBAliasOrID = ref.SourceID
		kb := l.project.bases[ref.SourceID]
		if kb == nil || g.CAIUID == "" {
			continue // reported at the reference
		}
		switch e := l.entry(kb, g.CAIUID); {
		case e == nil:
			l.fault(doc, append(here, "caiu_id"), suggestOr(g.CAIUID, entryIDs(kb, isGoal)),
				"the knowledge base %q has no entry %q", kb.ID, g.CAIUID)
		case !isGoal(e):
			l.fault(doc, append(here, "caiu_id"), suggestOr(g.CAIUID, entryIDs(kb, isGoal)),
				"the entry %q of %q is no goal; its entry_type is %q", g.CAIUID, kb.ID, e.EntryType)
		}
		if first, again := seen[g.CAIUID]; again {
			l.strict(doc, append(here, "caiu_id"), "remove one of them, or give one of two entries another id",
				"the goal %q is that of %s, too: an agent tells its goals apart by id, whatever base they are of", g.CAIUID, source.Path(append(slices.Clone(steps), at(first)...)...))
		} else {
			seen[g.CAIUID] = i
		}
	}
	return out
}

func (p *Profile) baseNames() []string {
	var names []string
	for _, r := range p.Definition.KnowledgeBaseReferences {
		names = append(names, r.SourceID)
		if r.Alias != "" {
			names = append(names, r.Alias)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// filterRoots are what a filter_condition may read.
func filterRoots() []string { return []string{"payload", "event", "self"} }

func (l *loader) subscriptions(doc *source.Document, steps []string, list []profile.Subscription) []Subscription {
	var out []Subscription
	for i, s := range list {
		here := append(slices.Clone(steps), at(i)...)
		if problem := badEventType(s.Type, true); problem != "" && s.Type != "" {
			l.fault(doc, append(here, "type"), "", "the event type %q %s", s.Type, problem)
		}
		filter := l.expression(doc, append(here, "filter_condition"), s.FilterCondition, filterRoots()...)
		l.selfRead(doc, append(here, "filter_condition"), filter)
		out = addSubscriptions(out, []Subscription{{Type: s.Type, Filter: filter, Channel: l.subscription(doc, here, s)}})
	}
	return out
}

// selfRead warns of a field of self that no agent has: it is always undefined.
func (l *loader) selfRead(doc *source.Document, steps []string, p *expr.Program) {
	if p == nil {
		return
	}
	for _, keys := range p.Reads("self") {
		if len(keys) > 0 && !slices.Contains(filter.Fields(), keys[0]) {
			l.warn(doc, steps, "the private state is read where the agent decides, not in a filter", "self has no field %q, so it is always undefined; it has %s", keys[0], strings.Join(filter.Fields(), ", "))
		}
	}
}

// idleFilters warns of filters beside a subscription that hears every event of the type anyway: subscriptions are added.
func (l *loader) idleFilters(doc *source.Document, steps []string, written []profile.Subscription, all []Subscription) {
	for i, s := range written {
		if s.FilterCondition == "" || s.Path != "" {
			continue
		}
		for _, o := range all {
			every, err := (bus.Subscription{Type: o.Type}).Normal()
			if err == nil && o.Channel == every && (o.Type == s.Type || eventtype.Matches(o.Type, s.Type)) {
				l.warn(doc, append(slices.Clone(steps), at(i, "filter_condition")...), "subscriptions of an agent are added to those of its profile: take that one out, or give it the filter", "the filter does nothing, for the agent also subscribes to %q without one", o.Type)
				break
			}
		}
	}
}

// subscription reports what is wrong with the fields that depend on one another.
// The type and the filter have been looked at.
func (l *loader) subscription(doc *source.Document, here []string, s profile.Subscription) bus.Subscription {
	sub := s.ForChannel()
	sub.FilterCondition = ""
	sub, err := sub.Normal()
	if fault, ok := errors.AsType[*bus.Fault](err); ok && fault.Field != "type" {
		l.fault(doc, append(slices.Clone(here), fault.Field), "", "%s %s", fault.Field, fault.Message)
	}
	sub.FilterCondition = s.FilterCondition
	return sub
}

// addSubscriptions appends those that are not there yet. It never writes into
// the backing array of list, which others share.
func addSubscriptions(list, more []Subscription) []Subscription {
	list = slices.Clip(list)
	for _, s := range more {
		if !slices.ContainsFunc(list, s.equal) {
			list = append(list, s)
		}
	}
	return list
}

func (s Subscription) equal(t Subscription) bool {
	return s.Channel == t.Channel
}

// FilterText is the filter as written; "" for none.
func (s Subscription) FilterText() string {
	if s.Filter == nil {
		return ""
	}
	return s.Filter.Source()
}

// linkState compiles the schema of the private state and validates the values of
// the profile by themselves. What is missing may come from a scene and is not a
// fault here.
func (l *loader) linkState(p *Profile) {
	if p.doc.Root.Get("initial_private_state_schema") == nil || p.Definition.InitialPrivateStateSchema == nil {
		return
	}
	p.schema = l.schema(p.doc, at("initial_private_state_schema"))
	if p.schema == nil {
		return
	}
	values, bounded := p.schema.Fill(p.values())
	if !bounded {
		l.fault(p.doc, at("initial_private_state_schema"), "", "its defaults fill more than %d values", schema.MaxDefaults)
		p.schema = nil
		return
	}
	for _, v := range p.schema.Check(values) {
		if len(v.Steps) > 0 {
			l.stateFault(p, nil, nil, v)
		}
	}
}

// values is the profile's own part of the private state.
func (p *Profile) values() map[string]any {
	if p.Definition.InitialPrivateStateValues == nil {
		return map[string]any{}
	}
	return p.Definition.InitialPrivateStateValues
}

// stateFault puts a violation where its value is written: in the override of an
// instance when that has the field, else in the profile's values, else at what
// is missing it.
func (l *loader) stateFault(p *Profile, scene *source.Document, override []string, v schema.Violation) {
	doc, steps := p.doc, at("initial_private_state_values")
	if scene != nil {
		n, reached := scene.Root.Find(override...)
		inScene := reached == len(override) && (len(v.Steps) == 0 || n.Get(v.Steps[0]) != nil)
		_, inProfile := p.values()[first(v.Steps)]
		if inScene || !inProfile {
			doc, steps = scene, override
		}
	}
	l.fault(doc, append(slices.Clone(steps), v.Steps...), v.Suggestion,
		"the private state breaks the schema of profile %q: %s", p.Definition.ID, v.Message)
}

func first(steps []string) string {
	if len(steps) == 0 {
		return ""
	}
	return steps[0]
}

// expressionFault takes an expression's error apart.
func expressionFault(err error) (message, hint string) {
	if e, ok := errors.AsType[*expr.Error](err); ok {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message), e.Hint
	}
	return err.Error(), ""
}
