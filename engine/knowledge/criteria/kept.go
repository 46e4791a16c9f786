package criteria

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Timed is when an entry with sticky or cooldown became active for an agent, in its turns.
type Timed struct {
	KB, ID string
	Since  uint64
	Stays  uint64 // the last turn in which it stays
	Rests  uint64 // the last turn in which it cannot be active; at least Stays
}

// Kept are the entries of one agent, or of one of its bases, that are active or rest.
type Kept []Timed

// MaxKept bounds them; beyond it the one that would be over first is forgotten.
const MaxKept = 256

// Begin is what is kept of an entry that becomes active.
func (a *Activation) Begin(kb, id string, turn uint64) Timed {
	stays := turn + uint64(a.Sticky)
	return Timed{KB: kb, ID: id, Since: turn, Stays: stays, Rests: stays + uint64(a.Cooldown)}
}

func (k Kept) of(id string) *Timed {
	for i := range k {
		if k[i].ID == id {
			return &k[i]
		}
	}
	return nil
}

// In are those of a base; nil = none.
func (k Kept) In(kb string) (out Kept) {
	for _, t := range k {
		if t.KB == kb {
			out = append(out, t)
		}
	}
	return out
}

// With adds entries, each in the place of an older one of the same id. It changes no list
// that somebody else holds.
func (k Kept) With(list ...Timed) Kept {
	out := slices.Clone(k)
	for _, t := range list {
		i := slices.IndexFunc(out, func(o Timed) bool { return o.KB == t.KB && o.ID == t.ID })
		if i >= 0 {
			out[i] = t
		} else {
			out = append(out, t)
		}
	}
	if len(out) > MaxKept {
		slices.SortFunc(out, func(a, b Timed) int {
			return cmp.Or(cmp.Compare(b.Rests, a.Rests), strings.Compare(a.KB, b.KB), strings.Compare(a.ID, b.ID))
		})
		out = out[:MaxKept:MaxKept]
	}
	return out
}

// After drops what is over when a turn has ended; nil = nothing is left.
func (k Kept) After(turn uint64) (out Kept) {
	over := func(t Timed) bool { return t.Rests <= turn }
	if !slices.ContainsFunc(k, over) {
		return k
	}
	for _, t := range k {
		if !over(t) {
			out = append(out, t)
		}
	}
	return out
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
