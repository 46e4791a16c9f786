package lenient

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Read finds the value of a text: the text itself if it is JSON; else the longest
// wanted list or object that is not part of a broken one, first in code fences,
// then anywhere; else the longest that can be repaired; else a lone text, number
// or word in a fence or behind reasoning.
func Read(text string, o Options) (Text, error) {
	if most := cmp.Or(o.Bytes, MaxBytes); len(text) > most {
		return Text{}, protocol.Errorf(protocol.KindLimit, "JSON in %d bytes of text; the limit is %d", len(text), most)
	}
	s := search{Options: o, text: text}
	f, fault := s.lone(s.whole())
	if fault == nil {
		return Text{Value: f.value, Repairs: f.repairs}, nil
	}
	if !o.Strict {
		if best := s.find(); best != nil {
			return s.found(best), nil
		}
	}
	return Text{}, s.none(text, fault)
}

// none says that there is no value, by the fault of the whole text.
func (s *search) none(text string, fault error) error {
	switch said := protocol.Short(text, 80); {
	case s.Exact || s.Strict:
		return protocol.Errorf(protocol.KindInvalid, "json: %w", cmp.Or(s.fault, fault))
	case s.fault == nil:
		return protocol.Errorf(protocol.KindInvalid, "no JSON in the text %q", said)
	default:
		return protocol.Errorf(protocol.KindInvalid, "no JSON in the text %q: %w", said, s.fault)
	}
}

// search looks for the value of one text. Places stay those of the text.
type search struct {
	Options
	text    string // reasoning is blanked
	thought bool   // there was some
	fault   error  // the first place where a value began and could not be read
}

// place is a part of the text, from byte to byte; in a fence that begins at open
// and is closed before shut.
type place struct{ from, to, open, shut int }

// candidate is a value and its place.
type candidate struct {
	from, to int
	in       place
	value    any
	repairs  []Repair
}

func (s *search) find() *candidate {
	s.withoutThoughts()
	places := append(s.fences(), s.whole())
	var repaired *candidate
	for _, p := range places {
		clean, broken := s.longest(p)
		if clean != nil {
			return clean
		}
		if repaired == nil {
			repaired = broken
		}
	}
	if repaired != nil {
		return repaired
	}
	for _, p := range places {
		if f, err := s.lone(p); err == nil && s.wants(&f) {
			return &f
		}
	}
	return nil
}

func (s *search) found(f *candidate) Text {
	t := Text{Value: f.value, Repairs: f.repairs}
	if s.thought {
		t.Around = append(t.Around, "left out a reasoning block")
	}
	if f.in != s.whole() {
		t.Around = append(t.Around, "took the value out of a code fence")
	} else if strings.TrimFunc(s.text[:f.from], blank)+strings.TrimFunc(s.text[f.to:], blank) != "" {
		t.Around = append(t.Around, "left out text around the value")
	}
	return t
}

func (s *search) whole() place { return place{to: len(s.text), shut: len(s.text)} }

func (s *search) parser(from, to int, lenient bool) parser {
	return parser{Options: s.Options, s: s.text[:to], at: from, lenient: lenient}
}

// lone reads a place that is one JSON value and nothing else.
func (s *search) lone(in place) (candidate, error) {
	part := s.text[in.from:in.to]
	right := in.from + len(strings.TrimRightFunc(part, blank))
	left := min(right, in.to-len(strings.TrimLeftFunc(part, blank)))
	p := s.parser(left, right, false)
	v, err := p.value(0)
	if err == nil && p.at < right {
		err = p.fail("text follows the value: %.40q", p.s[p.at:])
	}
	return candidate{left, p.at, in, v, p.repairs}, err
}

// longest gives the longest value of a place that is JSON and the longest that
// can be repaired; nil for none. It tries every bracket that no value holds.
func (s *search) longest(in place) (clean, broken *candidate) {
	at, left := in.from, MaxPasses*len(s.text)
	if s.Whole {
		at, left = s.skip(in.from, in.to), 1
	}
	for left > 0 {
		next := strings.IndexFunc(s.text[at:in.to], opens)
		if next < 0 {
			break
		}
		at += next
		f, valid, err := s.valueAt(at, in)
		left -= f.to - at + 1
		if err != nil && s.fault == nil {
			s.fault = err
		}
		side := &broken
		if valid {
			side = &clean
		}
		if err == nil && s.wants(&f) && (*side == nil || f.to-f.from > (*side).to-(*side).from) {
			*side = &f
		}
		switch words := prose(s.text[at:in.to]); {
		case valid || err == nil && !words && !s.Exact:
			at = f.to
		case s.Exact && !words:
			return clean, broken // a part of a broken value must not pass for the whole
		default:
			at++ // a value may begin inside
		}
	}
	return clean, broken
}

// valueAt reads the value that begins at a bracket. It gives how far it came also
// with an error.
func (s *search) valueAt(at int, in place) (f candidate, valid bool, err error) {
	for _, lenient := range []bool{false, true} {
		p := s.parser(at, in.to, lenient)
		f.value, err = p.value(0)
		f = candidate{at, p.at, in, f.value, p.repairs}
		if err == nil {
			return f, !lenient || len(p.repairs) == 0, nil
		}
	}
	return f, false, err
}

func (s *search) wants(f *candidate) bool {
	return (s.Wanted == nil || s.Wanted(f.value)) &&
		(!s.Whole || s.idle(0, f.in.open) && s.idle(f.in.from, f.from) && s.idle(f.to, f.in.to) && s.idle(f.in.shut, len(s.text)))
}

// idle tells that a part of the text holds blanks and comments alone.
func (s *search) idle(from, to int) bool { return s.skip(from, to) == to }

func (s *search) skip(from, to int) int {
	p := s.parser(from, to, true)
	p.blank()
	return p.at
}

// prose reports a bracket that opens words, as in "[sic] {…}" or "{name}": what
// is valid inside wins over a value made of them.
func prose(s string) bool {
	open, size := utf8.DecodeRuneInString(s)
	inside := strings.TrimLeftFunc(s[size:], unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(inside)
	mark := strings.IndexAny(inside, "}{[｛［:=\"'")
	return unicode.IsLetter(first) && (narrow(open) == '[' || mark >= 0 && inside[mark] == '}')
}

func opens(r rune) bool { return r == '{' || r == '[' || r == '｛' || r == '［' }

// withoutThoughts blanks <think>…</think> and its spellings, so that places stay.
// An opening tag counts in front of the first value and at the beginning of a
// line; elsewhere it may be part of a text. A block that is only closed, by a tag
// in front of the first value, of a value or of a line's end, began before the
// text; one that is only opened goes to the end.
func (s *search) withoutThoughts() {
	text, kept := s.text, []byte(s.text)
	last := strings.LastIndexFunc(text, opens)
	start, behind, open := firstValue(text, 0), 0, -1
	drop := func(from, to int) {
		for s.thought = true; from < to; from++ {
			kept[from] = ' '
		}
	}
	for at := 0; at < len(text); at++ {
		next := strings.IndexByte(text[at:], '<')
		if next < 0 {
			break
		}
		at += next
		switch size, closes := thoughtTag(text[at:]); {
		case size == 0:
		case !closes && open < 0 && (at < start || beginsLine(text[behind:at])):
			open = at
		case closes && (open >= 0 || at < start || at < last && strings.IndexByte("\r\n{[`", text[at+size]) >= 0):
			drop(max(open, behind), at+size)
			if behind, open = at+size, -1; start < behind {
				start = firstValue(text, behind)
			}
		}
	}
	if open >= 0 {
		drop(open, len(text))
	}
	s.text = string(kept)
}

func beginsLine(before string) bool {
	before = strings.TrimRight(before, " \t")
	return before == "" || strings.HasSuffix(before, "\n")
}

// firstValue finds where a list or an object seems to begin; the length of the
// text if nowhere.
func firstValue(text string, from int) int {
	for from < len(text) {
		next := strings.IndexFunc(text[from:], opens)
		if next < 0 {
			break
		}
		if from += next; !prose(text[from:]) {
			return from
		}
		from++
	}
	return len(text)
}

// thoughtTag measures a tag at the front of s; 0 = none.
func thoughtTag(s string) (size int, closes bool) {
	rest, closes := strings.CutPrefix(s[1:], "/")
	for _, tag := range []string{"think>", "thinking>", "reasoning>"} {
		if strings.HasPrefix(rest, tag) {
			return len(s) - len(rest) + len(tag), closes
		}
	}
	return 0, false
}

// fences lists the contents of ``` blocks that begin a line. The last one may be
// open.
func (s *search) fences() []place {
	var list []place
	for at := 0; len(list) < MaxFences; {
		open := strings.Index(s.text[at:], "```")
		if open < 0 {
			break
		}
		f := place{at + open + 3, len(s.text), at + open, len(s.text)}
		begins := beginsLine(s.text[:f.open])
		if at = f.from; !begins {
			continue
		}
		if line, _, ok := strings.Cut(s.text[f.from:], "\n"); ok && !strings.ContainsAny(line, "{[\"`") {
			f.from += len(line) + 1 // the language
		}
		if size := strings.Index(s.text[f.from:], "```"); size >= 0 {
			f.to, f.shut = f.from+size, f.from+size+3
		}
		list = append(list, f)
		at = f.shut
	}
	return list
}
