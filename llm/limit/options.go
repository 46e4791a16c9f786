package limit

import (
	"time"

	"tavernsim/protocol"
)

// Options are the limits of one endpoint. What is 0 or less has its default.
type Options struct {
	Requests int64 // a minute; 0 = no limit
	Tokens   int64 // a minute; 0 = no limit

	// Concurrency bounds the calls in flight: default 64.
	Concurrency int
	// Fixed allows Concurrency from the start and always. Otherwise the machine begins
	// with 8 and finds out how much the endpoint bears.
	Fixed bool

	Queue   int // calls that wait: default 100,000
	Retries int // of one call, after its first attempt: default 4, -1 = none
	// Kept is the share of the slots that only interactive calls may use, in percent:
	// default 5, -1 = none.
	Kept int
}

const (
	defaultConcurrency = 64
	defaultQueue       = 100_000
	defaultRetries     = 4

	maxConcurrency = 100_000
)

// DefaultKept is Options.Kept if that is 0.
const DefaultKept = 5

// WithDefaults fills in what is not set.
func (o Options) WithDefaults() Options {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
		*p = max(*p, 0)
	}
	set(&o.Concurrency, defaultConcurrency)
	set(&o.Queue, defaultQueue)
	set(&o.Retries, defaultRetries)
	set(&o.Kept, DefaultKept)
	o.Concurrency = max(o.Concurrency, 1)
	return o
}

// Check refuses what no endpoint can mean.
func (o Options) Check() error {
	switch {
	case o.Requests < 0 || o.Tokens < 0:
		return protocol.Errorf(protocol.KindInvalid, "limits: %d requests and %d tokens a minute; want 0 (no limit) or more", o.Requests, o.Tokens)
	case o.Concurrency < 0 || o.Concurrency > maxConcurrency:
		return protocol.Errorf(protocol.KindInvalid, "limits: %d requests at once; want 1 to %d, or 0 for %d", o.Concurrency, maxConcurrency, defaultConcurrency)
	case o.Kept > 50:
		return protocol.Errorf(protocol.KindInvalid, "limits: %d %% of the slots kept for interactive requests; want at most 50", o.Kept)
	}
	return nil
}

// Hints are what an endpoint said about its limits with an answer (x-ratelimit-*
// headers). They overrule the options where they allow less.
type Hints struct {
	Requests, Tokens Left
	// Refused says that they came with a refusal that has a Retry-After of its own.
	Refused bool
}

// Left is what is left of one rate.
type Left struct {
	Known     bool
	Limit     int64         // a minute; 0 = not said
	Remaining int64         // until the reset
	Reset     time.Duration // from now on
}
