package knowledge

import (
	"math"

	"tavernsim/engine/knowledge/score"
)

// Shares of text and vector in a rank, in tenths.
const (
	shareText   = 7
	shareVector = 3
)

// closest finds the entries with the highest scores by words and vectors:
//
//	(0.7 × text + 0.3 × cosine) × (1 + importance + use + recency)
//
// text is BM25 as a share of the highest of all entries that are found. An entry that shares no
// word needs a cosine of at least Embedding.Above. Every vector is looked at.
func (b *Base) closest(terms []string, f *filter, top *best) {
	s := ranking{base: b, filter: f, top: top, count: int64(b.count), lengths: max(b.lengths, 1)}
	s.halfLife = b.halfLife()
	above := int64(DefaultAbove)
	if a := b.def.Embedding.Above; a != nil {
		above = int64(math.Round(*a * score.Million))
	}
	texts, most := make([][]int64, len(b.layers)), int64(0)
	for n := range b.layers {
		texts[n] = s.texts(n, terms)
		for i, text := range texts[n] {
			if text > most && s.finds(n, b.layers[n].docs[i]) {
				most = text
			}
		}
	}
	for n, l := range b.layers {
		s.n, s.layer = n, l
		for i, d := range l.docs {
			cosine := int64(0)
			if l.vectors != nil {
				cosine = l.vectors[i].Cosine(f.Vector)
			}
			text := texts[n][i]
			if text == 0 && (cosine < above || cosine <= 0) {
				continue
			}
			of := shareVector * max(cosine, 0)
			if text > 0 {
				of += shareText * (min(text, most) * score.Million / max(most, 1))
			}
			if total := score.Scaled(of/10, score.Million+s.rise(d)); top.takes(Hit{d.entry, total}) && s.finds(n, d) {
				top.add(d, total)
			}
		}
	}
}

// finds reports whether an entry may be an answer.
func (s *ranking) finds(n int, d *doc) bool {
	if !d.valid(s.filter.Now) {
		return false
	}
	if !s.filter.open {
		if _, ok := s.filter.match(d); !ok {
			return false
		}
	}
	return s.base.visible(n, d)
}

// texts adds up what the terms add to each entry of a layer.
func (s *ranking) texts(n int, terms []string) []int64 {
	l := s.base.layers[n]
	out := make([]int64, len(l.docs))
	for _, t := range terms {
		at := l.terms[t]
		if at.n == 0 {
			continue
		}
		rare := score.Rarity(s.base.count, s.base.holders(t))
		for _, p := range l.lists[at.from : at.from+at.n] {
			for _, x := range p.list {
				out[x.Doc] += score.Contribution(rare, int64(x.Weight), score.Penalty(int64(l.length[x.Doc]), s.count, s.lengths))
			}
		}
	}
	return out
}
