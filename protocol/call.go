package protocol

// Origin says in which spelling a call reached the engine.
type Origin string

const (
	OriginTAM      Origin = "tam"
	OriginToolsXML Origin = "toolsxml"
	OriginNative   Origin = "native"   // the model's own tool calls
	OriginWorkflow Origin = "workflow" // a node of a workflow
)

// OnError says what becomes of the calls after one that failed.
type OnError string

const (
	OnErrorStop     OnError = "stop" // the default: later calls of the same block are not run
	OnErrorContinue OnError = "continue"
)

// Call is one invocation of a tool or skill: one internal form for every
// spelling (tool-call blocks of a text, native tool calls, workflow nodes).
// A skill is the tool "workflow:<id>".
type Call struct {
	ID     string         // unique within the deliberation that makes it
	Tool   string         // tool id as written by the caller
	Params map[string]any // a value; shared, read-only
	Origin Origin
	Broken string // arguments of a model that are no JSON object or hold a number that no value can, as written; Params is empty

	// What follows is set by the text grammars and zero elsewhere.

	RequestID string // of the block, for idempotency; scope is the agent
	Index     int    // step number within the block
	OnError   OnError
	Retry     int               // times to repeat after a retryable error
	URIs      map[string]string // params given by reference
	TypeHints map[string]string // param name to "json", "base64", "text", ...
	Block     int               // number of the block in its text, from 1; 0 = it stands in none
	Inherited []string          // params that all steps of the block share
	Common    map[string]string // what the block shares, by name, also where a step has its own
	After     string            // which steps of the block it waits for: "" = all before it, "none", or numbers such as "1, 2"
	// Contents are the ids of what references led to when somebody allowed the call, by URI;
	// nil = nobody was asked. Whoever carries the call out uses nothing else.
	Contents map[string]string
	// Orphans are fields whose step does not exist, when the block has this step
	// alone: a tool may know "image_2" as a name.
	Orphans map[string]string
}

// CallStatus is the outcome of a call.
type CallStatus string

const (
	CallOK        CallStatus = "ok"
	CallFailed    CallStatus = "error"
	CallDenied    CallStatus = "denied"    // not in the caller's inventory, or not permitted
	CallRequested CallStatus = "requested" // accepted; the outcome arrives as an observation
	CallNotRun    CallStatus = "not_run"   // an earlier call of its block stopped it
)

// CallResult answers a Call.
type CallResult struct {
	ID     string
	Tool   string
	Status CallStatus
	Output any    // a value
	Error  *Error // set when Status is CallFailed or CallDenied
}
