package tam

import (
	"tavernsim/protocol"
	"tavernsim/tam/finding"
)

type (
	Code       = finding.Code
	Diagnostic = finding.Diagnostic
)

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

// cut shortens a received text for a message, at a character boundary.
func cut(s string) string { return protocol.Short(s, 60) }
