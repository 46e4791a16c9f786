package modelfile

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/scripted"
	"tavernsim/protocol"
)

// Kinds are the kinds of model files. A file without a kind is scripted.
func Kinds() []string {
	return slices.Concat([]string{KindScripted}, llm.Protocols(), []string{KindRoute, KindReplay, KindFaulty, KindSurrogate, KindEmbedder, KindStatic})
}

// KindScripted is the kind of a file with rules.
const KindScripted = "scripted"

// Definition is a model file of a kind that asks an endpoint. The kind is the protocol.
type Definition struct {
	SchemaVersion string `json:"schema_version,omitempty"` // "1.0"
	Kind          string `json:"kind"`
	Description   string `json:"description,omitempty"`
	Endpoint      string `json:"endpoint,omitempty"` // default: the kind
	Model         string `json:"model"`
	Context       int    `json:"context,omitempty"`      // tokens that it reads and writes; 0 = nobody says
	Stream        *bool  `json:"stream,omitempty"`       // default true
	ImageTokens   int    `json:"image_tokens,omitempty"` // most tokens of a picture; 0 = it reads none
	Params        Params `json:"params,omitzero"`

	Latency        Latency        `json:"latency,omitzero"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`

	embeds *Embedder // nil = it answers
}

// Asks is the definition by which a model at an endpoint is asked; false = the file is no such
// model.
func Asks(def any) (d *Definition, ok bool) {
	if e, embeds := def.(*Embedder); embeds {
		return e.asks(), true
	}
	d, ok = def.(*Definition)
	return d, ok
}

// Embeds reports whether the model gives vectors, and answers nothing.
func (d *Definition) Embeds() bool { return d.embeds != nil }

// Dimensions of the vectors to ask for; 0 = as the model has them.
func (d *Definition) Dimensions() int { return d.embeds.Dimensions }

// MaxTokens is the most of an answer that no request bounds.
func (d *Definition) MaxTokens() int { return cmp.Or(d.Params.MaxTokens, DefaultMaxTokens) }

// Room is what such an answer leaves of the context to a question, without the twentieth
// that a prompt keeps free.
func (d *Definition) Room() int { return d.Context - d.MaxTokens() - d.Context/20 }

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
	DefaultMaxTokens  = 1024
)

// Of is the latency of an answer with so many tokens that took so long.
func (l *Latency) Of(tokens int64, took time.Duration) time.Duration {
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

// Read gives the definition in a model file, a *scripted.Model or a struct of this
// package by its kind, and reports its faults. nil = it has some.
func Read(file string, data []byte, report *source.Report) (any, *source.Document) {
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
	case KindEmbedder:
		def = &Embedder{}
	case KindStatic:
		def = &Static{}
	default:
		if slices.Contains(llm.Protocols(), kind) {
			def = &Definition{}
			break
		}
		node, _ := doc.Root.Find("kind")
		report.At(doc, node.Pos, "kind", fmt.Sprintf("%q is no kind of model; want %s", protocol.Short(kind, 60), strings.Join(Kinds(), ", ")), source.Suggest(kind, Kinds()))
		return nil, doc
	}
	doc = source.Parse(file, data, source.Limits{}, report)
	d := source.Decoder{Rules: Rules(), Shorthand: map[reflect.Type]string{reflect.TypeFor[Latency](): "mode"}, Report: report}
	if doc == nil || !d.Decode(doc, def) {
		return nil, doc
	}
	if asks, ok := def.(*Definition); ok && (!ownFields(doc, asks, report) || !noLatency(doc, asks, report)) {
		return nil, doc
	}
	if asks, ok := def.(*Definition); ok && asks.Context > 0 && asks.Room() <= 0 {
		node, _ := doc.Root.Find("context")
		report.At(doc, node.Pos, "context", fmt.Sprintf("an answer of %d tokens (params.max_tokens) leaves nothing of a context of %d for the question", asks.MaxTokens(), asks.Context), "lower max_tokens, or raise context")
		return nil, doc
	}
	return def, doc
}

// ownFields reports what params.extra may not have; false = there is some.
func ownFields(doc *source.Document, d *Definition, report *source.Report) (ok bool) {
	ok = true
	for _, name := range protocol.SortedKeys(d.Params.Extra) {
		if protocol.OwnField(name) {
			node, _ := doc.Root.Find("params", "extra", name)
			report.At(doc, node.Pos, "params.extra."+name, "simd writes the field "+name+" itself, and budgets and records depend on it", "remove it, and use a field of the model file, of params or of the node")
			ok = false
		}
	}
	return ok
}

// noLatency reports times that are all zero, which older programs took for the defaults; false = it is a fault.
func noLatency(doc *source.Document, d *Definition, report *source.Report) bool {
	if d.Latency.FirstToken != 0 || d.Latency.PerToken != 0 || d.Latency.Mode == none || d.Latency.Mode == measured {
		return true
	}
	before := report.Total()
	for _, field := range []string{"first_token", "per_token"} {
		if node, found := doc.Root.Find("latency", field); found == 2 && node.Kind != source.Null {
			report.Older(doc, node.Pos, "latency."+field, "with 0s alone the latency is the default", "write latency: none, or leave it out for the default")
		}
	}
	return report.Total() == before
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
		"modelfile.Definition.schema_version":  {Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"modelfile.Definition.kind":            {Required: true, Enum: llm.Protocols(), Doc: "Protocol of the endpoint: `openai` (chat completions) or `anthropic` (messages)."},
		"modelfile.Definition.description":     {Doc: "For your own use."},
		"modelfile.Definition.endpoint":        {Doc: "Name of the endpoint in the user's file. Default: the kind."},
		"modelfile.Definition.model":           {Required: true, Doc: "The model, as the endpoint calls it."},
		"modelfile.Definition.context":         {Range: &source.Range{Min: 256, Max: 100_000_000}, Doc: "Tokens that the model reads and writes at most. [Prompts](prompt.md#budget) are assembled within them, and a request with more fails before it leaves."},
		"modelfile.Definition.image_tokens":    {Doc: "The most tokens that one picture of a message takes, as the model's provider says. 0: the model reads no pictures.", Range: &source.Range{Min: 0, Max: 1_000_000}},
		"modelfile.Definition.stream":          {Doc: "Ask for the answer in parts, so that silence is noticed. Default true.", Default: true},
		"modelfile.Definition.params":          {Doc: "For requests that do not set them."},
		"modelfile.Definition.latency":         {Doc: "What an answer takes on the virtual clock: `modelled`, `none`, `measured`, or an object."},
		"modelfile.Definition.custom_metadata": {Doc: "For your own use; simd does not check it."},
		"modelfile.Params.temperature":         {Range: &source.Range{Min: 0, Max: 2}, Doc: "How freely the model chooses. Default: the endpoint's."},
		"modelfile.Params.top_p":               {Range: &source.Range{Min: 0, Max: 1}, Doc: "Share of the likely tokens to choose from. Default: the endpoint's."},
		"modelfile.Params.max_tokens":          {Range: &source.Range{Min: 1, Max: 10_000_000}, Strict: true, Doc: "Most tokens of an answer; always sent. A request that sets its own (`maxTokens` of a node, `prompt.output` of a profile) replaces it.", Default: int64(DefaultMaxTokens)},
		"modelfile.Params.seed":                {Doc: "Seed for endpoints that take one."},
		"modelfile.Params.stop":                {MaxItems: 16, Doc: "Texts that end the answer."},
		"modelfile.Params.effort":              {Enum: []string{"minimal", "low", "medium", "high"}, Doc: "Effort of reasoning."},
		"modelfile.Params.parallel":            {Doc: "Whether one answer may have several calls. Default: the endpoint's."},
		"modelfile.Params.extra":               {MaxItems: 64, Doc: "Fields of the endpoint's own, sent as they are; they replace others of the same name. Fields that simd writes itself (below) are refused."},
		"modelfile.Latency.mode":               {Enum: []string{modelled, none, measured}, Doc: "How the latency is found: computed, 0, or what the answer took. `measured` makes two runs differ.", Default: modelled},
		"modelfile.Latency.first_token":        {Range: span, Doc: "To the first token, if it is modelled. Default 500ms; with `per_token` alone 0.", Default: "500ms"},
		"modelfile.Latency.per_token":          {Range: span, Doc: "For each token of the answer, if it is modelled. Default 20ms; with `first_token` alone 0.", Default: "20ms"},
	}
	maps.Copy(rules, severalRules())
	maps.Copy(rules, vectorRules())
	return rules
}
