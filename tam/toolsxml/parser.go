package toolsxml

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml/internal/answer"
	"tavernsim/tam/toolsxml/internal/rawtext"
)

// parser walks over one doc from front to back.
type parser struct {
	d        *doc
	opts     Options
	tools    []Tool
	roots    []Span
	failed   []bool // per tool, also beyond the diagnostics that are kept
	diags    []Diagnostic
	overflow *Diagnostic // the first one that was not kept
	root     int         // ordinal of the root being read
	files    int
	edits    int

	mi            int // cursor of markFrom
	gt, newline   cursor
	quote         [2]cursor // of closing double and single quotes
	nextRoot      markCursor
	nextTool      markCursor
	commentFrom   int // no comment that is open here began before
	ignored       int // stretches of ignored text
	lostSearches  int // see maxLostSearches
	lostDocs      int // the same of here documents
	lostReasoning int
	jsonRepaired  int // in the source, 0 for not
}

// Parse reads the tools out of an answer.
func Parse(src string, opts Options) Result {
	r, _ := parse(src, opts)
	return r
}

// parse also tells how many elementary steps it took, for the proof that their
// number is linear.
func parse(src string, opts Options) (Result, int) {
	if len(src) > MaxSource {
		return tooLong(src), 0
	}
	a, isJSON, work := answer.Find(src)
	if !isJSON {
		p := parser{d: scan(src), opts: opts}
		text := p.prose()
		return p.result(src, text, func(at int) int { return at }), p.d.work + work
	}
	p := parser{d: scan(a.Tools), opts: opts}
	rest := p.prose()
	if a.Repaired >= 0 {
		p.jsonRepaired = a.Repaired
	}
	r := p.result(src, joinText(a.Before, a.Text, rest, a.After), a.Origin)
	return r, p.d.work + work
}

func tooLong(src string) Result {
	d := Diagnostic{Code: LimitExceeded, Severity: finding.Error, Line: 1, Col: 1, Message: fmt.Sprintf(
		"received %d bytes; expected at most %d; nothing was read", len(src), MaxSource)}
	return Result{Tools: []Tool{}, Warnings: []Code{LimitExceeded}, Diagnostics: []Diagnostic{d}, Text: src}
}

// result closes the books: what holds for the answer as a whole, positions in
// the source, order.
func (p *parser) result(src, text string, origin func(int) int) Result {
	p.holdUnready()
	if len(p.tools) > MaxTools {
		p.tools = p.tools[:MaxTools]
		for i := range p.tools {
			p.failed[i] = true
		}
	}
	for i := range p.tools {
		t := &p.tools[i]
		t.Executable = !p.failed[i]
		t.Secrets = orEmpty(t.Secrets)
		t.Span = Span{origin(t.Span.Start), origin(t.Span.End)}
	}
	for i, r := range p.roots {
		p.roots[i] = Span{origin(r.Start), origin(r.End)}
	}
	if p.overflow != nil {
		p.diags = append(p.diags, *p.overflow)
	}
	for i := range p.diags {
		p.diags[i].Offset, p.diags[i].End = origin(p.diags[i].Offset), origin(p.diags[i].End)
	}
	if p.jsonRepaired > 0 {
		p.diags = append(p.diags, Diagnostic{Code: JSONRepaired, Severity: finding.Warning,
			Offset: p.jsonRepaired, End: p.jsonRepaired + 1,
			Message: "received JSON that is not valid here; expected the tools as one string with quotes, backslashes and newlines escaped"})
	}
	finding.Place(src, 0, p.diags)
	return Result{Tools: orEmpty(p.tools), Diagnostics: orEmpty(p.diags), Warnings: orEmpty(finding.Codes(p.diags)), Text: text, Roots: p.roots}
}

// report notes a finding about the tool at the given place in p.tools, or about
// no tool. An error keeps the tool from running.
func (p *parser) report(tool int, code Code, sev finding.Severity, pos, end int, format string, args ...any) {
	if tool == MaxTools {
		return // beyond the limit, see newTool
	}
	d := Diagnostic{Code: code, Severity: sev, Offset: pos, End: max(pos, min(end, len(p.d.s)))}
	if tool >= 0 {
		d.Tool = tool + 1
		if sev == finding.Error {
			p.failed[tool] = true
		}
	}
	if len(p.diags) >= MaxDiagnostics-1 {
		if p.overflow == nil {
			d.Code, d.Severity, d.Tool = TooManyDiagnostics, finding.Warning, 0
			d.Message = fmt.Sprintf("found more than %d problems; the rest is not listed", MaxDiagnostics-1)
			p.overflow = &d
		}
		return
	}
	d.Message = fmt.Sprintf(format, args...)
	p.diags = append(p.diags, d)
}

// markFrom gives the index of the first mark at or after pos. The cursor follows
// rising positions; a lower one is looked up from the start of the cursor's
// neighbourhood.
func (p *parser) markFrom(pos int) int {
	for p.mi > 0 && int(p.d.marks[p.mi-1].pos) >= pos {
		p.mi--
		p.d.work++
	}
	for p.mi < len(p.d.marks) && int(p.d.marks[p.mi].pos) < pos {
		p.mi++
		p.d.work++
	}
	return p.mi
}

// eventKind is what stands next where elements are expected.
type eventKind uint8

const (
	evEnd     eventKind = iota // the end of the source
	evOpen                     // a known opener
	evClose                    // a known closer
	evUnknown                  // an opener with another name
	evStray                    // a closer with another name
)

type event struct {
	kind      eventKind
	tag       tag
	mark      int // evOpen, evClose
	pos, next int // next: behind a closer, behind the name of an opener
}

// next finds the next element at or after pos. Comments, declarations and fence
// lines are passed over; other text is reported, once per stretch.
func (p *parser) next(pos, tool int) event {
	s, junk, junkEnd := p.d.s, none, 0
	note := func(from, to int) {
		if from == to {
			return
		}
		if at := rawtext.FirstText(s[from:to]); at >= 0 {
			if junk < 0 {
				junk = from + at
			}
			junkEnd = to
		}
	}
	var ev event
	for {
		k := strings.IndexByte(s[pos:], '<')
		if k < 0 {
			note(pos, len(s))
			ev = event{kind: evEnd, pos: len(s), next: len(s)}
			break
		}
		note(pos, pos+k)
		pos += k
		if over := p.passOver(pos, tool); over > pos {
			if strings.HasPrefix(s[pos:], rawtext.CDATAOpen) {
				note(pos, over)
			}
			pos = over
			continue
		}
		if ev = p.elementAt(pos); ev.kind != evEnd {
			break
		}
		if junk < 0 {
			junk = pos
		}
		pos++
		junkEnd = pos
	}
	if junk >= 0 && !cutRootCloser(s[junk:]) {
		p.ignored++
		p.report(tool, IgnoredText, finding.Warning, junk, junk+len(strings.TrimRight(s[junk:junkEnd], " \t\r\n")),
			"received the text %s between elements; it is ignored", cut(s[junk:junkEnd]))
	}
	return ev
}

// passOver steps over a comment, a declaration or the opening of a CDATA section
// at pos; it returns pos when there is none.
func (p *parser) passOver(pos, tool int) int {
	rest := p.d.s[pos:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		if end := strings.Index(rest[4:], "-->"); end >= 0 {
			return pos + 4 + end + 3
		}
		p.report(tool, UnclosedComment, finding.Warning, pos, pos+4,
			"received \"<!--\" without \"-->\"; everything after it is taken as a comment")
		return len(p.d.s)
	case strings.HasPrefix(rest, rawtext.CDATAOpen):
		return pos + len(rawtext.CDATAOpen)
	case strings.HasPrefix(rest, "<?"), strings.HasPrefix(rest, "<!"):
		return min(p.gt.find(p.d, pos, '>')+1, len(p.d.s))
	}
	return pos
}

// elementAt reads the tag at pos; evEnd when there is none.
func (p *parser) elementAt(pos int) event {
	if i := p.markFrom(pos); i < len(p.d.marks) && int(p.d.marks[i].pos) == pos {
		m := &p.d.marks[i]
		ev := event{kind: evOpen, tag: m.tag, mark: i, pos: pos, next: int(m.end)}
		if m.closer {
			ev.kind = evClose
		}
		return ev
	}
	s, i := p.d.s, pos+1
	kind := evUnknown
	if i < len(s) && s[i] == '/' {
		kind, i = evStray, i+1
	}
	if i == len(s) || !rawtext.Letter(s[i]) && s[i] < 0x80 {
		return event{}
	}
	j := i
	for j < len(s) && (rawtext.NameByte(s[j]) || s[j] >= 0x80) {
		j++
	}
	p.d.work += j - i
	if j-i > maxName || j == len(s) || s[j] != '>' && s[j] != '/' && !rawtext.Blank(s[j]) {
		return event{}
	}
	if kind == evStray {
		if j = rawtext.SkipBlanks(s, j); j == len(s) || s[j] != '>' {
			return event{}
		}
		j++
	}
	return event{kind: kind, pos: pos, next: j}
}

// cutRootCloser tells whether s is the beginning of "</tools>" and nothing else:
// an answer that was cut there has lost nothing.
func cutRootCloser(s string) bool {
	return len(s) < len("</tools>") && strings.EqualFold(s, "</tools>"[:len(s)])
}

// holdUnready keeps tools from running that use a value which this answer only
// asks for (X20).
func (p *parser) holdUnready() {
	var asked []string
	for _, t := range p.tools {
		if t.Type == GetValue && t.Key != "" {
			asked = append(asked, t.Key)
		}
	}
	if len(asked) == 0 {
		return
	}
	slices.Sort(asked)
	for i, t := range p.tools {
		for _, name := range t.Secrets {
			if _, ok := slices.BinarySearch(asked, name); ok {
				p.report(i, ValueNotReady, finding.Error, t.Span.Start, t.Span.Start+1,
					"received $KARYI{%s} in the answer that asks for it with <get_value>; expected it in the next round, when the user has answered", name)
			}
		}
	}
}
