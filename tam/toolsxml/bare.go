package toolsxml

import (
	"strings"

	"tavernsim/tam/toolsxml/internal/rawtext"
)

// isBare tells whether a tag stands where an element may begin or end: at the
// start of a line, right behind another tag, or, for what goes to a shell, in
// unquoted text, where "<command>" would be a redirection that nobody writes.
// It decides only what a missing or ambiguous closer means.
func (d *doc) isBare(i int) bool {
	m := &d.marks[i]
	if m.tag.shell() && !m.closer && d.hasAttribute(m) {
		return false // <input type="text">: HTML in a script
	}
	if begins, ok := d.beginsElement(i); ok {
		return begins
	}
	switch m.tag {
	case tagFind, tagReplace, tagFile, tagThink:
		return false
	}
	return !m.closer && d.unquoted(int(m.pos))
}

// beginsElement tells what stands in front of a tag says of it, if it says something: the start of a line,
// or another tag.
func (d *doc) beginsElement(i int) (begins, ok bool) {
	p := int(d.marks[i].pos)
	for p > 0 && (d.s[p-1] == ' ' || d.s[p-1] == '\t') {
		p--
	}
	switch {
	case p == 0 || d.s[p-1] == '\n' || d.s[p-1] == '\r':
		return true, true
	case d.s[p-1] == '>' && i > 0:
		return d.behindTag(i-1, p)
	}
	return false, false
}

// behindTag tells whether mark j ends at p. A raw opener that does is the start
// of a value, and what begins a value is text.
func (d *doc) behindTag(j, p int) (bare, ok bool) {
	m := &d.marks[j]
	if m.closer {
		return true, int(m.end) == p
	}
	if d.gt.find(d, int(m.end), '>')+1 != p {
		return false, false
	}
	return !m.tag.raw() || d.s[p-2] == '/', true
}

func (d *doc) hasAttribute(m *mark) bool {
	p := int(m.end)
	for p < len(d.s) && rawtext.Blank(d.s[p]) {
		p++
	}
	return p < len(d.s) && rawtext.Letter(d.s[p])
}

// quoteCount counts quotes of one line from left to right; asking for positions
// in rising order costs each byte once.
type quoteCount struct {
	at                     int
	single, double, ticked int
}

func (d *doc) unquoted(pos int) bool {
	q := &d.quotes
	if nl := strings.LastIndexByte(d.s[q.at:pos], '\n'); nl >= 0 {
		*q = quoteCount{at: q.at + nl + 1}
	}
	d.work += pos - q.at
	for ; q.at < pos; q.at++ {
		switch d.s[q.at] {
		case '\'':
			q.single++
		case '"':
			q.double++
		case '`':
			q.ticked++
		}
	}
	return (q.single|q.double|q.ticked)&1 == 0
}

// cursor remembers where a byte comes next. Asking for positions in rising order
// costs each byte once.
type cursor struct {
	from, at int
	set      bool
}

// find gives the first position of b at or after p, or len(s).
func (c *cursor) find(d *doc, p int, b byte) int {
	if c.set && p >= c.from && p <= c.at {
		return c.at
	}
	c.from, c.at, c.set = p, len(d.s), true
	if k := strings.IndexByte(d.s[p:], b); k >= 0 {
		c.at = p + k
	}
	d.work += (c.at - p) / 16
	return c.at
}
