package mock

import (
	"bytes"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"tavernsim/llm/mock/wire"
)

// reply is all that goes back for a request: pure data, carried out by send.
type reply struct {
	status  int
	kind    string   // Content-Type
	headers []string // name, value, name, value
	wire.Page
	wait   time.Duration // before the first byte
	pauses []pause       // in order
	cut    int           // with reset: how much of the body is sent
	fill   int           // where 64 MiB of filler stand; 0 = nowhere
	end    ending
}

// pause is a silence within the body.
type pause struct {
	at   int
	wait time.Duration
}

// ending says what becomes of the connection.
type ending uint8

const (
	whole   ending = iota // it stays
	broken                // it is reset
	hanging               // it is silent until the client leaves or HoldFor is over, then reset
)

// hugeMark is the text of a huge answer; the filler stands before it.
const hugeMark = "huge"

// splitWait separates the two parts of a character, so that they do not arrive
// together.
const splitWait = 20 * time.Millisecond

// fillSize is how much filler a huge answer has.
const fillSize = 64 << 20

// plan writes the answer, spoilt as the fault wants it.
func (s *Server) plan(f wire.Form, ft fault, q *wire.Question, a *wire.Answer, room []byte) reply {
	if p, ok := problemOf(ft); ok && (ft != filtered || f.Anthropic()) {
		r := refusing(p, f, a.ID)
		if ft == rateLimited {
			r.retryAfter(s.opts.Faults.RetryAfter)
		}
		return r
	}
	spoil(a, ft)
	r := reply{status: 200, kind: f.ContentType(), Page: a.Write(f, q, room)}
	r.spoil(f, ft, &s.opts.Faults)
	if per := time.Duration(s.opts.Latency.PerToken); per > 0 {
		for _, e := range r.Events {
			if e.Tokens > 0 {
				r.pauses = append(r.pauses, pause{e.At, per * time.Duration(e.Tokens)})
			}
		}
		slices.SortStableFunc(r.pauses, func(a, b pause) int { return a.at - b.at })
	}
	r.pauses = slices.DeleteFunc(r.pauses, func(p pause) bool { return r.fill > 0 || r.end == broken && p.at > r.cut })
	return r
}

// refusing is the reply of a problem.
func refusing(p wire.Problem, f wire.Form, id string) reply {
	r := reply{kind: "application/json"}
	var body string
	r.status, body = p.For(f, id)
	r.Add(body)
	return r
}

// retryAfter tells the client when to come again, in whole seconds and exactly.
func (r *reply) retryAfter(d time.Duration) {
	ms := d.Milliseconds()
	r.headers = append(r.headers, "Retry-After", strconv.FormatInt((ms+999)/1000, 10), "Retry-After-Ms", strconv.FormatInt(ms, 10))
}

// spoil changes how the answer travels.
func (r *reply) spoil(f wire.Form, ft fault, o *Faults) {
	at, end := r.middle()
	switch ft {
	case slow:
		r.wait = o.SlowFor
	case stall:
		r.pauses = append(r.pauses, pause{at, o.StallFor})
	case timeout:
		r.end = hanging
	case reset:
		r.end = broken
	case resetWithin:
		r.cut, r.end = at+(end-at)/2, broken
	case errorWithin:
		r.truncate(at)
		r.Add(overloaded("Overloaded").Event(f))
	case noEndMark:
		r.truncate(r.Events[len(r.Events)-1].At)
	case malformed:
		if f.Streaming() {
			end -= len("\n\n")
		}
		r.remove(at+(end-at)/2, end)
	case html:
		r.kind, r.Page = "text/html; charset=utf-8", wire.Page{}
		r.Add("<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\n")
	case doubledChunk:
		r.Body = slices.Insert(r.Body, end, r.Body[at:end]...)
		for i := range r.Events {
			if r.Events[i].At >= end {
				r.Events[i].At += end - at
			}
		}
	case splitCharacter:
		r.pauses = append(r.pauses, pause{r.inside(at, end), splitWait})
	case huge:
		if r.fill = bytes.LastIndex(r.Body, []byte(`"`+hugeMark)) + 1; r.fill == 0 { // vectors have no text
			r.fill = len(r.Body) - 1
		}
	default: // of what the model says
	}
}

// middle is the event in the middle of those that say something; of a plain
// answer its second half.
func (r *reply) middle() (at, end int) {
	var said []int
	for i, e := range r.Events {
		if e.Tokens > 0 {
			said = append(said, i)
		}
	}
	if len(r.Events) == 0 {
		return len(r.Body) / 2, len(r.Body)
	}
	i := len(r.Events) / 2
	if len(said) > 0 {
		i = said[len(said)/2]
	}
	end = len(r.Body)
	if i+1 < len(r.Events) {
		end = r.Events[i+1].At
	}
	return r.Events[i].At, end
}

// inside is a place within a character of several bytes; without one, the middle.
func (r *reply) inside(at, end int) int {
	for _, from := range [...]int{at, 0} {
		for i := from + 1; i < len(r.Body); i++ {
			if !utf8.RuneStart(r.Body[i]) {
				return i
			}
		}
	}
	return at + (end-at)/2
}

// truncate ends the stream before an event.
func (r *reply) truncate(at int) {
	r.Body = r.Body[:at]
	r.Events = slices.DeleteFunc(r.Events, func(e wire.Event) bool { return e.At >= at })
}

// remove takes bytes out of the body.
func (r *reply) remove(from, to int) {
	if from >= to {
		return
	}
	r.Body = slices.Delete(r.Body, from, to)
	for i := range r.Events {
		if r.Events[i].At >= to {
			r.Events[i].At -= to - from
		}
	}
}

// problemOf is the error that a fault answers with; false for the other faults.
func problemOf(ft fault) (p wire.Problem, ok bool) {
	switch ft {
	case rateLimited, rateLimitedBare:
		p = wire.Problem{Status: 429, Kind: "requests", Code: "rate_limit_exceeded", AnthropicKind: "rate_limit_error", Text: "Rate limit reached. Please try again later."}
	case quota:
		p = wire.Problem{Status: 429, AnthropicStatus: 402, Kind: "insufficient_quota", Code: "insufficient_quota", AnthropicKind: "billing_error",
			Text: "You exceeded your current quota, please check your plan and billing details."}
	case unauthorized:
		p = wire.Problem{Status: 401, Kind: "invalid_request_error", Code: "invalid_api_key", AnthropicKind: "authentication_error", Text: "Incorrect API key provided."}
	case serverError:
		p = wire.Problem{Status: 500, Kind: "server_error", AnthropicKind: "api_error", Text: "The server had an error while processing your request."}
	case loading:
		p = overloaded("Loading model")
	case contextTooLong:
		p = wire.Wrong(400, "prompt is too long: this model's maximum context length is 8192 tokens")
		p.Code = "context_length_exceeded"
	case unknownModel:
		p = wire.Problem{Status: 404, Kind: "invalid_request_error", Code: "model_not_found", AnthropicKind: "not_found_error",
			Text: "The model does not exist or you do not have access to it."}
	case filtered:
		p = wire.Wrong(400, "Output blocked by content filtering policy")
	default:
		return p, false
	}
	return p, true
}

func overloaded(text string) wire.Problem {
	return wire.Problem{Status: 503, AnthropicStatus: 529, Kind: "unavailable_error", AnthropicKind: "overloaded_error", Text: text}
}
