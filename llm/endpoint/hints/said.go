package hints

import (
	"regexp"
	"slices"
	"strings"
)

// Said is the message of a service, in small letters, without what up to two gateways write in front of it:
// "litellm.BadRequestError: AnthropicException - ".
func Said(message string) string {
	said := strings.ToLower(strings.TrimSpace(message))
	return said[len(regexp.MustCompile(`^((\w+\.\w+: ){1,2}\w+ - ){0,2}`).FindString(said)):]
}

// TooLong reports whether words of a server, in small letters, say that a question is longer than the context of its model.
func TooLong(said string) bool {
	return slices.ContainsFunc([]string{
		"context_length", "context length", "context window", "maximum context", "context size", "context limit", "context_exceeded", "exceed_context_size",
		"prompt is too long", "input is too long", "maximum model length", "maximum prompt length", "maximum input length", "maximum number of tokens allowed",
		"`inputs` tokens + `max_new_tokens`", "`inputs` must have less than", "exceeded model token limit", "prompt exceeds max length", "range of input length should be",
		"total number of tokens in the prompt cannot exceed",
	}, func(words string) bool { return strings.Contains(said, words) })
}
