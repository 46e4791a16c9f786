// Package cli has the shared code of the commands of simd: the environment of a command,
// errors and their exit codes, common flags, warnings, servers.
package cli

import (
	"errors"
	"fmt"
	"io"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
)

// Exit codes (docs/cli.md).
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitInvalid     = 3 // the project has faults
	ExitNotFound    = 4
	ExitConflict    = 6 // locked, not empty, already ended
	ExitBudget      = 7 // a budget is exhausted
	ExitDivergence  = 8
	ExitInterrupted = 130
	ExitOther       = -1 // the error does not say
)

// Env is what a command may touch of the world.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Args     []string
	Within   bool // the command is one of several in this process
}

// Exit is an error that has been shown already, or needs its own code.
type Exit struct {
	Code int
	Err  error // nil: nothing more to say
}

// Error implements error.
func (e *Exit) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap gives the error that has the code.
func (e *Exit) Unwrap() error { return e.Err }

// usageError is a wrong command line.
type usageError struct{ error }

// Usage makes err the error of a wrong command line.
func Usage(err error) error { return usageError{err} }

// Usagef is usage of fmt.Errorf.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Given is the error of what a command did with its words and flags: what is invalid then was written on the command
// line, unless it is a fault in a file.
func Given(err error) error {
	if _, faults := errors.AsType[*project.Error](err); protocol.KindOf(err) == protocol.KindInvalid && !faults {
		return Usage(err)
	}
	return err
}

// CodeOf maps an error to an exit code.
func CodeOf(err error) int {
	if e, ok := errors.AsType[*Exit](err); ok {
		return e.Code
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[*project.Error](err); ok {
		return ExitInvalid
	}
	var known *protocol.Error
	if !errors.As(err, &known) {
		return ExitOther
	}
	switch known.Kind {
	case protocol.KindNotFound:
		return ExitNotFound
	case protocol.KindConflict:
		return ExitConflict
	case protocol.KindInvalid:
		return ExitInvalid
	case protocol.KindCorrupt:
		return ExitDivergence
	}
	return ExitFailure
}
