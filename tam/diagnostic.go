package tam

import (
	"fmt"

	"tavernsim/protocol"
)

// Code names a kind of diagnostic. Consumers tolerate codes they do not know.
type Code string

const (
	MixedDelimiters      Code = "mixed_delimiters_used"
	AlternateDelimiters  Code = "alternate_delimiters_used"
	MissingTerminator    Code = "missing_value_terminator"
	MissingEndMarker     Code = "missing_end_marker"
	IgnoredText          Code = "ignored_text"
	BareValue            Code = "bare_value"
	DuplicateKey         Code = "duplicate_key"
	DuplicateCommand     Code = "duplicate_command"
	RepeatedCommand      Code = "repeated_command"
	MixedCommandIndexing Code = "mixed_command_indexing"
	UnindexedParam       Code = "unindexed_param"
	OrphanParam          Code = "orphan_param"
	OrphanHint           Code = "orphan_hint"
	InvalidControlValue  Code = "invalid_control_value"
	UnknownTypeHint      Code = "unknown_type_hint"
	URIConflict          Code = "uri_conflict"
	NoCommand            Code = "no_command"
	Truncated            Code = "truncated"
	LimitExceeded        Code = "limit_exceeded"
	InReasoning          Code = "in_reasoning" // info
	EmptyBlock           Code = "empty_block"  // a start marker without any field: not a call
)

// Severity ranks a diagnostic.
type Severity string

const (
	SeverityError   Severity = "error"   // the block does not run
	SeverityWarning Severity = "warning" // read, with a repair
	SeverityInfo    Severity = "info"
)

// Diagnostic is one finding. Its message names what was received and what was
// expected.
type Diagnostic struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Offset   int      `json:"offset"` // bytes from the start of the source
	Line     int      `json:"line"`   // from 1
	Col      int      `json:"col"`    // characters, from 1
	Key      string   `json:"key,omitempty"`

	End int `json:"-"` // end of what the finding is about, for underlining
}

// String reads "line 3, col 13: mixed_delimiters_used: …".
func (d Diagnostic) String() string {
	return fmt.Sprintf("line %d, col %d: %s: %s", d.Line, d.Col, d.Code, d.Message)
}

// cut shortens a received text for a message, at a character boundary.
func cut(s string) string { return protocol.Short(s, 60) }
