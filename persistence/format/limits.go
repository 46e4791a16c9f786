package format

import "tavernsim/protocol"

// Version is the version of every structure of this package but the index entry.
// A reader refuses what is newer; what is older stays readable for ever.
const Version = 1

// IndexVersion is that of an index entry that knows traces; one that does not is
// of version 1.
const IndexVersion = 2

// Limits of what is stored. They bound what a decoder allocates and what one
// commit can weigh.
const (
	MaxScene   = 255               // bytes of a scene's id; the key holds its length in one byte
	MaxActor   = 4096              // bytes of an actor's id
	MaxKind    = 255               // bytes of a fact's kind
	MaxData    = protocol.MaxBytes // bytes of one fact's data, or of one piece of a snapshot state
	MaxState   = protocol.MaxState // bytes of one snapshot state
	MaxFacts   = 1 << 20           // facts of one block
	MaxPayload = MaxData + 4<<20   // bytes of one block's facts before compression
	MaxKinds   = 32                // distinct kinds that an index entry lists
	MaxFilter  = 16 << 10          // bytes of a filter of an index entry
	DigestSize = 32
)

// Digest is one link of a journal's hash chain.
type Digest [DigestSize]byte

func corrupt(format string, args ...any) error {
	return protocol.Errorf(protocol.KindCorrupt, format, args...)
}

func newer(what string, found, known byte) error {
	return protocol.Errorf(protocol.KindUnknown, "%s: format version %d; this program reads up to %d: open it with a newer one", what, found, known)
}
