package mask

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"
)

// byteParts are the parts into which a byte of a value is divided, so that each character of a code stands for a whole number of them.
const byteParts = 40

// block is a part of a spelling that says something only as a whole, or as far as a run goes on from its beginning, and the part of the
// value for which it stands.
type block struct {
	text     string
	from, to int // in parts of bytes
	beside   int // parts of bytes, beyond the margin, that a run which begins or ends with the block may leave out of a letter
}

// margin is how a code counts letters. before and behind are the parts of bytes that a run may leave out of the letters at its ends: they
// stand in blocks that depend on what is beside the run, too. A letter that has more bytes than once counts once for each group of so
// many, the last of which may be shorter.
type margin struct{ before, behind, once int }

// spread gives each character of a text a block of its own, with the same share of a value.
func spread(text string, from, to int) (blocks []block) {
	for i := range len(text) {
		blocks = append(blocks, block{text[i : i+1], from + i*(to-from)/len(text), from + (i+1)*(to-from)/len(text), 0})
	}
	return blocks
}

// letters says which letters of a value a run has: for each character of a pattern, how many begin before a run that begins
// there, and how many have ended when a run ends there.
type letters struct{ before, until []int }

// of counts the letters that stand in a run as a whole.
func (l *letters) of(first, last int) int { return l.until[last] - l.before[first] }

// lettersOf finds the letters of the characters of blocks that are not squeezed out. Letters are given by where they begin and end in the
// value.
func lettersOf(begins, ends []int, blocks []block, m margin) (l letters) {
	var from, beside []int          // of the characters
	until := []int{math.MinInt / 2} // the end of the character before: whatever the first one leaves out is within the margin
	for _, b := range blocks {
		for i := range len(b.text) {
			if folded(b.text[i]) != 0 {
				from, until, beside = append(from, b.from+i*(b.to-b.from)/len(b.text)), append(until, b.to), append(beside, b.beside)
			}
		}
	}
	from = append(from, math.MaxInt/2) // and whatever the last one does
	for i, more := range beside {
		before, _ := slices.BinarySearch(begins, until[i]-m.before-more)
		ended, _ := slices.BinarySearch(ends, from[i+1]+m.behind+more+1)
		l.before, l.until = append(l.before, before), append(l.until, ended)
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

// inLetters is a spelling in which what stands for a letter does not depend on its neighbours, but for letters that are bound together.
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
		case len(self) > 0: // what became a sign counts between others, and beside one that the spelling changes
			begins, ends = append(begins, i*byteParts-1), append(ends, (i+size)*byteParts+1)
		}
		b := block{string(spelled), i * byteParts, (i + size) * byteParts, 0}
		if !bytes.Equal(spelled, self) {
			b.beside = 1
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
	s.letters = lettersOf(begins, ends, blocks, margin{})
	return s
}

// inBlocks is a spelling of bytes in blocks: a byte depends only on those of its block. code makes the bytes of a value.
func inBlocks(form, value string, code func(string) string, blocks []block, need, least int, m margin) spelling {
	s := spelling{form: form, need: need, least: least}
	var begins, ends []int
	at := 0
	for i, size := 0, 0; i < len(value); i += size {
		_, size = utf8.DecodeRuneInString(value[i:])
		begin := at
		at += len(code(value[i:i+size])) * byteParts
		for n := begin; n < at; n += m.once * byteParts {
			begins, ends = append(begins, begin), append(ends, at)
		}
	}
	for _, b := range blocks {
		s.text += b.text
	}
	s.letters = lettersOf(begins, ends, blocks, m)
	return s
}
