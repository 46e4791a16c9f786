package protocol

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrorKind classes an error for those who must act on it: the doors map it to
// exit codes and statuses, agents see it in observations.
type ErrorKind string

const (
	KindInvalid   ErrorKind = "invalid"     // the input is wrong; repeating it cannot help
	KindNotFound  ErrorKind = "not_found"   // the named thing does not exist
	KindDenied    ErrorKind = "denied"      // not authorised
	KindConflict  ErrorKind = "conflict"    // somebody else changed it first
	KindLimit     ErrorKind = "limit"       // a bound was reached
	KindContext   ErrorKind = "context"     // a prompt is longer than its model's context
	KindTimeout   ErrorKind = "timeout"     // no answer in time
	KindCancelled ErrorKind = "cancelled"   // stopped on purpose
	KindTransient ErrorKind = "transient"   // may work when repeated
	KindCorrupt   ErrorKind = "corrupt"     // stored bytes are damaged
	KindUnknown   ErrorKind = "unavailable" // not offered here
	KindInternal  ErrorKind = "internal"    // a defect

	// KindUnknownOutcome: it was asked for, may have happened, and nobody knows
	// what came of it. Repeating it could do it twice.
	KindUnknownOutcome ErrorKind = "unknown_outcome"
)

// Error is an error with a kind. Its text reads "operation subject: cause".
type Error struct {
	Kind    ErrorKind
	Message string
	cause   error
}

// Errorf makes an Error; %w keeps the cause for errors.Is and errors.As.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), cause: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.cause }

// KindOf finds the kind in an error chain; KindInternal when there is none.
func KindOf(err error) ErrorKind {
	if err == nil {
		return KindInternal
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindInternal
}

// Short cuts a text for a message at a character, after at most so many bytes.
func Short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
