package template

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Truth is what if, and, or and not ask: false are null, false, 0, empty text,
// the empty list and the empty object.
func Truth(v any) bool {
	switch x := v.(type) {
	case nil:
		return false
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0
	case string:
		return x != ""
	case []any:
		return len(x) > 0
	case map[string]any:
		return len(x) > 0
	}
	return true
}

// AppendText adds a value as it prints: text as it is, the rest as JSON.
func AppendText(dst []byte, v any) []byte { return appendText(dst, v, math.MaxInt) }

// appendText is AppendText until dst is longer than limit.
func appendText(dst []byte, v any, limit int) []byte {
	if s, ok := v.(string); ok {
		return append(dst, s...)
	}
	return appendJSON(dst, v, limit)
}

// AppendJSON adds the JSON form of a value, keys in byte order, no spaces.
func AppendJSON(dst []byte, v any) []byte { return appendJSON(dst, v, math.MaxInt) }

// appendJSON is AppendJSON until dst is longer than limit.
func appendJSON(dst []byte, v any, limit int) []byte {
	switch x := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, x)
	case int64:
		return strconv.AppendInt(dst, x, 10)
	case int:
		return strconv.AppendInt(dst, int64(x), 10)
	case float64:
		return appendFloat(dst, x)
	case string:
		return wirejson.AppendText(dst, x)
	case []any:
		dst = append(dst, '[')
		for i, e := range x {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst = appendJSON(dst, e, limit); len(dst) > limit {
				return dst
			}
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		var room [8]string
		for i, k := range protocol.KeysIn(room[:], x) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = wirejson.AppendText(dst, k)
			dst = append(dst, ':')
			if dst = appendJSON(dst, x[k], limit); len(dst) > limit {
				return dst
			}
		}
		return append(dst, '}')
	}
	return append(dst, "null"...) // no value: the caller's defect, kept harmless
}

// appendFloat writes the shortest form that reads back equal, without exponent
// where people would write none.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// Describe names a value for an error: its type, and its text when short.
func Describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list of " + strconv.Itoa(len(x))
	case map[string]any:
		return "an object"
	case string:
		if len(x) > 40 {
			return "text of " + strconv.Itoa(len(x)) + " bytes"
		}
		return "the text " + strconv.Quote(x)
	}
	return string(AppendText(nil, v))
}

// Compare orders two numbers or two texts. Integers are ordered as such: beyond 2^53 floats would lie.
func Compare(a, b any) (int, error) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), nil
		}
	}
	x, ok1 := protocol.Number(a)
	y, ok2 := protocol.Number(b)
	if !ok1 || !ok2 {
		return 0, protocol.Errorf(protocol.KindInvalid, "cannot order %s and %s; want two numbers or two texts", Describe(a), Describe(b))
	}
	return cmp.Compare(x, y), nil
}
