package modelfile

import (
	"tavernsim/engine/knowledge/vector"
	"tavernsim/internal/source"
	"tavernsim/llm"
)

// Kinds of files that give vectors and answer nothing.
const (
	KindEmbedder = "embedder"
	KindStatic   = "static"
)

// Embedder is a model file of a model at an endpoint that gives vectors.
type Embedder struct {
	SchemaVersion  string         `json:"schema_version,omitempty"` // "1.0"
	Kind           string         `json:"kind"`
	Description    string         `json:"description,omitempty"`
	Endpoint       string         `json:"endpoint,omitempty"` // default: openai
	Model          string         `json:"model"`
	Dimensions     int            `json:"dimensions,omitempty"` // 0 = as the model has them
	Latency        Latency        `json:"latency,omitzero"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// Static is a model file that computes vectors out of those of words.
type Static struct {
	SchemaVersion  string         `json:"schema_version,omitempty"` // "1.0"
	Kind           string         `json:"kind"`
	Description    string         `json:"description,omitempty"`
	Words          string         `json:"words"` // path of a file in the project
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// asks is the definition by which the model is asked: at temperature 0, because the same text
// has the same vector.
func (e *Embedder) asks() *Definition {
	zero := 0.0
	d := &Definition{Kind: llm.OpenAI, Endpoint: e.Endpoint, Model: e.Model, Latency: e.Latency, embeds: e}
	d.Params.Temperature = &zero
	if e.Dimensions > 0 {
		d.Params.Extra = map[string]any{"dimensions": int64(e.Dimensions)}
	}
	if d.Latency.Mode == "" && d.Latency.FirstToken == 0 && d.Latency.PerToken == 0 {
		d.Latency.Mode = none
	}
	return d
}

func vectorRules() source.Rules {
	rules := source.Rules{
		"modelfile.Embedder.kind":       {Required: true, Enum: []string{KindEmbedder}, Doc: "`embedder`: a model at an endpoint of the protocol `openai` gives vectors."},
		"modelfile.Embedder.endpoint":   {Doc: "Name of the endpoint in the user's file. Default: `openai`."},
		"modelfile.Embedder.model":      {Required: true, Doc: "The model, as the endpoint calls it."},
		"modelfile.Embedder.dimensions": {Range: &source.Range{Min: 0, Max: vector.MaxDimensions}, Doc: "Dimensions to ask for, if the model can give fewer than it has. 0: as it has them.", Default: int64(0)},
		"modelfile.Embedder.latency":    {Doc: "What an answer takes on the virtual clock, as for other models. Default `none`."},
		"modelfile.Static.kind":         {Required: true, Enum: []string{KindStatic}, Doc: "`static`: a text has the mean of the vectors of its words."},
		"modelfile.Static.words":        {Required: true, Doc: "File of word vectors below `models/`, a path within the project: in each line a word and its numbers."},
	}
	for _, typ := range []string{"Embedder", "Static"} {
		rules["modelfile."+typ+".schema_version"] = source.Rule{Enum: []string{"1.0"}, Doc: "Version of this file format."}
		rules["modelfile."+typ+".description"] = source.Rule{Doc: "For your own use."}
		rules["modelfile."+typ+".custom_metadata"] = source.Rule{Doc: "For your own use; simd does not check it."}
	}
	return rules
}
