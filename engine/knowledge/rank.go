package knowledge

import (
	"cmp"
	"math"
	"slices"
	"time"

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
	needed   int      // an entry in none of lists[needed:] cannot be among the best
}

// cursor is a list of postings from where it was read.
type cursor struct {
	list   []posting
	term   int
	weight int64
	bound  int64 // of what it adds to a score
}

func (s *ranking) open(terms []string, weights []int64) {
	s.lists, s.bounds, s.needed = s.lists[:0], s.bounds[:0], 0
	l := s.layer
	shrink := shrink(int64(len(l.docs)), max(l.lengths, 1), s.count, s.lengths)
	for i, t := range terms {
		at := l.terms[t]
		for _, p := range l.lists[at.from : at.from+at.n] {
			if len(p.list) > 0 {
				s.lists = append(s.lists, cursor{p.list, i, weights[i], weights[i] * share(p.most, shrink) >> 16})
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

// hopeless reports that an entry with at most so much for its text cannot be among the best.
func (s *ranking) hopeless(text int64) bool {
	return len(s.top.hits) == s.top.limit && score.Scaled(text, s.most) < s.top.hits[s.top.limit-1].Score
}

// raise moves needed after the lowest of the best has risen.
func (s *ranking) raise() {
	for s.needed < len(s.lists) && s.hopeless(s.bounds[s.needed]) {
		s.needed++
	}
}

func (s *ranking) run() {
	for s.needed < len(s.lists) {
		at := s.next()
		if at < 0 {
			return
		}
		s.look(at)
	}
}

// next is the first entry that any of the needed lists still holds, or -1.
func (s *ranking) next() int32 {
	at := int32(math.MaxInt32)
	for i := s.needed; i < len(s.lists); i++ {
		if list := s.lists[i].list; len(list) > 0 && list[0].doc < at {
			at = list[0].doc
		}
	}
	if at == math.MaxInt32 {
		return -1
	}
	return at
}

// look scores one entry, and passes it in the needed lists.
func (s *ranking) look(at int32) {
	penalty := score.Penalty(int64(s.layer.length[at]), s.count, s.lengths)
	text := int64(0)
	for i := len(s.lists) - 1; i >= s.needed; i-- {
		c := &s.lists[i]
		if len(c.list) > 0 && c.list[0].doc == at {
			text += score.Contribution(c.weight, int64(c.list[0].weight), penalty)
			c.list = c.list[1:]
		}
	}
	for i := s.needed - 1; i >= 0; i-- {
		if s.hopeless(text + s.bounds[i]) {
			return
		}
		c := &s.lists[i]
		if c.list = c.list[seek(c.list, at):]; len(c.list) > 0 && c.list[0].doc == at {
			text += score.Contribution(c.weight, int64(c.list[0].weight), penalty)
		}
	}
	if s.hopeless(text) {
		return
	}
	d := s.layer.docs[at]
	if !d.valid(s.filter.Now) {
		return
	}
	if !s.filter.open {
		if _, ok := s.filter.match(d); !ok {
			return
		}
	}
	if s.base.visible(s.n, d) {
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

// seek finds the first posting that is not before an entry, in steps that double.
func seek(list []posting, at int32) int {
	if len(list) == 0 || list[0].doc >= at {
		return 0
	}
	below, step := 0, 1 // list[below] is before the entry
	for below+step < len(list) && list[below+step].doc < at {
		below, step = below+step, step*2
	}
	end := min(below+step, len(list))
	for below+1 < end {
		if middle := int(uint(below+end) >> 1); list[middle].doc < at {
			below = middle
		} else {
			end = middle
		}
	}
	return end
}

// ratioOne is the ratio 1.
const ratioOne = 1 << 16

// ratio is weight/penalty, rounded up.
func ratio(weight, penalty int64) int64 {
	return (weight*1000*ratioOne + penalty - 1) / penalty
}

// shrink bounds from below how much smaller penalties are with the average length of
// the base than with that of a layer, with which the ratios were made.
func shrink(count, lengths, countNow, lengthsNow int64) int64 {
	was, now := max(lengths<<10/count, 1), lengthsNow<<10/countNow+1
	c := int64(ratioOne)
	if was < now {
		c = was * ratioOne / now
	}
	return c - c/64 // penalties are rounded
}

// share bounds the share of [contribution] for ratios up to one.
func share(ratio, shrink int64) int64 {
	return 2_200_000*ratio/(ratio+shrink) + 1
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
