package toolsxml

import (
	"strconv"
	"strings"

	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// readRead reads a read tool: files, and the reserved search.
func (p *parser) readRead(o *opening, tool int) (end int, whole bool) {
	p.allow(o, tool)
	pos, whole := p.children(o, tool, func(ev event) int {
		switch {
		case ev.kind == evOpen && ev.tag == tagFile:
			return p.readFile(ev, tool)
		case ev.kind == evOpen && ev.tag == tagSearch:
			child := p.opening(ev.pos, ev.next, tool)
			p.report(tool, NotAvailable, finding.Warning, ev.pos, child.end,
				"received <search> in <read>, which is reserved and not available yet; only the files are read")
			_, next := p.foreignBody(&child)
			return next
		}
		return p.unexpected(ev, "read", `<file src="…"/>`, tool)
	})
	if whole && len(p.tools[tool].Files) == 0 && !p.failed[tool] {
		p.report(tool, MissingElement, finding.Error, o.pos, o.end,
			"received <read> without a file; expected <file src=\"…\"/> in it")
	}
	return pos, whole
}

// children walks over the elements of a container until its closer, or until a
// tag that cannot stand in it. whole is false when the source ends first.
func (p *parser) children(o *opening, tool int, child func(event) int) (pos int, whole bool) {
	pos = o.end
	own := tagOf(o.name)
	for !o.self {
		ev := p.next(pos, tool)
		switch {
		case ev.kind == evEnd:
			return ev.pos, false
		case ev.kind == evClose && ev.tag == own:
			return ev.next, true
		case p.endsContainer(ev, own):
			p.missingClose(o, tool, ev.pos)
			return ev.pos, true
		case ev.kind == evClose, ev.kind == evStray:
			p.stray(ev, tool)
			pos = ev.next
		default:
			pos = child(ev)
		}
	}
	return pos, true
}

// endsContainer tells whether ev shows that the closer of own was left out.
func (p *parser) endsContainer(ev event, own tag) bool {
	switch {
	case ev.tag == tagTools:
		return true
	case ev.kind == evOpen && ev.tag.tool():
		return ev.tag != tagSearch || own != tagRead
	case own == tagFile && ev.kind == evOpen:
		return ev.tag == tagFile
	case own == tagFile && ev.kind == evClose:
		return ev.tag == tagEdit
	}
	return false
}

// unexpected reports an element that has no meaning in its parent and steps over
// it. The tool does not run: what it meant is not known.
func (p *parser) unexpected(ev event, parent, expected string, tool int) int {
	child := p.opening(ev.pos, ev.next, tool)
	p.report(tool, UnexpectedElement, finding.Error, ev.pos, child.end,
		"received <%s> in <%s>; expected %s", strings.ToLower(child.name), parent, expected)
	if ev.kind == evOpen && ev.tag.raw() && !child.self {
		return p.d.extent(ev.mark, child.end).next
	}
	_, next := p.foreignBody(&child)
	return next
}

// readFile reads a file of a read. The path may also stand as text (X8).
func (p *parser) readFile(ev event, tool int) int {
	o := p.opening(ev.pos, ev.next, tool)
	p.allow(&o, tool, "src")
	src, ok := o.attr("src")
	end, text := o.end, ""
	if !o.self && !o.cut {
		text, end = p.fileText(&o, tool)
	}
	switch {
	case ok && text != "":
		p.report(tool, IgnoredText, finding.Warning, ev.pos, o.end, "received the text %s in <file>; its src counts", cut(text))
	case !ok && text != "":
		src, ok = text, true
	}
	if !ok {
		p.require(&o, "src", "the path of the file or directory", tool)
		return end
	}
	p.addFile(tool, src, &o)
	return end
}

// fileText reads the text up to the closer of a file in read, or up to the next
// tag when it has none.
func (p *parser) fileText(o *opening, tool int) (text string, end int) {
	i := p.markFrom(o.end)
	if i == len(p.d.marks) {
		return "", o.end
	}
	m := &p.d.marks[i]
	text = strings.TrimSpace(rawtext.Read(p.d.s[o.end:m.pos]).Text)
	if m.tag == tagFile && m.closer {
		return text, int(m.end)
	}
	p.missingClose(o, tool, int(m.pos))
	if strings.Contains(text, "<") {
		return "", o.end
	}
	return text, int(m.pos)
}

// addFile appends a file; beyond the limit the tool does not run.
func (p *parser) addFile(tool int, src string, o *opening) {
	p.collectSecrets(tool, src, o)
	if p.files++; p.files > MaxFiles {
		p.report(tool, LimitExceeded, finding.Error, o.pos, o.end, "received more than %d files in one answer", MaxFiles)
		return
	}
	p.tools[tool].Files = append(p.tools[tool].Files, File{Src: strings.TrimSpace(src)})
}

// readEdit reads an edit tool.
func (p *parser) readEdit(o *opening, tool int) (end int, whole bool) {
	p.allow(o, tool)
	cut := false
	pos, whole := p.children(o, tool, func(ev event) int {
		if ev.kind == evOpen && ev.tag == tagFile {
			next, ok := p.readEditFile(ev, tool)
			cut = cut || !ok
			return next
		}
		return p.unexpected(ev, "edit", `<file src="…"> with <find> and <replace> in it`, tool)
	})
	if cut {
		return pos, false
	}
	if whole && len(p.tools[tool].Files) == 0 && !p.failed[tool] {
		p.report(tool, MissingElement, finding.Error, o.pos, o.end,
			"received <edit> without a file; expected <file src=\"…\"> with <find> and <replace> in it")
	}
	return pos, whole
}

// pairing is the state between the elements of one file.
type pairing struct {
	file int
	find *opening // waits for its replace
	pair Pair
}

// readEditFile reads one file with its pairs.
func (p *parser) readEditFile(ev event, tool int) (end int, whole bool) {
	o := p.opening(ev.pos, ev.next, tool)
	if o.cut {
		return o.end, false
	}
	p.allow(&o, tool, "src")
	p.addFile(tool, p.require(&o, "src", "the path of the file", tool), &o)
	w, pairs, cut := pairing{file: len(p.tools[tool].Files) - 1}, 0, false
	end, whole = p.children(&o, tool, func(ev event) int {
		if ev.kind != evOpen || ev.tag != tagFind && ev.tag != tagReplace {
			return p.unexpected(ev, "file", "<find> and <replace> in turn", tool)
		}
		pairs++
		next, ok := p.readPart(ev, &w, tool)
		cut = cut || !ok
		return next
	})
	if cut {
		return end, false
	}
	p.orphanFind(&w, tool)
	if whole && pairs == 0 && !p.failed[tool] {
		p.report(tool, MissingElement, finding.Error, o.pos, o.end,
			"received <file> without a pair; expected <find>…</find><replace>…</replace> in it")
	}
	return end, whole
}

// readPart reads one find or replace. whole is false when the source cuts it.
func (p *parser) readPart(ev event, w *pairing, tool int) (end int, whole bool) {
	o := p.opening(ev.pos, ev.next, tool)
	if o.cut {
		return o.end, false
	}
	text := ""
	end = o.end
	if !o.self {
		x := p.d.extent(ev.mark, o.end)
		if end = x.next; x.how == cutOff {
			return end, false
		}
		if x.how == missing {
			p.missingClose(&o, tool, x.next)
		}
		text = p.d.s[o.end:x.end]
	}
	v := p.value(text, o.end, &o, tool)
	p.collectSecrets(tool, v.Text, &o)
	if ev.tag == tagFind {
		p.orphanFind(w, tool)
		p.allow(&o, tool, "all", "nth")
		w.find, w.pair = &o, Pair{Find: v.Text, FindOther: v.Other}
		p.occurrence(&o, w, tool)
		return end, true
	}
	p.allow(&o, tool)
	p.addPair(w, v, &o, tool)
	return end, true
}

func (p *parser) addPair(w *pairing, v rawtext.Value, o *opening, tool int) {
	if w.find == nil {
		p.report(tool, MissingElement, finding.Error, o.pos, o.end, "received <replace> without <find> in front of it; expected them in turn")
		return
	}
	w.find = nil
	w.pair.Replace, w.pair.ReplaceOther = v.Text, v.Other
	if p.edits++; p.edits > MaxEdits {
		p.report(tool, LimitExceeded, finding.Error, o.pos, o.end, "received more than %d find/replace pairs in one answer", MaxEdits)
		return
	}
	if w.file >= 0 {
		f := &p.tools[tool].Files[w.file]
		f.Edits = append(f.Edits, w.pair)
	}
}

func (p *parser) orphanFind(w *pairing, tool int) {
	if w.find != nil {
		p.report(tool, MissingElement, finding.Error, w.find.pos, w.find.end, "received <find> without <replace> behind it; expected them in turn")
		w.find = nil
	}
}

// occurrence reads the extension attributes all and nth of find (X12).
func (p *parser) occurrence(o *opening, w *pairing, tool int) {
	for _, a := range o.attributes {
		value := strings.ToLower(strings.TrimSpace(a.value))
		n, err := strconv.Atoi(value)
		switch {
		case a.name == "all" && (value == "" || value == "true" || value == "1" || value == "all"):
			w.pair.All = true
		case a.name == "all" && (value == "false" || value == "0"):
		case a.name == "nth" && err == nil && n > 0 && n <= 1<<30:
			w.pair.Nth = n
		case a.name == "all":
			p.report(tool, InvalidAttribute, finding.Error, a.pos, a.end, "received all=%s; expected true or false", cut(a.value))
		case a.name == "nth":
			p.report(tool, InvalidAttribute, finding.Error, a.pos, a.end, "received nth=%s; expected a number from 1", cut(a.value))
		}
	}
	if w.pair.All && w.pair.Nth > 0 {
		p.report(tool, InvalidAttribute, finding.Error, o.pos, o.end, "received both all and nth in <find>; expected one of them")
	}
}
