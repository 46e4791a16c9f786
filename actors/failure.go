package actors

import (
	"fmt"
	"runtime"
	"strings"

	"tavernsim/protocol"
)

// Failure is why an actor stopped in the middle of an envelope.
type Failure struct {
	Err   error
	Stack []string // "package.Function file.go:12", innermost first; nil for a returned error
	Kind  protocol.Kind
	Of    *Ref // the actor, if it is unlisted: another may have its name by now; else nil
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

func failureOf(r any, env *protocol.Envelope) *Failure {
	f, ok := r.(*Failure)
	if !ok {
		err, isErr := r.(error)
		if !isErr {
			err = fmt.Errorf("%v", r)
		}
		f = &Failure{Err: protocol.Errorf(protocol.KindInternal, "panic: %w", err), Stack: stack()}
	}
	if env != nil {
		f.Kind = env.Kind
	}
	return f
}

// maxFrames bounds a recorded stack.
const maxFrames = 16

// stack names the frames between the panic and the mailbox. It holds no
// addresses and no goroutine numbers, so the same failure has the same stack.
func stack() []string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var out []string
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked, out = true, nil
		case strings.HasSuffix(f.Function, "actors.(*mailbox).handle"), strings.HasSuffix(f.Function, "actors.(*mailbox).end"), strings.Contains(f.Function, "actor.(*actorContext)"):
			return out
		case panicked && !strings.HasPrefix(f.Function, "runtime.") && len(out) < maxFrames:
			out = append(out, fmt.Sprintf("%s %s:%d", shortFunc(f.Function), base(f.File), f.Line))
		}
		if !more {
			return out
		}
	}
}

func shortFunc(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }
func base(s string) string      { return s[strings.LastIndexByte(s, '/')+1:] }
