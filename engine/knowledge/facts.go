package knowledge

import "tavernsim/protocol"

// Kinds of this machine's facts.
const (
	FactWritten   = "knowledge.written"
	FactSuggested = "knowledge.suggested"
	FactReviewed  = "knowledge.reviewed"
	FactRefused   = "knowledge.refused"
)

// Written puts an entry into a base, new or in place of the one with its id.
type Written struct {
	KB      string
	Request string // id of the request
	By      string // instance id; "" = the scene
	Op      Op     // what was asked for: create or update
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

// FactKind implementations.
func (Written) FactKind() string   { return FactWritten }
func (Suggested) FactKind() string { return FactSuggested }
func (Reviewed) FactKind() string  { return FactReviewed }
func (Refused) FactKind() string   { return FactRefused }

// DecodeFact reads a fact of this machine back. Kinds of others are an error.
func DecodeFact(codec *protocol.Codec, kind string, data protocol.Raw) (protocol.Fact, error) {
	switch kind {
	case FactWritten:
		return decode[Written](codec, data)
	case FactSuggested:
		return decode[Suggested](codec, data)
	case FactReviewed:
		return decode[Reviewed](codec, data)
	case FactRefused:
		return decode[Refused](codec, data)
	}
	return nil, protocol.Errorf(protocol.KindUnknown, "knowledge: fact kind %q is not known", kind)
}

func decode[F protocol.Fact](codec *protocol.Codec, data protocol.Raw) (protocol.Fact, error) {
	var f F
	if err := codec.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	return f, nil
}
