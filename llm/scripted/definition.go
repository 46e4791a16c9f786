package scripted

import (
	"tavernsim/engine/stub"
	"tavernsim/protocol"
)

// Script is a file of rules (docs/formats/model.md).
type Script struct {
	SchemaVersion string `json:"schema_version,omitempty"` // "1.0"
	Kind          string `json:"kind,omitempty"`           // "scripted"
	Name          string `json:"name,omitempty"`           // reported as the model that answered; default "scripted"
	Description   string `json:"description,omitempty"`

	// Timeout of requests that have none. Default 30s.
	Timeout protocol.Duration `json:"timeout,omitempty"`
	// Latency and Failures hold for every rule that has none of its own.
	Latency  *Latency  `json:"latency,omitempty"`
	Failures *Failures `json:"failures,omitempty"`

	Rules []Rule `json:"rules,omitempty"` // the first that matches answers
	// Otherwise answers when no rule does. Without it the embedded default
	// script is asked.
	Otherwise *Answer `json:"otherwise,omitempty"`

	CustomMetadata map[string]any `json:"custom_metadata,omitempty"` // free; never checked
}

// Rule is a condition and one answer, or several of which one is drawn.
type Rule struct {
	Name     string    `json:"name,omitempty"` // stands in errors
	Match    Match     `json:"match,omitzero"`
	Answer   *Answer   `json:"answer,omitempty"`
	Answers  []Answer  `json:"answers,omitempty"`
	Latency  *Latency  `json:"latency,omitempty"`
	Failures *Failures `json:"failures,omitempty"`
}

// Match holds when every part that is given does. Without any it always does.
// Patterns are globs: * stands for any text, ? for one character.
type Match struct {
	Agent   stub.Texts `json:"agent,omitempty"` // instance id; any of the patterns
	Profile stub.Texts `json:"profile,omitempty"`
	Scene   stub.Texts `json:"scene,omitempty"`
	Model   stub.Texts `json:"model,omitempty"` // as it was asked for; "" when the default was
	Purpose stub.Texts `json:"purpose,omitempty"`

	// Variables of the prompt by dotted path. A list holds when any of its
	// elements equals the variable.
	Variables map[string]any `json:"variables,omitempty"`

	Events    stub.Texts `json:"events,omitempty"`     // any perceived event type matches any pattern
	AllEvents stub.Texts `json:"all_events,omitempty"` // every pattern matches some event type

	PromptContains stub.Texts `json:"prompt_contains,omitempty"` // any of the texts occurs in the prompt
	PromptMatches  stub.Texts `json:"prompt_matches,omitempty"`  // any of the regular expressions (RE2) does

	Tools stub.Texts `json:"tools,omitempty"` // any offered tool matches any pattern
	JSON  *bool      `json:"json,omitempty"`  // a JSON document was asked for
	// Round counts the answers with calls before this one: 0 is the first model
	// call of a deliberation.
	Round *int `json:"round,omitempty"`

	When   string   `json:"when,omitempty"`   // expression
	Chance *float64 `json:"chance,omitempty"` // 0 to 1, drawn last
}

// Answer is what the model says. In a file a bare text is its text.
type Answer struct {
	Weight    *float64 `json:"weight,omitempty"` // among several answers; default 1
	Text      string   `json:"text,omitempty"`   // template
	JSON      any      `json:"json,omitempty"`   // value template; the text is its JSON
	Reasoning string   `json:"reasoning,omitempty"`
	Calls     []Call   `json:"calls,omitempty"`  // native tool calls
	Finish    string   `json:"finish,omitempty"` // default stop, or tool_calls with calls
	Fail      string   `json:"fail,omitempty"`   // instead of answering: timeout, server_error, rate_limited, bad_output
}

// Call is a native tool call of an answer.
type Call struct {
	Tool   string         `json:"tool"`             // template
	Params map[string]any `json:"params,omitempty"` // value template
	When   string         `json:"when,omitempty"`   // expression; the call is left out where it is false
}

// Latency is how long the model takes: Fixed, or evenly between Min and Max, or
// log-normal around Median with the deviation Sigma of its logarithm, at most
// Max. PerToken is added for every token of the answer.
type Latency struct {
	Fixed    protocol.Duration `json:"fixed,omitempty"`
	Min      protocol.Duration `json:"min,omitempty"`
	Max      protocol.Duration `json:"max,omitempty"`
	Median   protocol.Duration `json:"median,omitempty"`
	Sigma    float64           `json:"sigma,omitempty"`
	PerToken protocol.Duration `json:"per_token,omitempty"`
}

// Failures are probabilities; together at most 1.
type Failures struct {
	Timeout     float64 `json:"timeout,omitempty"`
	ServerError float64 `json:"server_error,omitempty"`
	RateLimited float64 `json:"rate_limited,omitempty"`
	BadOutput   float64 `json:"bad_output,omitempty"` // the text breaks off; an answer of calls alone fails

	RetryAfter protocol.Duration `json:"retry_after,omitempty"` // of rate_limited; default 1s
}
