package toolsxml

import (
	"strings"

	"tavernsim/tam/toolsxml/internal/rawtext"
)

// mark is a known tag, wherever it stands: also inside raw text, where the
// parser will step over it. Indexes of other marks are -1 for none.
type mark struct {
	pos, end int32 // see lexTag
	block    int32 // ordinal of the quoted or real block around it, 0 outside
	prev     int32 // raw opener: last closer of its tag before it; tools: index into doc.snaps
	next     int32 // raw opener: first structural closer of its tag in the same block
	any      int32 // ... in any block
	rival    int32 // raw opener: next bare opener of its tag in the same block
	rivalAny int32 // ... in any block
	cdata    int32 // raw opener: next closer of its tag that stands behind "]]>"
	limit    int32 // raw opener: the root tag beyond which its value cannot reach
	pair     int32 // find opener: next replace opener; replace opener: last find closer before
	tag      tag
	closer   bool
	bare     bool // stands where an element may begin or end
}

// doc is a source with its marks. Everything in it is computed once.
type doc struct {
	s     string
	marks []mark
	snaps [][rawTags]int32 // at each tools mark: last closer of each raw tag
	last  [rawTags]int32   // the same at the end of the source
	roots int              // number of tools openers

	commentEnds []int32 // positions after each "-->"
	afterEnd    []int32 // follow() of each, plus followUnset
	gt          cursor  // next '>'
	quotes      quoteCount

	hint int // the mark that markAt tries first

	work int // elementary steps of everything that could be more than linear
}

const (
	none        = -1
	followEnd   = -2 // the end of the source follows
	followUnset = -3
)

// scan finds the marks. Without a root it does not settle them: nothing will be
// parsed.
func scan(s string) *doc {
	d := &doc{s: s, marks: make([]mark, 0, countTags(s))}
	for p := 0; ; {
		k := strings.IndexByte(s[p:], '<')
		if k < 0 {
			break
		}
		p += k
		t, closer, end := lexTag(s, p)
		if t == tagNone {
			p++
			continue
		}
		d.marks = append(d.marks, mark{pos: int32(p), end: int32(end), tag: t, closer: closer})
		if t == tagTools && !closer {
			d.roots++
		}
		p = end
	}
	if d.roots > 0 {
		d.findCommentEnds()
		blocks := d.forward()
		d.backward(blocks)
	}
	return d
}

// countTags bounds the number of marks closely enough to allocate them at once.
func countTags(s string) (n int) {
	for {
		k := strings.IndexByte(s, '<')
		if k < 0 || k+len("<find>") > len(s) {
			return n
		}
		s = s[k+1:]
		c := s[0]
		if c == '/' {
			if c = s[1]; rawtext.Blank(c) {
				n++
			}
		}
		switch c | 0x20 {
		case 'c', 'i', 'f', 'r', 't', 'e', 'g', 's', 'm':
			n++
		}
	}
}

// forward notes what lies before each mark, and pairs the roots, real and
// quoted, so that a value may hold a whole block. It returns their number.
func (d *doc) forward() int {
	for i := range d.last {
		d.last[i] = none
	}
	var open []int32
	block, blocks := int32(0), 0
	for i := range d.marks {
		m := &d.marks[i]
		m.bare = d.isBare(i)
		m.block = block
		switch {
		case m.tag == tagTools:
			m.prev = int32(len(d.snaps))
			d.snaps = append(d.snaps, d.last)
			if !m.closer && d.opensBlock(i) {
				open = append(open, block)
				blocks++
				block = int32(blocks)
			} else if m.closer && m.bare && len(open) > 0 {
				block, open = open[len(open)-1], open[:len(open)-1]
			}
		case !m.tag.raw():
		case m.closer:
			d.last[m.tag] = int32(i)
		default:
			m.prev, m.pair = d.last[m.tag], d.last[tagFind]
		}
	}
	return blocks
}

// backward notes for each raw opener what lies behind it.
func (d *doc) backward(blocks int) {
	type table struct{ next, rival [rawTags]int32 }
	fresh := table{}
	for i := range rawTags {
		fresh.next[i], fresh.rival[i] = none, none
	}
	all, cdata, replaceOpen, limit := fresh, fresh.next, int32(none), int32(none)
	per := make([]table, blocks+1)
	for i := range per {
		per[i] = fresh
	}
	for i := len(d.marks) - 1; i >= 0; i-- {
		m, at := &d.marks[i], int32(i)
		own := &per[m.block]
		switch {
		case m.tag == tagTools:
			if !m.closer || limit == none || !d.marks[limit].closer {
				limit = at
			}
		case !m.tag.raw():
		case m.closer:
			if d.structural(i) {
				own.next[m.tag], all.next[m.tag] = at, at
			}
			if d.behindCDATA(i) {
				cdata[m.tag] = at
			}
		default:
			m.next, m.any, m.cdata, m.limit = own.next[m.tag], all.next[m.tag], cdata[m.tag], limit
			m.rival, m.rivalAny = own.rival[m.tag], all.rival[m.tag]
			if m.tag == tagFind {
				m.pair = replaceOpen
			}
			if m.bare {
				own.rival[m.tag], all.rival[m.tag] = at, at
			}
			if m.tag == tagReplace {
				replaceOpen = at
			}
		}
	}
}

// structural tells whether what follows a closer shows that it closes (X4).
func (d *doc) structural(i int) bool {
	m := &d.marks[i]
	d.hint = i + 1
	f := d.follow(int(m.end))
	if f < 0 {
		return f == followEnd && m.tag.shell()
	}
	n := &d.marks[f]
	switch m.tag {
	case tagFind:
		return n.tag == tagReplace && !n.closer
	case tagReplace:
		return n.tag == tagFind && !n.closer || n.tag == tagFile && n.closer
	default:
		return n.tag.tool() && !n.closer || n.tag == tagTools && n.closer
	}
}

// behindCDATA tells whether "]]>" and blanks stand before a closer.
func (d *doc) behindCDATA(i int) bool {
	p := int(d.marks[i].pos)
	for p > 0 && rawtext.Blank(d.s[p-1]) {
		p--
	}
	return strings.HasSuffix(d.s[:p], "]]>")
}

// opensBlock tells whether a tool follows a root opener at once. A bare mention
// of the tag in a value is not the start of a quoted block.
func (d *doc) opensBlock(i int) bool {
	p := d.gt.find(d, int(d.marks[i].end), '>')
	if p == len(d.s) {
		return false
	}
	d.hint = i + 1
	f := d.follow(p + 1)
	return f > 0 && d.marks[f].tag.tool() && !d.marks[f].closer
}

// follow gives the index of the mark that stands at p when blanks and comments
// are skipped, or none, or followEnd.
func (d *doc) follow(p int) int32 {
	p = rawtext.SkipBlanks(d.s, p)
	if !strings.HasPrefix(d.s[p:], "<!--") {
		return d.markAt(p)
	}
	return d.followComments(d.commentEnd(p + 4))
}

// followComments answers follow for the end of a comment, by its ordinal. Chains
// of comments are walked once: every comment on the way learns the answer.
func (d *doc) followComments(k int) int32 {
	var way []int
	f := int32(none)
	for k >= 0 {
		if f = d.afterEnd[k]; f != followUnset {
			break
		}
		d.work++
		way = append(way, k)
		p := rawtext.SkipBlanks(d.s, int(d.commentEnds[k]))
		if !strings.HasPrefix(d.s[p:], "<!--") {
			f = d.markAt(p)
			break
		}
		f, k = none, d.commentEnd(p+4)
	}
	for _, k := range way {
		d.afterEnd[k] = f
	}
	return f
}

// markAt finds the mark at p. A fence line before the end counts as the end.
func (d *doc) markAt(p int) int32 {
	if p >= len(d.s) || strings.HasPrefix(d.s[p:], "```") && rawtext.SkipBlanks(d.s, p+3) == len(d.s) {
		return followEnd
	}
	if d.hint < len(d.marks) && int(d.marks[d.hint].pos) == p {
		return int32(d.hint)
	}
	lo, hi := 0, len(d.marks)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if int(d.marks[mid].pos) < p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(d.marks) && int(d.marks[lo].pos) == p {
		return int32(lo)
	}
	return none
}

func (d *doc) findCommentEnds() {
	if !strings.Contains(d.s, "<!--") {
		return
	}
	n := strings.Count(d.s, "-->")
	d.commentEnds, d.afterEnd = make([]int32, 0, n), make([]int32, 0, n)
	for p := 0; ; {
		k := strings.Index(d.s[p:], "-->")
		if k < 0 {
			return
		}
		p += k + 3
		d.commentEnds = append(d.commentEnds, int32(p))
		d.afterEnd = append(d.afterEnd, followUnset)
	}
}

// commentEnd gives the ordinal of the first "-->" that ends after p, or none.
func (d *doc) commentEnd(p int) int {
	lo, hi := 0, len(d.commentEnds)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if int(d.commentEnds[mid]) < p+3 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(d.commentEnds) {
		return none
	}
	return lo
}
