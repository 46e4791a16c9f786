package toolsxml

import (
	"strings"

	"tavernsim/tam/toolsxml/internal/rawtext"
)

// extent is where the value of a raw-text element lies and where the parser goes
// on.
type extent struct {
	end, next int
	how       closing
}

type closing uint8

const (
	closed  closing = iota // by its own closer
	missing                // its closer was left out; the next tag ends it
	cutOff                 // by the end of the source
)

// extent finds the end of raw opener i, whose content begins at start (X4). In
// this order:
//
//  1. CDATA ends at "]]>" and the closer behind it, whatever it holds.
//  2. The first structural closer, unless a rival shows that the closer was
//     forgotten: a second opener of the same tag where an element may begin.
//     Elements of this grammar do not nest. Closers inside a quoted block are
//     passed over if there is one behind it.
//  3. Otherwise the last closer before the rival; else the next tag.
//  4. Otherwise the last closer before the root's end; else the next tag.
//  5. Otherwise the value is cut.
func (d *doc) extent(i, start int) extent {
	m := &d.marks[i]
	if c, ok := d.cdataCloser(m, start); ok {
		return d.closedBy(c)
	}
	rival := int32(none)
	for _, scope := range [...]struct{ closer, rival int32 }{{m.next, m.rival}, {m.any, m.rivalAny}} {
		r := d.rivalOf(m, start, scope.closer, scope.rival)
		if scope.closer >= 0 && (r < 0 || scope.closer < r) {
			return d.closedBy(scope.closer)
		}
		if rival < 0 {
			rival = r
		}
	}
	if rival >= 0 {
		return d.fallback(i, start, rival, d.lastCloserBefore(m.tag, rival))
	}
	if m.limit >= 0 {
		return d.fallback(i, start, m.limit, d.snaps[d.marks[m.limit].prev][m.tag])
	}
	return d.fallback(i, start, int32(len(d.marks)), d.last[m.tag])
}

// rivalOf gives the mark that shows that m has ended before it, or none.
func (d *doc) rivalOf(m *mark, start int, closer, rival int32) int32 {
	if m.tag == tagCommand && rival >= 0 && closer > rival {
		// A here document may hold lines that look like tags.
		end := int(d.marks[rival].pos)
		d.work += (end - start) / 8
		if rawtext.NewHereDocs(d.s, start).Open(end) {
			rival = none
		}
	}
	if m.tag == tagFind && m.pair >= 0 && (rival < 0 || m.pair < rival) {
		// <replace>…</replace> before the closer of find: find was not closed.
		if r := d.marks[m.pair].any; closer < 0 || r >= 0 && r < closer {
			rival = m.pair
		}
	}
	return rival
}

// lastCloserBefore reads what forward noted at a rival.
func (d *doc) lastCloserBefore(t tag, rival int32) int32 {
	if d.marks[rival].tag == t {
		return d.marks[rival].prev
	}
	return d.marks[rival].pair // a replace opener, asked for find
}

// fallback ends a value at a closer that is not structural, or without one.
func (d *doc) fallback(i, start int, upto, closer int32) extent {
	if int(closer) > i {
		return d.closedBy(closer)
	}
	j := d.nextTag(i, int(upto))
	if j == len(d.marks) {
		return extent{len(d.s), len(d.s), cutOff}
	}
	end := int(d.marks[j].pos)
	return extent{start + len(strings.TrimRight(d.s[start:end], " \t\r\n")), end, missing}
}

// nextTag finds the first mark after i, up to and including upto, at which a
// value without closer ends.
func (d *doc) nextTag(i, upto int) int {
	inEdit := !d.marks[i].tag.shell()
	for j := i + 1; j < upto; j++ {
		d.work++
		m := &d.marks[j]
		switch {
		case inEdit && (m.tag == tagReplace || m.tag == tagFind) && !m.closer && m.tag != d.marks[i].tag,
			inEdit && m.tag == tagFile && (m.closer || m.bare),
			inEdit && m.tag == tagEdit && m.closer,
			m.tag == tagTools && (m.closer || m.bare),
			m.tag.tool() && !m.closer && m.bare:
			return j
		}
	}
	return upto
}

func (d *doc) closedBy(c int32) extent {
	m := &d.marks[c]
	return extent{int(m.pos), int(m.end), closed}
}

// cdataCloser finds the closer of a value that begins with CDATA. When another
// CDATA value begins before it, behind a structural closer, this one was not
// terminated and the ordinary rules hold.
func (d *doc) cdataCloser(m *mark, start int) (int32, bool) {
	p := rawtext.SkipBlanks(d.s, start)
	if m.cdata < 0 || !rawtext.StartsCDATA(d.s, start) {
		return none, false
	}
	body := d.s[p+len(rawtext.CDATAOpen) : max(p+len(rawtext.CDATAOpen), int(d.marks[m.cdata].pos))]
	second := strings.Index(body, rawtext.CDATAOpen)
	if d.work += second / 16; second < 0 {
		d.work += len(body) / 16
	}
	if second >= 0 && m.any >= 0 && m.any < m.cdata {
		return m.cdata, p+len(rawtext.CDATAOpen)+second < int(d.marks[m.any].pos)
	}
	return m.cdata, true
}

// hereEnd is what here documents say of the end of a command.
type hereEnd byte

const (
	hereWhole   hereEnd = iota // no document is open there
	hereUnended                // one is, and no later closer stands behind its end
	hereUnclear                // what ends it may stand in a later command, or in front of one
	hereShared                 // what ends it may stand in a command that begins in it
)

// hereDocument moves the end of a command out of a here document: within one, a closer is a part of
// the text, whatever follows it. The end is then the first structural closer behind the document. word
// is the one that ends it.
func (d *doc) hereDocument(i, start int, x extent) (_ extent, is hereEnd, word string) {
	if text := d.s[start:x.end]; x.how == cutOff || rawtext.StartsCDATA(d.s, start) || !strings.Contains(text, "<<") {
		return x, hereWhole, ""
	}
	docs := rawtext.NewHereDocs(d.s, start)
	word, open := docs.Upto(x.end)
	d.work += (x.end - start) / 8
	later := rawtext.NewLaterCommands(d.s)
	for j := i + 1; j < len(d.marks) && (open || int(d.marks[j].pos) < docs.Ended()); j++ {
		m := &d.marks[j]
		switch d.work++; {
		case m.tag != tagCommand || open && int(m.pos) < x.end:
		case m.closer:
			d.work += (int(m.pos) - int(d.marks[j-1].pos)) / 8
			if open && !docs.Open(int(m.pos)) && d.structural(j) {
				return d.closedBy(int32(j)), hereOr(hereUnclear, later.Doubt(docs.Ended())), word
			}
			d.work += later.Closer(int(m.pos)) / 8
		case m.bare || d.attributed(j):
			d.work += later.Opener(int(m.pos), int(m.end)) / 8
		}
	}
	if open {
		return x, hereUnended, word
	}
	return x, hereOr(hereShared, later.Doubt(docs.Ended())), ""
}

func hereOr(is hereEnd, doubt bool) hereEnd {
	if doubt {
		return is
	}
	return hereWhole
}

// attributed tells whether an opener that is not bare for its attributes begins an element all the same.
func (d *doc) attributed(j int) bool {
	begins, _ := d.beginsElement(j)
	return begins && d.hasAttribute(&d.marks[j])
}
