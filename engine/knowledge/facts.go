package knowledge

import "tavernsim/protocol"

// Kinds of this machine's facts.
const (
	FactWritten   = "knowledge.written"
	FactSuggested = "knowledge.suggested"
	FactReviewed  = "knowledge.reviewed"
	FactRefused   = "knowledge.refused"
	FactEmbedded  = "knowledge.embedded"
	FactForwarded = "knowledge.forwarded"
)

// Written puts an entry into a base, new or in place of the one with its id.
type Written struct {
	KB      string
	Request string // id of the request
	By      string // instance id; "" = the scene
	Op      Op     // create or update
	EntryID string
	Entry   protocol.Raw // the whole entry as it is now, see EntryOf
	At      protocol.Time
}

// Suggested puts a proposed change into a base's review queue.
type Suggested struct {
	KB         string
	Request    string
	By         string
	Op         Op
	Suggestion uint64       // number in the queue's history, from 1
	Entry      protocol.Raw // as it was sent: whole or partial
	At         protocol.Time
}

// Reviewed takes a suggestion out of the queue. An accepted one is followed by
// a Written.
type Reviewed struct {
	KB         string
	Request    string
	By         string
	Suggestion uint64
	Accepted   bool
	At         protocol.Time
}

// Refused records a request that broke a rule. It changes nothing.
type Refused struct {
	KB      string
	Request string
	By      string
	Reason  protocol.ErrorKind // denied, invalid, not_found, conflict, limit
	Message string
	At      protocol.Time
}

// Embedded gives entries of a base their vectors; one of zeros is none. With an error nobody
// gave them: the base is asked for again later.
type Embedded struct {
	KB      string
	Request string
	Model   string   // that gave them, by the name of its file
	Entries []string // ids
	Vectors []byte   // of the entries in their order, a byte for each component
	Reason  protocol.ErrorKind
	Error   string
	At      protocol.Time
}

// Forwarded records a request to a base that another scene keeps. It changes nothing: that scene
// decides.
type Forwarded struct {
	KB      string
	Request string
	By      string
	Keeper  string       // scene id
	Ask     protocol.Raw // the request, see RequestOf
	At      protocol.Time
}

// Fact is one of this package's facts. The linter checks that a switch over it has
// a case for each.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	base() string // id
}

func (*Written) FactKind() string   { return FactWritten }
func (*Suggested) FactKind() string { return FactSuggested }
func (*Reviewed) FactKind() string  { return FactReviewed }
func (*Refused) FactKind() string   { return FactRefused }
func (*Embedded) FactKind() string  { return FactEmbedded }
func (*Forwarded) FactKind() string { return FactForwarded }

func (f *Written) base() string   { return f.KB }
func (f *Suggested) base() string { return f.KB }
func (f *Reviewed) base() string  { return f.KB }
func (f *Refused) base() string   { return f.KB }
func (f *Embedded) base() string  { return f.KB }
func (f *Forwarded) base() string { return f.KB }

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByCodec[Written](), protocol.ByCodec[Suggested](), protocol.ByCodec[Reviewed](), protocol.ByCodec[Refused](), protocol.ByCodec[Embedded](), protocol.ByCodec[Forwarded](),
	}
}

// Answers implements protocol.Answering. A refusal wakes the agent, which may wait for
// the write.
func (f *Refused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.By, Kind: "knowledge_refused", Wakes: true}, true
}

// Told implements protocol.Answering.
func (f *Refused) Told() map[string]any {
	return map[string]any{"request_id": f.Request, "kb": f.KB, "code": string(f.Reason), "message": f.Message}
}
