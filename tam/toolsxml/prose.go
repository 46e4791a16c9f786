package toolsxml

import (
	"strings"

	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// prose walks over the text of an answer, reads the roots in it and returns what
// is neither root nor reasoning.
func (p *parser) prose() string {
	var pieces []string
	from, fence := 0, false
	take := func(upto int) {
		pieces = append(pieces, rawtext.OutsideFence(p.d.s[from:upto], fence))
		fence = false
	}
	naked := p.nakedTags()
	for i := 0; i < len(p.d.marks); {
		m := &p.d.marks[i]
		pos, next := int(m.pos), none
		switch {
		case m.closer:
		case m.tag == tagTools:
			if c := p.commentAround(pos, from); c >= 0 {
				p.report(none, InComment, finding.Info, pos, int(m.end), "received <tools> inside a comment; it does not run")
				i = p.markFrom(c)
				continue
			}
			next = p.readRoot(i)
		case m.tag == tagThink:
			next = p.skipReasoning(i)
		default:
			naked(i)
		}
		if next < 0 {
			i++
			continue
		}
		upto := pos
		if m.tag == tagTools {
			upto = pos - rawtext.FenceBefore(p.d.s[from:pos])
		}
		take(upto)
		from, fence = next, upto < pos
		i = p.markFrom(next)
	}
	take(len(p.d.s))
	return joinText(pieces...)
}

// readRoot reads the root at mark i and returns where it ends, or -1 when it is
// only a mention of the tag and stays text.
func (p *parser) readRoot(i int) int {
	tools, diags, overflow, ignored := len(p.tools), len(p.diags), p.overflow, p.ignored
	p.root++
	end, read := p.readElements(i)
	if read {
		p.roots = append(p.roots, Span{int(p.d.marks[i].pos), end})
		return end
	}
	p.tools, p.failed = p.tools[:tools], p.failed[:tools]
	p.diags, p.overflow = p.diags[:diags], overflow
	p.root--
	m := &p.d.marks[i]
	if end < 0 {
		p.report(none, Mention, finding.Info, int(m.pos), int(m.end), "received <tools> without a tool and without </tools>; taken as text")
		return none
	}
	p.report(none, EmptyRoot, finding.Warning, int(m.pos), int(m.end),
		"received <tools> without a tool in it; expected one of %s", toolList)
	if p.ignored > ignored {
		return none
	}
	return end
}

const toolList = "<command>, <edit>, <read>, <get_value>, <input>, <ctrl>"

// readElements reads the tools of a root. read is false when there was none; end
// is then negative when the root was not closed either.
func (p *parser) readElements(i int) (end int, read bool) {
	m := p.d.marks[i]
	o := p.opening(int(m.pos), int(m.end), none)
	first, known := len(p.tools), false
	pos := o.end
	for !o.self {
		ignored := p.ignored
		ev := p.next(pos, none)
		switch {
		case ev.kind == evClose && ev.tag == tagTools:
			return ev.next, len(p.tools) > first
		case ev.kind == evEnd, ev.kind == evOpen && ev.tag == tagTools:
			if !known {
				return none, false
			}
			end := p.tailText(pos, ev.pos, p.ignored > ignored)
			p.unclosedRoot(i, first, end)
			return end, true
		case ev.kind == evClose, ev.kind == evStray:
			p.stray(ev, none)
			pos = ev.next
		default:
			known = known || ev.kind == evOpen
			pos = p.readTool(ev)
			if len(p.tools) > MaxTools { // none of them runs: read no more of them
				pos = max(pos, p.posOf(p.nextRoot.find(p, pos, rootMark)))
			}
		}
	}
	return o.end, false
}

// tailText gives the text behind the last tool of an unclosed root back to the
// prose: it was written for people.
func (p *parser) tailText(from, to int, ignored bool) int {
	if !ignored {
		return to
	}
	text := none
	for i := len(p.diags) - 1; i >= 0 && p.diags[i].Offset >= from; i-- {
		switch p.diags[i].Code {
		case UnclosedComment:
			return to // what is in the comment must not be read as prose with roots
		case IgnoredText:
			text = i
		}
	}
	if text < 0 {
		return to
	}
	p.diags = append(p.diags[:text], p.diags[text+1:]...)
	p.ignored--
	return from
}

// unclosedRoot repairs a root without closer when all its tools are closed (X3).
// One that was cut inside a tool does not run at all.
func (p *parser) unclosedRoot(i, first, end int) {
	m := p.d.marks[i]
	cut := false
	for t := first; t < len(p.tools); t++ {
		cut = cut || p.tools[t].Span.End < 0
	}
	p.report(none, MissingRootClose, finding.Warning, int(m.pos), int(m.end),
		"received <tools> without </tools>; expected </tools> after the last tool")
	for t := first; t < len(p.tools); t++ {
		tool := &p.tools[t]
		switch {
		case tool.Span.End < 0:
			tool.Span.End = end
		case cut:
			p.report(t, RootIncomplete, finding.Error, tool.Span.Start, tool.Span.End,
				"the answer ends inside a later tool of the same <tools>; nothing of it runs: send all of it again")
		case p.opts.cut():
			p.report(t, RootIncomplete, finding.Error, tool.Span.Start, tool.Span.End,
				"the provider cut the answer before </tools>; nothing of it runs: send all of it again, or less at once")
		}
	}
}

func (p *parser) stray(ev event, tool int) {
	p.report(tool, StrayClose, finding.Warning, ev.pos, ev.next,
		"received %s, which closes nothing here; it is ignored", cut(p.d.s[ev.pos:ev.next]))
}

// nakedTags returns the function that looks at tool tags outside a root (X2). It
// reports once for each run of them that no root interrupts.
func (p *parser) nakedTags() func(i int) {
	var lastClose [tagCount]int
	for i, m := range p.d.marks {
		if m.closer {
			lastClose[m.tag] = i
		}
	}
	reported := none // p.root at the last report
	return func(i int) {
		m := &p.d.marks[i]
		selfSufficient := m.tag == tagGetValue && p.d.hasAttribute(m)
		if !m.tag.tool() || reported == p.root || lastClose[m.tag] <= i && !selfSufficient {
			return
		}
		reported = p.root
		p.report(none, MissingRoot, finding.Warning, int(m.pos), int(m.end),
			"received <%s> outside <tools>; it does not run; expected it inside <tools>…</tools>", m.tag)
	}
}

// skipReasoning returns the end of the reasoning that begins at mark i, or -1
// when the tag is only mentioned. Reasoning nests. What is not closed ends with
// the text, if it began a line.
func (p *parser) skipReasoning(i int) int {
	if p.lostReasoning == maxLostSearches {
		return none
	}
	depth, roots := 0, none
	for j := i; j < len(p.d.marks); j++ {
		m := &p.d.marks[j]
		p.d.work++
		switch {
		case m.tag == tagTools && !m.closer && roots < 0:
			roots = j
		case m.tag == tagThink && !m.closer:
			depth++
		case m.tag == tagThink:
			if depth--; depth == 0 {
				p.inReasoning(roots)
				return int(m.end)
			}
		}
	}
	p.lostReasoning++
	if !p.d.marks[i].bare {
		return none
	}
	p.inReasoning(roots)
	return len(p.d.s)
}

func (p *parser) inReasoning(root int) {
	if root >= 0 {
		m := &p.d.marks[root]
		p.report(none, InReasoning, finding.Info, int(m.pos), int(m.end), "received <tools> inside reasoning; it does not run")
	}
}

// commentAround returns the end of the comment that pos stands in, or -1. Only
// what lies behind from is looked at, and the comment must be closed.
func (p *parser) commentAround(pos, from int) int {
	if len(p.d.commentEnds) == 0 {
		return none
	}
	from = max(from, p.commentFrom)
	open := strings.LastIndex(p.d.s[from:pos], "<!--")
	p.d.work += (pos - from) / 16
	if open < 0 {
		p.commentFrom = max(from, pos-3)
		return none
	}
	k := p.d.commentEnd(from + open + 4)
	if k < 0 || int(p.d.commentEnds[k]) <= pos {
		p.commentFrom = max(from, pos-3)
		return none
	}
	p.commentFrom = int(p.d.commentEnds[k])
	return p.commentFrom
}

// joinText joins the pieces of prose that the roots left, each trimmed.
func joinText(pieces ...string) string {
	kept := pieces[:0:0]
	for _, s := range pieces {
		if s = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff")); s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "\n")
}
