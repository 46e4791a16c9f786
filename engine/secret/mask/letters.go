package mask

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// byteParts are the parts into which a byte of a value is divided, so that each character of a code stands for a whole number of them.
const byteParts = 40

// block is a part of a spelling that says something only as a whole, or as far as a run goes on from its beginning, and the part of the
// value for which it stands.
type block struct {
	text     string
	from, to int // in parts of bytes
}

// spread gives each character of a text a block of its own, with the same share of a value.
func spread(text string, from, to int) (blocks []block) {
	for i := range len(text) {
		blocks = append(blocks, block{text[i : i+1], from + i*(to-from)/len(text), from + (i+1)*(to-from)/len(text)})
	}
	return blocks
}

// letters says which letters of a value a run has: for each character of a pattern, how many begin before a run that begins
// there, and how many have ended when a run ends there.
type letters struct{ before, until []int }

// of counts the letters that stand in a run as a whole.
func (l *letters) of(first, last int) int { return l.until[last] - l.before[first] }

// lettersOf finds the letters of the characters of blocks that are not squeezed out. Letters are given by where they begin and end in the
// value. before and behind are how much of the letters at the ends of a run may stand in blocks that depend on what is beside the run, too.
func lettersOf(begins, ends []int, blocks []block, before, behind int) (l letters) {
	var from, to []int // of the characters
	for _, b := range blocks {
		for i := range len(b.text) {
			if folded(b.text[i]) != 0 {
				from = append(from, b.from+i*(b.to-b.from)/len(b.text))
				to = append(to, b.to)
			}
		}
	}
	from = append(from, math.MaxInt/2) // whatever the first and the last character leave out is slack
	outside, until := 0, 0
	for i := range to {
		for i > 0 && outside < len(begins) && begins[outside] < to[i-1]-before {
			outside++
		}
		for until < len(ends) && ends[until] <= from[i+1]+behind {
			until++
		}
		l.before, l.until = append(l.before, outside), append(l.until, until)
	}
	return l
}

// longest is how many characters a run of so many letters has at most, and least at least.
func (l *letters) longest(need, least int) int {
	longest, last := least, 0
	for first := range l.before {
		for last < len(l.until) && l.of(first, last) < need {
			last++
		}
		if last == len(l.until) {
			break
		}
		longest = max(longest, last+1-first)
	}
	return longest
}

// inLetters is a spelling in which what stands for a letter does not depend on its neighbours, or nearly so.
func inLetters(form, value string, spell func(string) string, need, least int) spelling {
	s := spelling{form: form, text: spell(value), need: need, least: least}
	var begins, ends []int
	var blocks, apart []block // apart are those of letters beside each other that a spelling may bind together
	from := 0
	flush := func(to int) {
		n := 0
		for _, b := range apart {
			n += len(b.text)
		}
		together := squeeze(spell(value[from:to]))
		if n != len(together) {
			apart = spread(string(together), from*byteParts, to*byteParts)
		}
		blocks, apart = append(blocks, apart...), apart[:0]
		for range together {
			s.of = append(s.of, -1)
		}
	}
	for i, size := 0, 0; i < len(value); i += size {
		_, size = utf8.DecodeRuneInString(value[i:])
		self, spelled := squeeze(value[i:i+size]), squeeze(spell(value[i:i+size]))
		switch {
		case len(spelled) > 0:
			begins, ends = append(begins, i*byteParts), append(ends, (i+size)*byteParts)
		case len(self) > 0: // what became a sign counts between others
			begins, ends = append(begins, i*byteParts-1), append(ends, (i+size)*byteParts+1)
		}
		b := block{string(spelled), i * byteParts, (i + size) * byteParts}
		if !bytes.Equal(spelled, self) {
			apart = append(apart, b)
			continue
		}
		flush(i)
		from, blocks = i+size, append(blocks, b)
		for j := range self {
			s.of = append(s.of, i+j)
		}
	}
	flush(len(value))
	if squeezed := squeeze(s.text); len(squeezed) != len(s.of) {
		blocks = spread(string(squeezed), 0, len(value)*byteParts)
	}
	s.letters = lettersOf(begins, ends, blocks, 0, 0)
	return s
}

// inBlocks is a spelling of bytes, each of which does not depend on others than those of its block. code makes the bytes of a value, and
// a letter counts once for so many of them that it begins.
func inBlocks(form, value string, code func(string) string, blocks []block, before, behind, need, least, once int) spelling {
	s := spelling{form: form, need: need, least: least}
	var begins, ends []int
	at := 0
	for i, size := 0, 0; i < len(value); i += size {
		_, size = utf8.DecodeRuneInString(value[i:])
		begin := at
		at += len(code(value[i:i+size])) * byteParts
		for n := begin; n < at; n += once * byteParts {
			begins, ends = append(begins, begin), append(ends, at)
		}
	}
	for _, b := range blocks {
		s.text += b.text
	}
	s.letters = lettersOf(begins, ends, blocks, before, behind)
	return s
}
