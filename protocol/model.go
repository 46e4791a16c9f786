package protocol

import (
	"slices"
	"strings"
	"time"
)

// Role is the author of a model message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// ModelMessage is one message of a conversation with a model.
type ModelMessage struct {
	Role   Role
	Text   string
	Calls  []Call  // of an assistant
	CallID string  // of a tool's answer: the call it answers
	Images []Image // of a user or a tool, after the text; rare
}

// Image is a picture in a message. It is named, not held: its bytes are read when the model
// is asked. What names it is part of the question, so it says which bytes they are.
type Image struct {
	URI    string // fam://MOUNT/path, artifact:sha256-… or data:…;base64,…
	Type   string // media type (picture.Types)
	SHA256 string // of the bytes, in lower hexadecimal; "" = the URI says it, or holds them
	Found  bool   // a call has brought it: a model that reads no pictures does without
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  any // JSON Schema, a value
}

// Purpose says for what an answer is asked.
type Purpose string

const (
	PurposeDeliberate Purpose = "deliberate" // the core workflow
	PurposeReflect    Purpose = "reflect"
	PurposeSkill      Purpose = "skill"
	PurposeJudge      Purpose = "judge"     // a node says so
	PurposeSummarise  Purpose = "summarise" // a node says so

	// PurposeEmbed is no answer of words: each message is a text, and the answer's text has
	// their vectors (vector.Pack). The engine asks so, no node does.
	PurposeEmbed Purpose = "embed"
)

// Purposes are all of them that ask for words.
func Purposes() []Purpose {
	return []Purpose{PurposeDeliberate, PurposeReflect, PurposeSkill, PurposeJudge, PurposeSummarise}
}

// ModelRequest asks a model for one answer. What identifies the asker (Scene,
// Agent, Profile), the purpose and Variables are not sent to real models: the
// scripted model matches on them, records and budgets are kept by them.
type ModelRequest struct {
	Model       string // "" = the project's default
	Messages    []ModelMessage
	Tools       []ToolSpec
	MaxTokens   int      // 0 = the provider's default
	Cap         int      // lowers MaxTokens, also the provider's; 0 = no cap
	Share       int64    // of the slots of an endpoint, in thousandths, for all agents of the profile together; 0 = any
	Temperature *float64 // nil = the provider's default
	Stop        []string
	JSON        bool          // the answer must be a JSON document
	Timeout     time.Duration // 0 = the provider's default
	Options     *ModelOptions // nil = none; shared, read-only

	Purpose   Purpose
	Scene     string
	Agent     string // instance id
	Turn      uint64 // of the agent, from 1
	Number    int64  // of the request in the turn, from 1
	Profile   string
	Variables map[string]any // what the prompt was made of, by name
	Events    []string       // types of the events this deliberation perceives
	Now       Time
	Draw      Draw // chance for providers that simulate
	// BudgetUsed is how much of the tightest budget of the agent was used when its wave
	// began: 0 (nothing, or there is no budget) to 1.
	BudgetUsed float64

	// Asker shows what conditions of models read of the agent, while the request is being
	// made; then it is nil.
	Asker  interface{ Lookup(root string) (any, bool) }
	Chosen any // what a provider with several models keeps here (llm.Router)
	// Picture reads an image of a message. The shell sets it; nil = there is none to read.
	Picture func(*Image) ([]byte, error) `json:"-"`
	Attempt int64                        // number of the shell's attempt, from 1; 0 = it does not count them
}

// ModelOptions are what few requests set. A zero field leaves the choice to the
// provider.
type ModelOptions struct {
	TopP       *float64
	Seed       *int64
	Effort     string         // of reasoning: "minimal", "low", "medium", "high"
	Schema     any            // JSON Schema of the answer, a value; JSON is set
	ToolChoice string         // "auto", "none", "required", or the name of one tool
	Parallel   *bool          // may one answer have several calls
	Extra      map[string]any // fields of the endpoint's own, by their names; a value; none is an OwnField
}

// OwnField reports whether [ModelOptions.Extra] must not have a field: a request says it in a field of its own, or
// its bound, the reading of its answer or its place in records depends on it: more answers, another name of the limit,
// other models at other prices. Some servers read names in any case.
func OwnField(name string) bool {
	return slices.Contains([]string{"model", "messages", "system", "max_tokens", "max_completion_tokens", "stream", "stream_options", "temperature", "top_p", "seed", "stop", "stop_sequences", "n", "best_of", "n_predict", "models", "route", "n_cmpl", "candidate_count", "candidatecount", "num_return_sequences", "num_generations", "beam_width", "max_new_tokens", "max_output_tokens", "max_tokens_to_sample", "num_predict", "fallbacks"}, strings.ToLower(name))
}

// FinishReason says why a model stopped.
type FinishReason string

const (
	FinishStop      FinishReason = "stop"
	FinishLength    FinishReason = "length" // cut: calls in the text are not executed
	FinishToolCalls FinishReason = "tool_calls"
	FinishFiltered  FinishReason = "filtered"
)

// Usage counts tokens of one answer. Input has those that were read from and written
// to a cache; Output has those of reasoning.
type Usage struct {
	Input      int64
	Output     int64
	CacheRead  int64
	Reasoning  int64
	CacheWrite int64
	Estimated  bool // the endpoint gave no count
}

// ModelAnswer is a model's whole answer.
type ModelAnswer struct {
	Model     string // that answered
	Text      string
	Reasoning string // never parsed for calls
	Calls     []Call // native tool calls
	Finish    FinishReason
	Stopped   string // the stop text before which Text ends; "" = none, or nobody says; no part of any fact
	Usage     Usage
	Latency   time.Duration // simulated on the virtual clock, measured otherwise
	Origin    *ModelOrigin  // nil = a model inside the program answered
}

// ModelOrigin says which endpoint gave an answer, and to which question.
type ModelOrigin struct {
	Endpoint    string        // its name
	ID          string        // of the answer, as the endpoint calls it
	Fingerprint string        // of what answered, if the endpoint tells it
	Question    string        // hash of what the model read, in hexadecimal
	Attempts    int64         // how often it was asked, from 1
	Refused     string        // what the model said instead of an answer
	Cost        int64         // nano-dollars, of the price when the endpoint was asked
	Priced      bool          // false = nobody knows the price, and Cost is 0
	FirstChunk  time.Duration // measured; no part of any fact
	Served      Raw           // which model of several answered, and why (llm.Served); none = the one that was asked for
	Reused      bool          // a record answered, and nothing was charged now; no part of any fact
	Budget      *ModelBudget  // nil = no budget of the agent has a say in it
}

// ModelBudget is what budgets have to do with an answer, or with a failure.
type ModelBudget struct {
	Ledger string // that refused the request, or because of which another model answered; "" = none
	Saved  bool   // a recorded answer was taken, which costs nothing

	// Most tokens that attempts without an answer took, and nano-dollars.
	Lost, LostNano int64

	// Cut says that nobody takes the answer to this request, and that this is none. Lost is what
	// the answer took, or what the request may have taken, if a kill, a failure or the end of the
	// deliberation cut it off.
	Cut bool
}
