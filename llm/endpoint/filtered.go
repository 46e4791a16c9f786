package endpoint

import (
	"strings"

	"tavernsim/protocol"
)

// Filtered is the cause of a failure by which a server says that a filter stopped the
// question or the answer. It is an answer of the model's side, so [Endpoint.Complete]
// makes one of it.
type Filtered struct{ Message string }

func (f *Filtered) Error() string { return "filtered: " + f.Message }

// filtered finds out whether a problem is of a filter; nil = it is not.
func (p *Problem) filtered(status int) *Filtered {
	if status >= 429 {
		return nil
	}
	code, said := strings.ToLower(p.Type+" "+p.Code), strings.ToLower(p.Message)
	for _, word := range []string{"content_filter", "content_policy"} {
		if strings.Contains(code, word) {
			return &Filtered{protocol.Short(p.Message, 300)}
		}
	}
	for _, words := range []string{"content filtering policy", "content management policy", "was flagged", "requires moderation"} {
		if strings.Contains(said, words) {
			return &Filtered{protocol.Short(p.Message, 300)}
		}
	}
	return nil
}
