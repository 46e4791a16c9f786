package bind

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// applyHint decodes a text as its type hint says; err is the cause in words.
func applyHint(hint, text string) (v any, how string, cost int, err string) {
	switch hint {
	case "json":
		v, how, cost, ok := readJSON(text)
		if !ok {
			return nil, "", 0, "not JSON"
		}
		return v, how, cost, ""
	case "base64":
		compact := strings.Map(func(r rune) rune {
			if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
				return -1
			}
			return r
		}, text)
		compact = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(compact), "=")
		raw, e := base64.RawStdEncoding.DecodeString(compact)
		if e != nil {
			return nil, "", 0, "not base64"
		}
		return string(raw), "base64", 0, ""
	case "escaped":
		return Unescape(text), "escaped", 0, ""
	}
	return text, "", 0, ""
}

func hintText(hint string) string {
	if hint == "json" {
		return "one JSON value"
	}
	return hint + " text"
}

// Unescape decodes \n \r \t \0 \\ \" \' \xNN and \uNNNN. Any other backslash
// stays.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		text, n := escape(s[i+1:])
		b.WriteString(text)
		i += 1 + n
	}
	return b.String()
}

// escape reads what follows a backslash.
func escape(s string) (text string, n int) {
	switch s[0] {
	case 'n':
		return "\n", 1
	case 'r':
		return "\r", 1
	case 't':
		return "\t", 1
	case '0':
		return "\x00", 1
	case '\\', '"', '\'':
		return s[:1], 1
	case 'x':
		if v, ok := hex(s, 3); ok {
			return string([]byte{byte(v)}), 3
		}
	case 'u':
		if v, ok := hex(s, 5); ok && utf8.ValidRune(rune(v)) {
			return string(rune(v)), 5
		}
	}
	return `\`, 0
}

func hex(s string, n int) (uint64, bool) {
	if len(s) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(s[1:n], 16, 32)
	return v, err == nil && s[1] != '+' && s[1] != '-'
}

// fitter reads values as declared types and lists what it had to do.
type fitter struct {
	opt  Options
	done []Coercion
}

func (f *fitter) note(how string, cost int) { f.done = append(f.done, Coercion{How: how, Cost: cost}) }

// reading is one way to take a text, with its price.
type reading struct {
	value any
	how   string
	cost  int
}

// fit makes v a value of type t; false when nothing fits.
func (f *fitter) fit(v any, t Type, depth int) (any, bool) {
	if len(t.Names) == 0 || depth > maxDepth {
		return v, true
	}
	text, isText := v.(string)
	if !isText {
		return f.fitValue(v, t, depth)
	}
	if t.has("string") && !(t.has("null") && isNull(text)) {
		return text, true
	}
	best := reading{cost: math.MaxInt}
	for _, name := range t.Names {
		if r, ok := f.read(text, name); ok && r.cost < best.cost {
			best = r
		}
	}
	if best.cost == math.MaxInt {
		return f.wrap(text, t, depth)
	}
	f.note(best.how, best.cost)
	if _, still := best.value.(string); still || best.value == nil {
		return best.value, true
	}
	return f.fitValue(best.value, t, depth)
}

func isNull(s string) bool {
	s = strings.TrimSpace(s)
	return s == "null" || s == "None"
}

// read takes a text as one type.
func (f *fitter) read(text, name string) (reading, bool) {
	s := strings.TrimSpace(text)
	switch name {
	case "null":
		return reading{nil, "null", 1}, isNull(s)
	case "boolean":
		return f.boolean(s)
	case "integer":
		return integer(s)
	case "number":
		n, err := strconv.ParseFloat(s, 64)
		ok := err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) && !strings.ContainsAny(s, "xX_pP")
		return reading{n, "number", 0}, ok
	case "array", "object":
		v, how, cost, ok := readJSON(s)
		if !ok {
			return reading{}, false
		}
		_, isList := v.([]any)
		_, isMap := v.(map[string]any)
		return reading{v, how, cost + 1}, isList && name == "array" || isMap && name == "object"
	}
	return reading{}, false
}

func (f *fitter) boolean(s string) (reading, bool) {
	switch {
	case s == "true" || s == "false":
		return reading{s == "true", "boolean", 0}, true
	case strings.EqualFold(s, "true") || strings.EqualFold(s, "false"):
		return reading{strings.EqualFold(s, "true"), "boolean in other letters", 1}, true
	case f.opt.ChineseBooleans && (s == "是" || s == "否"):
		return reading{s == "是", "boolean in Chinese", 1}, true
	}
	return reading{}, false
}

// integer also takes 3.0 and 3e2, but nothing that loses digits.
func integer(s string) (reading, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return reading{n, "integer", 0}, true
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 || strings.ContainsAny(s, "xX_pP") {
		return reading{}, false
	}
	return reading{int64(x), "integer written as a fraction", 1}, true
}

// wrap makes a list of a single value where a list is wanted.
func (f *fitter) wrap(v any, t Type, depth int) (any, bool) {
	if !t.has("array") {
		return nil, false
	}
	if _, isList := v.([]any); isList {
		return nil, false
	}
	item := Type{}
	if t.Items != nil {
		item = *t.Items
	}
	got, ok := f.fit(v, item, depth+1)
	if !ok {
		return nil, false
	}
	f.note("one value as a list", 3)
	return []any{got}, true
}

// fitValue checks a value that is no text, and fits what is inside.
func (f *fitter) fitValue(v any, t Type, depth int) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, t.has("null")
	case bool:
		if t.has("boolean") {
			return v, true
		}
	case int64:
		switch {
		case t.has("integer"):
			return v, true
		case t.has("number"):
			return float64(v), true
		}
	case float64:
		switch {
		case t.has("number"):
			return v, true
		case t.has("integer") && v == math.Trunc(v) && math.Abs(v) <= 1<<53:
			f.note("integer written as a fraction", 1)
			return int64(v), true
		}
	case []any:
		if t.has("array") {
			return f.list(v, t, depth)
		}
	case map[string]any:
		if t.has("object") {
			return f.object(v, t, depth)
		}
	}
	if t.has("string") {
		if raw, err := json.Marshal(v); err == nil && v != nil {
			f.note("JSON as text", 3)
			return string(raw), true
		}
	}
	return f.wrap(v, t, depth)
}

func (f *fitter) list(v []any, t Type, depth int) (any, bool) {
	if t.Items == nil {
		return v, true
	}
	out := make([]any, len(v))
	for i := range v {
		got, ok := f.fit(v[i], *t.Items, depth+1)
		if !ok {
			return nil, false
		}
		out[i] = got
	}
	return out, true
}

func (f *fitter) object(v map[string]any, t Type, depth int) (any, bool) {
	if len(t.Properties) == 0 {
		return v, true
	}
	out := make(map[string]any, len(v))
	for _, name := range sortedKeys(v) {
		got, ok := f.fit(v[name], t.Properties[name], depth+1)
		if !ok {
			return nil, false
		}
		out[name] = got
	}
	return out, true
}
