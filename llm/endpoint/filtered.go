package endpoint

import (
	"net/http"
	"slices"
	"strings"

	"tavernsim/llm/endpoint/hints"
	"tavernsim/protocol"
)

// Filtered is the cause of a failure by which a server says that a filter stopped the
// question or the answer. It is an answer of the model's side, so [Endpoint.Complete]
// makes one of it.
type Filtered struct{ Message string }

func (f *Filtered) Error() string { return "filtered: " + f.Message }

// filtered finds out whether a problem is of a filter; nil = it is not. A message may repeat words of the question: words
// within it count only for 403, which repeats none.
func (p *Problem) filtered(status int) *Filtered {
	code, said := strings.ToLower(p.Type+" "+p.Code), hints.Said(p.Message)
	begins := func(words string) bool { return strings.HasPrefix(said, words) }
	switch {
	case status >= 429 || p.page:
		return nil
	case has(code, "content_filter", "content_policy", "data_inspection_failed"), slices.ContainsFunc(filterTexts(), begins),
		status == http.StatusForbidden && has(said, "was flagged", "requires moderation"): // behind the name of the model
		return &Filtered{protocol.Short(p.Message, 300)}
	}
	return nil
}

// filterTexts are how messages of services about their filters begin, in small letters.
func filterTexts() []string {
	return []string{
		"output blocked by content filtering policy", "the response was filtered", "your request was rejected as a result of our safety system",
		"invalid prompt: your prompt was flagged", "your prompt was flagged", "your input was flagged", "your chosen model requires moderation", "content exists risk",
		"input data may contain inappropriate content", "output data may contain inappropriate content",
	}
}
