package bind

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// readJSON reads a text as one JSON value: as it is, else repaired at a cost. Nothing that
// the text says is left out.
func readJSON(s string) (v any, cost int, err error) {
	t, err := lenient.Read(s, lenient.Options{Plain: true, Whole: true, Kept: true})
	if len(t.Repairs)+len(t.Around) > 0 {
		cost = 10
	}
	return t.Value, cost, err
}

// applyHint decodes a text as its type hint says; fault is the cause in words.
func applyHint(hint, text string) (v any, fault string) {
	switch hint {
	case "json":
		v, _, err := readJSON(text)
		if err != nil {
			return nil, notJSON(err)
		}
		return v, ""
	case "base64":
		compact := strings.Join(strings.Fields(text), "")
		compact = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(compact), "=")
		raw, err := base64.RawStdEncoding.DecodeString(compact)
		if err != nil {
			return nil, "not base64"
		}
		if !utf8.Valid(raw) {
			return nil, "the bytes are no UTF-8 text"
		}
		return string(raw), ""
	case "escaped":
		return unescape(text), ""
	}
	return text, ""
}

// notJSON says where a text is no JSON, as far as its reader knows.
func notJSON(err error) string {
	if at := errors.Unwrap(err); at != nil {
		return "not JSON: " + at.Error()
	}
	return "not JSON"
}

func hintText(hint string) string {
	if hint == "json" {
		return "one JSON value"
	}
	return hint + " text"
}

// unescape decodes \n \r \t \0 \\ \" \' \xNN and \uNNNN. Any other backslash
// stays.
func unescape(s string) string {
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

// reading is one way to take a text. The cost says how much was guessed: 0
// reading a number as one, 1 a spelling, 10 a repair.
type reading struct {
	value any
	cost  int
}

// fit makes v a value of type t, a text by its cheapest reading; false when
// nothing fits.
func fit(v any, t Type, depth int) (any, bool) {
	if len(t.Names) == 0 || depth > maxDepth {
		return v, true
	}
	text, isText := v.(string)
	if !isText {
		return fitValue(v, t, depth)
	}
	if t.has("string") && !(t.has("null") && isNull(text)) {
		return text, true
	}
	best := reading{cost: math.MaxInt}
	for _, name := range t.Names {
		if r, ok := read(text, name); ok && r.cost < best.cost {
			best = r
		}
	}
	if best.cost == math.MaxInt {
		return wrap(text, t, depth)
	}
	if best.value == nil {
		return nil, true
	}
	return fitValue(best.value, t, depth)
}

func isNull(s string) bool {
	s = strings.TrimSpace(s)
	return s == "null" || s == "None"
}

// read takes a text as one type.
func read(text, name string) (reading, bool) {
	s := strings.TrimSpace(text)
	switch name {
	case "null":
		return reading{nil, 1}, isNull(s)
	case "boolean":
		return boolean(s)
	case "integer":
		return integer(s)
	case "number":
		n, err := strconv.ParseFloat(s, 64)
		ok := err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) && !strings.ContainsAny(s, "xX_pP")
		return reading{n, 0}, ok
	case "array", "object":
		v, cost, err := readJSON(s)
		if err != nil {
			return reading{}, false
		}
		_, isList := v.([]any)
		_, isMap := v.(map[string]any)
		return reading{v, cost + 1}, isList && name == "array" || isMap && name == "object"
	}
	return reading{}, false
}

func boolean(s string) (reading, bool) {
	yes := strings.EqualFold(s, "true")
	cost := 1
	if s == "true" || s == "false" {
		cost = 0
	}
	return reading{yes, cost}, yes || strings.EqualFold(s, "false")
}

// integer also takes 3.0 and 3e2, but nothing that loses digits.
func integer(s string) (reading, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return reading{n, 0}, true
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 || strings.ContainsAny(s, "xX_pP") {
		return reading{}, false
	}
	return reading{int64(x), 1}, true
}

// wrap makes a list of a single value where a list is wanted.
func wrap(v any, t Type, depth int) (any, bool) {
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
	got, ok := fit(v, item, depth+1)
	if !ok {
		return nil, false
	}
	return []any{got}, true
}

// fitValue checks a value that is no text, and fits what is inside.
func fitValue(v any, t Type, depth int) (any, bool) {
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
			return int64(v), true
		}
	case []any:
		if t.has("array") {
			return fitList(v, t, depth)
		}
	case map[string]any:
		if t.has("object") {
			return fitObject(v, t, depth)
		}
	}
	if t.has("string") {
		if raw, err := json.Marshal(v); err == nil && v != nil {
			return string(raw), true
		}
	}
	return wrap(v, t, depth)
}

func fitList(v []any, t Type, depth int) (any, bool) {
	if t.Items == nil {
		return v, true
	}
	out := make([]any, len(v))
	for i := range v {
		got, ok := fit(v[i], *t.Items, depth+1)
		if !ok {
			return nil, false
		}
		out[i] = got
	}
	return out, true
}

func fitObject(v map[string]any, t Type, depth int) (any, bool) {
	if len(t.Properties) == 0 {
		return v, true
	}
	out := make(map[string]any, len(v))
	for _, name := range protocol.SortedKeys(v) {
		got, ok := fit(v[name], t.Properties[name], depth+1)
		if !ok {
			return nil, false
		}
		out[name] = got
	}
	return out, true
}
