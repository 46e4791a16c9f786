package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
	"tavernsim/tools/mount"
)

// Call is one call of a tool, with parameters that were bound and checked.
type Call struct {
	Tool    *manifest.Tool
	Params  map[string]any // a value; shared, read-only: a function that changes it spoils later turns
	Key     string         // for servers that do their work once for each key
	Attempt int            // from 1
	// Secrets are values that the tool asks for and was granted, by name. They are in no
	// record.
	Secrets map[string]string
	// Config are the values of the options of the plugin that the tool is of, by name. Some
	// may be secrets.
	Config map[string]string
	// Binds are files that a program finds at places of its own, read-only.
	Binds []Bind
	// Files are the mounts of the agent, and Keep makes an artifact, for tools that work on
	// files; nil = there are none.
	Files *mount.Source
	Keep  func(Blob) (tool.Artifact, error)
	// Progress is told how far the call is, as often as what carries it out knows; nil = nobody
	// wants to know. It returns soon.
	Progress func(Progress)
	// Ask has a person asked what the other side wants to know before it answers; nil = nobody is
	// there.
	Ask Ask
	// Owner names the agent, for tools that keep something for it between calls; "" = nobody
	// in particular.
	Owner string
	// Loan lends secrets to files while a command runs; nil = no file refers to one.
	Loan Loan
}

// Loan puts values of secrets into the files that refer to them, and takes them out again.
type Loan interface {
	Values() map[string]string // by name: what programs get to know
	Lend() (notes []string)    // about what could not be lent
	Back()
}

// Bind is a file of this machine, and where the program finds it.
type Bind struct{ Host, Inside string }

// Executor carries out the calls of one kind of tools.
type Executor interface {
	// Call makes one attempt. It returns soon after ctx ends, and is called on many
	// goroutines.
	Call(ctx context.Context, c *Call) Result
	// Close ends what is open between calls.
	Close() error
}

// Func is an executor that is a function of the program.
type Func func(ctx context.Context, c *Call) Result

// Call implements Executor.
func (f Func) Call(ctx context.Context, c *Call) Result { return f(ctx, c) }

// Close implements Executor.
func (Func) Close() error { return nil }

// Status says how a call ended.
type Status string

const (
	OK        Status = "ok"
	Failed    Status = "error"
	Denied    Status = "denied"
	Cancelled Status = "cancelled"
	TimedOut  Status = "timeout"
	Unknown   Status = "unknown" // it may have been carried out, and must not be repeated
)

// Kinds of errors that only tools have. The others are those of package protocol.
const (
	KindTool        protocol.ErrorKind = "tool" // the tool itself says no
	KindRateLimited                    = tool.KindRateLimited
	KindBadOutput                      = tool.KindBadOutput
)

// Error is why a call failed.
type Error struct {
	Kind       protocol.ErrorKind `json:"kind"`
	Message    string             `json:"message"`
	Retryable  bool               `json:"retryable"`
	RetryAfter protocol.Duration  `json:"retry_after,omitzero"`
}

// Result is what came of a call, or of one attempt.
type Result struct {
	Status Status `json:"status"`
	Output any    `json:"output,omitempty"` // a value
	Error  *Error `json:"error,omitempty"`
	Meta   Meta   `json:"meta"`
	// Artifacts are files that the call left, and that are kept.
	Artifacts []tool.Artifact `json:"artifacts,omitempty"`

	// Own is the message of the error without what the other side wrote; "" = nobody knows what it
	// wrote.
	Own string `json:"-"`
	// Unsent says of a failed attempt that nothing of it can have begun.
	Unsent bool `json:"-"`
	// Lost says of a failed attempt that there is no answer, so that nobody knows what came
	// of it.
	Lost bool `json:"-"`
	// Carried says that the call was carried out, whatever the kind of its error. An executor says it of a failure
	// that it saw after the work; [Run] knows of what became of an answer.
	Carried bool `json:"-"`
	// Size is how many bytes the attempt received, also those that it dropped.
	Size int64 `json:"-"`
	// Dropped is how many of these bytes are not in the output, because there were too many.
	Dropped int64 `json:"-"`
	// Withheld says that the output spelled a secret in another form.
	Withheld bool `json:"-"`
	// Blobs are files in an answer, which become artifacts. Where nobody keeps those (Options.Keep)
	// they stay.
	Blobs []Blob `json:"-"`
	// Hooks is what hooks of plugins did to the call, as effect.Answered has it; whoever asks them says it.
	Hooks protocol.Raw `json:"-"`
	// LeftOut is how many files the call left that are not among them, because there were too many.
	LeftOut int `json:"-"`
}

// Blob is a file in an answer.
type Blob struct {
	Name, Type string
	Data       []byte
}

// Attach adds a file to a result and gives the URI under which it will be kept.
func (r *Result) Attach(name, mediaType string, data []byte) (uri string) {
	r.Blobs = append(r.Blobs, Blob{name, mediaType, data})
	sum := sha256.Sum256(data)
	return tool.ArtifactScheme + "sha256-" + hex.EncodeToString(sum[:])
}

// Meta is about the call as a whole.
type Meta struct {
	Tool     string            `json:"tool"`
	Attempts int               `json:"attempts"`
	Latency  protocol.Duration `json:"latency"`
	Bytes    int64             `json:"bytes"`               // of the output, before it was bounded
	Cut      bool              `json:"truncated,omitempty"` // the output is not all of it
	Dropped  int64             `json:"dropped,omitempty"`   // bytes that were read and are nowhere
	LeftOut  int               `json:"files_left_out,omitempty"`
	Rule     string            `json:"rule,omitempty"` // of the policy that decided; outside of a scene
	// Failed are nodes of the workflow that carried the call out, also if it has an output; outside of a scene.
	Failed []FailedNode `json:"failed_nodes,omitempty"`
}

// FailedNode is a node of a workflow whose error no other node caught.
type FailedNode struct {
	Node  string             `json:"node"` // path
	Kind  protocol.ErrorKind `json:"kind"`
	Error string             `json:"error"`
}

// Output makes the result of an attempt that worked.
func Output(v any) Result { return Result{Status: OK, Output: v} }

// Fail makes the result of an attempt that failed.
func Fail(kind protocol.ErrorKind, message string) Result {
	return Result{Status: statusOf(kind), Error: &Error{Kind: kind, Message: message, Retryable: tool.MayPass(kind)}}
}

// Quote is Fail with a message of which only the first part is this program's own.
func Quote(kind protocol.ErrorKind, own, said string) Result {
	r := Fail(kind, own+said)
	r.Own = own
	return r
}

func statusOf(kind protocol.ErrorKind) Status {
	switch kind {
	case protocol.KindDenied:
		return Denied
	case protocol.KindCancelled:
		return Cancelled
	case protocol.KindTimeout:
		return TimedOut
	case protocol.KindUnknownOutcome:
		return Unknown
	}
	return Failed
}

// Err is the error of a result; nil = it has none.
func (r *Result) Err() error {
	if r.Error == nil {
		return nil
	}
	text := string(r.Error.Kind) + ": " + r.Error.Message // agents read it
	if after := r.Error.RetryAfter.Std(); after > 0 {
		text += "; again after " + after.String()
	}
	return protocol.Errorf(r.Error.Kind, "%s", text)
}

// Place says which call of a run it is.
type Place struct {
	Run, Scene, Agent string
	Turn              uint64
	Number            int // of its first attempt, in the turn
}

// Key is the idempotency key of a call: the same for the same call, also after the
// process was killed.
func Key(p Place, tool string, params map[string]any) string {
	var room [256]byte // most keys are of less
	b := append(room[:0], '[')
	for _, text := range [...]string{p.Run, p.Scene, p.Agent} {
		b = append(appendText(b, text), ',')
	}
	b = append(strconv.AppendUint(b, p.Turn, 10), ',')
	b = append(strconv.AppendInt(b, int64(p.Number), 10), ',')
	b = append(appendText(b, tool), ',')
	b = append(appendObject(b, params), ']')
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// appendKey adds a value as json.Marshal writes it, with sorted names: keys of older runs stay.
func appendKey(b []byte, v any) []byte {
	switch x := v.(type) {
	case string:
		return appendText(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case bool:
		return strconv.AppendBool(b, x)
	case []any:
		if x != nil {
			b = append(b, '[')
			for i, e := range x {
				b = appendKey(comma(b, i), e)
			}
			return append(b, ']')
		}
	case map[string]any:
		return appendObject(b, x)
	}
	text, _ := json.Marshal(v) // a value of package protocol has a form
	return append(b, text...)
}

func appendText(b []byte, text string) []byte {
	if strings.ContainsFunc(text, escaped) {
		quoted, _ := json.Marshal(text) // a text has a form
		return append(b, quoted...)
	}
	return append(append(append(b, '"'), text...), '"')
}

func appendObject(b []byte, x map[string]any) []byte {
	if x == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	var room [16]string
	for i, name := range protocol.KeysIn(room[:], x) {
		b = appendKey(append(appendText(comma(b, i), name), ':'), x[name])
	}
	return append(b, '}')
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

// escaped characters are not written as they are, or may not be.
func escaped(r rune) bool {
	return r < ' ' || r >= 0x7f || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&'
}

// elapsed is the time since then.
func elapsed(then time.Time) protocol.Duration { return protocol.Duration(time.Since(then)) }

// ConfigVariable is the environment variable in which a program finds an option.
func ConfigVariable(option string) string { return "SIMD_CONFIG_" + strings.ToUpper(option) }
