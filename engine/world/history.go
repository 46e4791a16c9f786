package world

import "slices"

// History keeps the latest documents of one world, so that an older version can
// be read without folding the journal. Documents share what they have in common.
// It is a value; Keep returns another one. The zero History keeps 16.
type History struct {
	Limit int         // documents kept; 0 is 16
	docs  []*Document // oldest first
}

// Keep adds the newest document and forgets the oldest beyond the limit.
func (h History) Keep(d *Document) History {
	limit := h.Limit
	if limit <= 0 {
		limit = 16
	}
	docs := slices.Clone(h.docs[max(0, len(h.docs)-limit+1):])
	return History{Limit: h.Limit, docs: append(docs, d)}
}

// At returns the document that was current at a version: the latest one kept
// whose version is not higher. It is missing when that was before the oldest.
func (h History) At(version int64) (*Document, bool) {
	for i := len(h.docs) - 1; i >= 0; i-- {
		if h.docs[i].version <= version {
			return h.docs[i], true
		}
	}
	return nil, false
}
