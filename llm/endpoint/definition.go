package endpoint

import (
	"maps"
	"reflect"
	"strings"

	"tavernsim/engine/budget"
	"tavernsim/internal/source"
	"tavernsim/llm"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// File is a user's file of endpoints.
type File struct {
	SchemaVersion  string                `json:"schema_version,omitempty"` // "1.0"
	Endpoints      map[string]Definition `json:"endpoints"`
	CustomMetadata map[string]any        `json:"custom_metadata,omitempty"` // free; never checked
}

// Definition is one endpoint. What it leaves out comes from its preset.
type Definition struct {
	Preset   string            `json:"preset,omitempty"`
	Protocol string            `json:"protocol,omitempty"` // one of llm.Protocols
	BaseURL  string            `json:"base_url,omitempty"`
	Auth     string            `json:"auth,omitempty"` // "bearer", "none", or the name of a header
	KeyFile  string            `json:"key_file,omitempty"`
	KeyEnv   string            `json:"key_env,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Query    map[string]string `json:"query,omitempty"`
	Public   []string          `json:"public,omitempty"` // names of Headers and Query whose values are no secrets
	CAFile   string            `json:"ca_file,omitempty"`
	Models   map[string]string `json:"models,omitempty"`     // the endpoint's names of models, by those of projects
	Embed    string            `json:"embeddings,omitempty"` // model that gives vectors; "" = none
	Timeouts Timeouts          `json:"timeouts,omitzero"`
	Limits   Limits            `json:"limits,omitzero"`
	Dialect  Dialect           `json:"dialect,omitzero"`
	Prices   price.List        `json:"prices,omitempty"` // by the endpoint's names of models
	Free     *bool             `json:"free,omitempty"`   // models without a price of their own cost nothing
	Budget   *budget.Budget    `json:"budget,omitempty"` // what it may take, a run or a day of the wall clock
}

// Timeouts bound the parts of a request. The time-out of a workflow's node shortens
// the whole.
type Timeouts struct {
	Connect   protocol.Duration `json:"connect,omitempty"`    // default 5s
	FirstByte protocol.Duration `json:"first_byte,omitempty"` // of a stream; default 60s
	Silence   protocol.Duration `json:"silence,omitempty"`    // between two parts of a stream; default 30s
	Whole     protocol.Duration `json:"whole,omitempty"`      // default 10m
}

// Limits are what the endpoint allows all scenes of the process together.
type Limits struct {
	RequestsPerMinute int64 `json:"requests_per_minute,omitempty"` // 0 = no limit
	TokensPerMinute   int64 `json:"tokens_per_minute,omitempty"`   // 0 = no limit
	MaxConcurrency    int   `json:"max_concurrency,omitempty"`
	Adaptive          *bool `json:"adaptive,omitempty"` // begin with 8 requests at once and learn how many it takes
}

// Dialect is how servers of one protocol differ.
type Dialect struct {
	MaxTokens   string   `json:"max_tokens,omitempty"`   // field with the limit of the answer
	Reasoning   []string `json:"reasoning,omitempty"`    // fields of an answer that may have the reasoning
	Effort      string   `json:"effort,omitempty"`       // field for the effort of reasoning; "none" = there is none
	Schema      string   `json:"schema,omitempty"`       // "json_schema", "json_object" (without the schema) or "none"
	StreamUsage *bool    `json:"stream_usage,omitempty"` // ask for the tokens of a stream
}

// Presets are the endpoints that the program knows. A field that is given wins.
func Presets() map[string]Definition {
	no, yes := new(bool), new(bool)
	*yes = true
	cloud, local := Limits{MaxConcurrency: 64, Adaptive: yes}, Limits{MaxConcurrency: 10_000, Adaptive: no}
	reasoning := []string{"reasoning_content", "reasoning"}
	plain := Dialect{MaxTokens: "max_tokens", Reasoning: reasoning, Effort: "reasoning_effort", Schema: "json_schema", StreamUsage: yes}
	newer := plain
	newer.MaxTokens = "max_completion_tokens"
	nested := plain
	nested.Effort = "reasoning.effort"
	return map[string]Definition{
		"openai":     {Protocol: "openai", BaseURL: "https://api.openai.com/v1", Auth: "bearer", KeyEnv: "OPENAI_API_KEY", Limits: cloud, Dialect: newer},
		"openrouter": {Protocol: "openai", BaseURL: "https://openrouter.ai/api/v1", Auth: "bearer", KeyEnv: "OPENROUTER_API_KEY", Limits: cloud, Dialect: nested},
		"azure":      {Protocol: "openai", Auth: "api-key", KeyEnv: "AZURE_OPENAI_API_KEY", Limits: cloud, Dialect: newer},
		"vllm":       {Protocol: "openai", BaseURL: "http://127.0.0.1:8000/v1", Auth: "none", Limits: local, Dialect: plain, Free: yes},
		"llamacpp":   {Protocol: "openai", BaseURL: "http://127.0.0.1:8080/v1", Auth: "none", Limits: local, Dialect: plain, Free: yes},
		"ollama":     {Protocol: "openai", BaseURL: "http://127.0.0.1:11434/v1", Auth: "none", Limits: local, Dialect: plain, Free: yes},
		"anthropic": {Protocol: "anthropic", BaseURL: "https://api.anthropic.com/v1", Auth: "x-api-key", KeyEnv: "ANTHROPIC_API_KEY",
			Headers: map[string]string{"anthropic-version": "2023-06-01"}, Limits: cloud},
	}
}

// PresetNames are the names of the presets, in order.
func PresetNames() []string { return protocol.SortedKeys(Presets()) }

// whole is the definition with everything that its preset and the defaults add.
func (d Definition) whole() Definition {
	p, known := Presets()[d.Preset]
	if !known {
		p = Presets()["vllm"]
		p.BaseURL, p.Auth, p.Free = "", "", nil
	}
	if d.KeyFile != "" || d.KeyEnv != "" {
		p.KeyEnv, p.Free = "", nil // a server with a key may send bills
		if p.Auth == "none" || p.Auth == "" {
			p.Auth = "bearer"
		}
	}
	headers := maps.Clone(p.Headers)
	for name, v := range d.Headers {
		maps.DeleteFunc(headers, func(of, _ string) bool { return strings.EqualFold(of, name) })
		if headers == nil {
			headers = map[string]string{}
		}
		headers[name] = v
	}
	overlay(reflect.ValueOf(&d).Elem(), reflect.ValueOf(p))
	d.Headers = headers
	if word := strings.ToLower(d.Auth); word == "bearer" || word == "none" {
		d.Auth = word
	}
	overlay(reflect.ValueOf(&d.Timeouts).Elem(), reflect.ValueOf(Timeouts{
		Connect: protocol.Duration(defaultConnect), FirstByte: protocol.Duration(defaultFirstByte), Silence: protocol.Duration(defaultSilence), Whole: protocol.Duration(defaultWhole),
	}))
	return d
}

// overlay fills the zero fields of a struct from another of its type.
func overlay(to, from reflect.Value) {
	for i := range to.NumField() {
		switch f := to.Field(i); {
		case f.Kind() == reflect.Struct:
			overlay(f, from.Field(i))
		case f.IsZero():
			f.Set(from.Field(i))
		}
	}
}

// Rules say about the fields of the file, and of the prices in it, what their types do not.
func Rules() source.Rules {
	span := &source.Range{Min: 0, Max: 86_400, Open: true}
	count := &source.Range{Min: 0, Max: 1e9}
	rules := source.Rules{
		"endpoint.File.schema_version":        {Enum: []string{"1.0"}, Doc: "Version of this file format."},
		"endpoint.File.endpoints":             {Required: true, MaxItems: 1000, Doc: "Endpoints by the names that model files use."},
		"endpoint.File.custom_metadata":       {Doc: "For your own use; simd does not check it."},
		"endpoint.Definition.preset":          {Enum: PresetNames(), Doc: "Known endpoint whose values the other fields replace."},
		"endpoint.Definition.protocol":        {Enum: llm.Protocols(), Doc: "What the server speaks: `openai` (chat completions) or `anthropic` (messages).", Default: llm.OpenAI},
		"endpoint.Definition.base_url":        {Doc: "Address up to the version, http or https, without parameters: `https://api.example.com/v1`. Default: the preset's."},
		"endpoint.Definition.auth":            {Doc: "How the key is sent: `bearer`, `none`, or the name of a header. Default: the preset's; with a key `bearer`, else `none`."},
		"endpoint.Definition.key_file":        {Doc: "File with the key, at most 64 KiB; relative to this file, `~/` is your home. Its first line counts."},
		"endpoint.Definition.key_env":         {Doc: "Environment variable with the key, if there is no key file. Default: the preset's."},
		"endpoint.Definition.headers":         {MaxItems: 64, Doc: "Further headers of every request, but for those that [simd decides itself](#what-a-run-keeps)."},
		"endpoint.Definition.query":           {MaxItems: 64, Doc: "Parameters in the address of every request, for example `api-version`."},
		"endpoint.Definition.public":          {MaxItems: 128, Doc: "Names of `headers` and of parameters in `query` whose values are no secrets ([what is one](#secrets))."},
		"endpoint.Definition.ca_file":         {Doc: "PEM file with the certificates that the server's is signed with; relative to this file, `~/` is your home. Default: the system's."},
		"endpoint.Definition.models":          {MaxItems: 10_000, Doc: "What this endpoint calls a model that a project names otherwise: `gpt-5-mini: llama3.2`."},
		"endpoint.Definition.embeddings":      {Doc: "Model of this endpoint that turns texts into vectors, for the protocol `openai`. `simd doctor models` tries it; models of the kind [`embedder`](#vectors) name theirs."},
		"endpoint.Definition.timeouts":        {Doc: "Bounds of a request."},
		"endpoint.Definition.limits":          {Doc: "What the endpoint allows all scenes of the process together."},
		"endpoint.Definition.dialect":         {Doc: "How this server differs from others of its protocol."},
		"endpoint.Definition.prices":          {MaxItems: 10_000, Doc: "Prices of models, by the endpoint's names; `*` stands for any characters. They replace those that simd knows."},
		"endpoint.Definition.free":            {Doc: "Models without a price in `prices` cost nothing. Default: true for `ollama`, `vllm`, `llamacpp` without a key, else false."},
		"endpoint.Definition.budget":          {Doc: "What may be spent at this endpoint: see [budgets](#budgets)."},
		"budget.Budget.tokens":                {Range: &source.Range{Min: 1, Max: budget.MaxTokens}, Doc: "Most tokens, in and out."},
		"budget.Budget.dollars":               {Range: &source.Range{Min: 0, Max: budget.MaxDollars, Open: true}, Doc: "Most dollars. A model without a price is not asked."},
		"budget.Budget.calls":                 {Range: &source.Range{Min: 1, Max: budget.MaxCalls}, Doc: "Most answers."},
		"budget.Budget.window":                {Enum: []string{budget.WindowRun, budget.WindowDay}, Default: budget.WindowRun, Doc: "`run`: each run by itself. `day`: all runs of all processes together, each day of the wall clock (UTC)."},
		"budget.Budget.on_exhausted":          {Default: budget.Refuse, Doc: "`refuse`, `pause` or `end`: what happens when a request does not fit and no [route](#routes) has another model for it. It fails; with `pause` or `end` the scene also pauses or ends after the wave."},
		"endpoint.Timeouts.connect":           {Range: span, Doc: "To connect.", Default: "5s"},
		"endpoint.Timeouts.first_byte":        {Range: span, Doc: "To the first byte of a stream.", Default: "1m"},
		"endpoint.Timeouts.silence":           {Range: span, Doc: "Between two parts of a stream.", Default: "30s"},
		"endpoint.Timeouts.whole":             {Range: span, Doc: "For the whole request; a node's `timeout` shortens it.", Default: "10m"},
		"endpoint.Limits.requests_per_minute": {Range: count, Doc: "Requests per minute; 0 = no limit."},
		"endpoint.Limits.tokens_per_minute":   {Range: count, Doc: "Tokens per minute, of questions and answers; 0 = no limit."},
		"endpoint.Limits.max_concurrency":     {Range: &source.Range{Max: 100_000}, Doc: "Requests at once; 0 = the default. Default: 64 for services, 10,000 for servers of your own."},
		"endpoint.Limits.adaptive":            {Doc: "Begin with 8 requests at once and learn how many the endpoint takes. Default: the preset's; without one false."},
		"endpoint.Dialect.max_tokens":         {Enum: []string{"max_tokens", "max_completion_tokens"}, Doc: "Field with the limit of the answer: `max_tokens` or `max_completion_tokens`."},
		"endpoint.Dialect.reasoning":          {MaxItems: 8, Enum: []string{"reasoning_content", "reasoning"}, Doc: "Fields of an answer that may have the reasoning; the first that is there counts."},
		"endpoint.Dialect.effort":             {Enum: []string{"reasoning_effort", "reasoning.effort", "none"}, Doc: "Field for the effort of reasoning; `none` if the server has none."},
		"endpoint.Dialect.schema":             {Enum: []string{"json_schema", "json_object", "none"}, Doc: "How a JSON answer is asked for: with its schema, without, or in the prompt alone."},
		"endpoint.Dialect.stream_usage":       {Doc: "Ask for the tokens of a stream."},
	}
	maps.Copy(rules, price.Rules())
	return rules
}
