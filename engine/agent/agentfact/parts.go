package agentfact

import (
	"time"

	"tavernsim/protocol"
)

// Task is an event of this agent that expects a reply, while the agent waits for it
// (agent architecture §5.3).
type Task struct {
	ID       string
	Type     string // of the event that asked
	Targets  []string
	Asked    protocol.Time
	Deadline protocol.Time
}

// Value is the request in the metadata of its answer.
func (t *Task) Value() map[string]any {
	return map[string]any{"task_id": t.ID, "type": t.Type, "target_agent_instance_id": protocol.ListOf(t.Targets), "timestamp": t.Asked.String()}
}

// TaskEnd is how a task ended.
type TaskEnd string

// How tasks end.
const (
	TaskAnswered TaskEnd = "answered"
	TaskTimeout  TaskEnd = "timeout"
)

// Promise is a URI that a task of a block will write.
type Promise struct {
	Block int64
	URI   string
	Task  string
	Stops bool // a task that fails ends its block
}

// Held are steps of a block that wait for a task of it, because they name what it will
// write. A task leaves after the turn that requested it, so the steps go on in a later turn.
type Held struct {
	ID       string        // of the first call
	Until    protocol.Time // when nobody waits any more, unless a task was opened later
	Waits    []string      // tasks
	Steps    []HeldStep
	Promises []Promise
	Outcomes []HeldOutcome // of earlier steps, which these refer to
	Request  string        // request_id of the block
	Body     string        // hash of its calls
}

// HeldStep is a call that waits.
type HeldStep struct {
	Call    protocol.Raw // as callvalue.Of makes it
	Place   int64        // in its block
	Timeout time.Duration
}

// HeldOutcome is an outcome as it is kept.
type HeldOutcome struct {
	Index    int64
	Status   protocol.CallStatus
	Output   protocol.Raw
	Artifact string
}
