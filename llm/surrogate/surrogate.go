package surrogate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"tavernsim/llm/replay"
	"tavernsim/protocol"
)

const (
	maxSituation = 32 << 10 // bytes, the last ones
	maxCount     = 7        // of a word in a situation
	far          = 1000
)

// Situation is what a request tells of the moment: its messages without those of the
// system.
func Situation(q *protocol.ModelRequest) string {
	var b strings.Builder
	for i := range q.Messages {
		if m := &q.Messages[i]; m.Role != protocol.RoleSystem {
			b.WriteString(m.Text)
			b.WriteByte('\n')
		}
	}
	s := b.String()
	return strings.ToValidUTF8(s[max(0, len(s)-maxSituation):], "")
}

// Index has the decisions of a cassette.
type Index struct{ groups map[group]*decisions }

type group struct {
	profile string
	purpose protocol.Purpose
}

// decisions are those of a profile for a purpose.
type decisions struct {
	entries []*replay.Entry
	norms   []uint64 // squares
	words   map[uint32][]posting
}

// posting is a word of a decision.
type posting struct {
	entry int
	count uint64
}

// New makes an index of the entries that have a situation.
func New(entries []*replay.Entry) *Index {
	x := &Index{groups: map[group]*decisions{}}
	for _, e := range slices.SortedFunc(slices.Values(entries), compare) {
		if e.Error != "" || e.Situation == "" {
			continue
		}
		g := group{e.Profile, e.Purpose}
		if x.groups[g] == nil {
			x.groups[g] = &decisions{words: map[uint32][]posting{}}
		}
		x.groups[g].add(e)
	}
	for _, d := range x.groups {
		d.norms = make([]uint64, len(d.entries))
		for word, list := range d.words {
			for _, p := range list {
				w := p.count * d.weight(word)
				d.norms[p.entry] += w * w
			}
		}
	}
	return x
}

// compare leaves no two entries equal that differ: one cassette may be put together of
// several, in any order of lines.
func compare(a, b *replay.Entry) int {
	order := cmp.Or(cmp.Compare(a.Scene, b.Scene), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Request, b.Request),
		cmp.Compare(a.Question, b.Question), cmp.Compare(a.Situation, b.Situation), cmp.Compare(a.Text, b.Text))
	if order != 0 || a == b {
		return order
	}
	x, _ := json.Marshal(a) // an entry was read as JSON
	y, _ := json.Marshal(b)
	return bytes.Compare(x, y)
}

func (d *decisions) add(e *replay.Entry) {
	for word, n := range bag(e.Situation) {
		d.words[word] = append(d.words[word], posting{len(d.entries), n})
	}
	d.entries = append(d.entries, e)
}

// weight is more for a word that few decisions have.
func (d *decisions) weight(word uint32) uint64 {
	return 1 + uint64(bits.Len(uint(len(d.entries)/(len(d.words[word])+1))))
}

// Len counts the decisions.
func (x *Index) Len() (n int) {
	for _, d := range x.groups {
		n += len(d.entries)
	}
	return n
}

// Nearest finds the nearest decision that fits; false = there is none at all.
func (x *Index) Nearest(q *protocol.ModelRequest, fits func(*replay.Entry) bool) (nearest *replay.Entry, distance int64, ok bool) {
	d := x.groups[group{q.Profile, q.Purpose}]
	if d == nil {
		return nil, far, false
	}
	dots, norm := make([]uint64, len(d.entries)), uint64(0)
	for word, n := range bag(Situation(q)) {
		weight := d.weight(word)
		norm += n * weight * n * weight
		for _, p := range d.words[word] {
			dots[p.entry] += n * weight * p.count * weight
		}
	}
	distance = far + 1
	for i, e := range d.entries {
		if at := apart(dots[i], norm, d.norms[i]); at < distance && fits(e) {
			nearest, distance = e, at
		}
	}
	return nearest, min(distance, far), nearest != nil
}

// Apart is how far two texts are from each other.
func Apart(a, b string) int64 {
	x, y := bag(a), bag(b)
	if len(x) == 0 && len(y) == 0 {
		return 0
	}
	var dot, nx, ny uint64
	for word, n := range x {
		dot, nx = dot+n*y[word], nx+n*n
	}
	for _, n := range y {
		ny += n * n
	}
	return apart(dot, nx, ny)
}

// apart is 1000 - 1000 dot / sqrt(a b). dot² is at most a b, so the division fits.
func apart(dot, a, b uint64) int64 {
	if a == 0 || b == 0 {
		return far
	}
	hi, lo := bits.Mul64(dot*dot, far*far)
	if hi >= a*b {
		return 0
	}
	square, _ := bits.Div64(hi, lo, a*b)
	root := int64(math.Sqrt(float64(square))) // at most 1000: exact but for the last step
	for root*root > int64(square) {
		root--
	}
	for (root+1)*(root+1) <= int64(square) {
		root++
	}
	return far - min(root, far)
}

// bag counts the words of a text, by their hashes.
func bag(text string) map[uint32]uint64 {
	words := map[uint32]uint64{}
	put := func(word string) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		k := h.Sum32()
		words[k] = min(words[k]+1, maxCount)
	}
	start := -1
	text = strings.ToLower(text)
	for i, r := range text {
		inside := (unicode.IsLetter(r) || unicode.IsNumber(r)) && !alone(r)
		if !inside && start >= 0 {
			put(text[start:i])
			start = -1
		}
		switch {
		case inside && start < 0:
			start = i
		case alone(r):
			put(string(r))
		}
	}
	if start >= 0 {
		put(text[start:])
	}
	return words
}

// alone reports whether a character is a word by itself.
func alone(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}
