package workflow

import "tavernsim/protocol"

// Definition is one workflow file in the node/edge form. It is read-only once
// it has been compiled.
type Definition struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`

	// The interface: what goes in through the GroupInput node and comes out
	// through the GroupOutput node, by handle.
	InterfaceInputs  map[string]Port `json:"interfaceInputs,omitempty"`
	InterfaceOutputs map[string]Port `json:"interfaceOutputs,omitempty"`

	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges,omitempty"`

	CustomMetadata map[string]any `json:"custom_metadata,omitempty"` // free; never checked
}

// Port is one input or output of a workflow's interface.
type Port struct {
	DataFlowType Type   `json:"dataFlowType,omitempty"` // "" = WILDCARD
	DisplayName  string `json:"displayName,omitempty"`
	Description  string `json:"description,omitempty"`
	// Required, of an input: a run does not start without it, unless there is a
	// default. Of an output: a run that ends without it is not complete, and the
	// handle must be connected.
	Required    bool  `json:"required,omitempty"`
	Default     any   `json:"default,omitempty"`     // of an input that was not given
	Suggestions []any `json:"suggestions,omitempty"` // values an editor offers; not a restriction
}

// Node is one step.
type Node struct {
	ID   string `json:"id"`   // unique in its workflow, without "/", "#" and "~"
	Type string `json:"type"` // a node kind
	Name string `json:"name,omitempty"`

	// InputValues are literals for inputs that no edge feeds.
	InputValues map[string]any `json:"inputValues,omitempty"`
	// ConfigValues shape the node; each kind names its own.
	ConfigValues map[string]any `json:"configValues,omitempty"`

	// Bypassed takes the node out: each of its outputs gives the first input of
	// a compatible type instead.
	Bypassed bool `json:"bypassed,omitempty"`
	// Timeout bounds one attempt of a node that asks the outside, or the whole
	// of a nested workflow. 0 = no bound of its own.
	Timeout protocol.Duration `json:"timeout,omitempty"`
	Retry   Retry             `json:"retry,omitzero"`

	Position       map[string]any `json:"position,omitempty"`        // an editor's; ignored
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"` // free; never checked
}

// Retry repeats a node after a failure that may pass: transient or timeout.
type Retry struct {
	Max int `json:"max,omitempty"` // repetitions after the first attempt; 0 = none, at most MaxRetries
	// Backoff is the wait before the first repetition; it doubles each time up
	// to MaxBackoff.
	Backoff protocol.Duration `json:"backoff,omitempty"`
}

// Edge carries one output of a node to one input of another. The handles "*"
// and "*" stand for one edge per output whose name is an input of the target.
type Edge struct {
	ID           string `json:"id,omitempty"` // unique in its workflow when given
	Source       string `json:"source"`
	SourceHandle string `json:"sourceHandle"`
	Target       string `json:"target"`
	TargetHandle string `json:"targetHandle"`

	each bool // each element of the list that the source gives comes as by an edge of its own (see OfNode)
}

// Type is the type of what flows through a handle.
type Type string

const (
	String         Type = "STRING"
	Integer        Type = "INTEGER"
	Float          Type = "FLOAT"
	Boolean        Type = "BOOLEAN"
	Object         Type = "OBJECT"
	Array          Type = "ARRAY"
	Binary         Type = "BINARY"          // base64 text
	Wildcard       Type = "WILDCARD"        // any value, as it is
	ConvertibleAny Type = "CONVERTIBLE_ANY" // any value; converted where a typed input takes it
)

// Types lists every data flow type.
func Types() []Type {
	return []Type{String, Integer, Float, Boolean, Object, Array, Binary, Wildcard, ConvertibleAny}
}
