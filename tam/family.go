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
)

type delim struct {
	kind delimKind
	cls  class
	end  int
}

const (
	runeLaquo, runeRaquo   = "«", "»"
	runeLsaquo, runeRsaquo = "‹", "›"
	runeLbook, runeRbook   = "《", "》"
	cornerOpen, cornerEnd  = "「", "」"
	wordStart, wordEnd     = "始", "末"
)

// scanDelim reads the delimiter at b[i], where a run is taken whole.
func scanDelim(b []byte, i int) delim {
	switch b[i] {
	case '>':
		return scanRun(b, i, ">", famAngle, 3, delimOpen)
	case '<':
		return scanRun(b, i, "<", famAngle, 3, delimClose)
	case '{':
		return scanBrace(b, i)
	case 0xC2, 0xE2, 0xE3:
	default:
		return delim{}
	}
	switch r, _ := utf8.DecodeRune(b[i:]); r {
	case '»':
		return scanRun(b, i, runeRaquo, famStd, 2, delimOpen)
	case '«':
		return scanRun(b, i, runeLaquo, famStd, 2, delimClose)
	case '›':
		return scanRun(b, i, runeRsaquo, famSingle, 3, delimOpen)
	case '‹':
		return scanRun(b, i, runeLsaquo, famSingle, 3, delimClose)
	case '》':
		return scanRun(b, i, runeRbook, famBook, 3, delimOpen)
	case '《':
		return scanRun(b, i, runeLbook, famBook, 3, delimClose)
	case '「':
		return scanCorner(b, i)
	}
	return delim{}
}

// scanRun takes the whole run of unit. A closing run of '<' gives its last one
// away when a marker starts there, or when it is too long to be a delimiter.
func scanRun(b []byte, i int, unit string, fam family, least int, kind delimKind) delim {
	j, n := i, 0
	for bytes.HasPrefix(b[j:], []byte(unit)) {
		j, n = j+len(unit), n+1
	}
	long := n > maxRun
	if unit == "<" && n > 1 && (long || scanMarker(b, j-1).kind != markNone) {
		j, n = j-1, n-1
	}
	if n < least || long {
		return delim{end: j}
	}
	if fam == famStd && n == 2 {
		fam = famDouble
	}
	return delim{kind: kind, cls: class{fam, uint16(n)}, end: j}
}

// scanCorner reads 「始」 「末」 and their tagged forms.
func scanCorner(b []byte, i int) delim {
	j := i + len(cornerOpen)
	kind := delimOpen
	switch {
	case bytes.HasPrefix(b[j:], []byte(wordStart)):
	case bytes.HasPrefix(b[j:], []byte(wordEnd)):
		kind = delimClose
	default:
		return delim{}
	}
	j += len(wordStart)
	tag := j
	for j < len(b) && j-tag <= maxTagWord && isTagByte(b[j]) {
		j++
	}
	cls, ok := tagClass(b[tag:j])
	if !ok || !bytes.HasPrefix(b[j:], []byte(cornerEnd)) {
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

func scanBrace(b []byte, i int) delim {
	d := delim{cls: class{fam: famBrace}, end: i + len("{始}")}
	switch {
	case bytes.HasPrefix(b[i:], []byte("{始}")):
		d.kind = delimOpen
	case bytes.HasPrefix(b[i:], []byte("{末}")):
		d.kind = delimClose
	default:
		return delim{}
	}
	return d
}
