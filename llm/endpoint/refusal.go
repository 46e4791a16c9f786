package endpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/endpoint/foreign"
	"tavernsim/llm/endpoint/hints"
	"tavernsim/protocol"
)

// Problem is the error in the body of an answer, in the forms that servers give it.
type Problem struct {
	Type    string
	Code    string
	Message string
	RetryIn time.Duration // that the error asks to wait; 0 = it does not say
	page    bool          // Message is a page of somebody before the service, whose words say nothing
}

// ReadProblem finds the error in a body; false = there is none.
func ReadProblem(body []byte) (p Problem, ok bool) {
	type fields struct {
		Type    string `json:"type"`
		Code    any    `json:"code"`
		Message string `json:"message"`
	}
	type detailed struct {
		fields
		Details json.RawMessage `json:"details"`
	}
	var top struct {
		Error json.RawMessage `json:"error"`
		fields
		Detail json.RawMessage `json:"detail"`
	}
	var list []json.RawMessage // some services put the error into a list
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if json.Unmarshal(body, &top) != nil {
		return p, false
	}
	var inner detailed
	switch {
	case len(top.Error) > 0 && top.Error[0] == '"':
		_ = json.Unmarshal(top.Error, &p.Message) // it is a text
		return p, p != Problem{}
	case len(top.Error) > 0 && json.Unmarshal(top.Error, &inner) == nil && inner.fields != fields{}:
		p.RetryIn = hints.RetryIn(inner.Details)
	case top.Message != "":
		inner.fields = top.fields
	case len(top.Detail) > 0:
		if json.Unmarshal(top.Detail, &inner.Message) != nil { // no text, but what is wrong with each field of the question
			inner.Message = string(top.Detail)
		}
	}
	p.Type, p.Message = inner.Type, inner.Message
	if inner.Code != nil {
		p.Code = fmt.Sprint(inner.Code)
	}
	return p, p != Problem{}
}

// Unreadable is the failure of an answer, or a part of one, that is not of the protocol:
// what the server says is wrong, or else that this is no such thing, and why.
func (e *Endpoint) Unreadable(data []byte, err error, what, why string) error {
	if problem, ok := ReadProblem(data); ok {
		return e.Problem(0, problem)
	}
	if err := e.foreign(data); err != nil {
		return err
	}
	if err != nil {
		why = err.Error()
	}
	return e.Failed(llm.OutcomeTruncated, "the answer is no %s: %s: %s", what, why, protocol.Short(e.Hide(string(data)), 120))
}

// foreign is the failure of an answer, or of the first event of one, that is of another protocol; nil = it is not
// known to be. Asking again does not help, but a page may pass.
func (e *Endpoint) foreign(data []byte) error {
	is, page := foreign.Answer(data, e.Protocol)
	switch {
	case page:
		return e.Failed(llm.OutcomeTruncated, "%s: %s", is, protocol.Short(e.Hide(string(bytes.TrimSpace(data))), 120))
	case is != "":
		return e.Failed(llm.OutcomeBadOutput, "%s", is) // which may have cost something
	}
	return nil
}

// refused classes an answer whose status is none of success. answered: the endpoint has answered a question with the
// same key, so that a page with 403 does not refuse the key.
func (e *Endpoint) refused(status int, h http.Header, body []byte, answered bool) *llm.Failure {
	p, ok := ReadProblem(body)
	switch coded := foreign.Encoded(h); {
	case coded != "":
		p = Problem{Message: coded}
	case !ok:
		p.Message = strings.TrimSpace(string(body))
		p.page = strings.HasPrefix(p.Message, "<") || strings.HasPrefix(p.Message, "error code: 1") // as Cloudflare's 1020
	}
	p.RetryIn = cmp.Or(hints.RetryAfter(h, time.Now()), p.RetryIn)
	if to, err := url.Parse(h.Get("Location")); status/100 == 3 && err == nil && to.Path+to.Host != "" {
		to.User, to.RawQuery, to.Fragment = nil, "", "" // the query may repeat ours, with a key in it
		p.Message = "redirects are not followed; base_url has to be an address of the server that answers. This one redirects to " + to.String()
	}
	f := e.Problem(status, p)
	if status == http.StatusServiceUnavailable && f.RetryAfter > 0 {
		f.Outcome = llm.OutcomeRateLimited
	}
	f.Status = status
	f.Message += foreign.Plainly(p.Message)
	switch {
	case status != http.StatusForbidden || !p.page:
	case answered:
		f.Outcome = llm.OutcomeBadRequest
		f.Message += "; the answer is a page, perhaps of a firewall before the service that refuses words of this question"
	default:
		f.Message += "; the answer is a page, and the endpoint has answered no question with this key: check the key, and the address (base_url)"
	}
	if status == http.StatusNotFound && p.Code == "" && !versioned(e.base.Path) {
		f.Message += "; base_url names no version, as https://api.example.com/v1 does"
	}
	return f
}

// versioned reports whether a path has a part like v1, v1beta or v3.
func versioned(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return len(part) > 1 && part[0] == 'v' && '0' <= part[1] && part[1] <= '9' })
}

// Problem is the failure of a request with a status; 0 = the error stood in a stream.
func (e *Endpoint) Problem(status int, p Problem) *llm.Failure {
	p.Type, p.Code, p.Message = e.Hide(p.Type), e.Hide(p.Code), e.Hide(p.Message) // before a part of it is shown
	said := protocol.Short(p.Message, 300)
	if said == "" {
		said = "no reason given"
	}
	head := "error"
	if status != 0 {
		head = strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	}
	if p.Code != "" {
		head += ", " + protocol.Short(p.Code, 60)
	}
	if code, err := strconv.Atoi(p.Code); status == 0 && err == nil && code >= 400 && code < 600 {
		status = code // some services answer 200 and give the status in the error
	}
	if f := p.filtered(status); f != nil {
		return e.failure(llm.OutcomeBadRequest, head+": "+said, f)
	}
	f := e.failure(outcomeOf(status, p), head+": "+said, nil)
	f.RetryAfter = p.RetryIn
	return f
}

// outcomeOf follows the table of outcomes: what the error says of itself wins over its
// status. A message may repeat words of the question, which nobody may close an endpoint with:
// words that say so count in the type and the code of an error; in its message they count if
// the status says the same, or if it begins with them.
func outcomeOf(status int, p Problem) llm.Outcome {
	named, said := strings.ToLower(p.Type+" "+p.Code), hints.Said(p.Message)
	if p.page {
		said = ""
	}
	refuses := status == http.StatusForbidden || status == http.StatusTooManyRequests
	closes := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(named, w) || strings.HasPrefix(said, w) || refuses && strings.Contains(said, w)
		})
	}
	switch {
	case status == http.StatusTooManyRequests && p.RetryIn > 0 && !strings.Contains(named+said, "insufficient_quota"):
		return llm.OutcomeRateLimited // "You exceeded your current quota", of a minute: it says when to come again
	case closes("insufficient_quota", "exceeded_current_quota", "billing", "credit balance", "your credit balance", "exceeded your current quota", "you exceeded your current quota") || status == http.StatusPaymentRequired:
		return llm.OutcomeQuota
	case closes("authentication_error", "invalid_api_key", "api key not valid", "permission_error") || status == http.StatusUnauthorized || status == http.StatusForbidden:
		return llm.OutcomeAuth
	case (status < 429 || status == 500) && hints.TooLong(named+" "+said):
		return llm.OutcomeContext
	case has(named, "rate_limit", "overloaded") || (status == 0 || status >= 500) && has(said, "rate_limit", "overloaded") || status == http.StatusTooManyRequests || status == 529:
		return llm.OutcomeRateLimited
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout || has(named, "timeout_error"):
		return llm.OutcomeTimeout
	case status == http.StatusRequestEntityTooLarge:
		return llm.OutcomeContext
	case status >= 300 && status < 500 || has(named, "invalid_request_error", "not_found_error"):
		return llm.OutcomeBadRequest
	}
	return llm.OutcomeServerError
}

func has(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
