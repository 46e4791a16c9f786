// Package fields reads typed fields out of objects, and writes them, for entries of knowledge bases and
// queries. The caller holds a [Reader], which collects every fault.
package fields

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Reader takes typed fields out of objects and collects what is wrong. The zero Reader is
// ready.
type Reader struct {
	Path   string // before the names of fields
	Faults []string
}

// Fault notes what is wrong with a field.
func (r *Reader) Fault(key, format string, args ...any) {
	r.Faults = append(r.Faults, r.Path+key+": "+fmt.Sprintf(format, args...))
}

// Only notes every field that is not known.
func (r *Reader) Only(v map[string]any, known ...string) {
	for _, key := range protocol.SortedKeys(v) {
		if !slices.Contains(known, key) {
			r.Fault(key, "unknown field; there are %s", strings.Join(known, ", "))
		}
	}
}

// Text reads a text; nothing is an empty one.
func (r *Reader) Text(v map[string]any, key string) string {
	s, ok := v[key].(string)
	if !ok && v[key] != nil {
		r.Fault(key, "want text")
	}
	return s
}

// Flag reads true or false.
func (r *Reader) Flag(v map[string]any, key string) bool {
	b, ok := v[key].(bool)
	if !ok && v[key] != nil {
		r.Fault(key, "want true or false")
	}
	return b
}

// Number reads a number.
func (r *Reader) Number(v map[string]any, key string) float64 {
	n, ok := protocol.Number(v[key])
	if !ok && v[key] != nil {
		r.Fault(key, "want a number")
	}
	return n
}

// Count reads a whole number.
func (r *Reader) Count(v map[string]any, key string) int64 {
	n := r.Number(v, key)
	if n != float64(int64(n)) {
		r.Fault(key, "want a whole number")
	}
	return int64(n)
}

// Object reads an object.
func (r *Reader) Object(v map[string]any, key string) map[string]any {
	m, ok := v[key].(map[string]any)
	if !ok && v[key] != nil {
		r.Fault(key, "want an object")
	}
	return m
}

// Time reads a time in RFC 3339.
func (r *Reader) Time(v map[string]any, key string) time.Time {
	s := r.Text(v, key)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		r.Fault(key, "want a time like 2025-06-12T08:00:00Z")
	}
	return t.UTC()
}

// List reads a list of texts; one text alone is a list of one.
func (r *Reader) List(v map[string]any, key string) []string {
	switch x := v[key].(type) {
	case nil:
		return nil
	case string:
		return []string{x}
	case []any:
		out := make([]string, 0, len(x))
		for i, e := range x {
			s, ok := e.(string)
			if !ok {
				r.Fault(key, "item %d: want text", i)
			}
			out = append(out, s)
		}
		return out
	}
	r.Fault(key, "want a list of texts")
	return nil
}

// PutText puts what is not empty.
func PutText(m map[string]any, key, s string) {
	if s != "" {
		m[key] = s
	}
}

// PutFlag puts what is not empty.
func PutFlag(m map[string]any, key string, on bool) {
	if on {
		m[key] = true
	}
}

// PutNumber puts what is not empty.
func PutNumber(m map[string]any, key string, n float64) {
	if n != 0 {
		m[key] = n
	}
}

// PutCount puts what is not empty.
func PutCount(m map[string]any, key string, n int64) {
	if n != 0 {
		m[key] = n
	}
}

// PutTime puts what is not empty.
func PutTime(m map[string]any, key string, t time.Time) {
	if !t.IsZero() {
		m[key] = t.UTC().Format(time.RFC3339Nano)
	}
}

// PutList puts what is not empty.
func PutList(m map[string]any, key string, words []string) {
	if len(words) == 0 {
		return
	}
	m[key] = protocol.ListOf(words)
}
