package tam

import (
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Result is what a text says. It marshals to the JSON of docs/formats/tam.md.
type Result struct {
	Text   string      `json:"text"` // prose without blocks and reasoning
	Blocks List[Block] `json:"blocks"`

	// Diagnostics are about text outside blocks: markers that were not calls,
	// calls inside reasoning, a marker cut by the end. Mostly empty.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
}

// Block is one block of calls.
type Block struct {
	RequestID   Optional         `json:"request_id"`
	Complete    bool             `json:"complete"`   // nothing was cut off
	Executable  bool             `json:"executable"` // its calls may run
	Span        Span             `json:"span"`       // with both markers
	Common      Texts            `json:"common"`     // parameters shared by all steps
	Notes       List[string]     `json:"notes"`      // comments, for people
	Commands    List[Command]    `json:"commands"`   // by rising index
	Warnings    List[Code]       `json:"warnings"`   // distinct codes, by position
	Diagnostics List[Diagnostic] `json:"diagnostics"`

	// Orphans are fields whose step does not exist. They are bound to nothing.
	Orphans []Orphan `json:"-"`
}

// Command is one step.
type Command struct {
	Index     int                `json:"index"`
	ToolID    string             `json:"toolId"` // as written
	Params    Texts              `json:"params"` // effective: common ones included
	URIs      Texts              `json:"uris"`
	TypeHints Texts              `json:"typeHints"`
	OnError   protocol.OnError   `json:"onError"`
	Retry     int                `json:"retry"`
	Fields    Table[FieldSource] `json:"fields"` // by parameter name; URIs as "uri_name"

	// Inherited lists the parameters that came from Block.Common, sorted.
	Inherited []string `json:"-"`
	// ToolSource is where the tool id was written.
	ToolSource FieldSource `json:"-"`
}

// FieldSource says where a field stood. The value span is raw: neither trimmed
// nor dedented, for tools that ask for exact bytes.
type FieldSource struct {
	RawKey    string `json:"rawKey"`
	KeySpan   Range  `json:"keySpan"`
	ValueSpan Range  `json:"valueSpan"`
	Family    string `json:"family"` // of the opening delimiter, see docs/formats/tam.md
}

// Orphan is a field that names a step without a command.
type Orphan struct {
	Key    string // normalised, with its suffix
	Value  string
	Source FieldSource
}

// Span is a range of bytes of the source.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Range is a Span that marshals as [start, end].
type Range [2]int

// Optional is a text that marshals as null when empty.
type Optional string

// MarshalJSON implements json.Marshaler.
func (o Optional) MarshalJSON() ([]byte, error) {
	if o == "" {
		return []byte("null"), nil
	}
	return wirejson.AppendAny(nil, string(o))
}

// Texts maps names to texts; nil marshals as {}.
type Texts map[string]string

func (t Texts) MarshalJSON() ([]byte, error) {
	if t == nil {
		return []byte("{}"), nil
	}
	return wirejson.AppendAny(nil, map[string]string(t))
}

// Table maps names to values; nil marshals as {}.
type Table[T any] map[string]T

func (t Table[T]) MarshalJSON() ([]byte, error) {
	if t == nil {
		return []byte("{}"), nil
	}
	return wirejson.AppendAny(nil, map[string]T(t))
}

// List is a slice; nil marshals as [].
type List[T any] []T

func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return wirejson.AppendAny(nil, []T(l))
}
