package numbered

import "slices"

// IDs are the templates of several entries, of which each writes ids for numbers from 1 to its
// count. No two write the same.
type IDs struct {
	templates []Template
	counts    []int
	heads     map[string][]int // of entries, by what their ids begin with: all of them, or what is before the number
	lengths   []int            // of what is before a number; ascending
}

// Index prepares Find. The slices stay the caller's and must not change.
func Index(templates []Template, counts []int) IDs {
	x := IDs{templates: templates, counts: counts, heads: make(map[string][]int, len(templates))}
	for i, t := range templates {
		head := t.Head()
		x.heads[head] = append(x.heads[head], i)
		if t.HasN() {
			x.lengths = append(x.lengths, len(head))
		}
	}
	slices.Sort(x.lengths)
	x.lengths = slices.Compact(x.lengths)
	return x
}

// Find gives the entry and the number that write an id. It allocates nothing.
func (x *IDs) Find(id string) (entry, n int, ok bool) {
	if entry, n, ok = x.among(x.heads[id], id); ok {
		return entry, n, true
	}
	for _, length := range x.lengths {
		if length >= len(id) {
			break
		}
		if entry, n, ok = x.among(x.heads[id[:length]], id); ok {
			return entry, n, true
		}
	}
	return 0, 0, false
}

func (x *IDs) among(entries []int, id string) (entry, n int, ok bool) {
	for _, entry = range entries {
		if n, ok = x.templates[entry].Number(id, x.counts[entry]); ok {
			return entry, n, true
		}
	}
	return 0, 0, false
}
