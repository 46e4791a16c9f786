package modelfile

import (
	"maps"
	"slices"

	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/faulty"
	"tavernsim/protocol"
)

// Kinds of files that answer by other models of the project.
const (
	KindRoute  = "route"
	KindReplay = "replay"
	KindFaulty = "faulty"

	KindSurrogate = "surrogate"
)

// Route is a model file that chooses among others.
type Route struct {
	SchemaVersion  string            `json:"schema_version,omitempty"` // "1.0"
	Kind           string            `json:"kind"`
	Description    string            `json:"description,omitempty"`
	Route          []Choice          `json:"route"`
	Fallback       []Fallback        `json:"fallback,omitempty"`
	Patience       protocol.Duration `json:"patience,omitempty"`
	CustomMetadata map[string]any    `json:"custom_metadata,omitempty"`
}

// Choice is one entry of a route.
type Choice struct {
	When string `json:"when,omitempty"` // expression; "" = always
	Use  string `json:"use"`            // name of a model
}

// Fallback is a model that is asked after another one has failed.
type Fallback struct {
	On  []llm.Outcome `json:"on,omitempty"` // default defaultFallback
	Use string        `json:"use"`
}

// Replay is a model file that answers by recorded answers.
type Replay struct {
	SchemaVersion  string         `json:"schema_version,omitempty"` // "1.0"
	Kind           string         `json:"kind"`
	Description    string         `json:"description,omitempty"`
	Answers        string         `json:"answers"` // path of a cassette in the project
	Model          string         `json:"model"`
	OnMiss         string         `json:"on_miss,omitempty"` // ask, fail
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// Faulty is a model file that makes the answers of another model bad.
type Faulty struct {
	SchemaVersion  string         `json:"schema_version,omitempty"` // "1.0"
	Kind           string         `json:"kind"`
	Description    string         `json:"description,omitempty"`
	Model          string         `json:"model"`
	Faults         faulty.Faults  `json:"faults"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

// Surrogate is a model file that answers by the nearest recorded decision.
type Surrogate struct {
	SchemaVersion  string         `json:"schema_version,omitempty"` // "1.0"
	Kind           string         `json:"kind"`
	Description    string         `json:"description,omitempty"`
	Answers        string         `json:"answers"` // path of a cassette in the project
	Model          string         `json:"model"`
	Distance       *float64       `json:"distance,omitempty"`
	Audit          float64        `json:"audit,omitempty"`
	CustomMetadata map[string]any `json:"custom_metadata,omitempty"`
}

const (
	MissAsk  = "ask"
	MissFail = "fail"

	DefaultDistance = 0.2

	maxEntries = 64 // of route and of fallback
	MaxDepth   = 8  // of models in each other
	MaxPlan    = 64 // models that one request may come to
)

// mayFallBack are the outcomes that a fallback may be for.
func mayFallBack() []llm.Outcome {
	return []llm.Outcome{
		llm.OutcomeRateLimited, llm.OutcomeQuota, llm.OutcomeAuth, llm.OutcomeTimeout, llm.OutcomeServerError, llm.OutcomeTruncated,
		llm.OutcomeUnavailable, llm.OutcomeBudget, llm.OutcomeContext, llm.OutcomeBadOutput, llm.OutcomeBadRequest,
	}
}

// defaultFallback are those of a fallback that names none: the endpoint does not answer.
func defaultFallback() []llm.Outcome { return mayFallBack()[:8] }

// Takes reports whether the fallback is for an outcome.
func (f *Fallback) Takes(o llm.Outcome) bool {
	if len(f.On) == 0 {
		return slices.Contains(defaultFallback(), o)
	}
	return slices.Contains(f.On, o)
}

// severalRules are those of the files that answer by other models.
func severalRules() source.Rules {
	var outcomes []string
	for _, o := range mayFallBack() {
		outcomes = append(outcomes, string(o))
	}
	rules := source.Rules{
		"modelfile.Route.kind":         {Required: true, Enum: []string{KindRoute}, Doc: "`route`: another model of the project answers."},
		"modelfile.Route.route":        {Required: true, MaxItems: maxEntries, Doc: "The first entry whose condition holds answers. The last one has none."},
		"modelfile.Route.fallback":     {MaxItems: maxEntries, Doc: "Who answers after a failure; of several the first that is for it."},
		"modelfile.Route.patience":     {Range: &source.Range{Max: 3600, Open: true}, Strict: true, Doc: "How long a request may wait at the gate of a model that has a fallback; then it has failed as `timeout`. Default 1h."},
		"modelfile.Choice.when":        {Doc: "[Condition](#conditions). Default: always."},
		"modelfile.Choice.use":         {Required: true, Doc: "Name of a model of the project."},
		"modelfile.Fallback.on":        {Enum: outcomes, MaxItems: maxEntries, Strict: true, Doc: "Outcomes that it is for. Default: all but `context`, `bad_output`, `bad_request`."},
		"modelfile.Fallback.use":       {Required: true, Doc: "Name of a model of the project."},
		"modelfile.Replay.kind":        {Required: true, Enum: []string{KindReplay}, Doc: "`replay`: recorded answers."},
		"modelfile.Replay.answers":     {Required: true, Doc: "[Cassette](cassette.md), a path within the project."},
		"modelfile.Replay.model":       {Required: true, Doc: "Name of the model whose answers are recorded."},
		"modelfile.Replay.on_miss":     {Enum: []string{MissAsk, MissFail}, Doc: "What becomes of a question without a recorded answer: the model is asked, or the request fails.", Default: MissFail},
		"modelfile.Surrogate.kind":     {Required: true, Enum: []string{KindSurrogate}, Doc: "`surrogate`: the nearest recorded decision answers."},
		"modelfile.Surrogate.answers":  {Required: true, Doc: "[Cassette](cassette.md) with situations, a path within the project."},
		"modelfile.Surrogate.model":    {Required: true, Doc: "Name of the model that answers if no decision is near enough, and in audits."},
		"modelfile.Surrogate.distance": {Range: &source.Range{Min: 0, Max: 1}, Doc: "How far the situation of a decision may be: 0 (the same words) to 1 (no word in common). Default 0.2.", Default: DefaultDistance},
		"modelfile.Surrogate.audit":    {Range: &source.Range{Min: 0, Max: 1}, Doc: "Share of the surrogate's answers in whose place the model is asked, to compare them.", Default: 0.0},
		"modelfile.Faulty.kind":        {Required: true, Enum: []string{KindFaulty}, Doc: "`faulty`: a model whose answers are made bad."},
		"modelfile.Faulty.model":       {Required: true, Doc: "Name of the model that answers."},
		"modelfile.Faulty.faults":      {Required: true, Doc: "How often which fault happens."},
	}
	for _, typ := range []string{"Route", "Replay", "Faulty", "Surrogate"} {
		rules["modelfile."+typ+".schema_version"] = source.Rule{Enum: []string{"1.0"}, Doc: "Version of this file format."}
		rules["modelfile."+typ+".description"] = source.Rule{Doc: "For your own use."}
		rules["modelfile."+typ+".custom_metadata"] = source.Rule{Doc: "For your own use; simd does not check it."}
	}
	maps.Copy(rules, faulty.Rules())
	return rules
}
