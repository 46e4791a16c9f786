package openai

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/llmtest/served"
)

// The table of failures in docs/formats/providers.md, row by row, against a server that says just that.
func TestTableOfFailures(t *testing.T) {
	const answer = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	const part, end = `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}` + "\n\n", `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	fails := func(words string) string { return `{"error":{"message":"` + words + `","type":"x"}}` }
	for _, c := range []struct {
		status int
		header string // name: value
		body   string // that ends with \x00 if the connection breaks behind it; of a stream if it begins with data:
		want   llm.Outcome
	}{
		{200, "", answer, llm.OutcomeOK},
		{299, "", answer, llm.OutcomeOK},
		{429, "", fails("slow down"), llm.OutcomeRateLimited},
		{429, "", fails("Quota exceeded for quota metric 'Requests per minute'"), llm.OutcomeRateLimited},
		{429, "Retry-After: 3", fails("You exceeded your current quota"), llm.OutcomeRateLimited},
		{529, "", "", llm.OutcomeRateLimited},
		{503, "Retry-After: 3", "", llm.OutcomeRateLimited},
		{200, "", `data: {"error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n", llm.OutcomeRateLimited},
		{200, "", `{"error":{"code":429,"message":"slow down"}}`, llm.OutcomeRateLimited},
		{429, "", `{"error":{"code":"insufficient_quota","message":"no"}}`, llm.OutcomeQuota},
		{429, "Retry-After: 3", `{"error":{"code":"insufficient_quota","message":"no"}}`, llm.OutcomeQuota},
		{429, "", fails("You exceeded your current quota"), llm.OutcomeQuota},
		{400, "", fails("Your credit balance is too low"), llm.OutcomeQuota},
		{402, "", "", llm.OutcomeQuota},
		{401, "", "", llm.OutcomeAuth},
		{403, "", "", llm.OutcomeAuth},
		{400, "", fails("API key not valid"), llm.OutcomeAuth},
		{408, "", "", llm.OutcomeTimeout},
		{504, "", "", llm.OutcomeTimeout},
		{500, "", "", llm.OutcomeServerError},
		{502, "", "<html>", llm.OutcomeServerError},
		{503, "", "", llm.OutcomeServerError},
		{200, "", "{\x00", llm.OutcomeServerError},
		{200, "", part + "\x00", llm.OutcomeServerError},
		{200, "", part + end + "\x00", llm.OutcomeOK},
		{200, "", part, llm.OutcomeTruncated},
		{200, "", part + end, llm.OutcomeOK},
		{200, "", part + `error: {"code":500,"message":"Compute error.","type":"server_error"}` + "\n\ndata: [DONE]\n\n", llm.OutcomeServerError},
		{200, "", "data: \n\n" + `error: {"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}` + "\n\ndata: [DONE]\n\n", llm.OutcomeContext},
		{200, "", part + "event: error\n" + `data: {"message":"overloaded","code":529}` + "\n\ndata: [DONE]\n\n", llm.OutcomeRateLimited},
		{200, "", part + "event: error\ndata: the disk is full\n\n", llm.OutcomeTruncated},
		{200, "", strings.Replace(part, "null", `"insufficient_system_resource"`, 1), llm.OutcomeServerError},
		{200, "", strings.Replace(answer, "stop", "network_error", 1), llm.OutcomeServerError},
		{200, "", strings.Replace(answer, "stop", "abort", 1), llm.OutcomeServerError},
		{200, "", "no JSON", llm.OutcomeTruncated},
		{200, "Content-Type: text/html", "<html>", llm.OutcomeTruncated},
		{200, "", `{"object":"chat.completion","choices":[]}`, llm.OutcomeTruncated},
		{400, "", fails("maximum context length"), llm.OutcomeContext},
		{413, "", "", llm.OutcomeContext},
		{200, "", `{"x":"` + strings.Repeat("x", endpoint.MaxAnswer), llm.OutcomeBadOutput},
		{200, "", "data: " + strings.Repeat("x", endpoint.MaxLine+1), llm.OutcomeBadOutput},
		{200, "", `{"type":"message","content":[]}`, llm.OutcomeBadOutput},
		{200, "", `{"message":{},"done":true}`, llm.OutcomeBadOutput},
		{200, "Content-Type: application/grpc", "", llm.OutcomeBadOutput},
		{200, "Content-Encoding: br", "x", llm.OutcomeBadOutput},
		{400, "", "", llm.OutcomeBadRequest},
		{404, "", fails("no such model"), llm.OutcomeBadRequest},
		{409, "", "", llm.OutcomeBadRequest},
		{422, "", "", llm.OutcomeBadRequest},
		{307, "Location: /elsewhere", "", llm.OutcomeBadRequest},
		{101, "Upgrade: x", "", llm.OutcomeBadRequest},
	} {
		stream := strings.HasPrefix(c.body, "data:")
		to := served.At(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			if stream {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			text, breaks := strings.CutSuffix(c.body, "\x00")
			_, _ = io.WriteString(w, text)
			if breaks {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}), endpoint.Definition{})
		_, err := New(to, "m", stream).Complete(t.Context(), served.Ask("hi"), nil)
		if got := llm.OutcomeOf(err); got != c.want {
			t.Errorf("%d %s %.60q: %s, %v; want %s", c.status, c.header, c.body, got, err, c.want)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	e, err := endpoint.New("test", endpoint.Definition{BaseURL: "http://" + l.Addr().String()}, "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err = New(e, "m", false).Complete(t.Context(), served.Ask("hi"), nil); llm.OutcomeOf(err) != llm.OutcomeServerError {
		t.Errorf("where nobody listens: %v", err)
	}
}
