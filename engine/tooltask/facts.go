package tooltask

import (
	"bytes"
	"time"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// Service is the name of the service.
const Service = "tools"

// Kinds of this machine's facts.
const (
	FactOpened    = "tool.task_opened"
	FactSent      = "tool.task_sent"
	FactEnded     = "tool.task_ended"
	FactUncharged = "tool.task_uncharged"
	FactCancelled = "tool.task_cancelled"
)

// Opened records that a task was accepted.
type Opened struct {
	Task Task
}

// Sent records that the task is carried out from now on: as soon as its wave is durable it
// may have effects outside.
type Sent struct {
	ID string
}

// Ended records what came of a task.
type Ended struct {
	ID        string
	Agent     string
	Tool      string
	Status    string // ok, error, denied, timeout, cancelled, unknown; between agents done, failed, refused, timeout, cancelled, error
	Output    protocol.Raw
	Artifacts []tool.Artifact // that it left
	Latency   time.Duration   // of the answer, as its executor says
	ErrorKind protocol.ErrorKind
	Error     string
	At        protocol.Time

	// Hooks is what hooks of plugins did to the call (hook.OfCall). It is left out of the fact if they did nothing.
	Hooks protocol.Raw
}

const endedFields = 10 // one more with Hooks

// AppendMsg implements protocol.Appender, because the codec writes every field.
func (f *Ended) AppendMsg(b []byte) []byte {
	n := uint32(endedFields)
	if len(f.Hooks) > 0 {
		n++
	}
	b = msgp.AppendArrayHeader(b, n)
	for _, s := range [...]string{f.ID, f.Agent, f.Tool, f.Status} {
		b = msgp.AppendString(b, s)
	}
	b = protocol.AppendRaw(b, f.Output)
	switch {
	case len(f.Artifacts) > 0:
		b = tool.AppendArtifacts(b, f.Artifacts)
	case f.Artifacts != nil:
		b = msgp.AppendArrayHeader(b, 0)
	default:
		b = msgp.AppendNil(b)
	}
	b = protocol.AppendInt(b, int64(f.Latency))
	b = msgp.AppendString(msgp.AppendString(b, string(f.ErrorKind)), f.Error)
	return append(protocol.AppendInt(b, int64(f.At)), f.Hooks...)
}

func readEnded(raw protocol.Raw) (*Ended, error) {
	r := protocol.NewReader(bytes.Clone(raw), FactEnded, endedFields+1, endedFields)
	f := &Ended{ID: r.String(), Agent: r.String(), Tool: r.Word(), Status: r.Word(), Output: r.Raw()}
	if !r.Nil() {
		f.Artifacts = append([]tool.Artifact{}, tool.ReadArtifacts(r)...)
	}
	f.Latency, f.ErrorKind, f.Error, f.At = time.Duration(r.Int()), protocol.ErrorKind(r.Word()), r.String(), protocol.Time(r.Int())
	if r.Has(endedFields + 1) {
		f.Hooks = r.Raw()
	}
	return f, r.End()
}

// Uncharged records that a task which has just ended was not carried out: the budget of tools gets back what it counted.
type Uncharged struct {
	ID    string
	Agent string
	Tool  string
	Cost  int64         // nano-dollars
	Time  time.Duration // its latency
	Bytes int64         // of its output
}

// Cancelled records that nobody waits for a task any more.
type Cancelled struct {
	ID      string
	Agent   string
	Tool    string
	Reason  string // requested, forked, or left
	Unknown bool   // it must not be repeated, and may have been carried out
	At      protocol.Time
}

// Why a task is cancelled.
const (
	ReasonRequested = "requested"
	ReasonLeft      = "left"   // its agent left the scene
	ReasonForked    = "forked" // its run went on without it
)

// Refused records a request about a task that the agent does not have.
type Refused struct {
	ID      string // of the task
	Agent   string
	Message string
}

// FactRefused is the kind of Refused.
const FactRefused = "tool.task_refused"

// Fact is one of this package's facts. The linter checks that a switch over it has a case
// for each.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	fact()
}

func (*Opened) FactKind() string    { return FactOpened }
func (*Sent) FactKind() string      { return FactSent }
func (*Ended) FactKind() string     { return FactEnded }
func (*Uncharged) FactKind() string { return FactUncharged }
func (*Cancelled) FactKind() string { return FactCancelled }
func (*Refused) FactKind() string   { return FactRefused }

func (*Opened) fact()    {}
func (*Sent) fact()      {}
func (*Ended) fact()     {}
func (*Uncharged) fact() {}
func (*Cancelled) fact() {}
func (*Refused) fact()   {}

// Answers implements protocol.Answering: the agent hears of a fork by an observation; of
// every other end by an event.
func (f *Cancelled) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.Agent, Kind: "task_cancelled", Wakes: true}, f.Reason == ReasonForked
}

// Told implements protocol.Answering.
func (f *Cancelled) Told() map[string]any { return f.Value() }

// Answers implements protocol.Answering.
func (f *Refused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.Agent, Kind: "task_refused", Wakes: true}, true
}

func (f *Refused) Told() map[string]any { return map[string]any{"task_id": f.ID, "message": f.Message} }

// Value is the end of a task as its agent hears of it; the output is added.
func (f *Ended) Value() map[string]any {
	v := map[string]any{"task_id": f.ID, "tool": f.Tool, "status": f.Status}
	if f.Error != "" {
		v["error"], v["kind"] = f.Error, string(f.ErrorKind)
	}
	return v
}

// Value is the end of a task as its agent hears of it.
func (f *Cancelled) Value() map[string]any {
	v := map[string]any{"task_id": f.ID, "tool": f.Tool, "status": "cancelled", "reason": f.Reason}
	if f.Unknown {
		v["outcome"] = "unknown"
	}
	return v
}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[Opened](), protocol.ByCodec[Sent](), protocol.ByHand(readEnded), protocol.ByCodec[Uncharged](), protocol.ByCodec[Cancelled](), protocol.ByCodec[Refused](), protocol.ByCodec[Reported](),
		protocol.ByCodec[TakenOver](), protocol.ByCodec[Released](),
	}
}
