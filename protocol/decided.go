package protocol

import (
	"github.com/tinylib/msgp/msgp"
)

// Decision is what a machine decided: facts to keep, effects to ask for.
type Decision struct {
	Facts    []Fact
	Effects  []Effect    // for the shell
	Requests []Sequenced // for the scene, when the facts are handed over
}

// Effect is a wish of a machine that its shell carries out, in the imperative.
type Effect interface{ EffectKind() string }

// Addressees of sequenced effects.
const (
	ToWorld     = "world"
	ToKnowledge = "knowledge"
	ToEvents    = "events"
)

// Sequenced is a request to another machine of the scene. The scene merges the
// requests of a wave in its fixed order before it passes them on.
type Sequenced struct {
	To   string
	Data Raw
}

// KindData is an encoded fact.
type KindData struct {
	Kind string
	Data Raw
}

// Decided is the body of the envelope in which an actor hands a decision to
// its scene: the facts, encoded once, and the effects that need the order.
type Decided struct {
	Agent   uint32 // ordinal of the agent that decided; of a service 0
	At      Time   // scene time of an agent's decision; of a service 0: its facts are of the wave
	More    bool   // another part of the same decision follows
	Facts   []KindData
	Effects []Sequenced
}

// AppendDecided writes the msgpack form of a decision: the header fields of d,
// then facts, encoded in place, and requests. The form of each is a binary of known
// length, so that a reader need not look into it.
func AppendDecided(b []byte, codec *Codec, d Decided, facts []Fact, requests []Sequenced) ([]byte, error) {
	b = msgp.AppendArrayHeader(b, 5)
	b = msgp.AppendUint32(b, d.Agent)
	b = AppendInt(b, int64(d.At))
	b = msgp.AppendBool(b, d.More)
	b = msgp.AppendArrayHeader(b, uint32(len(facts)))
	for _, f := range facts {
		b = msgp.AppendArrayHeader(b, 2)
		b = msgp.AppendString(b, f.FactKind())
		from := len(b) + len(binary)
		var err error
		if b, err = codec.Append(append(b, binary...), f); err != nil {
			return b, err
		}
		n := uint32(len(b) - from)
		b[from-4], b[from-3], b[from-2], b[from-1] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(requests)))
	for i := range requests {
		b = msgp.AppendArrayHeader(b, 2)
		b = msgp.AppendString(b, requests[i].To)
		b = msgp.AppendBytes(b, requests[i].Data)
	}
	return b, nil
}

// binary begins a msgpack binary whose length takes four bytes.
const binary = "\xc6\x00\x00\x00\x00"

// ReadDecided reads what AppendDecided wrote. The parts share the memory of b,
// which nobody may change.
func ReadDecided(b Raw) (d Decided, err error) {
	rest := []byte(b)
	if rest, err = expectArray(rest, 5); err != nil {
		return d, err
	}
	if d.Agent, rest, err = msgp.ReadUint32Bytes(rest); err != nil {
		return d, corrupt("decided", err)
	}
	var at int64
	if at, rest, err = msgp.ReadInt64Bytes(rest); err != nil {
		return d, corrupt("decided", err)
	}
	d.At = Time(at)
	if d.More, rest, err = msgp.ReadBoolBytes(rest); err != nil {
		return d, corrupt("decided", err)
	}
	var n uint32
	if n, rest, err = readCount(rest, 3); err != nil {
		return d, err
	}
	d.Facts = make([]KindData, n)
	for i := range d.Facts {
		f := &d.Facts[i]
		if f.Kind, f.Data, rest, err = readPair(rest); err != nil {
			return d, err
		}
	}
	if n, rest, err = readCount(rest, 3); err != nil {
		return d, err
	}
	if n > 0 {
		d.Effects = make([]Sequenced, n)
	}
	for i := range d.Effects {
		e := &d.Effects[i]
		if e.To, e.Data, rest, err = readPair(rest); err != nil {
			return d, err
		}
	}
	if len(rest) > 0 {
		return d, Errorf(KindCorrupt, "decided: %d bytes after the end", len(rest))
	}
	return d, nil
}

func expectArray(b []byte, want uint32) ([]byte, error) {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		return b, corrupt("array", err)
	}
	if n != want {
		return b, Errorf(KindCorrupt, "array of %d fields, want %d", n, want)
	}
	return rest, nil
}

// readCount reads a length whose elements take at least the given bytes each.
func readCount(b []byte, each int) (uint32, []byte, error) {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		return 0, b, corrupt("array", err)
	}
	if int(n) > len(rest)/each {
		return 0, b, Errorf(KindCorrupt, "array of %d in %d bytes", n, len(rest))
	}
	return n, rest, nil
}

func readPair(b []byte) (name string, data Raw, rest []byte, err error) {
	if rest, err = expectArray(b, 2); err != nil {
		return "", nil, b, err
	}
	raw, rest, err := msgp.ReadStringZC(rest)
	if err != nil {
		return "", nil, b, corrupt("name", err)
	}
	data, rest, err = msgp.ReadBytesZC(rest)
	if err != nil {
		return "", nil, b, corrupt(string(raw), err)
	}
	return Intern(raw), data[:len(data):len(data)], rest, nil
}

func corrupt(what string, err error) error {
	return Errorf(KindCorrupt, "msgpack: %s: %w", what, err)
}
