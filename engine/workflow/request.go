package workflow

import (
	"time"

	"tavernsim/protocol"
)

// Host answers the requests of a run. Request answers at once, or returns false and the
// host gives the answer later to [Run.Answer]. It must not call the run. The run reuses
// the request afterwards: copy what you keep (a plain copy, because lists and objects
// in it are immutable).
type Host interface {
	Request(q *Request) (Answer, bool)
}

// HostFunc is a Host that is a function.
type HostFunc func(q *Request) (Answer, bool)

// Request calls the function.
func (f HostFunc) Request(q *Request) (Answer, bool) { return f(q) }

// Ask is the kind of a request.
type Ask uint8

const (
	AskModel Ask = iota + 1 // Model is set
	AskTool                 // Call is set
)

// Request is one question of a node to the outside: a model completion or a
// tool call.
type Request struct {
	// ID names the request in its run, from 1 in the order of asking. That order
	// follows the order of answers; Node and Attempt together do not.
	ID      int
	Node    string // path of the node: "outer/inner", "loop#3/inner", "outer~2/inner" in a second attempt of outer
	Attempt int    // from 1

	// Wait is how long to hold the request back (the backoff of a retry), At
	// when it leaves: both on the run's own clock, which starts at 0.
	Wait, At time.Duration
	// Timeout is the longest latency that still counts; 0 = no bound. The host
	// that measures real time answers with an error of KindTimeout when it is
	// over.
	Timeout time.Duration

	Ask   Ask
	Model protocol.ModelRequest
	Call  protocol.Call
}

// Answer is the answer to a request.
type Answer struct {
	Model  protocol.ModelAnswer // to AskModel
	Result protocol.CallResult  // to AskTool
	Err    error                // the request failed; its kind decides about a retry
	// Latency is what the answer took, simulated or measured, without the wait.
	// 0 takes the latency of the model answer.
	Latency time.Duration
	// InTime: the host measures time and has enforced the time-out itself. The latency counts for
	// what comes later alone.
	InTime bool
}

func (a *Answer) latency() time.Duration {
	if a.Latency == 0 {
		return max(a.Model.Latency, 0)
	}
	return max(a.Latency, 0)
}

// failure is the error of an answer; a call that came back failed is one.
func (a *Answer) failure(ask Ask) error {
	if a.Err != nil || ask != AskTool {
		return a.Err
	}
	switch a.Result.Status {
	case protocol.CallFailed, protocol.CallDenied, protocol.CallNotRun:
		if a.Result.Error != nil {
			return a.Result.Error
		}
		return protocol.Errorf(protocol.KindInternal, "call %s: %s, without a reason", a.Result.Tool, a.Result.Status)
	}
	return nil
}

// retryable reports whether a failure may pass. Repeating a node after any other
// failure gives the same failure.
func retryable(err error) bool {
	switch protocol.KindOf(err) {
	case protocol.KindTransient, protocol.KindTimeout:
		return true
	}
	return false
}
