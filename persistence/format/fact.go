package format

import (
	"encoding/binary"

	"tavernsim/protocol"
)

// Fact is one fact as its bytes hold it. Actor, Kind and Data are slices of
// those bytes. Its seq is its place in the journal and not among the bytes.
type Fact struct {
	Time  protocol.Time
	Actor []byte
	Kind  []byte
	Data  []byte
}

// AppendFact appends the canonical bytes of a fact: what is stored and what the
// digest is taken over. The caller has checked the lengths ([CheckFact]).
func AppendFact(b []byte, at protocol.Time, actor, kind string, data []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = appendLen(b, len(actor))
	b = append(b, actor...)
	b = appendLen(b, len(kind))
	b = append(b, kind...)
	b = appendLen(b, len(data))
	return append(b, data...)
}

// FactSize is the number of bytes that AppendFact would append, or a few more.
func FactSize(actor, kind string, data []byte) int {
	return 8 + 3*binary.MaxVarintLen32 + len(actor) + len(kind) + len(data)
}

// CheckFact says whether a fact fits the limits.
func CheckFact(actor, kind string, data []byte) error {
	if len(actor) <= MaxActor && len(kind) <= MaxKind && len(data) <= MaxData {
		return nil
	}
	return protocol.Errorf(protocol.KindLimit, "fact %.40q of actor %.40q: %d bytes of actor, %d of kind, %d of data; the limits are %d, %d and %d",
		kind, actor, len(actor), len(kind), len(data), MaxActor, MaxKind, MaxData)
}

func appendLen(b []byte, n int) []byte {
	if n < 0x80 {
		return append(b, byte(n))
	}
	return binary.AppendUvarint(b, uint64(n))
}

// ReadFact reads one fact from the front of b.
func ReadFact(b []byte) (f Fact, rest []byte, err error) {
	if len(b) < 8 {
		return f, b, corrupt("fact: %d bytes; want 8 of time", len(b))
	}
	f.Time = protocol.Time(binary.BigEndian.Uint64(b))
	if f.Actor, rest, err = readBytes(b[8:], MaxActor, "actor"); err != nil {
		return f, b, err
	}
	if f.Kind, rest, err = readBytes(rest, MaxKind, "kind"); err != nil {
		return f, b, err
	}
	if f.Data, rest, err = readBytes(rest, MaxData, "data"); err != nil {
		return f, b, err
	}
	return f, rest, nil
}

func readBytes(b []byte, limit int, what string) (field, rest []byte, err error) {
	n, size := uint64(0), 1
	if len(b) > 0 && b[0] < 0x80 {
		n = uint64(b[0])
	} else if n, size = binary.Uvarint(b); size <= 0 || b[size-1] == 0 {
		return nil, b, corrupt("fact: length of %s is cut, too long or not in its shortest form", what)
	}
	if n > uint64(limit) || n > uint64(len(b)-size) {
		return nil, b, corrupt("fact: %s of %d bytes where %d are left and %d are allowed", what, n, len(b)-size, limit)
	}
	end := size + int(n)
	return b[size:end:end], b[end:], nil
}
