package effect

import (
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/permit"
	"tavernsim/protocol"
)

// KindModel is the kind of requests for a model's completion. Requests of every
// other kind are calls of a tool (see agent.External).
const KindModel = "model"

// KindApproval is the kind of requests for leave to make a call. Whoever answers gives a
// [permit.Leave] as the output.
const KindApproval = "approval"

// KindHook is the kind of requests to the hooks of a place. Call names the place as its
// tool, and its parameters are what the hooks are told. Whoever answers gives the Value of a
// hook.Answer as the output.
const KindHook = "hook"

// KindPerson is the kind of requests to a person for whom the deliberation waits (a call of
// person.AskTool).
const KindPerson = "person"

// IsTool reports whether requests of a kind are calls of tools that cost something.
func IsTool(kind string) bool {
	switch kind {
	case KindModel, KindApproval, KindHook, KindPerson:
		return false
	}
	return true
}

// Ask is the one effect of an agent: a request to the outside, whose answer the
// deliberation waits for. After a crash the agent may make the request again. It lies
// in memory that the machine uses again after the deliberation.
type Ask struct {
	Kind    string                // names the executor
	Number  int                   // within the turn, from 1; model requests and calls are numbered separately
	Wait    time.Duration         // backoff of a retry, before the request is made; in realtime only
	Timeout time.Duration         // 0 = the executor's
	Model   protocol.ModelRequest // of KindModel
	Call    *protocol.Call        // of every other kind; Model names its agent then, and holds its chance
	First   int                   // number of the first attempt of this call, if a node repeats it
	Verdict *permit.Verdict       // of KindApproval: what asks, and why

	// Answer is room for the answer of an executor that answers at once.
	Answer Answered
}

// EffectKind implements protocol.Effect.
func (Ask) EffectKind() string { return "ask" }

// Answered is the only input from the outside: the answer to the Ask of the same
// kind and number.
type Answered struct {
	Kind      string
	Number    int
	Model     protocol.ModelAnswer // to KindModel, with its latency
	Output    any                  // value, to every other kind
	Artifacts []tool.Artifact      // that the call left
	Latency   time.Duration        // of every other kind; a model's answer holds its own
	Took      time.Duration        // scene time of the recorded task whose answer is given again; 0 = Latency
	Err       error                // the request failed
	Carried   bool                 // the call was carried out although the kind of Err is one of calls that never left
	Hooks     protocol.Raw         // what hooks of plugins did to the call (hook.OfCall); nil = nothing
}

// Origin is the part of the fact that answers of endpoints have, and those of models that
// were chosen among several.
type Origin struct {
	Endpoint    string // its name
	ID          string // of the answer, as the endpoint calls it
	Fingerprint string
	Question    string // hash of what the model read, in hexadecimal
	Attempts    int64
	Refused     string
	CacheWrite  int64
	Estimated   bool         // the tokens
	Served      protocol.Raw // llm.Served; left out of the fact if it is empty

	// Cost, in nano-dollars, is left out of the fact if the price is not known.
	Cost   int64
	Priced bool
	Budget *protocol.ModelBudget // left out if budgets have nothing to do with it
}

// OriginOf is nil for an answer that was computed here.
func OriginOf(a *protocol.ModelAnswer) *Origin {
	o := a.Origin
	if o == nil {
		return nil
	}
	return &Origin{o.Endpoint, o.ID, o.Fingerprint, o.Question, o.Attempts, o.Refused, a.Usage.CacheWrite, a.Usage.Estimated, o.Served, o.Cost, o.Priced, o.Budget}
}

// Give is the reverse of OriginOf.
func (o *Origin) Give(a *protocol.ModelAnswer) {
	if o == nil {
		return
	}
	a.Origin = &protocol.ModelOrigin{Endpoint: o.Endpoint, ID: o.ID, Fingerprint: o.Fingerprint, Question: o.Question, Attempts: o.Attempts, Refused: o.Refused, Served: o.Served, Cost: o.Cost, Priced: o.Priced, Budget: o.Budget}
	a.Usage.CacheWrite, a.Usage.Estimated = o.CacheWrite, o.Estimated
}

// Failure is the error of an answer that was kept; nil for no text.
func Failure(kind protocol.ErrorKind, text string) error {
	if text == "" {
		return nil
	}
	return &protocol.Error{Kind: kind, Message: text}
}
