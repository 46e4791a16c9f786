// Package answer finds the JSON answer of a model that carries ToolsXML as one
// string, and reads it leniently: cut objects as far as they go, strings with
// quotes that were not escaped. It reads no more of JSON than it must.
package answer

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tavernsim/tam/toolsxml/internal/rawtext"
)

// Answer is a JSON object that carries the tools as one string (X1).
type Answer struct {
	Before, After string // text around the object, without fences
	Text          string // what the answer says beside the tools
	Tools         string // unescaped once
	Repaired      int    // first place where the JSON was not valid, or -1
	steps         []step // where the unescaped text jumps in the source
}

// step says that text from byte to on came from source byte from on.
type step struct{ to, from int }

// Origin maps a position in tools to the source.
func (a *Answer) Origin(at int) int {
	i, found := slices.BinarySearchFunc(a.steps, at, func(s step, at int) int { return s.to - at })
	if !found {
		i--
	}
	return a.steps[i].from + at - a.steps[i].to
}

// textKeys are the members that hold what an answer says, best first.
func textKeys() []string {
	return []string{"reply", "text", "message", "content", "answer", "response"}
}

// Find looks for an object with a string member "tools" in front of the
// first root. The object must begin a line. Each attempt begins behind the one
// before it, so the whole search is linear; work counts its steps.
func Find(src string) (a Answer, found bool, work int) {
	if !strings.Contains(src, `"tools"`) {
		return Answer{}, false, 0
	}
	upto := len(src)
	if k := indexFold(src, "<tools"); k >= 0 {
		upto = k
	}
	for p := 0; p < upto; {
		k := strings.IndexByte(src[p:upto], '{')
		if k < 0 {
			break
		}
		k += p
		if !beginsLine(src, k) {
			p = k + 1
			continue
		}
		r, ok := readAnswer(src, k)
		work += 2 * (r.at - k)
		if ok {
			return r.answer(src, k), true, work
		}
		p = max(r.at, k+1)
	}
	return Answer{}, false, work
}

func beginsLine(src string, k int) bool {
	for k > 0 && (src[k-1] == ' ' || src[k-1] == '\t') {
		k--
	}
	return k == 0 || src[k-1] == '\n' || src[:k] == "\ufeff"
}

// readAnswer tries strictly first: a valid object is never read leniently.
func readAnswer(src string, k int) (jsonReader, bool) {
	r := jsonReader{s: src, at: k + 1, repaired: -1}
	if r.object() && r.found {
		return r, true
	}
	if !r.badString {
		return r, false
	}
	strictAt := r.at
	r = jsonReader{s: src, at: k + 1, repaired: -1, lenient: true}
	ok := r.object() && r.found
	r.at = max(r.at, strictAt)
	return r, ok
}

// indexFold finds an ASCII text that begins with "<" in any case.
func indexFold(s, sub string) int {
	for p := 0; ; p++ {
		k := strings.IndexByte(s[p:], sub[0])
		if k < 0 || len(s)-p-k < len(sub) {
			return -1
		}
		p += k
		if strings.EqualFold(s[p:p+len(sub)], sub) {
			return p
		}
	}
}

// jsonReader reads one object from the front, as far as it must: strings of the
// members of interest are kept, everything else is stepped over. An object that
// the source cuts is read as far as it goes. A lenient reader accepts quotes in
// strings that were not escaped.
type jsonReader struct {
	s         string
	at        int
	lenient   bool
	badString bool // failed behind a string: perhaps a quote that was not escaped
	repaired  int

	found bool
	tools string
	steps []step
	texts [6]string // by textKeys
}

func (r *jsonReader) answer(src string, k int) Answer {
	a := Answer{Tools: r.tools, steps: r.steps, Repaired: r.repaired}
	fence := rawtext.FenceBefore(src[:k])
	a.Before, a.After = src[:k-fence], rawtext.OutsideFence(src[r.at:], fence > 0)
	for _, t := range r.texts {
		if t != "" {
			a.Text = t
			break
		}
	}
	return a
}

// object reads members behind "{". It returns false when this is no object.
func (r *jsonReader) object() bool {
	for {
		r.at = rawtext.SkipBlanks(r.s, r.at)
		if r.at == len(r.s) {
			return r.cut()
		}
		switch r.s[r.at] {
		case '}':
			r.at++
			return true
		case ',':
			r.at++
		case '"':
			if !r.member() {
				return false
			}
		default:
			return false
		}
	}
}

// cut notes that the source ends inside the object.
func (r *jsonReader) cut() bool {
	r.repair(len(r.s) - 1)
	r.at = len(r.s)
	return true
}

func (r *jsonReader) repair(at int) {
	if r.repaired < 0 {
		r.repaired = at
	}
}

func (r *jsonReader) member() bool {
	from := r.at + 1
	end, ok := r.stringEnd(from, false)
	if !ok {
		return r.cut()
	}
	key := r.s[from:end]
	r.at = rawtext.SkipBlanks(r.s, end+1)
	if r.at == len(r.s) {
		return r.cut()
	}
	if r.s[r.at] != ':' {
		r.badString = true
		return false
	}
	r.at = rawtext.SkipBlanks(r.s, r.at+1)
	if r.at == len(r.s) {
		return r.cut()
	}
	if r.s[r.at] == '"' {
		return r.stringMember(key)
	}
	return r.otherValue()
}

func (r *jsonReader) stringMember(key string) bool {
	from := r.at + 1
	end, whole := r.stringEnd(from, r.lenient)
	raw := r.s[from:end]
	if whole {
		r.at = rawtext.SkipBlanks(r.s, end+1)
		if r.at < len(r.s) && r.s[r.at] != ',' && r.s[r.at] != '}' {
			r.badString = true
			return false
		}
	} else {
		r.cut()
	}
	if key == "tools" && !r.found {
		r.found = true
		r.tools, r.steps = r.unescape(raw, from, true)
	} else if i := slices.Index(textKeys(), key); i >= 0 && r.texts[i] == "" {
		r.texts[i], _ = r.unescape(raw, from, false)
	}
	return true
}

// otherValue steps over a number, a word, an array or an object.
func (r *jsonReader) otherValue() bool {
	depth := 0
	for r.at < len(r.s) {
		switch c := r.s[r.at]; {
		case c == '"':
			end, ok := r.stringEnd(r.at+1, false)
			if !ok {
				return r.cut()
			}
			r.at = end
		case c == '{' || c == '[':
			depth++
		case c == ',' && depth == 0:
			return true
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return c == '}'
			}
		case c == '<' && depth == 0:
			return false
		}
		r.at++
	}
	return r.cut()
}

// stringEnd finds the quote that ends the string whose text begins at from. A
// lenient reader takes a quote only where the object goes on behind it.
func (r *jsonReader) stringEnd(from int, lenient bool) (end int, ok bool) {
	for i := from; ; i++ {
		k := strings.IndexAny(r.s[i:], `"\`)
		if k < 0 {
			return len(r.s), false
		}
		i += k
		if r.s[i] == '\\' {
			i++
			if i >= len(r.s) {
				return len(r.s), false
			}
			continue
		}
		if !lenient || r.goesOn(i+1) {
			return i, true
		}
		r.repair(i)
	}
}

// goesOn tells whether an object goes on at i: with its end, or with another
// member.
func (r *jsonReader) goesOn(i int) bool {
	i = rawtext.SkipBlanks(r.s, i)
	if i == len(r.s) {
		return true
	}
	if r.s[i] == '}' {
		i = rawtext.SkipBlanks(r.s, i+1)
		return i == len(r.s) || r.s[i] == '`' || r.s[i] == ',' || r.s[i] == '}' || r.s[i] == ']'
	}
	if r.s[i] != ',' {
		return false
	}
	if i = rawtext.SkipBlanks(r.s, i+1); i == len(r.s) || r.s[i] != '"' {
		return i == len(r.s)
	}
	j := i + 1
	for j < len(r.s) && rawtext.NameByte(r.s[j]) {
		j++
	}
	if j == i+1 || j == len(r.s) || r.s[j] != '"' {
		return false
	}
	j = rawtext.SkipBlanks(r.s, j+1)
	return j < len(r.s) && r.s[j] == ':'
}

// unescape decodes the escapes of JSON once. An escape that JSON does not have
// stays as it is. from is where raw begins in the source.
func (r *jsonReader) unescape(raw string, from int, mapped bool) (string, []step) {
	var b strings.Builder
	b.Grow(len(raw))
	steps := []step{{0, from}}
	if mapped {
		steps = slices.Grow(steps, strings.Count(raw, `\`))
	}
	for i := 0; i < len(raw); {
		k := strings.IndexByte(raw[i:], '\\')
		if k < 0 {
			b.WriteString(raw[i:])
			break
		}
		b.WriteString(raw[i : i+k])
		i += k
		text, n := jsonEscape(raw[i:])
		if n == 0 {
			r.repair(from + i)
			text, n = raw[i:i+1], 1
		}
		b.WriteString(text)
		i += n
		if mapped {
			steps = append(steps, step{b.Len(), from + i})
		}
	}
	return b.String(), steps
}

// jsonEscape reads the escape at the start of s; n is 0 when there is -1.
func jsonEscape(s string) (text string, n int) {
	if len(s) < 2 {
		return "", 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return s[1:2], 2
	case 'n':
		return "\n", 2
	case 't':
		return "\t", 2
	case 'r':
		return "\r", 2
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	case 'u':
		v, ok := rawtext.Hex(s, 2, 4)
		if !ok {
			return "", 0
		}
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			low, ok := rawtext.Hex(s, 8, 4)
			if c := utf16.DecodeRune(rune(v), rune(low)); ok && c != utf8.RuneError {
				return string(c), 12
			}
		}
		return string(rune(v)), 6 // a lone surrogate becomes U+FFFD
	}
	return "", 0
}
