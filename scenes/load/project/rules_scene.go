package project

import (
	"tavernsim/engine/bus/throttle"
	"tavernsim/engine/cast"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/workflow"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/plugin"
)

func sceneRules() source.Rules {
	return source.Rules{
		"agenda.Scene.id":                        {Required: true, Section: "§3.1.1", Doc: "Identifies the scene in the project. At most 200 bytes."},
		"agenda.Scene.name":                      {Required: true, Section: "§3.1.1", Doc: "Name for display."},
		"agenda.Scene.description":               {Section: "§3.1.1", Doc: "What happens here."},
		"agenda.Scene.version":                   {Section: "App. B", Doc: "Semantic version of the content, such as 1.0.0."},
		"agenda.Scene.schema_version":            {Section: "App. B", Enum: schemaVersions(), Doc: "Version of this file format."},
		"agenda.Scene.agent_instances":           {Required: true, Section: "§3.1.1", MaxItems: 100_000, Doc: "The agents of the scene. May be empty."},
		"agenda.Scene.initial_world_state":       {Section: "§3.1.1", Doc: "The world state at the start."},
		"agenda.Scene.world_write_permissions":   {Section: "§3.6", MaxItems: 100_000, Doc: "World paths that agents may write, by profile id. Takes precedence over the profile's own. `*` applies to profiles without any."},
		"agenda.Scene.directors":                 {Section: "§2.3", MaxItems: cast.MaxSelectors, Doc: "[Selectors](#selectors) of the agents that may do what `orders` says, and call the [tools of directors](deliberation.md#tools-of-directors). The scene itself always may."},
		"agenda.Scene.orders":                    {Section: "§2.1.3", Doc: "Who may change other agents. A list in its place is `agents`."},
		"agenda.Scene.players":                   {Section: "§3.7", MaxItems: 10_000, Doc: "Names of people, with [selectors](#selectors) of the agents whose questions they answer: see [who may answer](panel.md#who-may-answer)."},
		"agenda.Scene.event_bus_config":          {Section: "§3.1.1", Doc: "The scene's event channel."},
		"agenda.Scene.associated_panels":         {Section: "§3.1.1", Doc: "Application panels of the scene."},
		"agenda.Scene.scene_lifecycle_workflows": {Section: "§3.1.1", Doc: "Workflows, by id or path, that run at `on_scene_start`, `on_scene_end`, `on_scene_pause`, `on_scene_resume`, or at `on_<event>_event`, where the event is a type with its dots written as underscores."},
		"agenda.Scene.tool_budget":               {Section: "§3.2.3", Doc: "What the tools of its agents may take together: see [budgets of tools](#tools)."},
		"agenda.Scene.budget":                    {Section: "§3.2.3", Doc: "What its agents may spend on models together: see [budgets](#budget)."},
		"agenda.Scene.plugin_config":             {Section: "001 §6.4", MaxItems: plugin.MaxPlugins, Doc: "Values of options of [plugins](plugin.md#option), by plugin and option. They win over those of the project."},
		"agenda.Scene.turns":                     {Section: "§5.3", Doc: "Whose turn it is: see [turns](#turns). Without it whoever is due has one."},
		"agenda.Scene.space":                     {Section: "§2.3", Doc: "Where agents can be: see [space](space.md). Without it they are nowhere, and everybody hears everything."},
		"agenda.Scene.simulation":                {Section: "§3.1.1", Doc: "Clock, seed, stop conditions, limits. Flags of the program override it."},
		"agenda.Scene.script":                    {Section: "§3.1.3", Doc: "States of the scene, with what happens in them: see [script](script.md)."},
		"agenda.Scene.custom_metadata":           {Section: "App. B", Doc: "For your own use; simd does not check it."},

		"agenda.Orders.goals":         {Section: "§2.1.3", MaxItems: cast.MaxSelectors, Doc: "[Selectors](#selectors) of the agents that may give others goals."},
		"agenda.Orders.reflection":    {Section: "§2.1.5", MaxItems: cast.MaxSelectors, Doc: "Of those that may make others reflect."},
		"agenda.Orders.private_state": {Section: "§2.1.3", MaxItems: cast.MaxSelectors, Doc: "Of those that may change the private state of others."},
		"agenda.Orders.agents":        {Section: "§2.1.3", MaxItems: cast.MaxSelectors, Doc: "Profile or instance ids of agents that may do the first two; `*`: every agent."},

		"agenda.AgentInstance.instance_id":                      {Required: true, Section: "§3.1.1", Doc: "Identifies the agent in the scene. With count a template: `{n}` is the number of the instance from 1, `{n:05}` pads it to five digits."},
		"agenda.AgentInstance.profile_id":                       {Required: true, Section: "§3.1.1", Doc: "Id of the profile."},
		"agenda.AgentInstance.count":                            {Section: "§3.1.1", Range: between(1, MaxInstances), Default: int64(1), Doc: "Number of agents of this entry."},
		"agenda.AgentInstance.spawnable":                        {Section: "§2.3.1", Doc: "None of them is there when the scene begins. Each can [come, leave and come again](#agents-that-come-and-go)."},
		"agenda.AgentInstance.roles":                            {Section: "§2.3", MaxItems: 64, Doc: "Roles by which [selectors](#selectors) mean the agents of this entry."},
		"agenda.AgentInstance.place":                            {Section: "§2.3", Doc: "Where the agents of this entry begin, in a scene with [space](space.md): a place, a cell `x,y`, or a rectangle `x,y..x,y`, over which they are spread. Without it they are nowhere."},
		"agenda.AgentInstance.initial_private_state_override":   {Section: "§2.3.1", Doc: "Top-level fields of the private state; each replaces the whole value of that field in the profile. With count, text values may contain `{n}`."},
		"agenda.AgentInstance.initial_goals_override_reference": {Section: "§3.1.1", Doc: "Replaces the profile's goals, even if the list is empty."},
		"agenda.AgentInstance.custom_runtime_config":            {Section: "§3.1.1", Doc: "Fields of the runtime configuration; each takes precedence over the profile's."},

		"agenda.EventBusConfig.namespace_prefix":          {Section: "§3.1.1", Doc: "Put before trace ids and exported event ids."},
		"agenda.EventBusConfig.default_event_ttl_seconds": {Section: "App. B", Range: between(0, protocol.MaxTTL.Seconds()), Default: 0.0, Doc: "Seconds of scene time after which an event that was not delivered expires. 0: never."},
		"agenda.EventBusConfig.max_depth":                 {Section: "§3.5", Range: between(1, 10_000), Default: int64(32), Doc: "Maximal length of a causal chain of events; an event with a longer chain is refused."},
		"agenda.EventBusConfig.max_revisits":              {Section: "§3.5", Range: between(1, 10_000), Default: int64(2), Doc: "How often one chain may return to the same agent with the same event type."},
		"agenda.EventBusConfig.loop_action":               {Section: "§3.5", Enum: []string{"drop", "deprioritize", "warn"}, Default: "drop", Doc: "Effect on an event beyond max_revisits."},
		"agenda.EventBusConfig.throttle":                  {Section: "§3.5", MaxItems: throttle.MaxRules, Doc: "Rules that bound how many events are heard in a time. The scene's own events are never throttled."},
		"agenda.EventBusConfig.max_held":                  {Section: "§3.5", Range: between(1, 1e7), Default: int64(1_000_000), Doc: "Deliveries that throttle and debounce hold at once."},
		"agenda.EventBusConfig.inbox":                     {Section: "§3.5", Doc: "Bounds for events of one priority, for every agent whose custom_runtime_config has no inbox."},

		"agenda.ThrottleRule.type":                     {Required: true, Section: "§3.5", Doc: "Event type. `a.b.*` is every type below a.b, `*` every type."},
		"agenda.ThrottleRule.source_agent_instance_id": {Section: "§3.5", Doc: "Only events of this agent of the scene."},
		"agenda.ThrottleRule.per":                      {Section: "§3.5", Enum: []string{"type", "source", "scene"}, Default: "type", Doc: "What has a counter: every event type, every publisher, or the whole scene."},
		"agenda.ThrottleRule.max":                      {Required: true, Section: "§3.5", Range: between(0, throttle.MaxEvents), Doc: "Events that one window lets through. 0: none. A rule with 0 and the action delay is a fault."},
		"agenda.ThrottleRule.window_seconds":           {Required: true, Section: "§3.5", Range: &source.Range{Max: throttle.MaxWindow.Seconds(), Open: true}, Doc: "Length of a window in scene time. A window opens with the first event after the previous window has ended."},
		"agenda.ThrottleRule.action":                   {Section: "§3.5", Enum: []string{"drop", "deprioritize", "delay"}, Default: "drop", Doc: "Effect on further events: refused, heard at low priority, or held until a window has room."},

		"agenda.AssociatedPanel.panel_id":         {Required: true, Section: "§3.1.1", Doc: "Id of a panel definition of the project."},
		"agenda.AssociatedPanel.instance_name":    {Section: "§3.1.1", Doc: "Name of the panel in this scene, unique. Default: the panel_id."},
		"agenda.AssociatedPanel.players":          {Section: "§3.7", MaxItems: 1_000, Doc: "Names of people who answer its questions: see [who may answer](panel.md#who-may-answer)."},
		"agenda.AssociatedPanel.default_bindings": {Section: "§3.1.1", Doc: "Bindings of the panel, for programs that show it: each question has them as `bindings`. A name that ends in `agent_id` has an agent of the scene, one that ends in `workflow_id` a workflow."},
	}
}

func turnRules() source.Rules {
	const section = "§5.3"
	return source.Rules{
		"turns.Turns.policy":       {Required: true, Section: section, Enum: turns.Policies(), Doc: "Who is next."},
		"turns.Turns.participants": {Section: section, MaxItems: 1_000, Strict: true, Hint: "left out, every agent needs a turn, with the policy director the directors; without turns nobody does", Doc: "[Selectors](#selectors) of the agents that need a turn; all others are woken when they are due. Default: every agent, but with the policy director the directors."},
		"turns.Turns.order":        {Section: section, MaxItems: 1_000, Doc: "Selectors of participants in their order; the others follow as declared. Policies round_robin and director."},
		"turns.Turns.by":           {Section: section, Doc: "Expression over agent, world and roll: the participant with the highest number comes first. Required by the policy initiative, and only there."},
		"turns.Turns.reroll":       {Section: section, Enum: []string{turns.EachRound, turns.OneScene}, Default: turns.EachRound, Doc: "How often roll is drawn: for each round, or once. Policy initiative."},
		"turns.Turns.per_turn":     {Section: section, Range: between(1, turns.MaxTurns), Default: int64(1), Doc: "Deliberations of a participant in one round."},
		"turns.Turns.time_limit":   {Section: section, Range: aboveZero(), Doc: "Scene time after which a turn is forfeited; with the policy director also how long the directors are waited for."},
		"turns.Turns.on_timeout":   {Section: section, Enum: []string{turns.Skip, turns.Forfeit, turns.Play}, Default: turns.Skip, Doc: "What becomes of a participant whose time is up: skip, this turn is lost; forfeit, all later ones too. play is refused: nobody plays for an absent participant yet."},
		"turns.Turns.interject":    {Section: section, Enum: []string{turns.Critical}, Doc: "critical: a participant that hears a critical event is woken out of turn."},
		"turns.Turns.rounds":       {Section: section, Range: between(1, 1<<40), Doc: "Rounds, after which no participant has a turn by itself. Default: it goes on."},
		"turns.Turns.fallback":     {Section: section, Enum: []string{turns.Wait, string(turns.RoundRobin), string(turns.Free)}, Default: turns.Wait, Doc: "What comes when no director gives a turn within time_limit: wait on, one round in order, or nobody waits for a turn until a director gives one."},
	}
}

func simulationRules() source.Rules {
	return source.Rules{
		"agenda.Simulation.clock":      {Section: "§3.1", Enum: []string{"virtual", "realtime"}, Default: "virtual", Doc: "virtual runs as fast as the machine allows; realtime follows the wall clock, and goes on where it was if that is set back."},
		"agenda.Simulation.start_time": {Section: "§3.1", Default: "2000-01-01T00:00:00Z", Doc: "Start of the virtual clock, RFC 3339, after 1970-01-01T00:00:00Z; refused with the realtime clock. The scene must end by 2262-01-01T00:00:00Z."},
		"agenda.Simulation.tick":       {Section: "§3.1", Range: aboveZero(), Default: "1s", Doc: "Step of virtual time. On the realtime clock it is the least time until an agent is woken because it changed (`wake_on_state_change`), or again after a failure."},
		"agenda.Simulation.seed":       {Section: "§3.1", Range: atLeast(0), Doc: "Seed of all random choices, at most 9223372036854775807. Without it, simd draws one, prints it and stores it."},
		"agenda.Simulation.stop":       {Section: "§3.1", Doc: "Conditions that end the scene; one is enough."},
		"agenda.Simulation.limits":     {Section: "§3.1", Doc: "Bounds of the scene."},
		"agenda.Simulation.model":      {Section: "§2.1.1", Doc: "File of the model that answers requests without a name, a path within the project. Default: the project's, then models/scripted.yaml if it exists."},
		"agenda.Simulation.report":     {Section: "§3.6", Doc: "World paths whose values over time the summary shows."},

		"agenda.Stop.after":         {Section: "§3.1", Range: aboveZero(), Doc: "Scene time."},
		"agenda.Stop.ticks":         {Section: "§3.1", Range: aboveZero(), Doc: "Ticks of the virtual clock; refused with the clock realtime."},
		"agenda.Stop.deliberations": {Section: "§3.1", Range: aboveZero(), Doc: "Deliberations that ended."},
		"agenda.Stop.events":        {Section: "§3.1", Range: aboveZero(), Doc: "Events that were routed."},
		"agenda.Stop.tokens":        {Section: "§3.1", Range: aboveZero(), Doc: "Tokens of models, in and out. The wave that reaches the number is completed: a [budget](#budget) is never exceeded."},
		"agenda.Stop.dollars":       {Section: "§3.1", Range: aboveZero(), Doc: "Dollars that models cost, in the same way."},
		"agenda.Stop.wall_time":     {Section: "§3.1", Range: aboveZero(), Doc: "Wall-clock time of the process. Not reproducible, so the run stays resumable."},
		"agenda.Stop.until":         {Section: "§3.1", Doc: "Expression over world, scene and, in a scene with [turns](#turns), round, evaluated after every wave."},

		"agenda.Limits.max_agents":             {Section: "§3.2.3", Range: between(1, MaxInstances), Default: int64(1_000_000), Doc: "Agents of the scene."},
		"agenda.Limits.max_deliberating":       {Section: "§3.2.3", Range: between(1, 1e6), Default: int64(2048), Doc: "Agents that deliberate at once; in realtime this includes those that wait for their models. If the endpoint takes far fewer requests at once, a quarter more than those is enough, and takes less memory and CPU."},
		"agenda.Limits.max_events_in_wave":     {Section: "§3.5", Range: between(1, 1e9), Default: int64(10_000_000), Doc: "Events published in one wave; more are refused."},
		"agenda.Limits.max_deliveries_in_wave": {Section: "§3.5", Range: between(1, 1e9), Default: int64(10_000_000), Doc: "Receivers of all events of one wave together; events beyond it are refused."},
		"agenda.Limits.max_wave_bytes":         {Section: "§3.1", Range: between(64<<10, 64<<30), Default: int64(512 << 20), Doc: "Bytes of the requests that all deliberations of one wave make together. The requests of a deliberation that do not fit are refused, all of them; the agent observes that."},
		"agenda.Limits.max_world_bytes":        {Section: "§3.6", Range: between(1, 32<<20), Default: int64(32 << 20), Doc: "Bytes of the encoded world state. A world that begins with more is a fault."},
		"agenda.Limits.restart_backoff":        {Section: "§3.2", Range: aboveZero(), Default: "1s", Doc: "Wait after the first failure; doubled up to 60 times."},
		"agenda.Limits.passivate_after":        {Section: "§3.2.3", Range: aboveZero(), Doc: "Scene time after which an agent that was told nothing is [passive](#passive-agents); it may take twice as long. Less than a tick: after each turn. Default: 24h in a scene of at most 1,000 agents, 5m in a larger one, and after each turn on the virtual clock with 200,000 agents and more."},
		"agenda.Limits.shutdown_grace":         {Section: "§3.1", Range: between(0.001, 60), Default: "5s", Doc: "Wall-clock time in which [services](service.md#the-program) and [MCP servers](mcp.md) of the scene may end by themselves, all together, when it ends. They are asked one after the other, the one that was started last first, each with an equal part of what those before it have left of the time; who does not end in its part is ended while the next ones have theirs."},
		"agenda.Limits.max_restarts":           {Section: "§3.2", Range: between(1, 1e6), Default: int64(5), Doc: "Failures of world state, event channel and scene before the scene ends."},
	}
}

func workflowRules() source.Rules {
	const section = "§3.3"
	return source.Rules{
		"workflow.Definition.id":               {Section: section, Doc: "Identifies the workflow in the project. Default: its path below workflows/, without the file extension."},
		"workflow.Definition.name":             {Section: section, Doc: "Name for display."},
		"workflow.Definition.description":      {Section: section, Doc: "Text for display, and for models as the description of a skill."},
		"workflow.Definition.version":          {Section: section, Doc: "Semantic version of the content, such as 1.0.0."},
		"workflow.Definition.interfaceInputs":  {Section: section, Doc: "The inputs, by handle."},
		"workflow.Definition.interfaceOutputs": {Section: section, Doc: "The outputs, by handle."},
		"workflow.Definition.nodes":            {Required: true, Section: section, Doc: "The steps."},
		"workflow.Definition.edges":            {Section: section, Doc: "The connections between steps."},
		"workflow.Definition.custom_metadata":  {Section: section, Doc: "For your own use; simd does not check it."},

		"workflow.Port.dataFlowType": {Section: section, Enum: dataFlowTypes(), Default: "WILDCARD", Doc: "Type of the values."},
		"workflow.Port.displayName":  {Section: section, Doc: "Name for display."},
		"workflow.Port.description":  {Section: section, Doc: "Text for display, and for models."},
		"workflow.Port.required":     {Section: section, Default: false, Doc: "Whether an input must be given, or an output produced."},
		"workflow.Port.default":      {Section: section, Doc: "Value of an input that is not given."},
		"workflow.Port.suggestions":  {Section: section, Doc: "Values that an editor offers."},

		"workflow.Node.id":              {Required: true, Section: section, Doc: "Identifies the node in its workflow; without \"/\" and \"#\"."},
		"workflow.Node.type":            {Required: true, Section: section, Doc: "Kind of the node."},
		"workflow.Node.name":            {Section: section, Doc: "Name for display."},
		"workflow.Node.inputValues":     {Section: section, Doc: "Literals for inputs without an edge."},
		"workflow.Node.configValues":    {Section: section, Doc: "Settings of the node; each kind has its own."},
		"workflow.Node.bypassed":        {Section: section, Default: false, Doc: "Disables the node and passes on its inputs."},
		"workflow.Node.timeout":         {Section: section, Range: atLeast(0), Doc: "Time limit of one attempt. 0: no limit of its own."},
		"workflow.Node.retry":           {Section: section, Doc: "Repetitions after a failure that may be temporary."},
		"workflow.Node.position":        {Section: section, Doc: "For editors; ignored."},
		"workflow.Node.custom_metadata": {Section: section, Doc: "For your own use; simd does not check it."},

		"workflow.Retry.max":     {Section: section, Range: between(0, workflow.MaxRetries), Default: int64(0), Doc: "Repetitions after the first attempt."},
		"workflow.Retry.backoff": {Section: section, Range: atLeast(0), Doc: "Wait before the first repetition; doubles each time."},

		"workflow.Edge.id":           {Section: section, Doc: "Identifies the edge in its workflow."},
		"workflow.Edge.source":       {Required: true, Section: section, Doc: "Id of the node where it begins."},
		"workflow.Edge.sourceHandle": {Required: true, Section: section, Doc: "Output of that node; `*` for all."},
		"workflow.Edge.target":       {Required: true, Section: section, Doc: "Id of the node where it ends."},
		"workflow.Edge.targetHandle": {Required: true, Section: section, Doc: "Input of that node; `*` for all."},
	}
}
