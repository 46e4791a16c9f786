package knowledge

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"tavernsim/engine/knowledge/bound"
	"tavernsim/engine/knowledge/score"
)

// rank finds the entries that share a term with the query and have the highest scores:
//
//	BM25 × (1 + importance + use + recency)
//
// It looks only at entries that may still be among them. No bound of a score is below
// it, so what is left out changes no answer.
func (b *Base) rank(terms []string, f *filter, top *best) {
	weights := make([]int64, len(terms))
	for i, t := range terms {
		weights[i] = score.Rarity(b.count, b.holders(t))
	}
	s := ranking{base: b, filter: f, top: top, count: int64(b.count), lengths: max(b.lengths, 1)}
	s.halfLife = b.halfLife()
	for n, l := range b.layers {
		s.n, s.layer, s.most = n, l, score.Million+l.boost
		if s.aged() {
			s.most += score.Million
		}
		s.open(terms, weights)
		s.run()
	}
}

// halfLife is that of entries in microseconds; 0 = age does not count.
func (b *Base) halfLife() int64 {
	return int64(b.def.HalfLifeHours * float64(time.Hour/time.Microsecond))
}

// holders counts the visible entries with a term.
func (b *Base) holders(term string) int {
	count := 0
	for _, l := range b.layers {
		at := l.terms[term]
		for i := range at.n {
			count += len(l.lists[at.from+i].list)
		}
		count -= int(l.hidden[term])
	}
	return count
}

// ranking is the search of one layer.
type ranking struct {
	base     *Base
	filter   *filter
	top      *best
	count    int64
	lengths  int64
	halfLife int64 // microseconds
	n        int
	layer    *layer
	most     int64    // what a score is multiplied by at most, in millionths
	lists    []cursor // those that add least first
	bounds   []int64  // what lists[:i+1] add at most
	upper    []int64  // what the text of an entry of each block is worth at most
	needed   int      // an entry in none of lists[needed:] cannot be among the best
	least    int64    // what the text of an entry must be worth to be among the best
}

// cursor is a list of postings from where it was read.
type cursor struct {
	list   []bound.Posting
	all    []bound.Posting
	at     bound.Places // postings.at
	term   int
	weight int64
	bound  int64 // of what it adds to a score
}

func (s *ranking) open(terms []string, weights []int64) {
	l := s.layer
	s.lists, s.bounds, s.needed, s.least = s.lists[:0], s.bounds[:0], 0, 0
	s.upper = slices.Grow(s.upper[:0], bound.Blocks(len(l.docs)))[:bound.Blocks(len(l.docs))]
	clear(s.upper)
	shrink := bound.Shrink(int64(len(l.docs)), max(l.lengths, 1), s.count, s.lengths)
	for i, t := range terms {
		at := l.terms[t]
		if at.levels > 0 {
			l.levels[at.levels-1].Add(s.upper, weights[i], shrink)
		}
		for _, p := range l.lists[at.from : at.from+at.n] {
			if len(p.list) == 0 {
				continue
			}
			most := bound.Of(weights[i], p.most, shrink)
			s.lists = append(s.lists, cursor{p.list, p.list, p.at, i, weights[i], most})
			if at.levels == 0 {
				for _, x := range p.list {
					s.upper[x.Doc/bound.Block] += most
				}
			}
		}
	}
	slices.SortFunc(s.lists, func(a, b cursor) int { return cmp.Compare(a.bound, b.bound) })
	sum, of := int64(0), make([]int64, len(terms))
	for _, c := range s.lists {
		sum += c.bound - of[c.term] // an entry is in one list of a term
		of[c.term] = c.bound
		s.bounds = append(s.bounds, sum)
	}
	s.raise()
}

// raise moves least and needed after the lowest of the best has risen.
func (s *ranking) raise() {
	if len(s.top.hits) < s.top.limit {
		return
	}
	s.least = score.Enough(s.top.hits[s.top.limit-1].Score, s.most)
	for s.needed < len(s.lists) && s.bounds[s.needed] < s.least {
		s.needed++
	}
}

// run looks at the blocks whose entries may be among the best: at the most promising ones,
// then at the others from front to back.
func (s *ranking) run() {
	for _, b := range bound.Highest(s.upper) {
		s.block(b)
		s.upper[b] = -1
	}
	for i := range s.lists {
		s.lists[i].list = s.lists[i].all
	}
	for b, most := range s.upper {
		if most >= s.least {
			s.block(int32(b))
		}
	}
}

// block adds up the needed lists for the entries of a block, and looks at those that have
// any of their terms. What a list added that is no longer needed in the middle of it stays.
func (s *ranking) block(b int32) {
	from := b * bound.Block
	var texts [bound.Block]int64
	var found [bound.Block]uint64 // terms, a bit each
	have := uint64(0)
	for i := len(s.lists) - 1; i >= s.needed; i-- {
		c := &s.lists[i]
		for c.seek(from); len(c.list) > 0 && c.list[0].Doc < from+bound.Block; c.list = c.list[1:] {
			at := c.list[0].Doc - from
			texts[at] += s.adds(c)
			found[at] |= 1 << c.term
			have |= 1 << at
		}
	}
	for ; have != 0; have &= have - 1 {
		at := bits.TrailingZeros64(have)
		s.look(from+int32(at), texts[at], found[at])
	}
}

// adds is what the next posting of a list adds to the score of its entry.
func (s *ranking) adds(c *cursor) int64 {
	p := c.list[0]
	return score.Contribution(c.weight, int64(p.Weight), score.Penalty(int64(s.layer.length[p.Doc]), s.count, s.lengths))
}

// look scores one entry, of which the needed lists are added up, with these terms.
func (s *ranking) look(at int32, text int64, found uint64) {
	for i := s.needed - 1; i >= 0; i-- {
		if text+s.bounds[i] < s.least {
			return
		}
		c := &s.lists[i]
		if found>>c.term&1 != 0 {
			continue // an entry is in one list of a term
		}
		if c.seek(at); len(c.list) > 0 && c.list[0].Doc == at {
			text += s.adds(c)
			found |= 1 << c.term
		}
	}
	if text < s.least {
		return
	}
	if d := s.layer.docs[at]; s.finds(s.n, d) {
		s.top.add(d, score.Scaled(text, score.Million+s.rise(d)))
		s.raise()
	}
}

// rise is what raises the rank of an entry, in millionths.
func (s *ranking) rise(d *doc) (sum int64) {
	if s.layer.boost > 0 {
		sum += d.boost()
	}
	if s.aged() {
		sum += s.recency(d)
	}
	return sum
}

// seek goes to the first posting that is not before an entry, which the search has not passed.
func (c *cursor) seek(at int32) {
	if c.at != nil {
		c.list = c.all[c.at[at/bound.Block]:]
	}
	c.list = c.list[bound.Seek(c.list, at):]
}

// boost is what importance and use add to the rank of an entry, in millionths: a tenth
// of the importance, and the lower bound of helped/used, 0 to 1 each.
func (d *doc) boost() int64 {
	e := d.entry
	return int64(math.Round(e.Importance*(score.Million/10))) + score.LowerBound(e.Helped, e.Used)
}

func (s *ranking) aged() bool { return s.halfLife > 0 && s.filter.Now != 0 }

// recency of an entry with a time, in millionths: 1 when it was changed now, half of
// it for each half-life before.
func (s *ranking) recency(d *doc) int64 {
	at := d.entry.UpdatedAt
	if at.IsZero() {
		at = d.entry.CreatedAt
	}
	if at.IsZero() {
		return 0
	}
	age := s.filter.Now.Std().Sub(at).Microseconds()
	return score.Halved(max(age, 0), s.halfLife)
}
