package models

import (
	"maps"
	"reflect"
	"time"

	"tavernsim/internal/source"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// Kinds are the kinds of model files. A file without a kind is scripted.
func Kinds() []string {
	return []string{KindScripted, protocolOpenAI, protocolAnthropic, KindRoute, KindReplay, KindFaulty, KindSurrogate}
}

// KindScripted is the kind of a file with rules.
const KindScripted = "scripted"

const (
	protocolOpenAI    = "openai"
	protocolAnthropic = "anthropic"
)

// Definition is a model file of a kind that asks an endpoint. The kind is the protocol.
type Definition struct {
	SchemaVersion string `json:"schema_version,omitempty"` // "1.0"
	Kind          string `json:"kind"`
	Description   string `json:"description,omitempty"`
	Endpoint      string `json:"endpoint,omitempty"` // default: the kind
	Model         string `json:"model"`
	Stream        *bool  `json:"stream,omitempty"` // default true
	Params        Params `json:"params,omitzero"`

	Latency        Latency        `json:"latency,omitzero"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// Params hold for requests that do not set them.
type Params struct {
	Temperature *float64       `json:"temperature,omitempty"`
	TopP        *float64       `json:"top_p,omitempty"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
	Seed        *int64         `json:"seed,omitempty"`
	Stop        []string       `json:"stop,omitempty"`
	Effort      string         `json:"effort,omitempty"`
	Parallel    *bool          `json:"parallel,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// Latency is what an answer takes on the virtual clock. In a file a bare text is its
// mode.
type Latency struct {
	Mode       string            `json:"mode,omitempty"` // modelled, none, measured
	FirstToken protocol.Duration `json:"first_token,omitempty"`
	PerToken   protocol.Duration `json:"per_token,omitempty"`
}

const (
	modelled = "modelled"
	none     = "none"
	measured = "measured"

	defaultFirstToken = 500 * time.Millisecond
	defaultPerToken   = 20 * time.Millisecond
	defaultMaxTokens  = 1024
)

// of is the latency of an answer with so many tokens that took so long.
func (l *Latency) of(tokens int64, took time.Duration) time.Duration {
	switch l.Mode {
	case none:
		return 0
	case measured:
		return took
	}
	first, per := l.FirstToken.Std(), l.PerToken.Std()
	if first == 0 && per == 0 {
		first, per = defaultFirstToken, defaultPerToken
	}
	return first + per*time.Duration(min(tokens, 1<<30))
}

// Read reads a model file of any kind and reports its faults and whether there are
// none. [Check] reports what files say of each other.
func Read(file string, data []byte, report *source.Report) bool {
	def, _ := read(file, data, report)
	return def != nil
}

// read gives the definition in a model file: a *scripted.Model, or a struct of this
// package by its kind. nil = it has faults.
func read(file string, data []byte, report *source.Report) (any, *source.Document) {
	kind, doc := kindOf(file, data)
	var def any
	switch kind {
	case KindScripted:
		if m := scripted.Read(file, data, report); m != nil {
			return m, doc
		}
		return nil, doc
	case KindRoute:
		def = &Route{}
	case KindReplay:
		def = &Replay{}
	case KindFaulty:
		def = &Faulty{}
	case KindSurrogate:
		def = &Surrogate{}
	case protocolOpenAI, protocolAnthropic:
		def = &Definition{}
	default:
		node, _ := doc.Root.Find("kind")
		report.At(doc, node.Pos, "kind", "unknown kind of model "+kind, source.Suggest(kind, Kinds()))
		return nil, doc
	}
	doc = source.Parse(file, data, source.Limits{}, report)
	d := source.Decoder{Rules: Rules(), Shorthand: map[reflect.Type]string{reflect.TypeFor[Latency](): "mode"}, Report: report}
	if doc == nil || !d.Decode(doc, def) {
		return nil, doc
	}
	return def, doc
}

// kindOf finds the kind of a model file. A file that cannot be parsed is read as a
// script, whose reader reports why.
func kindOf(file string, data []byte) (string, *source.Document) {
	doc := source.Parse(file, data, source.Limits{}, &source.Report{})
	if doc == nil {
		return KindScripted, nil
	}
	node, found := doc.Root.Find("kind")
	if kind, ok := node.Value().(string); found == 1 && ok {
		return kind, doc
	}
	return KindScripted, doc
}

// Rules say about the fields of a model file what their types do not.
func Rules() source.Rules {
	span := &source.Range{Min: 0, Max: 86_400}
	rules := source.Rules{
		"models.Definition.schema_version":  {Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"models.Definition.kind":            {Required: true, Enum: []string{protocolOpenAI, protocolAnthropic}, Doc: "Protocol of the endpoint: `openai` (chat completions) or `anthropic` (messages)."},
		"models.Definition.description":     {Doc: "For your own use."},
		"models.Definition.endpoint":        {Doc: "Name of the endpoint in the user's file. Default: the kind."},
		"models.Definition.model":           {Required: true, Doc: "The model, as the endpoint calls it."},
		"models.Definition.stream":          {Doc: "Ask for the answer in parts, so that silence is noticed. Default true.", Default: true},
		"models.Definition.params":          {Doc: "For requests that do not set them."},
		"models.Definition.latency":         {Doc: "What an answer takes on the virtual clock: `modelled`, `none`, `measured`, or an object."},
		"models.Definition.custom_metadata": {Doc: "For your own use; simd does not check it."},
		"models.Params.temperature":         {Range: &source.Range{Min: 0, Max: 2}, Doc: "How freely the model chooses. Default: the endpoint's."},
		"models.Params.top_p":               {Range: &source.Range{Min: 0, Max: 1}, Doc: "Share of the likely tokens to choose from. Default: the endpoint's."},
		"models.Params.max_tokens":          {Range: &source.Range{Min: 0, Max: 10_000_000}, Doc: "Most tokens of an answer; always sent.", Default: int64(defaultMaxTokens)},
		"models.Params.seed":                {Doc: "Seed for endpoints that take one."},
		"models.Params.stop":                {MaxItems: 16, Doc: "Texts that end the answer."},
		"models.Params.effort":              {Enum: []string{"minimal", "low", "medium", "high"}, Doc: "Effort of reasoning."},
		"models.Params.parallel":            {Doc: "Whether one answer may have several calls. Default: the endpoint's."},
		"models.Params.extra":               {MaxItems: 64, Doc: "Fields of the endpoint's own, sent as they are; they replace others of the same name."},
		"models.Latency.mode":               {Enum: []string{modelled, none, measured}, Doc: "How the latency is found: computed, 0, or what the answer took. `measured` makes two runs differ.", Default: modelled},
		"models.Latency.first_token":        {Range: span, Doc: "To the first token, if it is modelled. Default 500ms; with `per_token` alone 0.", Default: "500ms"},
		"models.Latency.per_token":          {Range: span, Doc: "For each token of the answer, if it is modelled. Default 20ms; with `first_token` alone 0.", Default: "20ms"},
	}
	maps.Copy(rules, severalRules())
	return rules
}
