package statecmd

import (
	"encoding/binary"
	"time"

	"tavernsim/protocol"
)

// keyRecord says that an entry with an idempotency key was applied.
type keyRecord struct {
	ID      string // scope: path and idempotency key
	Payload int64  // hash of action, value and options
	OpID    string
	Time    protocol.Time
}

// keyring remembers idempotency keys (C19).
type keyring struct {
	byKey cow[keyRecord]
	byAge cow[string] // time and operation, to the key
}

func keyID(path, key string) string { return path + "\x00" + key }

func (k *keyring) share() keyring { return keyring{k.byKey.share(), k.byAge.share()} }

func (k keyring) frozen() keyring { return keyring{k.byKey.frozen(), k.byAge.frozen()} }

// seen finds a record that is not too old.
func (k *keyring) seen(id string, now protocol.Time, age time.Duration) (keyRecord, bool) {
	r, ok := k.byKey.get(id)
	return r, ok && now.Sub(r.Time) <= age
}

// add remembers a record and forgets what is beyond the bounds.
func (k *keyring) add(r keyRecord, most int, age time.Duration) {
	if old, ok := k.byKey.get(r.ID); ok {
		k.byAge.write().Delete(ageKey(old))
	}
	k.byKey.write().Set(r.ID, r)
	k.byAge.write().Set(ageKey(r), r.ID)
	for k.byKey.len() > 1 {
		_, id, _ := k.byAge.m.Min()
		oldest, _ := k.byKey.get(id)
		if k.byKey.len() <= most && r.Time.Sub(oldest.Time) <= age {
			return
		}
		k.byAge.write().Delete(ageKey(oldest))
		k.byKey.write().Delete(id)
	}
}

// ageKey orders by time, then by operation.
func ageKey(r keyRecord) string { return timeKey(r.Time) + r.OpID }

// timeKey is a text that sorts like the time.
func timeKey(t protocol.Time) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(t)^1<<63)
	return string(b[:])
}
