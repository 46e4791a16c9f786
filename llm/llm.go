package llm

import (
	"context"
	"errors"
	"time"

	"tavernsim/protocol"
)

// Provider answers model requests.
type Provider interface {
	// Name is the provider's, for metrics and errors: "scripted".
	Name() string
	// Complete answers one request, and leaves it as it is. sink may be nil.
	Complete(ctx context.Context, req *protocol.ModelRequest, sink Sink) (protocol.ModelAnswer, error)
	// Close frees what the provider holds. Calls that are running end.
	Close() error
}

// Protocols of servers of models.
const (
	OpenAI    = "openai"    // chat completions
	Anthropic = "anthropic" // messages
)

// Protocols are those that an endpoint may speak. Each is a kind of model files, too.
func Protocols() []string { return []string{OpenAI, Anthropic} }

// Instant is a Provider that computes its answers without waiting for anything.
// A shell calls Answer inline, on the goroutine that decides. The answer's
// Latency is simulated: what the model would have taken.
type Instant interface {
	Provider
	Answer(req *protocol.ModelRequest) (protocol.ModelAnswer, error)
}

// Repeater is a Provider that says itself whether a request may be made a second
// time when nobody knows what became of the first.
type Repeater interface {
	Provider
	MayRepeat(req *protocol.ModelRequest) bool
}

// MayRepeat reports whether a provider allows a second request; it does when it
// does not say otherwise. A wrapper that shows what it wraps (Unwrap() Provider)
// need not pass the question on.
func MayRepeat(p Provider, req *protocol.ModelRequest) bool {
	for {
		if r, ok := p.(Repeater); ok {
			return r.MayRepeat(req)
		}
		w, ok := p.(interface{ Unwrap() Provider })
		if !ok {
			return true
		}
		p = w.Unwrap()
	}
}

// Sink receives the parts of an answer while it is made. An error ends the call.
type Sink func(Chunk) error

// Chunk is a part of an answer. What is empty adds nothing.
type Chunk struct {
	Text      string
	Reasoning string
	Call      *protocol.Call // one whole call
}

// Outcome classes what became of a request.
type Outcome string

const (
	OutcomeOK          Outcome = "ok"
	OutcomeRateLimited Outcome = "rate_limited" // the endpoint asks for fewer requests: 429, 529, 503 with Retry-After
	OutcomeQuota       Outcome = "quota"        // what was paid for is used up
	OutcomeAuth        Outcome = "auth"         // the key is wrong or may not do this
	OutcomeTimeout     Outcome = "timeout"
	OutcomeServerError Outcome = "server_error"
	OutcomeTruncated   Outcome = "truncated"   // a stream without its end, a body that is no answer
	OutcomeContext     Outcome = "context"     // more than the model's context holds
	OutcomeBadOutput   Outcome = "bad_output"  // the model answered, but not in the form that was asked for
	OutcomeBadRequest  Outcome = "bad_request" // the request, or a script, is wrong; asking again cannot help
	OutcomeUnavailable Outcome = "unavailable" // the gate let nothing through; nothing was asked
	OutcomeBudget      Outcome = "budget"
	OutcomeCancelled   Outcome = "cancelled"
	OutcomeClosed      Outcome = "closed"
)

// Outcomes are all of them.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeOK, OutcomeRateLimited, OutcomeQuota, OutcomeAuth, OutcomeTimeout, OutcomeServerError, OutcomeTruncated, OutcomeContext,
		OutcomeBadOutput, OutcomeBadRequest, OutcomeUnavailable, OutcomeBudget, OutcomeCancelled, OutcomeClosed,
	}
}

// AskAgain reports whether the same request may succeed when it is sent again.
func (o Outcome) AskAgain() bool {
	switch o {
	case OutcomeRateLimited, OutcomeTimeout, OutcomeServerError, OutcomeTruncated:
		return true
	}
	return false
}

// Failure is the error of a request. It carries the protocol's kind.
type Failure struct {
	Outcome    Outcome
	Message    string        // with the provider's name
	RetryAfter time.Duration // what the provider asked for; 0 = nothing
	Latency    time.Duration // simulated or measured, like an answer's
	Status     int           // of HTTP, with which a server refused; 0 = it did not
	Unsent     bool          // there was no connection, so nothing of the request can have left
	Begun      bool          // a part of an answer had come, so it may have cost something
	Cause      error
}

// Unsent reports whether an error is that of a request of which nothing left.
func Unsent(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Unsent
}

func (f *Failure) Error() string { return f.Message }

// Unwrap gives the kind, then the cause.
func (f *Failure) Unwrap() []error {
	kind := &protocol.Error{Kind: f.Outcome.Kind(), Message: f.Message}
	if f.Cause == nil {
		return []error{kind}
	}
	return []error{kind, f.Cause}
}

// Kind maps an outcome to the protocol's kind of error.
func (o Outcome) Kind() protocol.ErrorKind {
	switch o {
	case OutcomeTimeout:
		return protocol.KindTimeout
	case OutcomeRateLimited, OutcomeServerError, OutcomeTruncated, OutcomeBadOutput, OutcomeUnavailable:
		return protocol.KindTransient
	case OutcomeBadRequest:
		return protocol.KindInvalid
	case OutcomeAuth:
		return protocol.KindDenied
	case OutcomeBudget, OutcomeQuota:
		return protocol.KindLimit
	case OutcomeContext:
		return protocol.KindContext
	case OutcomeCancelled:
		return protocol.KindCancelled
	case OutcomeClosed:
		return protocol.KindUnknown
	}
	return protocol.KindInternal
}

// OutcomeOf classes the error of a provider; nil is ok.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeOK
	}
	var f *Failure // on the heap
	switch {
	case errors.As(err, &f):
		return f.Outcome
	case errors.Is(err, context.DeadlineExceeded):
		return OutcomeTimeout
	case errors.Is(err, context.Canceled):
		return OutcomeCancelled
	}
	return OutcomeServerError
}

// Stopped turns the end of a context into a Failure; nil while it runs.
func Stopped(ctx context.Context, provider string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	f := &Failure{Outcome: OutcomeCancelled, Message: provider + ": cancelled", Cause: context.Cause(ctx)}
	if errors.Is(err, context.DeadlineExceeded) {
		f.Outcome, f.Message = OutcomeTimeout, provider+": no answer in time"
	}
	return f
}

// Wait lets a latency pass, unless the context ends before; then it gives what Stopped does.
func Wait(ctx context.Context, provider string, d time.Duration) error {
	if err := Stopped(ctx, provider); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Stopped(ctx, provider)
	case <-timer.C:
		return nil
	}
}

// Deliver gives a finished answer to a sink, as a provider without streaming
// does: reasoning, text, then each call.
func Deliver(answer *protocol.ModelAnswer, sink Sink) error {
	if sink == nil {
		return nil
	}
	if answer.Text != "" || answer.Reasoning != "" {
		if err := sink(Chunk{Text: answer.Text, Reasoning: answer.Reasoning}); err != nil {
			return err
		}
	}
	for i := range answer.Calls {
		if err := sink(Chunk{Call: &answer.Calls[i]}); err != nil {
			return err
		}
	}
	return nil
}
