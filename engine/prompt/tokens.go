package prompt

import (
	"strings"
	"unicode/utf8"
)

// Tokens estimates how many tokens a text has for the tokenizers of current models.
// It cuts the text into pieces as they do (a word, up to three digits, a run of marks with
// the line ends behind it) and looks up what a piece of its script costs. Where tokenizers
// differ, the table has the larger count: a prompt that is cut too early loses a little,
// and one that is too long is refused.
func Tokens(text string) int { return (hundredths(text) + 99) / 100 }

// lineTokens is Tokens of a text of many lines, as [Assemble] puts them together: a letter of
// another language makes the words of its own line dearer, and not those of all the others.
func lineTokens(text string) int {
	total := 0
	for text != "" {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			end = len(text)
		}
		for end < len(text) && text[end] == '\n' {
			end++
		}
		total, text = total+hundredths(text[:end]), text[end:]
	}
	return (total + 99) / 100
}

// hundredths counts hundredths of tokens.
func hundredths(text string) int {
	c := counter{text: text}
	for c.at < len(text) {
		switch classes[text[c.at]] {
		case small, capital:
			c.word()
		case digit:
			c.number()
		case blank:
			c.blanks()
		case mark:
			c.marks()
		default:
			c.character()
		}
	}
	return c.total + c.plain*c.language
}

// Costs, in hundredths of a token.
const (
	wordCost   = 102
	numberCost = 105
	blankCost  = 100 // of a line end, or of an indentation
	marksCost  = 100 // of each four marks of a run
	joinedCost = 50  // of one mark before a word, which often belongs to it

	longWord = 9 // letters; beyond it a word costs once more for each longMore
	longMore = 6
)

// script is a class of characters beyond ASCII: what each costs, and what a word of
// them costs besides.
type script struct {
	first, last  rune
	word, letter int
	language     int // Latin: what each word of four letters and more costs besides in a text that has such a letter
}

// scriptOf finds the row of a character.
func scriptOf(r rune) script {
	for _, s := range [...]script{
		{0x00c0, 0x00ff, 0, 60, 78}, // letters of western Europe
		{0x0100, 0x024f, 0, 120, 220},
		{0x0370, 0x03ff, 30, 85, 0},
		{0x0400, 0x052f, 36, 53, 0}, // Cyrillic
		{0x0590, 0x05ff, 30, 90, 0},
		{0x0600, 0x077f, 25, 78, 0}, // Arabic
		{0x0900, 0x0dff, 30, 100, 0},
		{0x0e00, 0x0eff, 0, 110, 0},
		{0x2000, 0x206f, 0, 100, 0},
		{0x3000, 0x303f, 0, 100, 0},
		{0x3040, 0x30ff, 0, 95, 0}, // kana
		{0x3400, 0x9fff, 0, 120, 0},
		{0xac00, 0xd7af, 0, 134, 0}, // Hangul
		{0xff00, 0xffef, 0, 100, 0},
	} {
		if r >= s.first && r <= s.last {
			return s
		}
	}
	return script{letter: 200} // an emoji, or a script that tokenizers cut to bytes
}

// Classes of bytes.
const (
	blank = iota
	digit
	small
	capital
	mark
	beyond // ASCII
)

// classes has the class of each byte.
const classes = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x04\x04\x04\x04\x04\x04" +
	"\x04\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x04\x04\x04\x04\x04" +
	"\x04\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x04\x04\x04\x04\x00" +
	high + high + high + high

const high = "\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05"

// counter is a text that is being counted.
type counter struct {
	text     string
	at       int
	total    int // hundredths
	plain    int // words of ASCII with four letters and more
	language int // what each of them costs besides
}

// word counts letters of ASCII, with those of western Europe between them. A capital
// behind a small letter begins another word.
func (c *counter) word() {
	s, at, part, foreign := c.text, c.at, 0, false
	for ; at < len(s); at++ {
		k := classes[s[at]]
		if k == small {
			part++
			continue
		}
		if k == capital {
			if part > 0 && classes[s[at-1]] == small {
				c.total += partCost(part)
				part = 0
			}
			part++
			continue
		}
		if k != beyond {
			break
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		row := scriptOf(r)
		if row.language == 0 {
			break
		}
		c.total += row.letter
		c.language = max(c.language, row.language)
		part, foreign = part+1, true
		at += size - 1
	}
	if !foreign && at-c.at > 3 {
		c.plain++
	}
	c.total += partCost(part)
	c.at = at
}

func partCost(n int) int {
	if n <= longWord {
		return wordCost
	}
	return wordCost + (n-longWord+longMore-1)/longMore*wordCost
}

func (c *counter) number() {
	n := c.run(digit)
	c.total += (n + 2) / 3 * numberCost
}

// run passes a run of bytes of a class.
func (c *counter) run(class byte) int {
	from := c.at
	for c.at < len(c.text) && classes[c.text[c.at]] == class {
		c.at++
	}
	return c.at - from
}

// blanks: the one before a word is a part of it.
func (c *counter) blanks() {
	if n := c.run(blank); n > 1 || c.text[c.at-1] != ' ' {
		c.total += blankCost
	}
}

// marks: line ends behind a run of marks belong to it.
func (c *counter) marks() {
	n := c.run(mark)
	if n == 1 && c.at < len(c.text) && (classes[c.text[c.at]] == small || classes[c.text[c.at]] == capital) {
		c.total += joinedCost
		return
	}
	for c.at < len(c.text) && c.text[c.at] == '\n' {
		n, c.at = n+1, c.at+1
	}
	c.total += (n + 3) / 4 * marksCost
}

// character counts one beyond ASCII.
func (c *counter) character() {
	r, size := utf8.DecodeRuneInString(c.text[c.at:])
	row := scriptOf(r)
	c.total += row.letter
	c.language = max(c.language, row.language)
	if row.word > 0 {
		before, _ := utf8.DecodeLastRuneInString(c.text[:c.at])
		if before < row.first || before > row.last {
			c.total += row.word
		}
	}
	c.at += size
}
