package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/expr"
	"tavernsim/engine/script"
	"tavernsim/engine/space/ground"
	"tavernsim/engine/world"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/load/roads"
	"tavernsim/scenes/load/stand"
)

type agentInstance = agenda.AgentInstance

// Scene is a scene with its references resolved and its defaults filled in.
type Scene struct {
	// Definition names workflows by id and has every default filled in, except
	// Seed, whose absence means that one is drawn. Its Simulation.Model is a path
	// of [Project.Model], or "" when the project has no model file.
	Definition *agenda.Scene
	File       string
	Until      *expr.Program // over world and scene; nil = no such condition
	Lifecycle  Lifecycle
	// Permissions of world writes by profile; nil = nothing is forbidden.
	Permissions *world.Permissions
	Script      *script.Program // nil = there is none
	Space       *ground.Map     // nil = there is none

	entries []*entry
	doc     *source.Document // while loading
	begun   *world.Document  // while loading: what goals refer to; nil = none did yet
}

// Lifecycle names the workflows that run by themselves; "" = none.
type Lifecycle struct {
	Start, End, Pause, Resume string
	// Events maps the name of an event to a workflow: player.left is "player_left", as
	// in on_player_left_event. Types that differ only in dots and underscores share it.
	Events map[string]string
}

func (l *loader) loadScenes() []*Scene {
	var list []*Scene
	files := l.tree.definitions(scenesDir)
	for _, file := range files {
		doc := l.tree.parse(file)
		if doc == nil {
			continue
		}
		s := &Scene{Definition: &agenda.Scene{}, File: file, doc: doc}
		l.decoder.Decode(doc, s.Definition)
		l.version(doc, at("version"), s.Definition.Version)
		list = append(list, s)
		if l.claim("scene", s.Definition.ID, doc, at("id")) {
			l.project.scenes[s.Definition.ID] = s
		}
	}
	if len(files) == 0 && !l.opt.Alone {
		l.tree.fault(scenesDir, "the project has no scene", "add scenes/main.json with id, name and agent_instances")
	}
	return list
}

func (l *loader) linkScenes(list []*Scene) {
	var all []*agenda.Scene
	for _, s := range list {
		all = append(all, s.Definition)
		l.simulation(s)
		l.budget(s.doc, s.Definition.Budget, "budget")
		if b := s.Definition.ToolBudget; b != nil && b.Calls == 0 && b.Seconds == 0 && b.Bytes == 0 && b.Money == 0 {
			l.fault(s.doc, at("tool_budget"), "add calls, seconds, bytes or money", "the budget has no limit")
		}
		fillScene(s.Definition)
		l.worldBegins(s)
		l.linkInstances(s)
		l.throttle(s)
		l.linkOrders(s)
		l.linkTurns(s)
		l.linkSpace(s)
		l.linkLifecycle(s)
		l.linkScenePanels(s)
		l.scenePlugins(s)
		s.Permissions = l.permissions(s)
		l.linkScript(s)
	}
	for _, s := range list {
		roads.Check(s.Definition, all, func(steps []any, hint, format string, args ...any) {
			l.fault(s.doc, at(steps...), hint, format, args...)
		})
	}
	l.linkShared(all)
}

// linkOrders checks who may change others.
func (l *loader) linkOrders(s *Scene) {
	o := &s.Definition.Orders
	n, _ := s.doc.Root.Find(at("orders")...)
	for i, id := range o.Agents {
		if id != "*" && l.project.profiles[id] == nil && !s.has(id) {
			steps := at("orders", "agents", i)
			if n.Kind == source.List {
				steps = at("orders", i)
			}
			l.fault(s.doc, steps, l.instead(profilesDir, id, protocol.SortedKeys(l.project.profiles)), "there is no profile and no agent %q", id)
		}
	}
	l.linkSelectors(s, s.Definition.Directors, "directors")
	l.linkSelectors(s, o.Goals, "orders", "goals")
	l.linkSelectors(s, o.Reflection, "orders", "reflection")
	l.linkSelectors(s, o.PrivateState, "orders", "private_state")
	for _, name := range protocol.SortedKeys(s.Definition.Players) {
		l.linkSelectors(s, s.Definition.Players[name], "players", name)
	}
}

// has reports whether the scene begins with an agent.
func (s *Scene) has(id string) bool {
	return slices.ContainsFunc(s.entries, func(e *entry) bool {
		_, is := e.id.Number(id, e.count)
		return is
	})
}

// linkSelectors checks a list of selectors, each of which means some agent, and for good.
func (l *loader) linkSelectors(s *Scene, list []string, steps ...any) {
	for i, text := range list {
		fault := s.unmeant(text)
		if fault == "" {
			fault = cast.Changes(text)
		}
		if fault != "" {
			l.fault(s.doc, at(append(steps, i)...), "", "%s", fault)
		}
	}
}

// unmeant says what is wrong with a selector; "" = it means some agent.
func (s *Scene) unmeant(text string) string {
	sel, err := cast.Parse(text)
	if place, by := sel.Place(); by {
		return s.noPlace(place)
	}
	id, one := sel.Instance()
	switch {
	case text == "": // the decoder has said so
	case err != nil:
		return err.Error()
	case text == "*", one && s.has(id), !one && slices.ContainsFunc(s.entries, func(e *entry) bool {
		return sel.Matches(&cast.Member{Profile: e.profile.Definition.ID, Roles: e.roles})
	}):
	default:
		return fmt.Sprintf("the selector %q means no agent of the scene; want %s", text, cast.Grammar)
	}
	return ""
}

func (s *Scene) noPlace(name string) string {
	d := s.Definition.Space
	if d == nil {
		return fmt.Sprintf("the selector \"place:%s\": the scene has no space", name)
	}
	if _, ok := d.Places[name]; !ok {
		return fmt.Sprintf("the selector \"place:%s\": the space has no such place; want one of %s", name, protocol.Short(strings.Join(protocol.SortedKeys(d.Places), ", "), 200))
	}
	return ""
}

func (l *loader) linkLifecycle(s *Scene) {
	fixed := map[string]*string{
		"on_scene_start": &s.Lifecycle.Start, "on_scene_end": &s.Lifecycle.End,
		"on_scene_pause": &s.Lifecycle.Pause, "on_scene_resume": &s.Lifecycle.Resume,
	}
	s.Lifecycle.Events = map[string]string{}
	for _, key := range protocol.SortedKeys(s.Definition.SceneLifecycleWorkflows) {
		steps := at("scene_lifecycle_workflows", key)
		id := l.workflowRef(s.doc, steps, s.Definition.SceneLifecycleWorkflows[key])
		s.Definition.SceneLifecycleWorkflows[key] = id
		event, isEvent := eventOfKey(key)
		switch {
		case fixed[key] != nil:
			*fixed[key] = id
			l.ownInputs(s.doc, steps, id)
		case isEvent:
			s.Lifecycle.Events[event] = id
		default:
			suggestion := source.Suggest(key, protocol.SortedKeys(fixed))
			if suggestion == "" {
				suggestion = "for an event write on_<event>_event, with underscores for the dots of its type"
			}
			l.fault(s.doc, steps, suggestion, "unknown lifecycle key %q", key)
		}
	}
}

// eventOfKey takes "player_left" out of "on_player_left_event".
func eventOfKey(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "on_")
	name, ends := strings.CutSuffix(rest, "_event")
	return name, ok && ends && name != "" && badEventType(name, false) == "" && !strings.Contains(name, ".")
}

func (l *loader) linkScenePanels(s *Scene) {
	names := map[string]int{}
	for i, p := range s.Definition.AssociatedPanels {
		steps := at("associated_panels", i)
		if _, ok := l.project.panels[p.PanelID]; !ok && p.PanelID != "" {
			if len(l.tree.under(panelsDir)) > 0 {
				l.fault(s.doc, append(steps, "panel_id"), l.instead(panelsDir, p.PanelID, protocol.SortedKeys(l.project.panels)), "there is no panel %q", p.PanelID)
			} else {
				l.warn(s.doc, append(steps, "panel_id"), "", "there is no panel %q, for the project has no panels folder", p.PanelID)
			}
		}
		if x := l.project.panels[p.PanelID]; x != nil && x.Alone.Workflow != "" {
			if w, ok := l.project.Workflow(x.Alone.Workflow); !ok {
				l.fault(s.doc, append(steps, "panel_id"), l.instead(workflowsDir, x.Alone.Workflow, l.project.WorkflowIDs()), "the panel %s: headless.workflow: there is no workflow %q", p.PanelID, x.Alone.Workflow)
			} else if err := stand.Check(w.Plan); err != nil { // nothing, of one that has faults
				l.fault(s.doc, append(steps, "panel_id"), "", "the panel %s: headless: %s", p.PanelID, err)
			}
		}
		l.bindings(s, append(steps, "default_bindings"), p.DefaultBindings)
		name, field := p.Name(), "instance_name"
		if p.InstanceName == "" {
			field = "panel_id"
		}
		if first, ok := names[name]; ok && name != "" {
			l.fault(s.doc, append(steps, field), "give it an instance_name of its own", "the name %q is already that of associated_panels[%d]", name, first)
		}
		names[name] = i
	}
}

// throttle reports rules that cannot be.
func (l *loader) throttle(s *Scene) {
	for i, r := range s.Definition.EventBusConfig.Throttle {
		if r.Type == "" {
			continue // reported
		}
		if field, fault := bus.CheckRule(r.Rule()); fault != "" {
			l.fault(s.doc, at("event_bus_config", "throttle", i, field), "", "%s: %s", field, fault)
		}
		if r.Source != "" && !s.has(r.Source) {
			l.strict(s.doc, at("event_bus_config", "throttle", i, "source_agent_instance_id"), "", "the scene has no agent %q", r.Source)
		}
	}
}

func (l *loader) simulation(s *Scene) {
	sim := &s.Definition.Simulation
	s.Until = l.expression(s.doc, at("simulation", "stop", "until"), sim.Stop.Until, "world", "scene", "round")
	for i, path := range sim.Report {
		if _, err := world.ParsePath(path); err != nil && path != "" {
			l.fault(s.doc, at("simulation", "report", i), "", "%s", err)
		}
	}
	if sim.Clock == agenda.Realtime && sim.Stop.Ticks > 0 {
		l.fault(s.doc, at("simulation", "stop", "ticks"), "use stop.after", "ticks count on the virtual clock only; the clock is realtime")
	}
	if sim.Clock == agenda.Realtime && !sim.StartTime.IsZero() {
		l.strict(s.doc, at("simulation", "start_time"), "remove it", "the realtime clock starts when the scene does; only the virtual clock has a start_time")
	}
	l.times(s)
	if sim.Clock != agenda.Realtime && sim.Stop == (agenda.Stop{}) && !l.opt.Stops {
		l.warn(s.doc, at("simulation", "stop"), "add simulation.stop, such as {\"after\": \"1h\"}",
			"the scene has no stop condition: on the virtual clock it ends only when no agent will ever wake again")
	}
	sim.Model = l.modelFile(s.doc, at("simulation", "model"), sim.Model)
	orElse(&sim.Model, l.project.Definition.Model)
	if _, ok := l.tree.read[DefaultModel]; ok && sim.Model == "" && l.checkModel(DefaultModel) {
		sim.Model = DefaultModel
	}
}

// times checks that the clock can tell the start of the scene and its end.
func (l *loader) times(s *Scene) {
	sim := &s.Definition.Simulation
	start := sim.StartTime
	if start.IsZero() {
		start = defaultStart()
	}
	if !start.After(time.Unix(0, 0)) || start.After(protocol.LastTime.Std()) {
		l.fault(s.doc, at("simulation", "start_time"), "", "want a time after 1970-01-01T00:00:00Z and up to %s", protocol.LastTime)
		return
	}
	left := protocol.LastTime.Std().Sub(start)
	if sim.Stop.After.Std() > left {
		l.fault(s.doc, at("simulation", "stop", "after"), "", "the scene would end after %s, the last time that the clock can tell; it starts at %s", protocol.LastTime, start.UTC().Format(time.RFC3339))
	}
	if tick := sim.Tick.Std(); sim.Stop.Ticks > int64(left/cmp.Or(max(tick, 0), time.Second)) {
		l.fault(s.doc, at("simulation", "stop", "ticks"), "", "the scene would end after %s, the last time that the clock can tell; it starts at %s", protocol.LastTime, start.UTC().Format(time.RFC3339))
	}
}

func defaultStart() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// fillScene sets every field that has a default and was left out.
func fillScene(d *agenda.Scene) {
	for i := range d.AgentInstances {
		orElse(&d.AgentInstances[i].Count, 1)
	}
	orElse(&d.EventBusConfig.MaxDepth, 32)
	orElse(&d.EventBusConfig.MaxRevisits, 2)
	orElse(&d.EventBusConfig.LoopAction, "drop")
	orElse(&d.EventBusConfig.MaxHeld, 1_000_000)
	for i := range d.EventBusConfig.Throttle {
		orElse(&d.EventBusConfig.Throttle[i].Per, "type")
		orElse(&d.EventBusConfig.Throttle[i].Action, "drop")
	}
	sim := &d.Simulation
	orElse(&sim.Clock, agenda.Virtual)
	orElse(&sim.Tick, protocol.Duration(time.Second))
	if sim.StartTime.IsZero() {
		sim.StartTime = defaultStart()
	}
	sim.StartTime = sim.StartTime.UTC()
	orElse(&sim.Limits.MaxAgents, 1_000_000)
	orElse(&sim.Limits.MaxDeliberating, 2048)
	orElse(&sim.Limits.MaxEventsInWave, 10_000_000)
	orElse(&sim.Limits.MaxDeliveriesInWave, 10_000_000)
	orElse(&sim.Limits.MaxWaveBytes, 512<<20)
	orElse(&sim.Limits.MaxWorldBytes, 32<<20)
	orElse(&sim.Limits.RestartBackoff, protocol.Duration(time.Second))
	orElse(&sim.Limits.MaxRestarts, 5)
}

func orElse[T comparable](field *T, def T) { *field = cmp.Or(*field, def) }

// runtime resolves a runtime configuration: the instance's fields over the
// profile's over the defaults. A field that is written wins even when it is 0 or
// false; what its zero means is the field's own business.
func (l *loader) runtime(p *Profile, node *source.Node, scene *source.Document) *profile.RuntimeConfig {
	if node == nil && p.runtime != nil {
		return p.runtime
	}
	out := &profile.RuntimeConfig{}
	for _, from := range []place{{p.doc, p.doc.Root.Get("custom_runtime_config")}, {scene, node}} {
		if from.node != nil && from.node.Kind == source.Object {
			l.quiet.Decode(&source.Document{File: from.doc.File, Root: from.node}, out)
		}
	}
	out.SubscribedEventTypes = nil // the instance's Subscriptions hold them
	FillRuntime(out)
	if node == nil {
		p.runtime = out
	}
	return out
}

// FillRuntime sets every field that was left out to its default.
func FillRuntime(c *profile.RuntimeConfig) {
	yes := true
	orElse(&c.WakeOnStart, &yes)
	orElse(&c.WakeOnStateChange, new(bool)) // false
	orElse(&c.MaxModelCalls, 8)
	orElse(&c.MaxTokens, 100_000)
	orElse(&c.MaxToolRounds, 1)
	orElse(&c.MaxCalls, 32)
	orElse(&c.MaxInbox, 256)
	orElse(&c.MaxInboxBytes, profile.DefaultInboxBytes)
	orElse(&c.MaxHistory, 16)
	orElse(&c.MaxObservations, 64)
	orElse(&c.MaxRestarts, 5)
	orElse(&c.MaxStateBytes, 64<<10)
	orElse(&c.MaxTurnBytes, 64<<20)
	orElse(&c.MaxGoals, 32)
	orElse(&c.MaxRedeliveries, 5)
	orElse(&c.MaxTasks, 32)
	orElse(&c.MaxToolSeconds, profile.DefaultToolTime.Seconds())
	orElse(&c.MaxToolBytes, profile.DefaultToolBytes)
	orElse(&c.MaxToolPromptBytes, profile.DefaultToolPrompt)
	orElse(&c.TaskTimeoutSeconds, profile.DefaultTaskTimeout.Seconds())
}
