package persistence

import (
	"errors"
	"fmt"

	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// Damage says which stored bytes are not what they should be and what is good.
// It is the cause inside an error of KindCorrupt (or KindUnknown, where a newer
// version wrote the bytes).
type Damage struct {
	Scene    string
	Key      string // of the entry, readable: scene/family/seq
	FirstSeq uint64 // of the facts that are affected; 0 = not known
	LastSeq  uint64 // 0 = not known
	Wave     uint64 // that they belong to; 0 = not known
	Index    bool   // only the index is concerned; a repair makes it again
	Good     Wave   // last wave before the damage: up to here everything can be saved
	Cause    error  // with the offset inside the entry
}

func (d *Damage) Error() string {
	return fmt.Sprintf("entry %s%s: %v; %s", d.Key, d.where(), d.Cause, d.saved())
}

func (d *Damage) Unwrap() error { return d.Cause }

func (d *Damage) where() string {
	switch {
	case d.LastSeq > 0:
		return fmt.Sprintf(" (wave %d, facts %d to %d)", d.Wave, d.FirstSeq, d.LastSeq)
	case d.FirstSeq > 0:
		return fmt.Sprintf(" (facts from %d)", d.FirstSeq)
	}
	return ""
}

func (d *Damage) saved() string {
	if d.Index {
		return "the facts are not concerned: simd doctor --repair makes the index again from them"
	}
	if d.Good.Number == 0 {
		return "no wave before it can be saved"
	}
	return fmt.Sprintf("waves up to %d, facts up to %d, can be saved", d.Good.Number, d.Good.Last)
}

// damaged wraps a damage as the error that callers see.
func damaged(d *Damage) error {
	kind := protocol.KindOf(d.Cause)
	if kind != protocol.KindUnknown && kind != protocol.KindTransient {
		kind = protocol.KindCorrupt
	}
	return protocol.Errorf(kind, "persistence: journal of scene %q: %w", d.Scene, d)
}

// DamageOf finds the damage in an error.
func DamageOf(err error) (*Damage, bool) {
	var d *Damage
	ok := errors.As(err, &d)
	return d, ok
}

// keyDamage describes a damaged entry by its key; hdr is what is known of a
// block, if anything.
func keyDamage(scene string, key []byte, hdr *format.Header, good Wave, cause error) error {
	d := &Damage{Scene: scene, Good: good, Cause: cause}
	k, err := format.ParseKey(key)
	if d.Key = k.String(); err != nil {
		d.Key = fmt.Sprintf("%x", key)
	}
	d.FirstSeq, d.Index = k.Seq, k.Family == format.FamilyIndex
	if hdr != nil && hdr.Count > 0 {
		d.Wave, d.LastSeq = hdr.Wave, hdr.Last()
	}
	return damaged(d)
}
