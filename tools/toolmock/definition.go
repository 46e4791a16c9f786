package toolmock

import (
	"reflect"

	"tavernsim/engine/stub"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Script is a file tools/mock.yaml.
type Script struct {
	SchemaVersion  string         `json:"schema_version,omitempty"`
	Latency        *Latency       `json:"latency,omitempty"`
	Failures       *Failures      `json:"failures,omitempty"`
	Rules          []Rule         `json:"rules,omitempty"`
	Otherwise      *Answer        `json:"otherwise,omitempty"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// Rule is a condition and one answer, or several of which one is drawn.
type Rule struct {
	Name     string    `json:"name,omitempty"`
	Match    Match     `json:"match,omitzero"`
	Answer   *Answer   `json:"answer,omitempty"`
	Answers  []Answer  `json:"answers,omitempty"`
	Latency  *Latency  `json:"latency,omitempty"`
	Failures *Failures `json:"failures,omitempty"`
}

// Match holds when every part that is given does.
type Match struct {
	Tool   stub.Texts     `json:"tool,omitempty"`
	Agent  stub.Texts     `json:"agent,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	When   string         `json:"when,omitempty"`
	Chance *float64       `json:"chance,omitempty"`
}

// Answer is what a tool gives. In a file a bare text is its output.
type Answer struct {
	Weight  *float64 `json:"weight,omitempty"`
	Output  any      `json:"output,omitempty"`
	Fail    string   `json:"fail,omitempty"`
	Message string   `json:"message,omitempty"`
}

// Latency is Fixed, or evenly between Min and Max.
type Latency struct {
	Fixed protocol.Duration `json:"fixed,omitempty"`
	Min   protocol.Duration `json:"min,omitempty"`
	Max   protocol.Duration `json:"max,omitempty"`
}

// Failures are probabilities; together at most 1.
type Failures struct {
	Transient   float64           `json:"transient,omitempty"`
	RateLimited float64           `json:"rate_limited,omitempty"`
	Timeout     float64           `json:"timeout,omitempty"`
	RetryAfter  protocol.Duration `json:"retry_after,omitempty"`
}

// Shorthand lets a bare text stand for an answer.
func Shorthand() map[reflect.Type]string {
	return map[reflect.Type]string{reflect.TypeFor[Answer](): "output"}
}

// fails are the kinds of failures that an answer may name.
func fails() []string {
	return []string{"transient", "rate_limited", "timeout", "tool", "denied", "unavailable", "unknown_outcome"}
}

// Rules say about the fields what their types do not.
func Rules() source.Rules {
	const section = "001 §4"
	const anyOf = "leave it out for any"
	probability := &source.Range{Min: 0, Max: 1}
	return source.Rules{
		"toolmock.Script.schema_version":  {Section: section, Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"toolmock.Script.latency":         {Section: section, Doc: "Of every rule that has none of its own. Default: the latency of the tool."},
		"toolmock.Script.failures":        {Section: section, Doc: "Of every rule that has none of its own."},
		"toolmock.Script.rules":           {Section: section, MaxItems: 10_000, Doc: "The first rule that matches answers."},
		"toolmock.Script.otherwise":       {Section: section, Doc: "The answer if no rule matches. Without it such a call fails as `unavailable`."},
		"toolmock.Script.custom_metadata": {Section: section, Doc: "For your own use; simd does not check it."},
		"toolmock.Rule.name":              {Section: section, Doc: "Name in errors. Default: its number."},
		"toolmock.Rule.match":             {Section: section, Doc: "When the rule answers. Default: always."},
		"toolmock.Rule.answer":            {Section: section, Doc: "The answer; this or `answers`."},
		"toolmock.Rule.answers":           {Section: section, MaxItems: 1000, Doc: "One of them is drawn by weight."},
		"toolmock.Rule.latency":           {Section: section, Doc: "How long the tool takes."},
		"toolmock.Rule.failures":          {Section: section, Doc: "How often it fails."},
		"toolmock.Match.tool":             {Section: section, Hint: anyOf, Strict: true, Doc: "Id of the tool: a pattern with `*` and `?`, or a list of them."},
		"toolmock.Match.agent":            {Section: section, Hint: anyOf, Strict: true, Doc: "Instance id of the caller, in the same way."},
		"toolmock.Match.params":           {Section: section, Doc: "Values of parameters, by dotted path. A list holds if one of its elements equals."},
		"toolmock.Match.when":             {Section: section, Doc: "Expression over `tool`, `params`, `agent`, `turn`, `attempt` and `draw`."},
		"toolmock.Match.chance":           {Section: section, Range: probability, Doc: "Probability of matching, drawn last."},
		"toolmock.Answer.weight":          {Section: section, Range: &source.Range{Min: 0, Max: 1e9}, Default: int64(1), Doc: "Weight among several answers."},
		"toolmock.Answer.output":          {Section: section, Doc: "The output: a value whose texts are templates over the names of `when`; `{$expr: …}` is an expression."},
		"toolmock.Answer.fail":            {Section: section, Enum: fails(), Doc: "Kind of the error, in place of an output."},
		"toolmock.Answer.message":         {Section: section, Doc: "Text of the error; a template."},
		"toolmock.Latency.fixed":          {Section: section, Doc: "Always as long."},
		"toolmock.Latency.min":            {Section: section, Doc: "Shortest."},
		"toolmock.Latency.max":            {Section: section, Doc: "Longest."},
		"toolmock.Failures.transient":     {Section: section, Range: probability, Doc: "Of a failure that may pass."},
		"toolmock.Failures.rate_limited":  {Section: section, Range: probability, Doc: "Of a refusal because of too many calls."},
		"toolmock.Failures.timeout":       {Section: section, Range: probability, Doc: "Of no answer."},
		"toolmock.Failures.retry_after":   {Section: section, Doc: "What a refusal asks to wait for."},
	}
}
