package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/endpoint/direct"
)

// Errors in the forms in which servers give them.
func TestReadProblem(t *testing.T) {
	for body, want := range map[string]Problem{
		`{"error":{"message":"m","type":"t","param":null,"code":"c"}}`:       {"t", "c", "m", 0, false},
		`{"error":{"message":"m","code":404}}`:                               {"", "404", "m", 0, false},
		`{"error":"a text"}`:                                                 {"", "", "a text", 0, false},
		`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`: {"overloaded_error", "", "m", 0, false},
		`{"object":"error","message":"m","type":"BadRequestError","code":4}`: {"BadRequestError", "4", "m", 0, false},
		`{"statusCode":401,"message":"m"}`:                                   {"", "", "m", 0, false},
		`{"detail":"Not Found"}`:                                             {"", "", "Not Found", 0, false},
		`{"detail":[{"msg":"m","loc":["body"]}]}`:                            {"", "", `[{"msg":"m","loc":["body"]}]`, 0, false},
		`[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`: {"", "400", "m", 0, false},
		`{"error":{},"message":"outside"}`:                                   {"", "", "outside", 0, false},
		`{"error":{"code":"content_filter"}}`:                                {"", "content_filter", "", 0, false},
		`[{"error":{"code":429,"message":"m","details":[{"links":[]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}]`: {"", "429", "m", 34500 * time.Millisecond, false},
		`{"error":{"message":"m","details":[{"retryDelay":"soon"}]}}`:                                                                               {"", "", "m", 0, false},
		`{"error":{"message":"m","details":"none"}}`:                                                                                                {"", "", "m", 0, false},
	} {
		if p, ok := ReadProblem([]byte(body)); !ok || p != want {
			t.Errorf("%s is %+v (%v), want %+v", body, p, ok, want)
		}
	}
	for _, body := range []string{``, `{}`, `[]`, `null`, `"text"`, `{"error":null}`, `{"error":{}}`, `{"error":[1]}`, `{"choices":[]}`, `<html>`, `{"error":{"message":{"x":1}}}`, `[{}, {"error":"second"}]`} {
		if p, ok := ReadProblem([]byte(body)); ok {
			t.Errorf("%s is the problem %+v", body, p)
		}
	}
}

// Promise 3: the outcome follows the status, and what the error says of itself wins.
func TestOutcomes(t *testing.T) {
	e := &Endpoint{Name: "cloud"}
	for _, c := range []struct {
		status int
		p      Problem
		want   llm.Outcome
	}{
		{301, Problem{}, llm.OutcomeBadRequest}, {400, Problem{}, llm.OutcomeBadRequest}, {404, Problem{}, llm.OutcomeBadRequest}, {422, Problem{}, llm.OutcomeBadRequest},
		{401, Problem{}, llm.OutcomeAuth}, {403, Problem{}, llm.OutcomeAuth}, {402, Problem{}, llm.OutcomeQuota}, {413, Problem{}, llm.OutcomeContext},
		{408, Problem{}, llm.OutcomeTimeout}, {504, Problem{}, llm.OutcomeTimeout}, {429, Problem{}, llm.OutcomeRateLimited}, {529, Problem{}, llm.OutcomeRateLimited},
		{500, Problem{}, llm.OutcomeServerError}, {502, Problem{}, llm.OutcomeServerError}, {503, Problem{}, llm.OutcomeServerError}, {0, Problem{}, llm.OutcomeServerError},
		{429, Problem{Code: "insufficient_quota"}, llm.OutcomeQuota}, {429, Problem{Message: "You exceeded your current quota, please check your plan and billing details."}, llm.OutcomeQuota},
		{429, Problem{Message: "You exceeded your current quota, please check your plan and billing details.", RetryIn: time.Minute}, llm.OutcomeRateLimited},
		{0, Problem{Code: "429", Message: "You exceeded your current quota", RetryIn: time.Minute}, llm.OutcomeRateLimited},
		{429, Problem{Code: "insufficient_quota", RetryIn: time.Minute}, llm.OutcomeQuota}, {402, Problem{RetryIn: time.Minute}, llm.OutcomeQuota},
		{403, Problem{Message: "Your credit balance is too low"}, llm.OutcomeQuota},
		{400, Problem{Type: "authentication_error"}, llm.OutcomeAuth}, {400, Problem{Message: "API key not valid. Please pass a valid API key."}, llm.OutcomeAuth},
		{400, Problem{Code: "context_length_exceeded"}, llm.OutcomeContext}, {500, Problem{Message: "Context size has been exceeded."}, llm.OutcomeContext},
		{400, Problem{Message: "The decoder prompt (length 9000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens."}, llm.OutcomeContext},
		{422, Problem{Message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`"}, llm.OutcomeContext},
		{400, Problem{Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}, llm.OutcomeContext},
		{400, Problem{Message: "Input is too long for requested model."}, llm.OutcomeContext},
		{400, Problem{Message: "The input (9000 tokens) exceeds the model's maximum input length of 4096 tokens."}, llm.OutcomeContext},
		{400, Problem{Message: "This model's maximum prompt length is 131072 but the request contains 150000 tokens."}, llm.OutcomeContext},
		{422, Problem{Message: "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000"}, llm.OutcomeContext},
		{422, Problem{Message: "Input validation error: `max_new_tokens` must be strictly positive"}, llm.OutcomeBadRequest},
		{400, Problem{Message: "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for this model"}, llm.OutcomeBadRequest},
		{400, Problem{Message: "max_tokens is too large: 99999. This model supports at most a maximum number of tokens of 8192 in its answer"}, llm.OutcomeBadRequest},
		{429, Problem{Message: "too many tokens for the context window a minute"}, llm.OutcomeRateLimited}, {503, Problem{Message: "the context window is loading"}, llm.OutcomeServerError},
		{0, Problem{Type: "overloaded_error"}, llm.OutcomeRateLimited}, {0, Problem{Type: "rate_limit_error"}, llm.OutcomeRateLimited}, {0, Problem{Type: "timeout_error"}, llm.OutcomeTimeout},
		{0, Problem{Type: "invalid_request_error"}, llm.OutcomeBadRequest}, {0, Problem{Type: "not_found_error"}, llm.OutcomeBadRequest},
		{0, Problem{Code: "429"}, llm.OutcomeRateLimited}, {0, Problem{Code: "401"}, llm.OutcomeAuth}, {0, Problem{Code: "504"}, llm.OutcomeTimeout}, {0, Problem{Code: "400"}, llm.OutcomeBadRequest},
		// Words of the question that a message repeats close no endpoint.
		{400, Problem{Type: "BadRequestError", Message: "[{'type': 'value_error', 'input': 'You run the billing desk.'}]"}, llm.OutcomeBadRequest},
		{422, Problem{Message: `[{"msg":"m","input":"you exceeded your current quota, says the authentication_error of an API key not valid"}]`}, llm.OutcomeBadRequest},
		{400, Problem{Message: "bad message: 'the ferry is overloaded by rate_limit and timeout_error'"}, llm.OutcomeBadRequest},
		{500, Problem{Message: "cannot render 'a billing desk'"}, llm.OutcomeServerError}, {503, Problem{Message: "The engine is currently overloaded"}, llm.OutcomeRateLimited},
		{429, Problem{Type: "exceeded_current_quota_error", Message: "Your account is suspended"}, llm.OutcomeQuota}, {403, Problem{Message: "This method needs billing to be enabled"}, llm.OutcomeQuota},
		{400, Problem{Message: "Invalid request: Your request exceeded model token limit: 8192"}, llm.OutcomeContext}, {400, Problem{Code: "1261", Message: "Prompt exceeds max length"}, llm.OutcomeContext},
		{400, Problem{Message: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"}, llm.OutcomeContext},
		{400, Problem{Message: "too many tokens: total number of tokens in the prompt cannot exceed 4081"}, llm.OutcomeContext},
		// What a gateway writes before the message of a service is none of its words.
		{400, Problem{Message: "litellm.BadRequestError: AnthropicException - Your credit balance is too low to access the Anthropic API."}, llm.OutcomeQuota},
		{400, Problem{Message: "litellm.BadRequestError: VertexAIException - API key not valid. Please pass a valid API key."}, llm.OutcomeAuth},
		{0, Problem{Message: "litellm.RateLimitError: litellm.RateLimitError: OpenAIException - litellm.RateLimitError: OpenAIException - You exceeded your current quota"}, llm.OutcomeQuota},
		{400, Problem{Message: "litellm.BadRequestError: AnthropicException - bad text: 'Your credit balance is too low'"}, llm.OutcomeBadRequest},
		{400, Problem{Message: "a.B: C - a.B: C - a.B: C - your credit balance is too low"}, llm.OutcomeBadRequest},
		{400, Problem{Message: "The value - your credit balance is too low"}, llm.OutcomeBadRequest},
		// Words within a message count with 429 and 403.
		{429, Problem{Message: "Error of account 7: your credit balance is too low"}, llm.OutcomeQuota}, {429, Problem{Message: "rejected: invalid_api_key"}, llm.OutcomeAuth},
		{400, Problem{Message: "Error of account 7: your credit balance is too low"}, llm.OutcomeBadRequest},
		{0, Problem{Code: "7"}, llm.OutcomeServerError}, {400, Problem{Code: "429"}, llm.OutcomeBadRequest},
	} {
		if f := e.Problem(c.status, c.p); f.Outcome != c.want || f.RetryAfter != c.p.RetryIn || !strings.HasPrefix(f.Message, "cloud: ") {
			t.Errorf("%d %+v is %s (%v), want %s", c.status, c.p, f.Outcome, f, c.want)
		}
	}
}

// What a filter says is the cause of the failure, so that it can become an answer.
func TestFiltered(t *testing.T) {
	e := &Endpoint{Name: "cloud"}
	for _, c := range []struct {
		status int
		p      Problem
		want   bool
	}{
		{400, Problem{Code: "content_filter", Message: "no"}, true}, {0, Problem{Code: "content_filter"}, true}, {400, Problem{Type: "content_policy_violation"}, true},
		{403, Problem{Message: "x requires moderation on y"}, true}, {400, Problem{Message: "your prompt was flagged"}, true}, {400, Problem{Message: "Output blocked by content filtering policy"}, true},
		{403, Problem{Message: "no access"}, false}, {400, Problem{Message: "the filter of tools is wrong"}, false}, {500, Problem{Code: "content_filter"}, false}, {429, Problem{Message: "was flagged"}, false},
		{400, Problem{Message: `unknown parameter: 'x'; {"content": "the ship was flagged, by content management policy, and requires moderation"}`}, false},
		{400, Problem{Message: "Invalid prompt: your prompt was flagged as potentially violating our usage policy."}, true}, {400, Problem{Message: "Content Exists Risk"}, true},
		{400, Problem{Message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."}, true},
		{400, Problem{Message: "litellm.BadRequestError: AnthropicException - Output blocked by content filtering policy"}, true},
		{0, Problem{Code: "403", Message: "a/model requires moderation on A. Your input was flagged for \"violence\"."}, true},
	} {
		var f *Filtered
		if got := errors.As(e.Problem(c.status, c.p), &f); got != c.want {
			t.Errorf("%d %+v is filtered: %v, want %v", c.status, c.p, got, c.want)
		}
	}
	var f *Filtered
	if errors.As(e.Problem(400, Problem{Code: "content_filter", Message: strings.Repeat("long ", 1000)}), &f); len(f.Message) > 400 {
		t.Errorf("%d bytes are kept", len(f.Message))
	}
}

// A page with 403 is of a gateway that refuses the key, until the endpoint has answered a question with it. Then it is of a
// firewall, which refuses the words of one question: it closes nothing. Whatever words a page has, it is no filter's answer. A page
// closed the endpoint always; then it never did, and each agent asked again with a key that was refused.
func TestPages(t *testing.T) {
	status, body := 0, ""
	e := at(t, Definition{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	ask := func(question []byte) error {
		r, err := e.Do(t.Context(), Ask{Path: "/x", Body: question})
		if err == nil {
			r.Close()
		}
		return err
	}
	const page = "\n<!DOCTYPE html><title>Attention Required!</title>You have been blocked. Your input was flagged; billing: insufficient_quota"
	const gateway = "<html><head><title>403 Forbidden</title></head><body><hr><center>nginx</center></body></html>"
	for _, answered := range []bool{false, true} {
		first := llm.OutcomeAuth
		if answered {
			first = llm.OutcomeBadRequest
		}
		for _, c := range []struct {
			status int
			body   string
			want   llm.Outcome
		}{
			{403, page, first}, {403, gateway, first}, {403, "error code: 1020", first}, {429, page, llm.OutcomeRateLimited}, {400, page, llm.OutcomeBadRequest}, {503, page, llm.OutcomeServerError},
			{401, page, llm.OutcomeAuth}, {402, page, llm.OutcomeQuota}, {403, "", llm.OutcomeAuth}, {403, "Forbidden", llm.OutcomeAuth},
			{403, `{"error":{"message":"<b>no</b>","code":"invalid_api_key"}}`, llm.OutcomeAuth},
		} {
			status, body = c.status, c.body
			err := ask([]byte("{}"))
			var filtered *Filtered
			says := ""
			switch {
			case c.status == 403 && answered && c.want == first:
				says = "perhaps of a firewall before the service"
			case c.status == 403 && (c.body == page || c.body == gateway || c.body == "error code: 1020"):
				says = "answered no question with this key: check the key, and the address (base_url)"
			}
			if f := outcome(t, err); f.Outcome != c.want || errors.As(err, &filtered) || !strings.Contains(f.Message, says) || (says != "") != strings.Contains(f.Message, "the answer is a page") {
				t.Errorf("%d %s: %s, %s; want %s", c.status, c.body, f.Outcome, f.Message, c.want)
			}
		}
		status, body = 200, ""
		if err := ask(nil); err != nil { // a list of models, which some services show without a key
			t.Error(err)
		}
		if status = 403; !answered {
			body = gateway
			if f := outcome(t, ask([]byte("{}"))); f.Outcome != llm.OutcomeAuth {
				t.Errorf("a list counts as an answer: %v", f)
			}
		}
		if status = 201; ask([]byte("{}")) != nil {
			t.Error("no answer")
		}
	}
}

// A server that changes to another protocol has not answered, and nobody waits for it.
func TestSwitched(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = c.Read(make([]byte, 1)) // until the client closes
	})
	for _, size := range []int{1, direct.MaxBody + 1} { // net/http sends the second one
		_, err := e.Do(t.Context(), Ask{Path: "/x", Body: make([]byte, size)})
		if f := outcome(t, err); f.Outcome != llm.OutcomeBadRequest || !strings.Contains(f.Message, "status 101 Switching Protocols") {
			t.Errorf("%d bytes: %s, %s", size, f.Outcome, f.Message)
		}
	}
}

// Promise 3: what the endpoint says about waiting is kept, and makes a 503 one of the
// limits.
func TestWaiting(t *testing.T) {
	h := http.Header{"Retry-After": {"2"}}
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hint" {
			w.Header().Set("Retry-After", h.Get("Retry-After"))
		}
		if r.URL.Path == "/quota" {
			w.WriteHeader(429)
			_, _ = io.WriteString(w, `{"error":{"code":429,"message":"You exceeded your current quota","details":[{"retryDelay":"34s"}]}}`)
			return
		}
		w.WriteHeader(503)
	})
	for path, want := range map[string]llm.Outcome{"/hint": llm.OutcomeRateLimited, "/none": llm.OutcomeServerError} {
		_, err := e.Do(context.Background(), Ask{Path: path})
		if f := outcome(t, err); f.Outcome != want || (f.RetryAfter > 0) != (path == "/hint") {
			t.Errorf("%s: %s, after %s", path, f.Outcome, f.RetryAfter)
		}
	}
	_, err := e.Do(context.Background(), Ask{Path: "/quota"})
	if f := outcome(t, err); f.Outcome != llm.OutcomeRateLimited || f.RetryAfter != 34*time.Second {
		t.Errorf("a quota of a minute: %s, after %s", f.Outcome, f.RetryAfter)
	}
}
