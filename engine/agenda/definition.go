package agenda

import (
	"cmp"
	"time"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus/throttle"
	"tavernsim/engine/script/plot"
	"tavernsim/engine/script/turns"
	"tavernsim/engine/space/ground"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// Scene is the static definition of a scene: scene.json (agent architecture
// §3.1.1, appendix B) and its simulation block.
type Scene struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Description   string `json:"description,omitempty"`
	Version       string `json:"version,omitempty"`
	SchemaVersion string `json:"schema_version,omitempty"`

	AgentInstances    []AgentInstance `json:"agent_instances"`
	InitialWorldState map[string]any  `json:"initial_world_state,omitempty"`
	// WorldWritePermissions by profile id: those of a profile win over its own,
	// those of "*" hold for profiles without any.
	WorldWritePermissions map[string]profile.WritePermissions `json:"world_write_permissions,omitempty"`
	// Directors are the agents with every right, as selectors (engine/cast): they may do
	// what Orders says, and call the tools of directors. The scene itself always may.
	Directors []string `json:"directors,omitempty"`
	Orders    Orders   `json:"orders,omitzero"`
	// Players are people by their names, and whose questions they answer, as selectors.
	Players                 map[string][]string `json:"players,omitempty"`
	EventBusConfig          EventBusConfig      `json:"event_bus_config,omitzero"`
	AssociatedPanels        []AssociatedPanel   `json:"associated_panels,omitempty"`
	SceneLifecycleWorkflows map[string]string   `json:"scene_lifecycle_workflows,omitempty"`
	// Turns says whose turn it is; nil = whoever is due has one.
	Turns *turns.Turns `json:"turns,omitempty"`
	// Space is where agents can be; nil = they are nowhere.
	Space *ground.Definition `json:"space,omitempty"`
	// Links lead to scenes of the same run to which agents can travel.
	Links []travel.Link `json:"links,omitempty"`
	// Budget is what all agents of the scene may spend on models.
	Budget     *budget.Budget `json:"budget,omitempty"`
	ToolBudget *budget.Tools  `json:"tool_budget,omitempty"`
	Simulation Simulation     `json:"simulation,omitzero"`
	// Script leads the scene from state to state; nil = it has none.
	Script *plot.Definition `json:"script,omitempty"`
	// PluginConfig are values of options, by plugin and option.
	PluginConfig   map[string]map[string]any `json:"plugin_config,omitempty"`
	CustomMetadata map[string]any            `json:"custom_metadata,omitempty"` // free; never checked
}

// Orders say which agents may change others, as selectors.
type Orders struct {
	Goals        []string `json:"goals,omitempty"`
	Reflection   []string `json:"reflection,omitempty"`
	PrivateState []string `json:"private_state,omitempty"`
	// Agents have the first two rights: ids of instances and profiles, which a list in
	// the place of the object means.
	Agents []string `json:"agents,omitempty"`
}

// AgentInstance declares one agent of the scene, or Count of them.
type AgentInstance struct {
	// InstanceID is unique in the scene. With Count it is a template: "{n}" is
	// the number of the instance from 1 ("trader_{n}", "trader_{n:05}" pads
	// with zeros to five digits).
	InstanceID string `json:"instance_id"`
	ProfileID  string `json:"profile_id"`
	Count      int    `json:"count,omitempty"` // default 1, at most 1,000,000
	// Roles by which selectors (engine/cast) mean the agents of this entry.
	Roles []string `json:"roles,omitempty"`
	// Place is where the agents of this entry begin, in a scene with Space: a place, a cell
	// "x,y", or a rectangle "x,y..x,y"; "" = they are nowhere.
	Place string `json:"place,omitempty"`
	// Spawnable: none of them is there when the scene begins; each can come, leave and come
	// again. Virtual clock only.
	Spawnable bool `json:"spawnable,omitempty"`

	// Override of single fields of the initial private state. Text values may
	// hold the same "{n}" templates.
	InitialPrivateStateOverride map[string]any `json:"initial_private_state_override,omitempty"`
	// Replaces the profile's goals when present, also when empty.
	InitialGoalsOverrideReference []profile.GoalReference `json:"initial_goals_override_reference,omitempty"`
	CustomRuntimeConfig           *profile.RuntimeConfig  `json:"custom_runtime_config,omitempty"`
}

// EventBusConfig sets the scene's event channel.
type EventBusConfig struct {
	NamespacePrefix        string  `json:"namespace_prefix,omitempty"`          // put before trace ids and exported event ids
	DefaultEventTTLSeconds float64 `json:"default_event_ttl_seconds,omitempty"` // 0 = events do not expire
	MaxDepth               int     `json:"max_depth,omitempty"`                 // causal chain; default 32
	MaxRevisits            int     `json:"max_revisits,omitempty"`              // same agent, same type in one chain; default 2
	LoopAction             string  `json:"loop_action,omitempty"`               // drop (default), deprioritize, warn
	// Throttle bounds how many events of a kind are heard in a time.
	Throttle []ThrottleRule `json:"throttle,omitempty"`
	MaxHeld  int            `json:"max_held,omitempty"` // deliveries that throttle and debounce hold at once; default 1,000,000
	// Inbox bounds the lanes of agents whose runtime configuration has no inbox.
	Inbox *profile.InboxConfig `json:"inbox,omitempty"`
}

// ThrottleRule lets so many events through in so long.
type ThrottleRule struct {
	Type          string  `json:"type"`                               // event type, "prefix.*" or "*"
	Source        string  `json:"source_agent_instance_id,omitempty"` // only events of this publisher
	Per           string  `json:"per,omitempty"`                      // type (default), source, scene
	Max           int64   `json:"max"`
	WindowSeconds float64 `json:"window_seconds"`
	Action        string  `json:"action,omitempty"` // drop (default), deprioritize, delay
}

// Rule is the rule as the channel takes it.
func (r ThrottleRule) Rule() throttle.Rule {
	return throttle.Rule{Type: r.Type, Source: r.Source, Per: throttle.Per(r.Per), Max: r.Max, Window: protocol.Seconds(r.WindowSeconds), Action: throttle.Action(r.Action)}
}

// AssociatedPanel declares an application panel of the scene.
type AssociatedPanel struct {
	PanelID         string         `json:"panel_id"`
	InstanceName    string         `json:"instance_name,omitempty"`
	Players         []string       `json:"players,omitempty"` // people who answer its questions
	DefaultBindings map[string]any `json:"default_bindings,omitempty"`
}

// Name is what the scene calls the panel.
func (p *AssociatedPanel) Name() string { return cmp.Or(p.InstanceName, p.PanelID) }

// ClockKind is the clock a scene runs on.
type ClockKind string

const (
	Virtual  ClockKind = "virtual"
	Realtime ClockKind = "realtime"
)

// Simulation says how the scene runs. Flags of the program override it.
type Simulation struct {
	Clock     ClockKind         `json:"clock,omitempty"`     // default virtual
	StartTime time.Time         `json:"start_time,omitzero"` // of the virtual clock; default 2000-01-01T00:00:00Z
	Tick      protocol.Duration `json:"tick,omitempty"`      // grain of virtual time; default 1s
	Seed      *uint64           `json:"seed,omitempty"`      // nil: drawn, printed and stored
	Stop      Stop              `json:"stop,omitzero"`
	Limits    Limits            `json:"limits,omitzero"`
	Model     string            `json:"model,omitempty"` // model file of the project, default "models/scripted.yaml"
	// Report lists world paths whose values over time the summary shows.
	Report []string `json:"report,omitempty"`
}

// Stop lists the conditions that end a scene; the first that holds does. A
// virtual scene without any agent that will ever wake again ends as "quiet".
type Stop struct {
	After         protocol.Duration `json:"after,omitempty"`         // scene time
	Ticks         int64             `json:"ticks,omitempty"`         // virtual clock only
	Deliberations int64             `json:"deliberations,omitempty"` // ended ones
	Events        int64             `json:"events,omitempty"`        // routed ones
	Tokens        int64             `json:"tokens,omitempty"`        // of models, in and out
	Dollars       float64           `json:"dollars,omitempty"`       // that models cost
	WallTime      protocol.Duration `json:"wall_time,omitempty"`     // of this process; not reproducible, so the run stays resumable
	Until         string            `json:"until,omitempty"`         // expression over world and scene, checked after every wave
}

// Limits bound a scene. A zero field takes the default.
type Limits struct {
	MaxAgents       int `json:"max_agents,omitempty"`       // default 1,000,000
	MaxDeliberating int `json:"max_deliberating,omitempty"` // agents in flight at once; default 2,048
	// MaxDeliveriesInWave bounds receivers times events of one wave; beyond it
	// events are refused. Default 10,000,000.
	MaxDeliveriesInWave int               `json:"max_deliveries_in_wave,omitempty"`
	MaxEventsInWave     int               `json:"max_events_in_wave,omitempty"` // published in one wave; beyond it refused; default 10,000,000
	MaxWaveBytes        int               `json:"max_wave_bytes,omitempty"`     // of the requests that the turns of one wave make; those of further turns are refused; default 512 MiB
	MaxWorldBytes       int               `json:"max_world_bytes,omitempty"`    // default and most 32 MiB
	RestartBackoff      protocol.Duration `json:"restart_backoff,omitempty"`    // first wait after a failure, doubled up to 60 times; default 1s
	MaxRestarts         int               `json:"max_restarts,omitempty"`       // of world state, event channel and scene; default 5
	// PassivateAfter is for how long an agent is told nothing before it leaves its actor; less than a
	// tick: it leaves at the end of each turn. Default 5 minutes of scene time, and 0 with very many agents.
	PassivateAfter protocol.Duration `json:"passivate_after,omitempty"`
	// ShutdownGrace is how long services and MCP servers of the scene may take to end by themselves,
	// together, in wall time; default 5s.
	ShutdownGrace protocol.Duration `json:"shutdown_grace,omitempty"`
}
