package setup

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/collab/kinds"
	"tavernsim/engine/expr"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tam/answer"
)

// New compiles a scene of a project and makes everything that its machines share.
func New(p *project.Project, def *project.Scene, opt Options) (*Scene, error) {
	sc := &Scene{Options: opt, ID: def.Definition.ID, Project: p, Def: def, Stop: opt.stop(def.Definition.Simulation.Stop), Condition: def.Until, Script: def.Script, Space: def.Space}
	if sc.Clock == "" {
		sc.Clock = def.Definition.Simulation.Clock
	}
	if opt.Until != "" {
		program, err := compileUntil(opt.Until)
		if err != nil {
			return nil, err
		}
		sc.Condition = program
	}
	if err := CheckHost(p, opt.External); err != nil {
		return nil, err
	}
	sc.External = Tools(p, opt.External, opt.Tools)
	if err := agent.CheckExternal(sc.External); err != nil {
		return nil, err
	}
	var places hook.Places
	places, sc.hooks = hooks(p)
	agents, err := def.Agents(opt.Agents)
	if err != nil {
		return nil, err
	}
	sc.begins = func(o uint32) string { return agents.Place(int(o)) }
	if sc.Space != nil {
		if sc.Starts, err = def.Starts(agents); err != nil {
			return nil, err
		}
	}
	if sc.rights, err = rightsOf(def.Definition.Directors, &def.Definition.Orders); err != nil {
		return nil, err
	}
	b := builder{Scene: sc, places: places, classes: map[class]uint16{}, rooms: p.Rooms(sc.model()), assigns: reporting(p)}
	sc.asks = b.panels()
	if err := b.knowledge(); err != nil {
		return nil, err
	}
	if err := b.agents(agents); err != nil {
		return nil, err
	}
	if len(def.Definition.Links) > 0 && b.seats == nil {
		b.seats = map[string]bus.Ranges{}
	}
	b.own()
	for _, d := range b.Definitions {
		d.Grouped = b.Grouped
		d.Seal(b.describe)
	}
	if err := b.worldRules(); err != nil {
		return nil, err
	}
	b.channel(p)
	if err := sc.orders(); err != nil {
		return nil, err
	}
	return sc, errors.Join(sc.checkSeats(), b.budgets())
}

// stop lays the conditions of the options over those of the definition.
func (opt *Options) stop(stop agenda.Stop) agenda.Stop {
	if opt.For > 0 {
		stop.After = protocol.Duration(opt.For)
	}
	if opt.Ticks > 0 {
		stop.Ticks = opt.Ticks
	}
	return stop
}

// budgets reads those of the run, the scene and the profiles of its agents.
func (b *builder) budgets() (err error) {
	c := &budget.Config{Profiles: map[string]*budget.Limits{}, Agents: map[string]*budget.Limits{}, Endpoints: map[string]*budget.Limits{}, Cast: b.Scene, Counts: b.Def.Definition.Simulation.Stop.Dollars > 0}
	read := func(given *budget.Budget, otherwise string) *budget.Limits {
		l, bad := given.Limits(otherwise)
		err = errors.Join(err, bad)
		return l
	}
	if c.Run = read(b.Budget, budget.End); !b.Raised {
		c.Scene = read(b.Def.Definition.Budget, budget.End)
	}
	c.Tools = b.Def.Definition.ToolBudget.Limits()
	for name, given := range b.Options.Endpoints {
		l := read(given, budget.Refuse)
		if l != nil && l.Daily { // its endpoint refuses; the scene counts
			l = &budget.Limits{On: l.On, Wall: l.Amount}
		}
		c.Endpoints[name] = l
	}
	for _, d := range b.Definitions {
		p, ok := b.Project.Profile(d.Profile)
		if !ok {
			continue
		}
		if l := read(p.Definition.Budget, budget.Refuse); l != nil {
			c.Profiles[d.Profile] = l
		}
		if l := read(p.Definition.BudgetPerAgent, budget.Refuse); l != nil {
			c.Agents[d.Profile] = l
		}
	}
	if err == nil && !c.Empty() {
		b.Budgets = c
	}
	return err
}

// CheckUntil refuses a faulty stop condition.
func CheckUntil(text string) error {
	_, err := compileUntil(text)
	return err
}

func compileUntil(text string) (*expr.Program, error) {
	program, err := expr.Compile(text, "world", "scene", "round")
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "stop condition %q: %w", text, err)
	}
	return program, nil
}

// builder holds the state that is needed only while a scene is built.
type builder struct {
	*Scene
	classes map[class]uint16
	goals   []*beginning // by class
	places  hook.Places  // of the hooks of agents

	rooms   map[string]workflow.Room // of models, by their names
	assigns bool                     // agents report on tasks
}

// class is a set of agents with one profile, runtime configuration and list of goals:
// those of one entry of agent_instances, or of several entries without settings of
// their own.
type class struct {
	profile *project.Profile
	runtime *profile.RuntimeConfig
	goals   *profile.GoalReference // the first; nil = none
}

func classOf(in project.Instance) class {
	c := class{profile: in.Profile, runtime: in.Runtime}
	if len(in.Goals) > 0 {
		c.goals = &in.Goals[0]
	}
	return c
}

func (b *builder) knowledge() error {
	var bases []*knowledge.Base
	for _, id := range b.Project.KnowledgeBaseIDs() {
		def, _ := b.Project.KnowledgeBase(id)
		base, err := knowledge.New(*def)
		if err != nil {
			return b.Errorf("%w", err)
		}
		bases = append(bases, base)
	}
	all, err := knowledge.NewState(bases...)
	b.Bases = all.Placed(b.ID)
	return err
}

func (b *builder) agents(agents *project.Agents) error {
	n := agents.Len()
	b.find, b.roles = agents.Find, agents.Roles
	b.ids.ends = make([]uint16, 0, n+1)
	b.Class = make([]uint16, 0, n+1)
	for in := range agents.All() {
		key := classOf(in)
		c, known := b.classes[key]
		if !known {
			var err error
			if c, err = b.define(key, in); err != nil {
				return b.Errorf("%s: %w", in.ID, err)
			}
			hears := append(busSubscriptions(in.Subscriptions), watches(b.goals[c].goals)...)
			b.hears = append(b.hears, hears)
			b.Grouped = b.Grouped || slices.ContainsFunc(hears, func(s bus.Subscription) bool { return s.Group != "" })
		}
		b.add(in.ID, c)
		if agents.Spawnable(in.Ordinal) {
			b.seat(uint32(in.Ordinal))
		}
	}
	b.share()
	b.initial = func(o uint32) map[string]any {
		if int(o) >= n {
			return nil
		}
		return agents.At(int(o)).State
	}
	b.aims = func(o uint32, private map[string]any) []goal.Goal { return b.goals[b.Class[o]].of(private) }
	return nil
}

// share tells the bases which of them more than one agent reads.
func (b *builder) share() {
	agents, readers := make([]int, len(b.Definitions)), map[string]int{}
	for _, c := range b.Class {
		agents[c]++
	}
	for c, n := range agents {
		for _, k := range b.Definitions[c].Knowledge {
			if k.Read {
				readers[k.ID] += n
			}
		}
	}
	b.Bases = b.Bases.Shared(func(id string) bool { return readers[id] > 1 })
}

func (b *builder) add(id string, c uint16) {
	b.ids.add(id)
	b.Class = append(b.Class, c)
}

func busSubscriptions(list []project.Subscription) []bus.Subscription {
	out := make([]bus.Subscription, len(list))
	for i, s := range list {
		out[i] = s.Channel
	}
	return out
}

// define makes the definition of a class of agents.
func (b *builder) define(key class, in project.Instance) (uint16, error) {
	profile := key.profile.Definition
	d := &agent.Definition{
		Profile: profile.ID, Name: profile.Name, Limits: b.limits(key.runtime), Tools: profile.ToolIDsInventory,
		Skills: profile.SkillWorkflowIDsInventory, Reflection: reflectionOf(profile), Workflows: map[string]*workflow.Plan{},
		Check: key.profile.CheckState, External: b.External, Policy: b.Project.Policy(), May: b.May, Realtime: b.Clock == agenda.Realtime, Rooms: b.rooms,
		Pace: pace.RulesOf(profile), ZeroSleeps: b.Before3, Memory: memory.RulesOf(profile, b.limits(key.runtime).MaxHistory), InSpace: b.Space != nil, Ordered: b.ordered(), Perceives: key.profile.Perceives, Publishes: publish.Rules{Types: profile.Publishes, To: profile.PublishesTo}, Assigns: b.assigns, Run: b.Run, Scene: b.ID, Hooks: b.places, Panel: b.Scene.asks,
	}
	if b.roles != nil {
		d.Roles = func(o uint32) []string { return b.roles(int(o)) }
	}
	if profile.InitialPrivateStateSchema == nil {
		d.Check = nil
	}
	d.Core = b.plan(profile.CoreDeliberationWorkflowID)
	if key.profile.Core != nil {
		d.Core = key.profile.Core
	}
	for _, id := range profile.SkillWorkflowIDsInventory {
		d.Workflows[id] = b.plan(id)
	}
	if d.Reflection != "" {
		d.Workflows[d.Reflection] = b.plan(d.Reflection)
		if key.profile.Reflection != nil {
			d.Workflows[d.Reflection] = key.profile.Reflection
		}
	}
	for i := range profile.KnowledgeBaseReferences {
		d.Knowledge = append(d.Knowledge, profile.KnowledgeBaseReferences[i].Access())
	}
	b.skills(d)
	goals, err := b.initialGoals(d, key.profile, in.Goals)
	if err != nil {
		return 0, err
	}
	timing := timingOf(key.runtime, d.Limits.Lanes)
	timing.Least = profile.Ceilings.Least()
	d.Period = timing.Period
	return b.addClass(key, d, timing, goals), nil
}

// reporting tells whether agents of the project report on tasks.
func reporting(p *project.Project) bool {
	return slices.ContainsFunc(p.ProfileIDs(), func(id string) bool {
		x, _ := p.Profile(id)
		return slices.Contains(x.Definition.ToolIDsInventory, tooltask.ReportTool)
	})
}

// limits are the limits of an agent, with the scene's lanes if it has none of its own.
func (b *builder) limits(c *profile.RuntimeConfig) profile.Limits {
	l := c.Limits()
	l.Lanes = b.Def.Inbox(c).Lanes()
	return l
}

func (b *builder) addClass(key class, d *agent.Definition, t agenda.Timing, goals *beginning) uint16 {
	c := uint16(len(b.Definitions))
	b.Interrupts, b.Blocks = b.Interrupts || t.Interrupt, b.Blocks || t.Blocks != nil
	b.classes[key] = c
	b.Definitions = append(b.Definitions, d)
	b.Timings = append(b.Timings, t)
	b.goals = append(b.goals, goals)
	return c
}

func (b *builder) plan(id string) *workflow.Plan {
	if w, ok := b.Project.Workflow(id); ok {
		return w.Plan
	}
	return nil
}

func (b *builder) describe(id string) (name, description string) {
	if w, ok := b.Project.Workflow(id); ok {
		return w.Definition.Name, w.Definition.Description
	}
	return id, ""
}

// reflectionOf is the reflection skill: the one that the profile names, or the only one
// whose id contains "reflect".
func reflectionOf(p *profile.Profile) string {
	if p.ReflectionWorkflowID != "" {
		return p.ReflectionWorkflowID
	}
	found := ""
	for _, id := range p.SkillWorkflowIDsInventory {
		if strings.Contains(id, "reflect") {
			if found != "" {
				return ""
			}
			found = id
		}
	}
	return found
}

func timingOf(c *profile.RuntimeConfig, lanes *profile.Lanes) agenda.Timing {
	t := agenda.Timing{WakeOnStart: true, MaxRestarts: 5, Blocks: bounds(lanes)}
	if c == nil {
		return t
	}
	if c.WakeOnStart != nil {
		t.WakeOnStart = *c.WakeOnStart
	}
	if c.WakeOnStateChange != nil {
		t.WakeOnChange = *c.WakeOnStateChange
	}
	if c.DeliberationFrequencyHz > 0 {
		t.Period = time.Duration(float64(time.Second) / c.DeliberationFrequencyHz)
	}
	if c.MaxRestarts > 0 {
		t.MaxRestarts = c.MaxRestarts
	}
	by := c.Limits().Interrupt
	t.Interrupt, t.InterruptBy = by.On, by.By
	return t
}

// ordered reports whether the scene has a script, or an order of turns.
func (b *builder) ordered() bool { return b.Script != nil || b.Turns != nil }

// own adds the scene's own agent: it runs the lifecycle workflows and may use
// every tool.
func (b *builder) own() {
	life := b.Def.Lifecycle
	d := &agent.Definition{
		Profile: ActorScene, Name: b.Def.Definition.Name, Limits: (*profile.RuntimeConfig)(nil).Limits(),
		Tools: agent.SceneTools(), Workflows: map[string]*workflow.Plan{}, OnEvent: life.Events, External: b.External, Policy: b.Project.Policy(), InSpace: b.Space != nil, Assigns: b.assigns, Realtime: b.Clock == agenda.Realtime, Rooms: b.rooms,
		OneCause: b.Before3, Ordered: b.ordered(), Panel: b.Scene.asks, Hooks: b.hooks, Moments: map[string]string{hook.SceneStart: life.Start, hook.SceneEnd: life.End},
	}
	for _, id := range []string{life.Start, life.End, life.Pause, life.Resume} {
		if id != "" {
			d.Workflows[id] = b.plan(id)
		}
	}
	for i := range b.External {
		d.Tools = append(d.Tools, b.External[i].Spec.Name)
	}
	if b.Script != nil {
		for _, id := range b.Script.Runs {
			d.Workflows[id] = b.plan(id)
		}
	}
	b.skills(d)
	var subscriptions []bus.Subscription
	for _, name := range protocol.SortedKeys(life.Events) {
		d.Workflows[life.Events[name]] = b.plan(life.Events[name])
		subscriptions = append(subscriptions, bus.Subscription{Type: name, Underscored: true})
	}
	for _, id := range b.Project.KnowledgeBaseIDs() {
		d.Knowledge = append(d.Knowledge, profile.Access{Alias: id, ID: id, Read: true, Write: true})
	}
	b.add(ActorScene, b.addClass(class{}, d, agenda.Timing{MaxRestarts: 5}, &beginning{}))
	b.ids.flush()
	b.hears = append(b.hears, subscriptions)
}

func (b *builder) channel(p *project.Project) {
	c := b.Def.Definition.EventBusConfig
	b.Bus = bus.Config{
		Scene: b.ID, NamespacePrefix: c.NamespacePrefix, Numbered: b.Numbered, DefaultTTL: protocol.Seconds(c.DefaultEventTTLSeconds),
		MaxDepth: c.MaxDepth, MaxRevisits: c.MaxRevisits, LoopAction: bus.LoopAction(c.LoopAction),
		MaxHeld: c.MaxHeld, Owner: ActorScene, Middleware: b.Middleware, Away: b.away(),
	}
	for _, r := range c.Throttle {
		b.Bus.Throttle = append(b.Bus.Throttle, r.Rule())
	}
	if b.Bus.NamespacePrefix != "" {
		b.Bus.NamespacePrefix += "."
	}
	if len(p.EventTypes()) > 0 {
		b.Bus.Validate = p.CheckEvent
	}
}

// NodeKinds are the node kinds that workflows may use.
func NodeKinds() workflow.Kinds {
	return kinds.Add(nodes.Standard(nodes.Options{
		ParseTAM: func(text string, finish protocol.FinishReason) nodes.Parsed {
			return nodes.Parsed(answer.Read(text, finish))
		},
		Tools: agent.ToolSpecs(), Schema: project.CompileSchema,
	}))
}

// worldRules makes the machine of the scene's world.
func (b *builder) worldRules() (err error) {
	b.Rules, err = worldstate.New(b.Simulation().Limits.MaxWorldBytes, b.worldPermissions())
	return err
}

// worldPermissions are the write permissions of all agents; nil = no restrictions.
func (b *builder) worldPermissions() *world.Permissions {
	if b.Def.Permissions == nil {
		return nil
	}
	p := world.Permissions{Default: b.Def.Permissions.Default, Profiles: maps.Clone(b.Def.Permissions.Profiles)}
	p.Profiles[ActorScene], p.Profiles[""] = world.Rules{}, world.Rules{} // the scene itself, its script and orders have every permission
	return &p
}
