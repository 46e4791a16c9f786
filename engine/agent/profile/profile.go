package profile

import (
	"time"

	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
)

// Profile is the static blueprint of a kind of agent: agent_profile.json
// (agent architecture §2.2, appendix A).
type Profile struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Description   string `json:"description,omitempty"`
	Version       string `json:"version"`        // semantic version of the content
	SchemaVersion string `json:"schema_version"` // of the file format; "1.0"

	// CoreDeliberationWorkflowID is one turn of the deliberation loop.
	CoreDeliberationWorkflowID string `json:"core_deliberation_workflow_id"`

	// Prompt replaces settings of the prompt that the core workflow assembles.
	Prompt *Prompt `json:"prompt,omitempty"`

	InitialPrivateStateSchema map[string]any `json:"initial_private_state_schema,omitempty"` // JSON Schema
	InitialPrivateStateValues map[string]any `json:"initial_private_state_values,omitempty"`

	KnowledgeBaseReferences   []KnowledgeReference `json:"knowledge_base_references,omitempty"`
	SubscribedEventTypes      []Subscription       `json:"subscribed_event_types,omitempty"`
	SkillWorkflowIDsInventory []string             `json:"skill_workflow_ids_inventory,omitempty"`
	ToolIDsInventory          []string             `json:"tool_ids_inventory,omitempty"`
	InitialGoalsReference     []GoalReference      `json:"initial_goals_reference,omitempty"`
	WorldWritePermissions     *WritePermissions    `json:"world_write_permissions,omitempty"`

	// Perceives are patterns of the world paths that the input world_state has; nil: everything.
	Perceives []string `json:"perceives,omitempty"`

	// Publishes are the types of events that PublishEventTool publishes for its agents, and
	// PublishesTo patterns of the instance ids that these may name. nil: every type, and everybody.
	Publishes   []string `json:"publishes,omitempty"`
	PublishesTo []string `json:"publishes_to,omitempty"`

	// Motivation says how its agents weigh their goals. nil: as its defaults say, if an
	// initial goal says something that rules decide; else they alone say where goals stand.
	Motivation *Motivation `json:"motivation,omitempty"`

	// Memory says what its agents remember of their turns, and Reflection when they reflect
	// without being asked. nil: nothing, and never.
	Memory     *Memory     `json:"memory,omitempty"`
	Reflection *Reflection `json:"reflection,omitempty"`

	// Idle says how its agents rest while they do nothing, and Ceilings what each of them does
	// and takes at most. nil: as often as their times say, without ceilings.
	Idle     *Idle     `json:"idle,omitempty"`
	Ceilings *Ceilings `json:"ceilings,omitempty"`

	// ReflectionWorkflowID names the reflection skill (§2.1.5). Empty: the one
	// skill of the inventory whose id holds "reflect"; none: reflection is
	// refused with an observation.
	ReflectionWorkflowID string `json:"reflection_workflow_id,omitempty"`

	// Budget is what the agents of the profile may spend on models together, and
	// BudgetPerAgent what each of them may.
	Budget         *budget.Budget `json:"budget,omitempty"`
	BudgetPerAgent *budget.Budget `json:"budget_per_agent,omitempty"`

	// CustomRuntimeConfig holds defaults that a scene may override.
	CustomRuntimeConfig *RuntimeConfig `json:"custom_runtime_config,omitempty"`

	CustomMetadata map[string]any `json:"custom_metadata,omitempty"` // free; never checked
}

// KnowledgeReference gives access to a knowledge base.
type KnowledgeReference struct {
	SourceID          string       `json:"source_id"`
	Alias             string       `json:"alias,omitempty"` // "" = SourceID
	AccessPermissions []Permission `json:"access_permissions,omitempty"`
	WriteTypes        []string     `json:"write_types,omitempty"` // of entries that the agent may write; nil = any
}

// WritePermissions are patterns of world paths. An agent may write at and below the
// paths of Allow (nil = everywhere), except at and below those of Deny.
type WritePermissions struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// Permission on a knowledge base. Without any, an agent may read.
type Permission string

const (
	PermitRead         Permission = "read"
	PermitWrite        Permission = "write_caiu"
	PermitSuggest      Permission = "suggest_edits"
	PermitSuggestAlias Permission = "write_suggestions" // read as suggest_edits
	PermitCriteria     Permission = "write_criteria"    // beside write_caiu
)

// Subscription names events that an agent hears. In a file it is a bare type or
// an object. A type may end in ".*".
type Subscription struct {
	Type               string  `json:"type"`
	FilterCondition    string  `json:"filter_condition,omitempty"` // expression over payload, event, self
	Path               string  `json:"path,omitempty"`             // with type world.state.updated: what is listened to
	Debounce           string  `json:"debounce,omitempty"`         // latest (default), merge
	DebounceSeconds    float64 `json:"debounce_seconds,omitempty"` // 0 = heard at once
	DebounceMaxSeconds float64 `json:"debounce_max_seconds,omitempty"`
	Group              string  `json:"group,omitempty"` // one of its subscribers hears an event
}

// ForChannel converts the subscription for the event channel.
func (s Subscription) ForChannel() bus.Subscription {
	seconds := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	return bus.Subscription{Type: s.Type, FilterCondition: s.FilterCondition, Path: s.Path,
		Debounce: bus.DebounceMode(s.Debounce), Quiet: seconds(s.DebounceSeconds), Most: seconds(s.DebounceMaxSeconds), Group: s.Group}
}

// GoalReference points at a goal entry of a knowledge base.
type GoalReference struct {
	CAIUID             string   `json:"caiu_id"`
	KBAliasOrID        string   `json:"kb_alias_or_id,omitempty"`      // "" = the first reference
	ActivationPriority *float64 `json:"activation_priority,omitempty"` // 0..1; nil = the entry's own
}

// RuntimeConfig limits and paces one agent (scene.json custom_runtime_config).
// A zero field takes the default.
type RuntimeConfig struct {
	// DeliberationFrequencyHz is the floor frequency: without any event the
	// agent deliberates this often. Default 0: it deliberates only when
	// something happens.
	DeliberationFrequencyHz float64 `json:"deliberation_frequency_hz,omitempty"`
	// WakeOnStart makes the agent deliberate when the scene starts. Default true.
	WakeOnStart *bool `json:"wake_on_start,omitempty"`
	// WakeOnStateChange makes it deliberate again one tick after a deliberation
	// that changed its private state or goals (§2.3.2). Default false: a plan of
	// several steps then waits for an event or the floor frequency.
	WakeOnStateChange *bool `json:"wake_on_state_change,omitempty"`

	MaxModelCalls   int `json:"max_model_calls,omitempty"`  // per deliberation; default 8
	MaxTokens       int `json:"max_tokens,omitempty"`       // per deliberation, in and out; default 100,000
	MaxToolRounds   int `json:"max_tool_rounds,omitempty"`  // calls, results, model again; default 1
	MaxCalls        int `json:"max_calls,omitempty"`        // per deliberation; default 32
	MaxInbox        int `json:"max_inbox,omitempty"`        // events waiting; beyond it the oldest of the lowest priority is dropped; default 256
	MaxInboxBytes   int `json:"max_inbox_bytes,omitempty"`  // of their payloads; beyond it the same; default 16 MiB
	MaxHistory      int `json:"max_history,omitempty"`      // interaction history entries kept; default 16
	MaxObservations int `json:"max_observations,omitempty"` // waiting for the next deliberation; default 64
	MaxRestarts     int `json:"max_restarts,omitempty"`     // failures in a row before it is given up; default 5
	MaxStateBytes   int `json:"max_state_bytes,omitempty"`  // encoded private state; default 64 KiB
	MaxTurnBytes    int `json:"max_turn_bytes,omitempty"`   // values that one deliberation makes and hands over; default 64 MiB
	MaxGoals        int `json:"max_goals,omitempty"`        // default 32

	// Of the calls of one deliberation that executors carry out: their time in seconds, added
	// up, default 60; the bytes of their outputs, default 4 MiB.
	MaxToolSeconds float64 `json:"max_tool_seconds,omitempty"`
	MaxToolBytes   int     `json:"max_tool_bytes,omitempty"`
	// MaxToolPromptBytes bounds what a model is told of tools and skills, as JSON. Beyond it descriptions
	// are shortened, then parameters are named only, and DescribeToolTool tells the rest. Default 16 KiB.
	MaxToolPromptBytes int `json:"max_tool_prompt_bytes,omitempty"`

	// MaxRedeliveries bounds how often an acknowledged event is perceived again
	// before it becomes a dead letter. Default 5.
	MaxRedeliveries int `json:"max_redeliveries,omitempty"`
	// MaxTasks bounds the answers that the agent waits for. Default 32.
	MaxTasks int `json:"max_tasks,omitempty"`
	// TaskTimeoutSeconds is how long the agent waits for an answer. Default 60.
	TaskTimeoutSeconds float64 `json:"task_timeout_seconds,omitempty"`
	// Inbox bounds events by priority, within max_inbox.
	Inbox *InboxConfig `json:"inbox,omitempty"`
	// Interrupt says which events interrupt a deliberation. Default: none.
	Interrupt *InterruptConfig `json:"interrupt,omitempty"`

	// SubscribedEventTypes are added to the profile's (the scene's "specific
	// event subscriptions" of §3.1.1).
	SubscribedEventTypes []Subscription `json:"subscribed_event_types,omitempty"`
}

// Defaults of what the tools of one deliberation may take, and their descriptions in a prompt.
const (
	DefaultToolTime   = time.Minute
	DefaultToolBytes  = 4 << 20
	DefaultToolPrompt = 16 << 10
)

// DefaultInboxBytes bounds the payloads in an inbox. What the agent heard in a turn whose latency passes, and what
// it hears meanwhile, has room in a state beside its history.
const DefaultInboxBytes = 16 << 20

// DefaultTaskTimeout is how long an agent waits for an answer.
const DefaultTaskTimeout = time.Minute

// InboxConfig bounds the lanes of the inbox; nil = no bound beside max_inbox.
type InboxConfig struct {
	Critical *LaneConfig `json:"critical,omitempty"`
	High     *LaneConfig `json:"high,omitempty"`
	Normal   *LaneConfig `json:"normal,omitempty"`
	Low      *LaneConfig `json:"low,omitempty"`
}

// LaneConfig bounds one lane.
type LaneConfig struct {
	Max    int    `json:"max"`
	Policy string `json:"policy,omitempty"` // a Lane policy; "" = LaneDropOldest
}

// Policies of a full lane.
const (
	LaneDropOldest = "drop_oldest"
	LaneRefuse     = "refuse"
	LaneBlock      = "block" // the lane takes the new event, and its publisher waits
)

// InterruptConfig sets which events interrupt a deliberation, and what happens to
// the events that it had perceived.
type InterruptConfig struct {
	By   string `json:"by,omitempty"`   // critical, high, never
	Then string `json:"then,omitempty"` // a Then word; "" = ThenRetry
}

// InterruptNever is the default: no event interrupts a deliberation.
const InterruptNever = "never"

// What happens to the events of an interrupted deliberation.
const (
	ThenRetry = "retry" // the next turn perceives them again, with the urgent one
	ThenDrop  = "drop"  // they are lost, except acknowledged ones
	ThenQueue = "queue" // a turn with the urgent one alone comes first
)
