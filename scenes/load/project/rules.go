package project

import (
	"maps"
	"math"
	"reflect"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/bus"
	"tavernsim/engine/goal"
	"tavernsim/engine/panel"
	"tavernsim/engine/prompt"
	"tavernsim/engine/script/plot"
	"tavernsim/internal/source"
	"tavernsim/scenes/load/kb"
	"tavernsim/scenes/load/minds"
	"tavernsim/scenes/load/roads"
	"tavernsim/tools/manifest"
	"tavernsim/tools/plugin"
	"tavernsim/tools/toolmock"
)

// Limits of definitions that are checked at load.
const (
	MaxInstances = 10_000_000 // of one scene
	MaxIDBytes   = 200
)

// Rules lists what every field of every definition takes beyond its Go type.
// The loader, the editor schemas and the tables of docs/formats come from it.
func Rules() source.Rules {
	all := source.Rules{}
	for _, part := range []source.Rules{projectRules(), profileRules(), runtimeRules(), budgetRules(),
		sceneRules(), turnRules(), roads.SpaceRules(), simulationRules(), kb.Rules(), minds.Rules(), roads.Rules(), workflowRules(), manifest.Rules(), plugin.Rules(), toolmock.Rules(), PolicyRules(), plot.Rules(), panel.Rules(schemaVersions())} {
		maps.Copy(all, part)
	}
	return all
}

// newDecoder is the one way from files to structs.
func newDecoder(report *source.Report) *source.Decoder {
	return &source.Decoder{
		Rules:     Rules(),
		Shorthand: map[reflect.Type]string{reflect.TypeFor[goal.Condition](): "text", reflect.TypeFor[profile.Subscription](): "type", reflect.TypeFor[plugin.Use](): "name", reflect.TypeFor[agenda.Orders](): "agents"},
		Elsewhere: ceilings(),
		Report:    report,
	}
}

func atLeast(low float64) *source.Range       { return &source.Range{Min: low, Max: math.Inf(1)} }
func aboveZero() *source.Range                { return &source.Range{Max: math.Inf(1), Open: true} }
func between(low, high float64) *source.Range { return &source.Range{Min: low, Max: high} }

func projectRules() source.Rules {
	return source.Rules{
		"project.Definition.id":             {Required: true, Section: "§4", Doc: "Identifies the project; names its runs."},
		"project.Definition.name":           {Section: "§4", Doc: "Name for display."},
		"project.Definition.description":    {Section: "§4", Doc: "Text for display."},
		"project.Definition.version":        {Section: "§4", Doc: "Semantic version of the content, such as 1.0.0."},
		"project.Definition.schema_version": {Section: "§4", Enum: schemaVersions(), Doc: "Version of this file format."},
		"project.Definition.default_scene":  {Section: "§2.3.1", Doc: "Id of the scene that runs if the command names none. Default: the only scene of the project."},
		"project.Definition.model":          {Section: "§2.1.1", Doc: "File of the model that answers requests without a name, a path within the project, for scenes that name none."},
		"project.Definition.agent_profiles": {Section: "§6.4", Doc: "Paths of more profile files, beside those in agent_profiles/."},
		"project.Definition.event_schemas":  {Section: "§3.5", Doc: "For an event type, the JSON Schema of its payload: an object, or the path of a file within the project."},
		"project.Definition.tool_policy":    {Section: "§7", Doc: "Which calls of agents are allowed, asked about, or denied."},
		"project.Definition.plugins":        {Section: "001 §6", MaxItems: plugin.MaxPlugins, Doc: "[Plugins](plugin.md) of the project. Those in `plugins/` that are not listed are off."},
		"project.Definition.dependencies":   {Section: "§4", Doc: "Reserved: anything but an empty object is refused."},
		"project.Definition.custom_metadata": {Section: "§2.2",
			Doc: "For your own use; simd neither checks nor reads it."},
	}
}

func profileRules() source.Rules {
	const noBound = "left out, the prompt alone bounds the section, and history has 16 units; to have none of it, use a core workflow without that input"
	return source.Rules{
		"profile.Profile.id":                            {Required: true, Section: "§2.2", Doc: "Identifies the profile in the project. At most 200 bytes."},
		"profile.Profile.name":                          {Required: true, Section: "§2.2", Doc: "Name for display."},
		"profile.Profile.description":                   {Section: "§2.2", Doc: "What this kind of agent is."},
		"profile.Profile.version":                       {Required: true, Section: "§2.2", Doc: "Semantic version of the content, such as 1.0.0."},
		"profile.Profile.schema_version":                {Required: true, Section: "§2.2", Enum: schemaVersions(), Doc: "Version of this file format."},
		"profile.Profile.core_deliberation_workflow_id": {Required: true, Section: "§2.1.1", Doc: "The workflow that is one turn of the deliberation loop: its id or path."},
		"profile.Profile.prompt":                        {Section: "§2.1.1", Doc: "Settings of the AssemblePrompt nodes of the core workflow for this profile, and of its reflection except state and instruction."},
		"profile.Prompt.persona":                        {Section: "§2.1.1", Doc: "Template: who the agent is."},
		"profile.Prompt.rules":                          {Section: "§2.1.1", Doc: "Template: how it should behave."},
		"profile.Prompt.state":                          {Section: "§2.1.1", Doc: "Template: what it is shown of itself and of the world. Default: its private state."},
		"profile.Prompt.instruction":                    {Section: "§2.1.1", Doc: "Template: what it should do now; the last part of the prompt."},
		"profile.Prompt.grammar":                        {Section: "§2.1.4", Enum: []string{"native", "tam", "toolsxml", "none"}, Doc: "How the model calls tools: as native calls, as TAM or ToolsXML in its text, or not at all."},
		"profile.Prompt.context":                        {Section: "§2.1.1", Range: atLeast(256), Doc: "Tokens of the model's context, at most. Default: the model's, else 8192."},
		"profile.Prompt.output":                         {Section: "§2.1.1", Range: atLeast(1), Doc: "Tokens of an answer, at most. Default: `params.max_tokens` of the model's file, else 1024."},
		"profile.Prompt.sections":                       {Section: "§2.1.1", Doc: "Bounds of sections, by their names."},
		"profile.PromptSection.min":                     {Section: "§2.1.1", Range: atLeast(0), Doc: "Tokens that the budget cannot take from the section."},
		"profile.PromptSection.max":                     {Section: "§2.1.1", Range: atLeast(1), Hint: noBound, Strict: true, Doc: "Most tokens."},
		"profile.PromptSection.units":                   {Section: "§2.1.1", Range: atLeast(1), Hint: noBound, Strict: true, Doc: "Most entries or messages, of a section that may lose some."},
		"profile.PromptSection.drop":                    {Section: "§2.1.1", Enum: prompt.Drops(), Doc: "What is dropped first: never, lowest, oldest, half."},
		"profile.Profile.initial_private_state_schema":  {Section: "§2.1.2", Doc: "JSON Schema (2020-12 unless $schema says otherwise) of the private state. Its `default` values fill what is missing."},
		"profile.Profile.initial_private_state_values":  {Section: "§2.1.2", Doc: "The private state at the start, before the scene's override."},
		"profile.Profile.knowledge_base_references":     {Section: "§2.2", Doc: "Knowledge bases that the agent may use. The first one is the default."},
		"profile.Profile.subscribed_event_types":        {Section: "§2.2", Doc: "Events that the agent hears: a type, or an object with a filter."},
		"profile.Profile.skill_workflow_ids_inventory":  {Section: "§2.1.4", Doc: "Workflows the agent may call as skills, by id or path. The list is also the authorisation."},
		"profile.Profile.tool_ids_inventory":            {Section: "§2.1.4", Doc: "Tools the agent may call, by exact id; a skill as `workflow:ID`. The list is also the authorisation."},
		"profile.Profile.initial_goals_reference":       {Section: "§2.1.3", Doc: "Goals at the start."},
		"profile.Profile.reflection_workflow_id":        {Section: "§2.1.5", Doc: "The reflection skill, by id or path. Default: the only skill whose id contains \"reflect\"."},
		"profile.Profile.budget":                        {Section: "§3.2.3", Doc: "What its agents may spend on models, in one scene together: see [budgets](scene.md#budget)."},
		"profile.Profile.budget_per_agent":              {Section: "§3.2.3", Doc: "What each of its agents may spend on models."},
		"profile.Profile.custom_runtime_config":         {Section: "§3.1.1", Doc: "Pace and limits; a scene may override single fields."},
		"profile.Profile.custom_metadata":               {Section: "§2.2", Doc: "For your own use; simd does not check it."},

		"profile.Profile.world_write_permissions": {Section: "§3.6", Doc: "World paths that its agents may write; `{self}` in a name stands for the instance id, and nothing else may stand in braces. Default: everywhere, unless the scene limits it."},
		"profile.Profile.perceives":               {Section: "§2.1.1", MaxItems: 1000, Doc: "Patterns of world paths: the input `world_state` has these, and what lies below, and nothing else. Default: everything. See [what an agent perceives of the world](#what-an-agent-perceives-of-the-world)."},
		"profile.Profile.publishes":               {Section: "§2.1.4", MaxItems: 1000, Doc: "Types of events that `PublishEventTool` publishes for its agents; one may end in `.*`. Default: every type. See [what an agent publishes](#what-an-agent-publishes)."},
		"profile.Profile.publishes_to":            {Section: "§2.1.4", MaxItems: 1000, Doc: "Instance ids of agents that these events may name as receivers; one may end in `*`. Default: everybody."},
		"profile.WritePermissions.allow":          {Section: "§3.6", MaxItems: 1000, Doc: "Patterns of world paths: only there, and below. Default: everywhere."},
		"profile.WritePermissions.deny":           {Section: "§3.6", MaxItems: 1000, Doc: "Patterns of world paths: not there, not below, and not above if the write affects them. Takes precedence over allow."},

		"profile.KnowledgeReference.source_id": {Required: true, Section: "§2.2", Doc: "Id of the knowledge base."},
		"profile.KnowledgeReference.alias":     {Section: "§2.2", Doc: "The agent's own name for it, unique in the profile. Default: the source_id."},
		"profile.KnowledgeReference.access_permissions": {Section: "§2.2", Default: []any{"read"}, Strict: true, Hint: "remove the reference, or leave it out to read",
			Enum: []string{"read", "write_caiu", "suggest_edits", "write_suggestions", "write_criteria"},
			Doc:  "What the agent may do: read; write_caiu writes at once; suggest_edits (or write_suggestions) puts writes into a review queue, which holds 10,000; write_criteria, beside write_caiu, decides what [stands in the prompts of others](knowledge_base.md#who-decides-what-stands-in-a-prompt)."},

		"profile.KnowledgeReference.write_types": {Section: "§3.4", MaxItems: 64, Strict: true, Hint: "who writes nothing has no write_caiu; without it any type is written", Doc: "Types of the entries that the agent may write there, change, archive and supersede, or suggest. Default: any."},

		"profile.Subscription.type":                 {Required: true, Section: "§2.2", Doc: "Event type. `a.b.*` is every type below a.b, `*` every type."},
		"profile.Subscription.filter_condition":     {Section: "§2.2", Doc: "Expression over payload, event and self; the event is heard when it is true."},
		"profile.Subscription.path":                 {Section: "§5.2", Doc: "For the type world.state.updated: a pattern of world paths. The agent hears only changes at, above or below a matching place; `*` is any one step, `**` any number."},
		"profile.Subscription.debounce":             {Section: "§3.5", Enum: []string{"latest", "merge"}, Default: "latest", Doc: "What the agent hears after debounce_seconds: the last event, or one event that lists them all."},
		"profile.Subscription.debounce_seconds":     {Section: "§3.5", Range: between(0, bus.MaxQuiet.Seconds()), Default: 0.0, Doc: "Events are held until none has come for this many seconds of scene time. 0: heard at once."},
		"profile.Subscription.group":                {Section: "§5.3", Doc: "The name of a group: of all its subscribers that would hear an event one does, for which the least waits."},
		"profile.Subscription.debounce_max_seconds": {Section: "§3.5", Range: &source.Range{Max: bus.MaxQuiet.Seconds(), Open: true}, Strict: true, Doc: "The longest time that an event is held, however many follow. Default: ten times debounce_seconds."},

		"profile.GoalReference.caiu_id":             {Required: true, Section: "§2.1.3", Doc: "Id of a goal entry."},
		"profile.GoalReference.kb_alias_or_id":      {Section: "§2.2", Doc: "Knowledge base that contains it, by alias or id. Default: the first reference of the profile."},
		"profile.GoalReference.activation_priority": {Section: "§2.2", Range: between(0, 1), Doc: "Priority at the start. Default: the entry's own."},
	}
}

func runtimeRules() source.Rules {
	limit := func(low, high float64, def int64, doc string) source.Rule {
		return source.Rule{Section: "§3.2.3", Range: between(low, high), Default: def, Doc: doc}
	}
	return source.Rules{
		"profile.RuntimeConfig.deliberation_frequency_hz": {Section: "§2.3.2", Range: between(0, 1000), Default: 0.0,
			Doc: "Deliberations per second of scene time without any event. 0: only when something happens."},
		"profile.RuntimeConfig.wake_on_start":         {Section: "§2.3.2", Default: true, Doc: "Deliberate when the scene starts."},
		"profile.RuntimeConfig.wake_on_state_change":  {Section: "§2.3.2", Default: false, Doc: "Deliberate again one tick after a deliberation that changed the private state or the goals."},
		"profile.RuntimeConfig.max_model_calls":       limit(1, 1000, 8, "Model calls of one deliberation."),
		"profile.RuntimeConfig.max_tokens":            limit(1, 1e9, 100_000, "Most tokens of one deliberation, in and out."),
		"profile.RuntimeConfig.max_tool_rounds":       limit(1, 100, 1, "Rounds of calls, results and the model again, of one deliberation."),
		"profile.RuntimeConfig.max_calls":             limit(1, 10_000, 32, "Tool and skill calls of one deliberation."),
		"profile.RuntimeConfig.max_tool_seconds":      {Section: "§3.2.3", Range: between(0.001, 1e6), Default: 60.0, Doc: "Time of the calls of one deliberation that executors carry out, added up. On the virtual clock their `latency` counts. Beyond it further calls fail as `limit`."},
		"profile.RuntimeConfig.max_tool_bytes":        limit(1, 1<<40, profile.DefaultToolBytes, "Bytes of the outputs of these calls, before they are cut. Beyond it further calls fail as `limit`."),
		"profile.RuntimeConfig.max_tool_prompt_bytes": limit(256, 1<<24, profile.DefaultToolPrompt, "Bytes of what a model is told of tools and skills, as JSON. Beyond it descriptions are shortened, the longest first, then [parameters are only named](tool.md#many-tools), and `DescribeToolTool` tells the rest."),
		"profile.RuntimeConfig.max_inbox":             limit(1, 1_000_000, 256, "Events waiting; beyond it the oldest of the lowest priority is dropped."),
		"profile.RuntimeConfig.max_inbox_bytes":       limit(1024, 64<<20, profile.DefaultInboxBytes, "Bytes of the payloads of the events waiting, but for ephemeral ones; beyond it, too, the oldest of the lowest priority are dropped."),
		"profile.RuntimeConfig.max_history":           limit(1, 100_000, 16, "Interaction history entries kept, of at most 16 MiB together."),
		"profile.RuntimeConfig.max_observations":      limit(1, 100_000, 64, "Observations that a deliberation is shown, the newest. On the realtime clock 1,024 more are kept while one runs."),
		"profile.RuntimeConfig.max_restarts":          limit(1, 1_000_000, 5, "Failures in a row before the agent is given up."),
		"profile.RuntimeConfig.max_state_bytes":       limit(1, 64<<20, 64<<10, "Bytes of the encoded private state. An agent that begins with more is a fault."),
		"profile.RuntimeConfig.max_turn_bytes":        limit(64<<10, 1<<30, 64<<20, "Bytes of the values that the workflows of one deliberation make and that it hands over. Beyond it, a node or the deliberation fails."),
		"profile.RuntimeConfig.max_goals":             limit(1, 10_000, 32, "Goals of the agent. One that begins with more is a fault."),
		"profile.RuntimeConfig.max_redeliveries":      {Section: "§5.1", Range: between(1, 100), Default: int64(5), Doc: "How often the agent perceives an event with requires_ack again before it becomes a dead letter."},
		"profile.RuntimeConfig.max_tasks":             {Section: "§5.3", Range: between(1, 1000), Default: int64(32), Doc: "Answers that the agent may wait for at once."},
		"profile.RuntimeConfig.task_timeout_seconds":  {Section: "§5.3", Range: between(0.001, 3e9), Default: 60.0, Doc: "How long the agent waits for an answer, in seconds of scene time."},
		"profile.RuntimeConfig.inbox":                 {Section: "§3.2", Doc: "Bounds for events of one priority, within max_inbox."},
		"profile.RuntimeConfig.interrupt":             {Section: "§3.2", Doc: "Which events interrupt a deliberation. Default: none."},
		"profile.InboxConfig.critical":                {Section: "§3.2", Doc: "Bound for critical events."},
		"profile.InboxConfig.high":                    {Section: "§3.2", Doc: "Bound for high events."},
		"profile.InboxConfig.normal":                  {Section: "§3.2", Doc: "Bound for normal events."},
		"profile.InboxConfig.low":                     {Section: "§3.2", Doc: "Bound for low events."},
		"profile.LaneConfig.max":                      {Required: true, Section: "§3.2", Range: between(1, 1_000_000), Doc: "Events of this priority that may wait."},
		"profile.LaneConfig.policy": {Section: "§3.2", Enum: []string{profile.LaneDropOldest, profile.LaneRefuse, profile.LaneBlock}, Default: profile.LaneDropOldest,
			Doc: "At the bound: the oldest of the lane is dropped; the new one is refused and its publisher is told; or the new one is delivered and its publisher waits."},
		"profile.InterruptConfig.by": {Section: "§3.2", Enum: []string{"critical", "high", profile.InterruptNever}, Default: profile.InterruptNever,
			Doc: "Lowest priority of an event that interrupts."},
		"profile.InterruptConfig.then": {Section: "§3.2", Enum: []string{profile.ThenRetry, profile.ThenDrop, profile.ThenQueue}, Default: profile.ThenRetry,
			Doc: "Whether the agent perceives the events of the interrupted deliberation again. Only with `by`."},
		"profile.RuntimeConfig.subscribed_event_types": {Section: "§3.1.1", Doc: "More subscriptions, added to those of the profile."},
	}
}

// ceilings says where those fields belong that are looked for in custom_runtime_config, or beside it.
func ceilings() map[string]string {
	elsewhere := map[string]string{}
	for _, name := range []string{"max_deliberation_hz", "tokens_per_hour", "dollars_per_day"} {
		for _, in := range []string{"profile.RuntimeConfig.", "profile.Profile."} {
			elsewhere[in+name] = "it is a field of ceilings, which a profile has beside custom_runtime_config"
		}
	}
	return elsewhere
}
