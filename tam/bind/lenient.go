package bind

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// readJSON reads a text as one JSON value: strictly, else repaired.
func readJSON(s string) (v any, how string, cost int, ok bool) {
	if v, ok := strictJSON(s); ok {
		return v, "JSON", 0, true
	}
	if v, ok := Repair(s); ok {
		return v, "JSON repaired", 10, true
	}
	return nil, "", 0, false
}

func strictJSON(s string) (any, bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return plain(v), true
}

// plain turns json.Number into int64 or float64.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func number(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s // too large for any number: its digits are all that is left
	}
	return x
}

// Repair reads what models write instead of JSON: fences around it, comments,
// trailing and missing commas, single quotes, bare keys and words, True, False
// and None, line ends inside strings, missing closers at the end. The first
// bracket must be there, and nothing may follow the value.
func Repair(s string) (any, bool) {
	r := repairer{s: stripFence(s)}
	r.space()
	if r.i >= len(r.s) || r.s[r.i] != '{' && r.s[r.i] != '[' {
		return nil, false
	}
	v, ok := r.value(0)
	r.space()
	if !ok || r.i < len(r.s) {
		return nil, false
	}
	return v, true
}

func stripFence(s string) string {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "```") {
		return s
	}
	_, body, ok := strings.Cut(s, "\n")
	if !ok {
		return s
	}
	return strings.TrimSuffix(strings.TrimSpace(body), "```")
}

type repairer struct {
	s string
	i int
}

func (r *repairer) peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

// space skips white space and comments.
func (r *repairer) space() {
	for r.i < len(r.s) {
		rest := r.s[r.i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			r.i += lineLen(rest)
		case strings.HasPrefix(rest, "/*"):
			if k := strings.Index(rest, "*/"); k >= 0 {
				r.i += k + 2
			} else {
				r.i = len(r.s)
			}
		default:
			c, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(c) && c != '\ufeff' {
				return
			}
			r.i += n
		}
	}
}

func lineLen(s string) int {
	if k := strings.IndexByte(s, '\n'); k >= 0 {
		return k
	}
	return len(s)
}

func (r *repairer) value(depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch c := r.peek(); c {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"', '\'':
		return r.text(c), true
	}
	return r.word()
}

func (r *repairer) list(depth int) (any, bool) {
	r.i++
	out := []any{}
	for {
		if r.separators(); r.closed(']') {
			return out, true
		}
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
}

// separators skips commas and white space, as many as there are.
func (r *repairer) separators() {
	for r.space(); r.peek() == ','; r.space() {
		r.i++
	}
}

// closed takes a closing bracket; the end of the text closes everything.
func (r *repairer) closed(c byte) bool {
	if r.i >= len(r.s) {
		return true
	}
	if r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *repairer) object(depth int) (any, bool) {
	r.i++
	out := map[string]any{}
	for {
		if r.separators(); r.closed('}') {
			return out, true
		}
		key, ok := r.key()
		r.space()
		if !ok || r.peek() != ':' {
			return nil, false
		}
		r.i++
		r.space()
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		out[key] = v
	}
}

func (r *repairer) key() (string, bool) {
	if c := r.peek(); c == '"' || c == '\'' {
		return r.text(c), true
	}
	start := r.i
	for r.i < len(r.s) && !strings.ContainsRune(":,{}[]\"'\n", rune(r.s[r.i])) {
		r.i++
	}
	key := strings.TrimSpace(r.s[start:r.i])
	return key, key != ""
}

// text reads a quoted string. Line ends inside are kept; the end of the text
// closes it.
func (r *repairer) text(quote byte) string {
	r.i++
	var b strings.Builder
	for r.i < len(r.s) {
		c := r.s[r.i]
		switch {
		case c == quote:
			r.i++
			return b.String()
		case c == '\\' && r.i+1 < len(r.s):
			text, n := jsonEscape(r.s[r.i+1:])
			b.WriteString(text)
			r.i += 1 + n
		default:
			b.WriteByte(c)
			r.i++
		}
	}
	return b.String()
}

func jsonEscape(s string) (string, int) {
	switch s[0] {
	case 'b':
		return "\b", 1
	case 'f':
		return "\f", 1
	case '/':
		return "/", 1
	}
	return escape(s)
}

// word reads a number or a word that stands for a value; any other bare word is
// a text.
func (r *repairer) word() (any, bool) {
	start := r.i
	for r.i < len(r.s) && !strings.ContainsRune(",{}[]\"'\n:", rune(r.s[r.i])) {
		r.i++
	}
	w := strings.TrimSpace(r.s[start:r.i])
	switch w {
	case "":
		return nil, false
	case "true", "True":
		return true, true
	case "false", "False":
		return false, true
	case "null", "None", "undefined":
		return nil, true
	}
	if c := w[0]; c == '-' || c >= '0' && c <= '9' {
		if x, err := strconv.ParseFloat(w, 64); err == nil && !strings.ContainsAny(w, "xX_pP") {
			if n, err := strconv.ParseInt(w, 10, 64); err == nil {
				return n, true
			}
			return x, true
		}
	}
	return w, true
}
