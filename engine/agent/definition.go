package agent

import (
	"maps"
	"math"
	"slices"
	"time"

	"tavernsim/engine/agent/assign"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/agent/listen"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/menu"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/engine/goal"
	"tavernsim/engine/panel"
	"tavernsim/engine/permit"
	"tavernsim/engine/workflow"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Definition is a compiled profile. All agents of the profile share it, and nobody
// changes it after Seal.
type Definition struct {
	Profile    string // id
	Name       string
	Limits     profile.Limits
	Core       *workflow.Plan
	Workflows  map[string]*workflow.Plan // by canonical id: skills, and the scene's own
	Reflection string                    // id within Workflows; "" = none
	Skills     []string                  // ids of Workflows that may be called
	Tools      []string                  // ids of tools that may be called, atomic or External
	External   []External                // tools that executors carry out, sorted by id
	Policy     *permit.Judge             // of calls; nil = all of Skills and Tools are allowed
	Knowledge  profile.Accesses
	// Perceives are the parts of the world that the input world_state has; nil = all of it.
	Perceives []world.Pattern
	Publishes publish.Rules
	Model     string                   // default model of completions; "" = the provider's
	Rooms     map[string]workflow.Room // of models, by their names; "" = the default one
	// Panel completes a question to a person, or says why it cannot be asked; nil = nobody
	// can be. It is a pure function.
	Panel      func(*panel.Question) error
	Hooks      hook.Places // at which plugins are asked; nil = at none
	Run, Scene string      // ids, for the references in texts; "" = nobody knows them
	InSpace    bool        // the scene has a space
	Ordered    bool        // the scene has a script, or an order of turns
	Assigns    bool        // the project has agents that report on tasks
	Grouped    bool        // the scene has groups of subscribers
	Realtime   bool        // latency passes by itself, and others go on while a deliberation runs

	// Check validates a whole private state; nil accepts every state.
	Check func(state map[string]any) error

	// May reports whether an agent has a right; nil = no agent has any. The scene itself
	// has all. May is a pure function.
	May func(instance string, right cast.Right) bool

	// Roles are those of an agent; nil = nobody has any. It is a pure function.
	Roles func(ordinal uint32) []string

	// OnEvent names the workflow for a type of events, by the type with its dots written as underscores; only
	// the scene's own agent has it, in place of Core.
	OnEvent map[string]string
	// OneCause: what the workflows of events leave is because of the most urgent event of the turn, as in runs that began
	// before each had its own. ZeroSleeps: SleepTool takes seconds: 0 for no time given, as in runs that began before
	// it was refused.
	OneCause, ZeroSleeps bool
	// Motive says how the agents weigh their goals; nil = they alone say where goals stand.
	Motive *goal.Rules
	Told   goal.Told     // of the initial goals
	Period time.Duration // of the floor frequency; 0 = none
	// Pace says how the agents rest beyond their times; nil = as these say.
	Pace *pace.Rules
	// Memory says what the agents remember of their turns; nil = nothing.
	Memory *memory.Rules
	// Moments are the workflows of moments of the scene, by the place of their hooks; "" =
	// the hooks are told, and nothing else happens. Only the scene's own agent has it.
	Moments map[string]string

	private      *private.Engine
	tools        map[string]*Tool        // those of Tools
	schemas      map[string]*bind.Schema // of the inputs of skills
	orders, told publish.Orders          // that the agents take, and that any agent may
	calls        menu.Names
	parallel     bool // some tool of them may run beside others
	capabilities map[string]any
	menu         []any          // the input tools
	described    map[string]any // its entries as they were before max_tool_prompt_bytes, by name
	self         map[string]any // the input of that name, with each agent's own fields empty
	selfSize     int
	names        map[*workflow.Plan][]string
}

// may reports whether an agent, or the scene itself, has a right.
func (d *Definition) may(instance string, right cast.Right) bool {
	return right == "" || cast.OfScene(instance) || d.May != nil && d.May(instance, right)
}

// inputs are a plan's input names; asking the plan makes a new list each time.
func (d *Definition) inputs(p *workflow.Plan) []string { return d.names[p] }

// workflowOf is the workflow that a wake names, by itself or by a moment; nil = there is none.
func (d *Definition) workflowOf(name string) *workflow.Plan {
	if id, ok := d.Moments[name]; ok {
		name = id
	}
	return d.Workflows[name]
}

// keptObservations is the limit of the list of observations. On the realtime clock
// others observe while a deliberation runs, and after its end until the stage merges it.
// A fold cannot tell what the deliberation had been shown by then, so the list keeps
// more than a deliberation is shown, and no observation pushes out another.
func (d *Definition) keptObservations() int {
	if d.Realtime {
		return d.Limits.MaxObservations + realtimeObservations
	}
	return d.Limits.MaxObservations
}

// realtimeObservations is how many observations the realtime clock keeps beyond
// max_observations.
const realtimeObservations = 1024

// more are parameters that tools have here beyond those in the table. Agents without the block of
// the definition that they are for see the tools as they were before the block was there.
func (d *Definition) more() map[string][]tool.Param {
	more := map[string][]tool.Param{publish.Tool: assign.Speaking(d.InSpace, d.Assigns)}
	if d.Motive != nil {
		more[toolUpdateGoal] = tool.MotiveGoal()
	}
	if d.Grouped {
		for _, id := range []string{listen.Subscribe, listen.Unsubscribe} {
			more[id] = listen.Grouped(id)
		}
	}
	return more
}

// Seal computes the tables that all agents of the definition share. Call it once.
func (d *Definition) Seal(describe func(id string) (name, description string)) {
	list, table, err := toolTable(d.External, d.more())
	if err != nil {
		panic("agent: the table of tools: " + err.Error()) // it is code, or was not checked
	}
	if d.private, err = private.NewEngine(d.Check, d.Limits.MaxStateBytes); err != nil {
		panic("agent: the prefixes of the private state: " + err.Error()) // they are constants
	}
	d.tools, d.schemas = map[string]*Tool{}, map[string]*bind.Schema{}
	d.calls = menu.Names{Profile: d.Profile, Skills: d.Skills, Workflows: d.Workflows}
	if d.told, err = publish.NewOrders(); err != nil {
		panic("agent: the fields of orders: " + err.Error()) // they are code
	}
	d.orders = maps.Clone(d.told)
	d.orders[cast.TypeGoal] = &table[toolUpdateGoal].schema
	var m menu.Menu
	offer := func(entry *Tool) {
		d.tools[entry.Name], d.calls.Callable = entry, append(d.calls.Callable, entry.Name)
		d.parallel = d.parallel || entry.Parallel
		m.AddTool(&entry.ToolSpec, entry.Check != nil)
	}
	for i := range list {
		if entry := &list[i]; slices.Contains(d.Tools, entry.Name) {
			if entry.Name == toolSleep && d.Pace == nil {
				entry.ToolSpec = tool.Spec(entry.Name, entry.Description, pace.Times()...)
			}
			offer(entry)
		} else if !entry.sceneOnly {
			d.calls.Others = append(d.calls.Others, entry.Name)
		}
	}
	for _, id := range d.Skills {
		name, description := describe(id)
		d.schemas[id], d.calls.Callable = menu.Schema(d.Workflows[id]), append(d.calls.Callable, tool.SkillPrefix+id)
		m.AddSkill(id, name, description, d.Workflows[id], d.givenTo(d.Workflows[id]))
	}
	if describe := table[toolDescribe]; m.Fit(d.Limits.MaxToolPrompt, &describe.ToolSpec) && d.tools[toolDescribe] == nil {
		offer(describe)
	}
	d.capabilities, d.menu, d.described = m.Capabilities(), m.List(), m.Whole()
	d.self = map[string]any{"instance_id": "", "profile_id": d.Profile, "name": d.Name, "ordinal": int64(0)}
	d.selfSize = protocol.SizeOf(d.self, math.MaxInt32)
	d.names = map[*workflow.Plan][]string{}
	if d.Core != nil {
		d.names[d.Core] = d.Core.Inputs()
	}
	for _, id := range protocol.SortedKeys(d.Workflows) {
		d.names[d.Workflows[id]] = d.Workflows[id].Inputs()
	}
}

// Capabilities is the input available_capabilities.
func (d *Definition) Capabilities() map[string]any { return d.capabilities }

// outside reports whether an executor carries out a call. Every other call runs alone: it
// changes the turn, whose facts have one order.
func (d *Definition) outside(c *protocol.Call) bool {
	named := *c
	entry, skill, _ := d.find(&named)
	return entry != nil && skill == "" && entry.Kind != "" && !entry.Async
}

// declares reports whether the tool of a call has a parameter.
func (d *Definition) declares(c *protocol.Call, name string) bool {
	named := *c
	entry, _, _ := d.find(&named)
	return entry != nil && slices.ContainsFunc(entry.schema.Properties, func(p bind.Property) bool { return p.Name == name })
}

// schema is that of the parameters of a tool, or of the inputs of a skill if entry is nil.
func (d *Definition) schema(entry *Tool, skill string) *bind.Schema {
	if entry == nil {
		return d.schemas[skill]
	}
	return &entry.schema
}

// find resolves the name in a call to a tool or a skill of the inventories; a tool that a
// skill carries out is both. It corrects the letter case and punctuation of the name in the call.
func (d *Definition) find(c *protocol.Call) (entry *Tool, skill string, refused *protocol.Error) {
	if entry = d.tools[c.Tool]; entry == nil {
		if skill, refused = d.calls.Find(c); refused != nil {
			return nil, "", refused
		}
		entry = d.tools[c.Tool]
	}
	if entry != nil {
		skill = entry.Skill
	}
	return entry, skill, nil
}
