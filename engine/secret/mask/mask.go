package mask

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Secret is a value that must not be seen.
type Secret struct {
	Name  string
	Value string
}

// MinValue is how many letters and digits a value needs: shorter ones are found everywhere.
const MinValue = gram

// gram is the length of the pieces that are looked up. bitGram is that of pieces of a value in binary, whose alphabet of two has few of
// eight characters: eight letters have six bits each at least.
const (
	gram    = 8
	bitGram = 48
)

// Plain is the form of a value that is spelled as it is.
const Plain = "plain"

// pattern is one spelling of one secret, squeezed: letters, digits and bytes beyond ASCII,
// in lower case.
type pattern struct {
	name  string
	form  string
	text  []byte
	first int  // the place of its first letter, among those of all patterns
	need  int  // as many letters of the value in a row are a hit
	sole  bool // the text is short, so it is a hit only if no digit is beside it

	least   int // characters of a hit
	letters letters
	back    bool // the text is backwards, and letters are not

	value string // if it is plain
	of    []int  // the places in it of the letters of the text; -1 = a letter spells another character
}

// place is a letter of a pattern, and the piece that ends with it.
type place struct {
	pattern int
	before  int // the next place before it at which the same piece ends; 0 = there is none
}

// Masker finds the values of its secrets.
type Masker struct {
	patterns []pattern
	places   []place              // of the letters of all patterns, one after the other
	pieces   map[uint64]int       // the last place of each piece
	filter   *[filterWords]uint64 // of pieces; most texts end here
	fold     *[256]byte
	width    *[256]byte // bits that a byte adds to a piece: 8, or 0 for what is squeezed out
	codes    *[256]byte
	escape   *[256]byte
	longest  int              // squeezed bytes that the longest hit needs
	beyond   map[rune]rune    // characters beyond ASCII that secrets have, in each case, and what each is looked up as; nil = any
	units    *[1 << 10]uint64 // of UTF-16, that secrets may have; a bit for each
}

// filterBits is the length of an index of the filter, 256 KiB. A piece sets four bits of one
// word: of the 100,000 pieces of 20 secrets, 0.3 % of others pass.
const (
	filterBits  = 15
	filterWords = 1 << filterBits
)

// New makes a masker. It refuses values that are too short to be found without false hits.
func New(secrets []Secret) (*Masker, error) {
	m := &Masker{pieces: map[uint64]int{}, beyond: map[rune]rune{}, units: new([1 << 10]uint64), filter: new([filterWords]uint64), fold: fold(), width: width(), codes: codes(), escape: escapes()}
	for _, s := range secrets {
		m.know(s.Value)
	}
	known := map[string]bool{}
	for _, s := range secrets {
		if squeezed := squeeze(s.Value); len(squeezed) < MinValue {
			return nil, protocol.Errorf(protocol.KindInvalid, "the secret %s has %d letters and digits; at least %d are needed to find it in texts", s.Name, len(squeezed), MinValue)
		}
		if distinct(s.Value) < minDistinct {
			return nil, protocol.Errorf(protocol.KindInvalid, "the secret %s has fewer than %d different letters and digits; it would be found everywhere", s.Name, minDistinct)
		}
		for _, spell := range asItIs() {
			m.add(s, inLetters(Plain, s.Value, spell, part(s.Value), 0), known)
		}
		for _, sp := range spellings(s.Value) {
			m.add(s, sp, known)
		}
	}
	return m, nil
}

const minDistinct = 4

func distinct(value string) int {
	b := squeeze(value)
	slices.Sort(b)
	return len(slices.Compact(b))
}

// add adds a spelling, and that backwards. known has the names and texts of the patterns.
func (m *Masker) add(s Secret, sp spelling, known map[string]bool) {
	p := pattern{name: s.Name, form: sp.form, text: squeeze(m.lower(sp.text)), need: sp.need, least: sp.least, letters: sp.letters}
	if p.sole = len(p.text) < sp.least; p.sole {
		if p.least = len(p.text); sp.form != inWords && !numeric(p.text, 10) {
			return
		}
	}
	if sp.form == Plain {
		p.value, p.of = s.Value, sp.of
	}
	m.index(p, known)
	if sp.form == Plain {
		p.text = squeeze(sp.text) // the bytes of a character may stand apart, which have no case
		m.index(p, known)
	}
	if sp.form == inWords {
		return // nobody dumps backwards, and these are many
	}
	back := []byte(sp.text)
	slices.Reverse(back)
	p.form, p.text, p.back, p.value, p.of = sp.form+" backwards", squeeze(m.lower(string(back))), true, "", nil
	m.index(p, known)
}

func (m *Masker) index(p pattern, known map[string]bool) {
	id := p.name + "\x00" + string(p.text) // a text has no zero
	if known[id] {
		return
	}
	known[id] = true
	p.first = len(m.places)
	m.patterns = append(m.patterns, p)
	m.longest = max(m.longest, p.letters.longest(p.need, max(p.least, gram)))
	w, packed := uint64(0), uint64(0)
	for i, c := range p.text {
		w, packed = w<<8|uint64(c), packed<<1|uint64(c&1)
		here, piece, size := place{pattern: len(m.patterns) - 1}, w, gram
		if p.least >= bitGram {
			piece, size = packed&(1<<bitGram-1), bitGram // no piece of characters is as small a number
		}
		if i >= gram-1 {
			at, bits := hash(w)
			m.filter[at] |= bits
		}
		if i >= size-1 {
			here.before, m.pieces[piece] = m.pieces[piece], len(m.places)
		}
		m.places = append(m.places, here)
	}
}

// hash gives the word of the filter for a piece, and the bits that the piece sets in it.
func hash(w uint64) (at, bits uint64) {
	h := w * 0x9e3779b97f4a7c15
	return h >> (64 - filterBits), 1<<(h>>40&63) | 1<<(h>>34&63) | 1<<(h>>28&63) | 1<<(h>>22&63)
}

// folded is the lower case of a byte, or 0 for what is squeezed out.
func folded(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c >= utf8.RuneSelf:
		return c
	}
	return 0
}

func fold() *[256]byte {
	t := new([256]byte)
	for c := range t {
		t[c] = folded(byte(c))
	}
	return t
}

func width() *[256]byte {
	t := fold()
	for c := range t {
		if t[c] != 0 {
			t[c] = 8
		}
	}
	return t
}

func squeeze(s string) (dst []byte) {
	for i := range len(s) {
		if c := folded(s[i]); c != 0 {
			dst = append(dst, c)
		}
	}
	return dst
}

// hit is a part of a text that spells a secret.
type hit struct {
	start, end int
	pattern    *pattern
}

// rank puts plain hits before others that begin at the same place.
func (h *hit) rank() int {
	if h.pattern.form == Plain {
		return 0
	}
	return 1
}

// scan finds all hits. It looks at every byte of every output, and has no branch that depends
// on whether a byte is squeezed out: where words end, such a branch is foreseen wrongly.
func (m *Masker) scan(original string) []hit {
	found := finder{Masker: m}
	text := m.lower(original)
	w, bits, filter, table, width := uint64(0), 0, m.filter, m.fold, m.width
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == 0x1b {
			i = skipEscape(text, i)
			continue
		}
		w = w<<(width[c]&63) | uint64(table[c])
		bits += int(width[c])
		at, want := hash(w)
		if filter[at]&want == want && width[c] != 0 && bits >= 8*gram {
			found.piece(w, bits/8, i+1)
		}
	}
	return m.hits(original, found.all())
}

// has counts the letters of the value that stand as a whole in a part of the pattern.
func (p *pattern) has(first, last int) int {
	if p.back {
		first, last = len(p.text)-1-last, len(p.text)-1-first
	}
	return p.letters.of(first, last)
}

func (m *Masker) patternOf(place int) *pattern { return &m.patterns[m.places[place].pattern] }

// hits turns runs into places of the text.
func (m *Masker) hits(text string, runs []run) (hits []hit) {
	for _, r := range runs {
		h := hit{m.back(text, r.end, r.length), r.end, m.patternOf(r.place)}
		if !h.pattern.sole || !within(text, h) {
			m.widen(text, &h, r)
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(a.start-b.start, a.rank()-b.rank(), a.pattern.first-b.pattern.first) })
	return hits
}

// skipEscape gives the last byte of an escape sequence of a terminal.
func skipEscape(text string, i int) int {
	if i+1 >= len(text) || text[i+1] != '[' {
		return i
	}
	for j := i + 2; j < len(text) && j < i+maxEscape; j++ {
		if '@' <= text[j] && text[j] <= '~' {
			return j
		}
	}
	return i
}

const maxEscape = 32

// inEscape reports whether a byte belongs to an escape sequence.
func inEscape(text string, at int) bool {
	for i := at; i >= 0 && i > at-maxEscape; i-- {
		if text[i] == 0x1b {
			return skipEscape(text, i) >= at
		}
	}
	return false
}
