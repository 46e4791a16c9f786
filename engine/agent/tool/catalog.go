package tool

import (
	"slices"

	"tavernsim/engine/bus"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// The atomic tools (§2.1.4). Each is allowed by its id in tool_ids_inventory.
const (
	ReadPrivateState   = "ReadPrivateStateTool"
	UpdatePrivateState = "UpdatePrivateStateTool"
	ReadWorldState     = "ReadWorldStateTool"
	RequestWorldUpdate = "RequestWorldStateUpdateTool"
	PublishEvent       = "PublishEventTool"
	QueryKnowledge     = "QueryKnowledgeBaseTool"
	WriteKnowledge     = "WriteToKnowledgeBaseTool"
	RandomNumber       = "GenerateRandomNumberTool"
	PanelInteraction   = "PanelInteractionTool"
	UpdateGoal         = "UpdateGoalTool"
	Reflect            = "ReflectTool"
	Sleep              = "SleepTool"
	Say                = "SayTool"
	Subscribe          = "SubscribeEventTool"
	Unsubscribe        = "UnsubscribeEventTool"
	Throttle           = "ThrottleEventTool" // of the scene alone
)

// Operations on the private state.
const (
	OpSet    = "set"
	OpAdd    = "add"    // number onto number; missing counts as 0
	OpPush   = "push"   // element onto list; missing counts as empty
	OpDelete = "delete" // missing is no error
	OpMerge  = "merge"  // fields of an object; null is a value
)

// SkillPrefix marks a call of a skill workflow.
const SkillPrefix = "workflow:"

// Catalog describes every atomic tool: the one list for validation, for the
// prompt of a model and for documentation, in the order of the specification.
func Catalog() []protocol.ToolSpec {
	return []protocol.ToolSpec{
		spec(ReadPrivateState, "Reads your private state.",
			prop("path", "string", "what to read; everything when empty", false)),
		spec(UpdatePrivateState, "Changes your private state.",
			prop("path", "string", "what to change; the top when empty", false),
			enum("op", "how; set when it is missing, merge without a path", OpSet, OpAdd, OpPush, OpDelete, OpMerge),
			prop("value", "", "the new value, number to add, element or fields", false),
			commandsProp("instead of path: state commands with keys self.…; all are carried out at once")),
		spec(ReadWorldState, "Reads the world as it was when this deliberation began.",
			prop("path", "string", "what to read; everything when empty; * stands for any one name", false)),
		spec(RequestWorldUpdate, "Asks for a change of the world. It is decided after all agents of this moment have deliberated; a refusal is an observation of your next deliberation.",
			prop("path", "string", "what to change; or commands, lock or unlock", false),
			enum("op", "how; set when it is missing", OpSet, OpAdd, OpPush, OpDelete, OpMerge),
			prop("value", "", "the new value, number to add, element or fields", false),
			prop("expected_version", "integer", "refuse when the path was changed after this version", false),
			prop("reason", "string", "for the audit", false),
			commandsProp("instead of path: state commands with keys world.…"),
			prop("transaction", "string", "calls that follow each other with the same name are done all or not at all", false),
			prop("check_reads", "boolean", "refuse when anything that you read in this deliberation was changed meanwhile", false),
			prop("reads", "array", "refuse when one of these paths was changed meanwhile", false),
			enum("answer", "refusals when it is missing; always tells you of success, too", "refusals", "always"),
			prop("lock", "object", "instead of path: {paths, seconds, id} keeps others from writing there for so long", false),
			prop("unlock", "string", "instead of path: id of a lock of yours to give back", false)),
		spec(PublishEvent, "Publishes an event.",
			prop("type", "string", "event type, words with dots", true),
			prop("payload", "", "what it says", false),
			prop("target_agent_instance_id", "", "receiver or list of receivers; without it whoever subscribed", false),
			enum("priority", "normal when it is missing", "low", "normal", "high", "critical"),
			prop("ttl_seconds", "number", "it expires after this time", false),
			prop("ephemeral", "boolean", "a passing matter: neither the journal nor histories keep what it says", false),
			prop("requires_ack", "boolean", "delivered again until a deliberation of the receiver has handled it", false),
			prop("task_id", "string", "task that this answers; with expects_reply a name of your own for a new one", false),
			prop("expects_reply", "boolean", "it asks for an answer with the task_id that the call returns", false)),
		spec(QueryKnowledge, "Searches a knowledge base you may read.",
			prop("kb", "string", "alias or id; all of yours when it is missing", false),
			prop("query", "string", "words to look for", false),
			prop("entry_type", "string", "only entries of this type", false),
			prop("tags", "array", "only entries with any of these tags", false),
			prop("id", "string", "exactly this entry", false),
			prop("limit", "integer", "at most so many; 10 when it is missing", false)),
		spec(WriteKnowledge, "Writes an entry into a knowledge base, or suggests it where you may only suggest.",
			prop("kb", "string", "alias or id; the first you may write when it is missing", false),
			prop("entry", "object", "the entry: id, entry_type, title, content, tags, priority", true)),
		spec(RandomNumber, "Draws a random number from the run's seeded chance.",
			prop("min", "number", "lower bound; 0 when it is missing", false),
			prop("max", "number", "upper bound; 1 when it is missing", false),
			prop("integer", "boolean", "whole numbers, both bounds included", false)),
		spec(PanelInteraction, "Asks the user through an application panel.",
			prop("panel", "string", "instance name of the panel", false),
			prop("action", "string", "what the panel shows", true),
			prop("payload", "", "data for the panel", false)),
		spec(UpdateGoal, "Adds, changes or ends one of your goals.",
			prop("id", "string", "goal id", true),
			prop("description", "string", "what it is about", false),
			prop("priority", "number", "0 to 1", false),
			enum("status", "where it stands", "pending", "active", "completed", "failed"),
			prop("details", "", "anything else", false),
			prop("remove", "boolean", "forget it", false)),
		spec(Reflect, "Enters reflection after this deliberation.",
			prop("reason", "string", "what to think about", false)),
		spec(Sleep, "Deliberates next after this time, or when an event of enough priority arrives.",
			prop("seconds", "number", "how long; until an event when it is missing", false),
			enum("wake_on", "lowest priority of an event that wakes; high when it is missing", "low", "normal", "high", "critical")),
		spec(Say, "Says something aloud: history, and an event agent.said.",
			prop("text", "string", "what to say", true)),
		spec(Subscribe, "Hears events of a type from now on.",
			prop("type", "string", "event type; a.b.* is every type below a.b, * every type", true),
			prop("filter_condition", "string", "expression over payload, event and self; only events for which it is true", false),
			prop("path", "string", "with type world.state.updated: only changes at, above or below this path; * stands for any one name, ** for any number", false),
			prop("debounce_seconds", "number", "waits until no event came for so long", false),
			enum("debounce", "what is heard then; latest when it is missing", string(bus.DebounceLatest), string(bus.DebounceMerge)),
			prop("debounce_max_seconds", "number", "waits no longer than this; ten times debounce_seconds when it is missing", false)),
		spec(Unsubscribe, "Hears events of a type no more.",
			prop("type", "string", "event type, as it was subscribed to", true),
			prop("filter_condition", "string", "only the subscription with this filter; all of the type when it is missing", false),
			prop("path", "string", "only the subscription to this path", false)),
		spec(Throttle, "Bounds how many events of a type are heard, from now on. Only the scene itself has this tool.",
			prop("type", "string", "event type; a.b.* is every type below a.b, * every type", true),
			prop("source_agent_instance_id", "string", "only events of this publisher", false),
			enum("per", "what is counted by itself; type when it is missing", string(throttle.PerType), string(throttle.PerSource), string(throttle.PerScene)),
			prop("max", "integer", "events in a window; 0 when it is missing: none", false),
			prop("window_seconds", "number", "length of a window; 1 when it is missing", false),
			enum("action", "what becomes of the others; drop when it is missing", string(throttle.Drop), string(throttle.Deprioritize), string(throttle.Delay)),
			prop("for_seconds", "number", "the rule ends by itself after this time", false),
			prop("remove", "boolean", "takes the rule of this type, publisher and per back", false)),
	}
}

// ForProfiles lists the tools that a profile may allow.
func ForProfiles() []string {
	return slices.DeleteFunc(ForScene(), func(id string) bool { return id == Throttle })
}

// ForScene lists the ids of the catalog: what the scene's own workflows may
// call.
func ForScene() []string {
	var ids []string
	for _, t := range Catalog() {
		ids = append(ids, t.Name)
	}
	return ids
}

type property struct {
	name     string
	schema   map[string]any
	required bool
}

func prop(name, typ, description string, required bool) property {
	schema := map[string]any{"description": description}
	if typ != "" {
		schema["type"] = typ
	}
	return property{name, schema, required}
}

// commandsProp is a parameter that takes commands in any form. As text it is
// left alone: its order and repeated sections count.
func commandsProp(description string) property {
	return property{"commands", map[string]any{"description": description, "contentMediaType": "application/json"}, false}
}

func enum(name, description string, values ...string) property {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return property{name, map[string]any{"type": "string", "description": description, "enum": list}, false}
}

func spec(name, description string, props ...property) protocol.ToolSpec {
	properties, required := map[string]any{}, []any{}
	for _, p := range props {
		properties[p.name] = p.schema
		if p.required {
			required = append(required, p.name)
		}
	}
	return protocol.ToolSpec{Name: name, Description: description, Parameters: map[string]any{
		"type": "object", "properties": properties, "required": slices.Clip(required), "additionalProperties": false,
	}}
}
