package toolsxml

import (
	"fmt"
	"strings"

	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// attribute is one name="value" of a tag, entities decoded.
type attribute struct {
	name, value string // name in lower case
	pos, end    int
}

// opening is an opening tag that was read to its end.
type opening struct {
	name       string // as written
	pos, end   int    // "<" and the first byte behind the tag
	self       bool   // ends in "/>"
	cut        bool   // by the end of the source
	attributes []attribute
}

// attr gives the value of an attribute; ok is false when it is missing or blank.
func (o *opening) attr(name string) (string, bool) {
	for _, a := range o.attributes {
		if a.name == name {
			return a.value, strings.TrimSpace(a.value) != ""
		}
	}
	return "", false
}

// opening reads the tag whose name begins at pos+1 and ends at nameEnd (X8). A
// tag without ">" ends in front of the next "<".
func (p *parser) opening(pos, nameEnd, tool int) opening {
	s := p.d.s
	o := opening{name: s[pos+1 : nameEnd], pos: pos}
	i := nameEnd
	for {
		i = rawtext.SkipBlanks(s, i)
		if i == len(s) || s[i] == '<' {
			p.report(tool, UnclosedTag, finding.Warning, pos, i,
				"received %s without \">\"; expected the tag to be closed", cut(s[pos:i]))
			o.cut = i == len(s)
			break
		}
		if s[i] == '>' {
			i++
			break
		}
		if j := rawtext.SkipBlanks(s, i+1); s[i] == '/' && j < len(s) && s[j] == '>' {
			o.self, i = true, j+1
			break
		}
		i = p.attribute(&o, i, tool)
	}
	o.end = i
	return o
}

// attribute reads one attribute at i, or steps over one byte that cannot begin
// one.
func (p *parser) attribute(o *opening, i, tool int) int {
	s, start := p.d.s, i
	for i < len(s) && rawtext.NameByte(s[i]) {
		i++
	}
	if i == start {
		return i + 1
	}
	a := attribute{name: strings.ToLower(s[start:min(i, start+maxName)]), pos: start, end: i}
	if j := rawtext.SkipBlanks(s, i); j < len(s) && s[j] == '=' {
		var raw string
		raw, i = p.attributeValue(rawtext.SkipBlanks(s, j+1), tagOf(o.name).raw(), tool)
		a.value, _ = rawtext.DecodeEntities(raw)
		a.end = i
	}
	p.keep(o, a, tool)
	return i
}

func (p *parser) keep(o *opening, a attribute, tool int) {
	for _, b := range o.attributes {
		if b.name == a.name {
			p.report(tool, DuplicateAttribute, finding.Warning, a.pos, a.end,
				"received %s a second time in <%s>; the first value %s counts", a.name, o.name, cut(b.value))
			return
		}
	}
	switch {
	case len(o.attributes) == maxAttributes:
		p.report(tool, LimitExceeded, finding.Error, a.pos, a.end,
			"received more than %d attributes in <%s>", maxAttributes, o.name)
	case len(a.value) > MaxValue:
		p.report(tool, LimitExceeded, finding.Error, a.pos, a.end,
			"received %d bytes in attribute %s; expected at most %d", len(a.value), a.name, MaxValue)
	default:
		o.attributes = append(o.attributes, a)
	}
}

// attributeValue reads a value in double, single or no quotes. In the tag of a
// raw-text element it holds no other tag: what the marks say about the element
// counts from its opener on.
func (p *parser) attributeValue(i int, inRaw bool, tool int) (raw string, next int) {
	s := p.d.s
	if i == len(s) {
		return "", i
	}
	if s[i] != '"' && s[i] != '\'' {
		j := i
		for j < len(s) && !rawtext.Blank(s[j]) && s[j] != '>' && s[j] != '<' && !strings.HasPrefix(s[j:], "/>") {
			j++
		}
		return s[i:j], j
	}
	if end := p.closingQuote(s[i], i+1, inRaw); end >= 0 {
		return s[i+1 : end], end + 1
	}
	end := min(p.gt.find(p.d, i+1, '>'), p.newline.find(p.d, i+1, '\n'), p.posOf(p.markFrom(i+1)))
	raw = strings.TrimRight(s[i+1:end], " \t\r")
	if end < len(s) && s[end] == '>' && strings.HasSuffix(raw, "/") {
		raw, end = strings.TrimRight(raw[:len(raw)-1], " "), end-1
	}
	p.report(tool, UnclosedQuote, finding.Warning, i, end,
		"received %s without a closing quote; the value was taken to end there", cut(s[i:end]))
	return raw, end
}

// closingQuote finds the quote that ends a value: one behind which the tag goes
// on. A value that would run over the next element was not closed.
func (p *parser) closingQuote(q byte, from int, inRaw bool) int {
	c := &p.quote[0]
	if q == '\'' {
		c = &p.quote[1]
	}
	if c.at < from && c.at >= 0 {
		c.at = p.nextClosing(q, from)
	}
	if c.at < 0 {
		return none
	}
	if i := p.markFrom(from); i < len(p.d.marks) && int(p.d.marks[i].pos) < c.at && (inRaw || p.d.marks[i].bare) {
		return none
	}
	return c.at
}

func (p *parser) nextClosing(q byte, from int) int {
	s := p.d.s
	for i := from; ; i++ {
		k := strings.IndexByte(s[i:], q)
		if k < 0 {
			p.d.work += (len(s) - i) / 16
			return none
		}
		p.d.work += k/16 + 1
		i += k
		if p.goesOn(i + 1) {
			return i
		}
	}
}

// goesOn tells whether a tag can go on at i: with its end or another attribute.
func (p *parser) goesOn(i int) bool {
	s := p.d.s
	i = rawtext.SkipBlanks(s, i)
	if i == len(s) || s[i] == '>' || strings.HasPrefix(s[i:], "/>") {
		return true
	}
	j := i
	for j < len(s) && rawtext.NameByte(s[j]) {
		j++
	}
	p.d.work += j - i
	if s[i] == '<' {
		f := p.d.markAt(i)
		return f >= 0 && p.d.marks[f].bare
	}
	if k := rawtext.SkipBlanks(s, j); j > i && k < len(s) {
		return s[k] == '=' || s[k] == '>' || strings.HasPrefix(s[k:], "/>")
	}
	return false
}

// allow reports the attributes that the tag does not have.
func (p *parser) allow(o *opening, tool int, names ...string) {
	for _, a := range o.attributes {
		known := false
		for _, n := range names {
			known = known || a.name == n
		}
		if !known {
			p.report(tool, UnknownAttribute, finding.Warning, a.pos, a.end,
				"received attribute %s, which <%s> does not have; it is ignored%s", a.name, strings.ToLower(o.name), expectedNames(names))
		}
	}
}

func expectedNames(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; expected %s", strings.Join(names, ", "))
}
