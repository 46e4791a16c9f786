package toolsxml

import (
	"strings"

	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// newTool adds a tool. Beyond MaxTools there is one more place, which all the
// rest share and which the result drops.
func (p *parser) newTool(typ Type, pos, end int) int {
	t := Tool{Index: len(p.tools) + 1, Type: typ, Root: p.root, Span: Span{pos, end}}
	if len(p.tools) > MaxTools {
		t.Index = MaxTools + 1
		p.tools[MaxTools] = t
		return MaxTools
	}
	if len(p.tools) == MaxTools {
		p.report(none, LimitExceeded, finding.Error, pos, end,
			"received more than %d tools; none of them runs: send fewer at once", MaxTools)
	}
	p.tools, p.failed = append(p.tools, t), append(p.failed, false)
	return len(p.tools) - 1
}

// readTool reads the tool that begins at ev and returns where the parser goes on.
// A tool that the source cuts gets a negative Span.End, which unclosedRoot reads.
func (p *parser) readTool(ev event) int {
	name := strings.ToLower(p.d.s[ev.pos+1 : ev.next])
	tool := p.newTool(Type(name), ev.pos, ev.next)
	if p.lostDocs >= maxLostSearches {
		p.report(tool, LimitExceeded, finding.Error, ev.pos, ev.next,
			"received %d here documents without an end in front of <%s>; nothing behind them runs, as it may be text of one: expected a line that ends each",
			maxLostSearches, name)
	}
	o := p.opening(ev.pos, ev.next, tool)
	end, whole := o.end, !o.cut
	if whole {
		switch {
		case ev.kind == evUnknown || !ev.tag.tool() || ev.tag == tagMCP || ev.tag == tagSearch:
			end, whole = p.readForeign(ev, &o, tool)
		case ev.tag == tagEdit:
			end, whole = p.readEdit(&o, tool)
		case ev.tag == tagRead:
			end, whole = p.readRead(&o, tool)
		case ev.tag == tagGetValue:
			end, whole = p.readGetValue(&o, tool), true
		default:
			end, whole = p.readShell(ev, &o, tool)
		}
	}
	p.tools[tool].Span.End = end
	if !whole {
		p.report(tool, Truncated, finding.Error, ev.pos, ev.next,
			"the answer ends inside <%s>; it does not run: send it again", name)
		p.tools[tool].Span.End = none
	}
	return end
}

// readShell reads command, input and ctrl.
func (p *parser) readShell(ev event, o *opening, tool int) (end int, whole bool) {
	p.allow(o, tool)
	t := &p.tools[tool]
	text := p.d.s[o.end:o.end]
	end = o.end
	if !o.self {
		x := p.shellExtent(ev, o, tool)
		if text, end = p.d.s[o.end:x.end], x.next; x.how == cutOff {
			t.Content = text
			return end, false
		}
		if x.how == missing {
			p.missingClose(o, tool, end)
		}
	}
	v := p.value(text, o.end, o, tool)
	switch ev.tag {
	case tagCommand:
		t.Content = rawtext.LayoutScript(v.Text)
	case tagInput:
		t.Content = rawtext.DecodeEscapes(rawtext.LayoutInput(v.Text))
		p.checkInput(t, o, tool)
	default:
		p.readControl(t, v.Text, o, tool)
	}
	if t.Content == "" && ev.tag != tagCtrl || ev.tag == tagCommand && strings.TrimSpace(t.Content) == "" {
		p.report(tool, EmptyValue, finding.Error, o.pos, o.end, "received an empty <%s>; expected text in it", ev.tag)
	}
	p.collectSecrets(tool, t.Content, o)
	return end, true
}

// shellExtent is where the value of a tool of the shell lies. A command whose here document has no end, or
// one that may belong to another element, does not run: only half of it would, or text of the answer.
func (p *parser) shellExtent(ev event, o *opening, tool int) extent {
	x := p.d.extent(ev.mark, o.end)
	if ev.tag != tagCommand || p.lostDocs >= maxLostSearches {
		return x
	}
	x, is, word := p.d.hereDocument(ev.mark, o.end, x)
	switch is {
	case hereUnended:
		p.lostDocs++
		p.report(tool, OpenHereDoc, finding.Error, o.pos, o.end,
			"received a here document that has not ended in front of </%s>; expected a line %s that ends it, or, if it holds tags itself, %s…%s around the script",
			o.name, cut(word), rawtext.CDATAOpen, rawtext.CDATAClose)
	case hereUnclear:
		p.report(tool, OpenHereDoc, finding.Error, o.pos, o.end,
			"received a here document that has not ended in front of </%s>; the line %s behind it may end it or be part of another element, as a later <%s> shows; "+
				"nothing runs up to the </%s> behind that line: expected an end of its own, or, if the document holds tags itself, %s…%s around the script",
			o.name, cut(word), o.name, o.name, rawtext.CDATAOpen, rawtext.CDATAClose)
	case hereShared:
		p.report(tool, OpenHereDoc, finding.Error, o.pos, o.end,
			"received a here document that another <%s> begins in, whose own here document may be the one that ended; expected </%s> in front of that <%s>, or, if the document holds tags itself, %s…%s around the script",
			o.name, o.name, o.name, rawtext.CDATAOpen, rawtext.CDATAClose)
	}
	return x
}

func (p *parser) checkInput(t *Tool, o *opening, tool int) {
	if t.Content != "" && !strings.HasSuffix(t.Content, "\n") && !strings.HasSuffix(t.Content, "\r") {
		p.report(tool, InputNoNewline, finding.Warning, o.pos, o.end,
			"received %s without a newline at its end; write \\n to press Enter, unless a single key is expected", cut(t.Content))
	}
	if strings.ToValidUTF8(t.Content, "") != t.Content {
		t.Bytes = []byte(t.Content)
	}
}

func (p *parser) readControl(t *Tool, text string, o *opening, tool int) {
	name, bytes, ok := rawtext.Control(text)
	if !ok {
		t.Content = strings.ToLower(strings.TrimSpace(text))
		p.report(tool, UnknownControl, finding.Error, o.pos, o.end,
			"received %s in <ctrl>; expected one letter, one of [ \\ ] ^ _ ?, or the name of a key such as esc, tab, enter", cut(text))
		return
	}
	t.Content, t.Bytes = name, bytes
}

// value decides the entities of a raw text that begins at pos.
func (p *parser) value(raw string, pos int, o *opening, tool int) rawtext.Value {
	v := rawtext.Read(raw)
	if v.Open {
		p.report(tool, UnclosedCDATA, finding.Warning, pos, pos+len(rawtext.CDATAOpen),
			"received %s without %s in <%s>; the text up to the closer was taken", rawtext.CDATAOpen, rawtext.CDATAClose, o.name)
	}
	if len(raw) > MaxValue {
		p.report(tool, LimitExceeded, finding.Error, o.pos, o.end,
			"received %d bytes in <%s>; expected at most %d", len(raw), o.name, MaxValue)
	}
	return v
}

// missingClose reports an element that the tag at a position had to end.
func (p *parser) missingClose(o *opening, tool, at int) {
	p.report(tool, MissingClose, finding.Warning, o.pos, o.end,
		"received <%s> without </%s> in front of %s; it was taken to end there", o.name, o.name, p.tagAt(at))
}

// tagAt shows the beginning of the tag at a position.
func (p *parser) tagAt(at int) quoted {
	s := p.d.s[at:min(len(p.d.s), at+maxName)]
	if i := strings.IndexAny(s, "> \t\r\n"); i > 0 {
		s = s[:i]
	}
	return cut(s)
}

// readGetValue reads a request for a secret; it is whole without its closing tag.
func (p *parser) readGetValue(o *opening, tool int) (end int) {
	p.allow(o, tool, "key", "reason", "note")
	t := &p.tools[tool]
	t.Key = strings.TrimSpace(p.require(o, "key", "the name of the variable", tool))
	t.Reason = p.require(o, "reason", "why the user should give the value", tool)
	t.Note, _ = o.attr("note")
	if t.Key != "" && rawtext.NameLength(t.Key) != len(t.Key) {
		p.report(tool, InvalidAttribute, finding.Error, o.pos, o.end,
			"received key %s; expected letters, digits and _, not beginning with a digit", cut(t.Key))
	}
	for _, text := range []string{t.Key, t.Reason, t.Note} {
		p.collectSecrets(tool, text, o)
	}
	if o.self {
		return o.end
	}
	i := p.markFrom(o.end)
	if i < len(p.d.marks) && p.d.marks[i].tag == tagGetValue && p.d.marks[i].closer {
		m := &p.d.marks[i]
		if body := p.d.s[o.end:m.pos]; strings.TrimSpace(body) != "" {
			p.report(tool, IgnoredText, finding.Warning, o.end, int(m.pos),
				"received the text %s in <get_value>; expected attributes only", cut(body))
		}
		return int(m.end)
	}
	p.report(tool, MissingClose, finding.Warning, o.pos, o.end, "received <get_value …>; expected <get_value …/>")
	return o.end
}

// require gives a required attribute, "" when it is missing.
func (p *parser) require(o *opening, name, what string, tool int) string {
	v, ok := o.attr(name)
	if !ok {
		p.report(tool, MissingAttribute, finding.Error, o.pos, o.end,
			"received <%s> without %s; expected %s=\"…\": %s", o.name, name, name, what)
		return ""
	}
	return v
}

// collectSecrets lists the references in a text of the tool.
func (p *parser) collectSecrets(tool int, text string, o *opening) {
	t, malformed, overflow := &p.tools[tool], none, false
	for r := range rawtext.References(text) {
		switch {
		case r.Malformed:
			if malformed < 0 {
				malformed = r.Start
			}
		case r.Escaped || overflow || p.seen(t, r.Name):
		case len(t.Secrets) == MaxSecrets:
			overflow = true
			p.report(tool, LimitExceeded, finding.Error, o.pos, o.end, "received more than %d different $KARYI references in one tool", MaxSecrets)
		default:
			t.Secrets = append(t.Secrets, r.Name)
		}
	}
	if malformed >= 0 {
		p.malformedReference(tool, text, malformed, o)
	}
}

func (p *parser) malformedReference(tool int, text string, at int, o *opening) {
	pos, sample := o.pos, text[at:]
	if i := strings.IndexAny(sample[:min(len(sample), rawtext.MaxSecretName)], "} \t\n"); i > 0 {
		sample = sample[:i+1]
	}
	window := p.d.s[o.pos:min(len(p.d.s), o.end+4*len(text))]
	if i := strings.Index(window, sample[:min(len(sample), 2*len(rawtext.RefOpen))]); i >= 0 {
		pos += i
	}
	p.d.work += len(window) / 16
	p.report(tool, MalformedReference, finding.Warning, pos, pos+len(rawtext.RefOpen),
		"received %s; expected $KARYI{NAME} with letters, digits and _; it stays text", cut(sample))
}

func (p *parser) seen(t *Tool, name string) bool {
	for _, s := range t.Secrets {
		p.d.work++
		if s == name {
			return true
		}
	}
	return false
}

// readForeign reads a tool that this grammar does not run: an unknown name, a
// reserved one, or a part of edit and read that lacks its parent.
func (p *parser) readForeign(ev event, o *opening, tool int) (end int, whole bool) {
	switch {
	case ev.tag == tagSearch || ev.tag == tagMCP:
		p.report(tool, NotAvailable, finding.Error, o.pos, o.end,
			"received <%s>, which is reserved and not available yet; expected one of %s", ev.tag, toolList)
	case ev.kind == evOpen:
		p.report(tool, UnexpectedElement, finding.Error, o.pos, o.end,
			"received <%s> directly in <tools>; expected it inside %s", ev.tag, parentOf(ev.tag))
	default:
		p.report(tool, UnknownTool, finding.Error, o.pos, o.end, "received <%s>; expected one of %s", o.name, toolList)
	}
	body, end := p.foreignBody(o)
	p.tools[tool].Content = body
	if len(body) > MaxValue {
		p.tools[tool].Content = body[:MaxValue]
	}
	p.collectSecrets(tool, body, o)
	return end, true
}

func parentOf(t tag) string {
	switch t {
	case tagFile:
		return "<edit> or <read>"
	case tagFind, tagReplace:
		return "<edit><file src=\"…\">"
	}
	return "the text before <tools>"
}

// foreignBody finds the extent of an element without a grammar: up to its first
// closer within the root, so that tools inside it do not run; without a closer,
// up to the next tool.
func (p *parser) foreignBody(o *opening) (body string, end int) {
	if o.self {
		return "", o.end
	}
	s := p.d.s
	rootEnd := p.posOf(p.nextRoot.find(p, o.end, rootMark))
	toolAt := min(rootEnd, p.posOf(p.nextTool.find(p, o.end, func(m *mark) bool { return m.tag.tool() && !m.closer })))
	if p.lostSearches < maxLostSearches {
		if at, next := rawtext.CloserNamed(s, o.name, o.end, rootEnd); at >= 0 {
			p.d.work += (next - o.end) / 8
			return strings.TrimSpace(s[o.end:at]), next
		}
		p.d.work += (rootEnd - o.end) / 8
	}
	p.lostSearches++
	return strings.TrimSpace(s[o.end:toolAt]), toolAt
}

func rootMark(m *mark) bool { return m.tag == tagTools && (m.closer || m.bare) }

// posOf gives where a mark stands, or the end of the source.
func (p *parser) posOf(i int) int {
	if i < len(p.d.marks) {
		return int(p.d.marks[i].pos)
	}
	return len(p.d.s)
}

// markCursor is a cursor over marks.
type markCursor struct {
	from, at int
	set      bool
}

// find gives the first mark at or after pos that is wanted. The function is the
// same for every call on one cursor.
func (c *markCursor) find(p *parser, pos int, wanted func(*mark) bool) int {
	if c.set && pos >= c.from && pos <= p.posOf(c.at) {
		return c.at
	}
	c.from, c.set = pos, true
	for c.at = p.markFrom(pos); c.at < len(p.d.marks) && !wanted(&p.d.marks[c.at]); c.at++ {
		p.d.work++
	}
	return c.at
}
