package protocol

import "time"

// Role is the author of a model message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// ModelMessage is one message of a conversation with a model.
type ModelMessage struct {
	Role   Role
	Text   string
	Calls  []Call // of an assistant
	CallID string // of a tool's answer: the call it answers
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  any // JSON Schema, a value
}

// ModelRequest asks a model for one answer. What identifies the asker (Scene,
// Agent, Profile) and Variables are not sent to real models: the scripted model
// matches on them, records and budgets are kept by them.
type ModelRequest struct {
	Model       string // "" = the project's default
	Messages    []ModelMessage
	Tools       []ToolSpec
	MaxTokens   int      // 0 = the provider's default
	Temperature *float64 // nil = the provider's default
	Stop        []string
	JSON        bool          // the answer must be a JSON document
	Timeout     time.Duration // 0 = the provider's default

	Scene     string
	Agent     string // instance id
	Profile   string
	Variables map[string]any // what the prompt was made of, by name
	Events    []string       // types of the events this deliberation perceives
	Now       Time
	Draw      Draw // chance for providers that simulate
}

// FinishReason says why a model stopped.
type FinishReason string

const (
	FinishStop      FinishReason = "stop"
	FinishLength    FinishReason = "length" // cut: calls in the text are not executed
	FinishToolCalls FinishReason = "tool_calls"
	FinishFiltered  FinishReason = "filtered"
)

// Usage counts tokens of one answer.
type Usage struct {
	Input     int64
	Output    int64
	CacheRead int64
	Reasoning int64
}

// ModelAnswer is a model's whole answer.
type ModelAnswer struct {
	Model     string // that answered
	Text      string
	Reasoning string // never parsed for calls
	Calls     []Call // native tool calls
	Finish    FinishReason
	Usage     Usage
	Latency   time.Duration // simulated on the virtual clock, measured otherwise
}
