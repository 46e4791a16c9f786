package tam

import (
	"bytes"
	"unicode/utf8"
)

// family is a pair of value delimiters. The order is that of the table in
// docs/formats/tam.md.
type family uint8

const (
	famNone   family = iota
	famStd           // »»» «««, and longer runs
	famDouble        // »» ««
	famAngle         // >>> <<<
	famCorner        // 「始」 「末」, 「始ESCAPE」 「末ESCAPE」
	famBook          // 》》》 《《《
	famSingle        // ››› ‹‹‹
	famBrace         // {始} {末}
	famRaw           // 「始RAW」 「末RAW」: the exact bytes between
	famBare          // no delimiters: a bare command line
)

func (f family) String() string {
	return [...]string{"none", "std", "double", "angle", "corner", "book", "single", "brace", "raw", "bare"}[f]
}

// class is what an opener and its closer have in common: the family and the
// variant n, which is the length of a run or the number of a tag.
type class struct {
	fam family
	n   uint16
}

// maxRun bounds a run that is a delimiter; a longer one is ornament.
const maxRun = 64

// exact classes are the escape hatch: nothing inside such a value counts but
// its own closer.
func (c class) exact() bool {
	switch c.fam {
	case famCorner:
		return c.n > 0
	case famRaw:
		return true
	}
	return c.fam.run() && c.n > 3
}

// run reports a family whose variants are lengths of runs.
func (f family) run() bool {
	return f == famStd || f == famAngle || f == famBook || f == famSingle
}

// neutral classes are ours and say nothing about the author's habits.
func (c class) neutral() bool { return c.fam == famRaw || c.fam == famBare }

type delimKind uint8

const (
	delimNone delimKind = iota
	delimOpen
	delimClose
	delimMore // the bytes end before it is clear
)

type delim struct {
	kind delimKind
	cls  class
	end  int
	long string // what a run longer than maxRun is made of; it goes on behind end
}

const (
	runeLaquo, runeRaquo   = "«", "»"
	runeLsaquo, runeRsaquo = "‹", "›"
	runeLbook, runeRbook   = "《", "》"
	cornerOpen, cornerEnd  = "「", "」"
	wordStart, wordEnd     = "始", "末"
)

// scanDelim reads the delimiter at b[i], where a run is taken whole.
func scanDelim(b []byte, i int, final bool) delim {
	switch b[i] {
	case '>':
		return scanRun(b, i, ">", famAngle, 3, delimOpen, final)
	case '<':
		return scanRun(b, i, "<", famAngle, 3, delimClose, final)
	case '{':
		return scanBrace(b, i, final)
	case 0xC2, 0xE2, 0xE3:
	default:
		return delim{}
	}
	if !utf8.FullRune(b[i:]) {
		return waitUnless(final)
	}
	switch r, _ := utf8.DecodeRune(b[i:]); r {
	case '»':
		return scanRun(b, i, runeRaquo, famStd, 2, delimOpen, final)
	case '«':
		return scanRun(b, i, runeLaquo, famStd, 2, delimClose, final)
	case '›':
		return scanRun(b, i, runeRsaquo, famSingle, 3, delimOpen, final)
	case '‹':
		return scanRun(b, i, runeLsaquo, famSingle, 3, delimClose, final)
	case '》':
		return scanRun(b, i, runeRbook, famBook, 3, delimOpen, final)
	case '《':
		return scanRun(b, i, runeLbook, famBook, 3, delimClose, final)
	case '「':
		return scanCorner(b, i, final)
	}
	return delim{}
}

func waitUnless(final bool) delim {
	if final {
		return delim{}
	}
	return delim{kind: delimMore}
}

// scanRun takes the whole run of unit. A closing run of '<' gives its last one
// away when a marker starts there.
func scanRun(b []byte, i int, unit string, fam family, least int, kind delimKind, final bool) delim {
	j, n := i, 0
	for n <= maxRun && bytes.HasPrefix(b[j:], []byte(unit)) {
		j, n = j+len(unit), n+1
	}
	if n > maxRun {
		return delim{end: j - len(unit), long: unit}
	}
	if !final && j+len(unit) > len(b) && bytes.HasPrefix([]byte(unit), b[j:]) {
		return delim{kind: delimMore}
	}
	if kind == delimClose && fam == famAngle && n > 1 {
		switch m := scanMarker(b, j-1, final); m.kind {
		case markMore:
			return delim{kind: delimMore}
		case markStart, markEnd:
			j, n = j-1, n-1
		}
	}
	if n < least {
		return delim{end: j}
	}
	if fam == famStd && n == 2 {
		fam = famDouble
	}
	return delim{kind: kind, cls: class{fam, uint16(n)}, end: j}
}

// scanCorner reads 「始」 「末」 and their tagged forms.
func scanCorner(b []byte, i int, final bool) delim {
	j := i + len(cornerOpen)
	kind := delimOpen
	switch {
	case bytes.HasPrefix(b[j:], []byte(wordStart)):
	case bytes.HasPrefix(b[j:], []byte(wordEnd)):
		kind = delimClose
	case isPrefixOf(b[j:], wordStart) || isPrefixOf(b[j:], wordEnd):
		return waitUnless(final)
	default:
		return delim{}
	}
	j += len(wordStart)
	tag := j
	for j < len(b) && j-tag <= maxTagWord && isTagByte(b[j]) {
		j++
	}
	if isPrefixOf(b[j:], cornerEnd) && !bytes.HasPrefix(b[j:], []byte(cornerEnd)) {
		return waitUnless(final)
	}
	if !bytes.HasPrefix(b[j:], []byte(cornerEnd)) {
		return delim{}
	}
	cls, ok := tagClass(b[tag:j])
	if !ok {
		return delim{}
	}
	return delim{kind: kind, cls: cls, end: j + len(cornerEnd)}
}

const maxTagWord = 11

func isTagByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// tagClass reads "", ESCAPE, RAW and the last two with a number below 10000.
func tagClass(tag []byte) (class, bool) {
	if len(tag) == 0 {
		return class{fam: famCorner}, true
	}
	word := bytes.TrimRight(tag, "0123456789")
	digits := tag[len(word):]
	if len(digits) > 4 || len(digits) > 0 && digits[0] == '0' {
		return class{}, false
	}
	n := uint16(0)
	for _, d := range digits {
		n = n*10 + uint16(d-'0')
	}
	switch {
	case bytes.EqualFold(word, []byte("ESCAPE")):
		return class{famCorner, n + 1}, true
	case bytes.EqualFold(word, []byte("RAW")):
		return class{famRaw, n}, true
	}
	return class{}, false
}

func scanBrace(b []byte, i int, final bool) delim {
	for _, form := range [...]struct {
		text string
		kind delimKind
	}{{"{始}", delimOpen}, {"{末}", delimClose}} {
		if bytes.HasPrefix(b[i:], []byte(form.text)) {
			return delim{kind: form.kind, cls: class{fam: famBrace}, end: i + len(form.text)}
		}
		if !final && isPrefixOf(b[i:], form.text) {
			return delim{kind: delimMore}
		}
	}
	return delim{}
}

// isPrefixOf reports whether all of b is the beginning of s.
func isPrefixOf(b []byte, s string) bool { return len(b) <= len(s) && s[:len(b)] == string(b) }
