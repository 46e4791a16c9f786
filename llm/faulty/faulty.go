package faulty

import (
	"time"

	"tavernsim/engine/template"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Faults are probabilities by name, together at most 1, and how some of them are.
type Faults struct {
	RateLimited     float64 `json:"rate_limited,omitempty"`
	RateLimitedBare float64 `json:"rate_limited_bare,omitempty"`
	Quota           float64 `json:"quota,omitempty"`
	Unauthorized    float64 `json:"unauthorized,omitempty"`
	ServerError     float64 `json:"server_error,omitempty"`
	Timeout         float64 `json:"timeout,omitempty"`
	Truncated       float64 `json:"truncated,omitempty"`
	ContextTooLong  float64 `json:"context_too_long,omitempty"`
	UnknownModel    float64 `json:"unknown_model,omitempty"`
	Malformed       float64 `json:"malformed,omitempty"`
	NullContent     float64 `json:"null_content,omitempty"`
	WrongTool       float64 `json:"wrong_tool,omitempty"`
	CutArguments    float64 `json:"cut_arguments,omitempty"`
	Refusal         float64 `json:"refusal,omitempty"`
	Filtered        float64 `json:"filtered,omitempty"`
	Length          float64 `json:"length,omitempty"`
	Slow            float64 `json:"slow,omitempty"`

	RetryAfter protocol.Duration `json:"retry_after,omitempty"` // of rate_limited; default 1s
	SlowFor    protocol.Duration `json:"slow_for,omitempty"`    // of slow; default 5s
}

// fault is one that was drawn: a failure, or what becomes of an answer.
type fault struct {
	name  string
	p     float64
	fails llm.Outcome
	spoil func(f *Faults, a *protocol.ModelAnswer)
}

// list has the faults in the order in which a draw passes them.
func (f *Faults) list() []fault {
	return []fault{
		{"rate_limited", f.RateLimited, llm.OutcomeRateLimited, nil},
		{"rate_limited_bare", f.RateLimitedBare, llm.OutcomeRateLimited, nil},
		{"quota", f.Quota, llm.OutcomeQuota, nil},
		{"unauthorized", f.Unauthorized, llm.OutcomeAuth, nil},
		{"server_error", f.ServerError, llm.OutcomeServerError, nil},
		{"timeout", f.Timeout, llm.OutcomeTimeout, nil},
		{"truncated", f.Truncated, llm.OutcomeTruncated, nil},
		{"context_too_long", f.ContextTooLong, llm.OutcomeContext, nil},
		{"unknown_model", f.UnknownModel, llm.OutcomeBadRequest, nil},
		{"malformed", f.Malformed, llm.OutcomeBadOutput, nil},
		{"null_content", f.NullContent, "", silent(protocol.FinishStop)},
		{"wrong_tool", f.WrongTool, "", wrongTool},
		{"cut_arguments", f.CutArguments, "", cutArguments},
		{"refusal", f.Refusal, "", refused},
		{"filtered", f.Filtered, "", half(protocol.FinishFiltered)},
		{"length", f.Length, "", half(protocol.FinishLength)},
		{"slow", f.Slow, "", func(f *Faults, a *protocol.ModelAnswer) { a.Latency += orElse(f.SlowFor, defaultSlow) }},
	}
}

const (
	defaultRetryAfter = time.Second
	defaultSlow       = 5 * time.Second
	defaultTimeout    = 30 * time.Second // of requests that have none
	faultDraws        = 1 << 33          // separates this chance from what else a request draws
	mostSum           = 1 + 1e-9         // of the probabilities
)

func orElse(d protocol.Duration, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d.Std()
	}
	return otherwise
}

// Sum is that of the probabilities.
func (f *Faults) Sum() (sum float64) {
	for _, x := range f.list() {
		sum += x.p
	}
	return sum
}

// Check says what is wrong with the faults together; "" = nothing.
func (f *Faults) Check() string {
	switch sum := f.Sum(); {
	case sum > mostSum:
		return "the probabilities are more than 1 together"
	case sum == 0:
		return "no fault has a probability"
	}
	return ""
}

// Fault is what a request gets. Nil is none.
type Fault struct {
	*fault
	of *Faults
}

// Draw draws the fault of an attempt at a request; name is the model file's.
func (f *Faults) Draw(name string, q *protocol.ModelRequest) *Fault {
	d := q.Draw.Sub(faultDraws, protocol.HashString(name), uint64(q.Attempt))
	x := d.Float64()
	for _, e := range f.list() {
		if x < e.p {
			return &Fault{&e, f}
		}
		x -= e.p
	}
	return nil
}

// Fails is the failure in place of the request; nil = the model is asked.
func (x *Fault) Fails(name string, q *protocol.ModelRequest) error {
	if x.fails == "" {
		return nil
	}
	f := &llm.Failure{Outcome: x.fails, Message: name + ": simulated " + x.name}
	switch x.name {
	case "rate_limited":
		f.RetryAfter = orElse(x.of.RetryAfter, defaultRetryAfter)
	case "timeout":
		if f.Latency = q.Timeout; f.Latency <= 0 {
			f.Latency = defaultTimeout
		}
	}
	return f
}

// Spoil changes an answer. It does not change what the answer shares.
func (x *Fault) Spoil(a *protocol.ModelAnswer) {
	if x.spoil != nil {
		x.spoil(x.of, a)
	}
}

func silent(finish protocol.FinishReason) func(*Faults, *protocol.ModelAnswer) {
	return func(_ *Faults, a *protocol.ModelAnswer) { a.Text, a.Reasoning, a.Calls, a.Finish = "", "", nil, finish }
}

func refused(f *Faults, a *protocol.ModelAnswer) {
	silent(protocol.FinishFiltered)(f, a)
	if a.Origin != nil {
		o := *a.Origin
		o.Refused, a.Origin = "I cannot help with that.", &o
	}
}

// half leaves the first half of the text, in whole characters.
func half(finish protocol.FinishReason) func(*Faults, *protocol.ModelAnswer) {
	return func(_ *Faults, a *protocol.ModelAnswer) {
		runes := []rune(a.Text)
		a.Text, a.Calls, a.Finish = string(runes[:len(runes)/2]), nil, finish
	}
}

func wrongTool(_ *Faults, a *protocol.ModelAnswer) {
	a.Calls = []protocol.Call{{ID: "call_none", Tool: "no_such_tool", Params: map[string]any{}, Origin: protocol.OriginNative}}
	a.Finish = protocol.FinishToolCalls
}

// cutArguments leaves the first half of the arguments of every call.
func cutArguments(_ *Faults, a *protocol.ModelAnswer) {
	calls := make([]protocol.Call, len(a.Calls))
	for i, c := range a.Calls {
		params := any(c.Params)
		if c.Params == nil {
			params = map[string]any{}
		}
		runes := []rune(string(template.AppendJSON(nil, params)))
		c.Params, c.Broken = nil, string(runes[:(len(runes)+1)/2])
		calls[i] = c
	}
	a.Calls = calls
}
