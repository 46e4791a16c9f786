package ledger

import (
	"encoding/binary"
	"time"

	"tavernsim/protocol"
)

// KeyRecord says that an entry with an idempotency key was applied.
type KeyRecord struct {
	ID      string // scope: path and idempotency key
	Payload int64  // hash of action, value and options
	OpID    string
	Time    protocol.Time
}

// Keys remembers idempotency keys (C19).
type Keys struct {
	byKey cow[KeyRecord]
	byAge cow[string] // time and operation, to the key
}

// KeyID is the scope of an idempotency key.
func KeyID(path, key string) string { return path + "\x00" + key }

// Share returns a copy; from now on neither side writes what both hold.
func (k *Keys) Share() Keys { return Keys{k.byKey.share(), k.byAge.share()} }

// Frozen is what Share returns, for one that nobody writes any more and that
// others may be reading.
func (k Keys) Frozen() Keys { return Keys{k.byKey.frozen(), k.byAge.frozen()} }

// Seen finds a record that is not too old.
func (k *Keys) Seen(id string, now protocol.Time, age time.Duration) (KeyRecord, bool) {
	r, ok := k.byKey.get(id)
	return r, ok && now.Sub(r.Time) <= age
}

// Add remembers a record and forgets what is beyond the bounds.
func (k *Keys) Add(r KeyRecord, most int, age time.Duration) {
	if old, ok := k.byKey.get(r.ID); ok {
		writable(&k.byAge).Delete(ageKey(old))
	}
	writable(&k.byKey).Set(r.ID, r)
	writable(&k.byAge).Set(ageKey(r), r.ID)
	for k.byKey.len() > 1 {
		_, id, _ := k.byAge.m.Min()
		oldest, _ := k.byKey.get(id)
		if k.byKey.len() <= most && r.Time.Sub(oldest.Time) <= age {
			return
		}
		writable(&k.byAge).Delete(ageKey(oldest))
		writable(&k.byKey).Delete(id)
	}
}

// ageKey orders by time, then by operation.
func ageKey(r KeyRecord) string { return timeKey(r.Time) + r.OpID }

// timeKey is a text that sorts like the time.
func timeKey(t protocol.Time) string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(t)^1<<63)
	return string(b[:])
}

// Len counts the keys.
func (k *Keys) Len() int { return k.byKey.len() }

// Records lists all, oldest first.
func (k *Keys) Records() (out []KeyRecord) {
	ascend(&k.byAge, "", func(_, id string) bool {
		r, _ := k.byKey.get(id)
		out = append(out, r)
		return true
	})
	return out
}

// LoadKeys is the inverse of Records.
func LoadKeys(records []KeyRecord) (k Keys) {
	for _, r := range records {
		writable(&k.byKey).Set(r.ID, r)
		writable(&k.byAge).Set(ageKey(r), r.ID)
	}
	return k.Frozen()
}
