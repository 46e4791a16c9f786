package agent

import (
	"slices"
	"time"

	"tavernsim/engine/agent/talk"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

const (
	inputConversation = "conversation"
	inputRound        = "round"
)

// queued is a call that the turn will carry out.
type queued struct {
	protocol.Call
	given   string // id under which a model asked for it
	cause   *protocol.Envelope
	timeout time.Duration    // of the caller; 0 = the tool's
	wrong   error            // what the text says about the order or the time
	images  []protocol.Image // that the call has left
	files   string           // that it has left and its output does not name, in words
}

// roundInputs computes the inputs of the core workflow. A workflow that takes the
// conversation gets the others as they were in the first round, so that its prompt is the
// same text again and what changed since stands behind it, in the conversation.
func (t *Turn) roundInputs(plan *workflow.Plan) []any {
	names := t.m.Def.inputs(plan)
	if t.talk == nil {
		t.inputs = t.fill(slices.Grow(emptied(t.inputs), len(names))[:len(names)], protocol.PurposeDeliberate, plan, t.wake.Inputs)
		if t.m.Def.Limits.MaxToolRounds > 1 && slices.Contains(names, inputConversation) {
			t.talk = &talk.Talk{}
		}
		return t.inputs
	}
	inputs := slices.Clone(t.inputs)
	for i, name := range names {
		if _, given := t.wake.Inputs[name]; !given && (name == inputConversation || name == inputRound) {
			inputs[i] = t.input(name)
		}
	}
	return inputs
}

// closeRound adds a round to the conversation.
func (t *Turn) closeRound() {
	calls := make([]talk.Call, len(t.results))
	for i := range t.results {
		q := &t.queue[t.first+i]
		calls[i] = talk.Call{ID: q.given, Result: &t.results[i], Images: q.images, Files: q.files}
	}
	t.out.Spend(t.talk.Close(calls))
	t.first = len(t.queue)
}

// lastRound reports whether no other round follows.
func (t *Turn) lastRound() bool { return t.round >= t.m.Def.Limits.MaxToolRounds }
