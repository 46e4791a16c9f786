package expr

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"tavernsim/protocol"

	"github.com/dop251/goja/ftoa"
	"github.com/dop251/goja/parser"
)

// exact is the largest size up to which every integer is a float.
const exact = 1 << 53

func nullish(v any) bool {
	switch v.(type) {
	case nil, undefined:
		return true
	}
	return false
}

func nullName(v any) string {
	if v == nil {
		return "null"
	}
	return "undefined"
}

// typeName is what typeof says.
func typeName(v any) string {
	switch v.(type) {
	case undefined:
		return "undefined"
	case bool:
		return "boolean"
	case int64, float64:
		return "number"
	case string:
		return "string"
	}
	return "object"
}

// describe is typeof for people.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	}
	return typeName(v)
}

// canonical boxes a number: int64 when it is integral and exact, but for -0.
func canonical(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) <= exact && (f != 0 || !math.Signbit(f)) {
		return int64(f)
	}
	return f
}

// toNumber converts a primitive as JavaScript does.
func toNumber(v any) float64 {
	switch x := v.(type) {
	case nil:
		return 0
	case bool:
		if x {
			return 1
		}
		return 0
	case int64:
		return float64(x)
	case float64:
		return x
	case string:
		return textNumber(x)
	}
	return math.NaN()
}

// textNumber reads the number that a text spells; NaN if it spells none.
func textNumber(s string) float64 {
	s = strings.Trim(s, parser.WhitespaceChars)
	if s == "" {
		return 0
	}
	if len(s) > 2 && s[0] == '0' {
		if base := baseOf(s[1]); base != 0 {
			return digitsNumber(s[2:], base)
		}
	}
	if strings.Trim(s, "+-0123456789.eE") != "" {
		switch s {
		case "Infinity", "+Infinity":
			return math.Inf(1)
		case "-Infinity":
			return math.Inf(-1)
		}
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) { // out of range is infinite, as it should be
		return math.NaN()
	}
	return f
}

func baseOf(c byte) int {
	switch c | 0x20 {
	case 'x':
		return 16
	case 'o':
		return 8
	case 'b':
		return 2
	}
	return 0
}

func digitsNumber(s string, base int) float64 {
	f := 0.0
	for i := range len(s) {
		d, err := strconv.ParseUint(s[i:i+1], base, 8)
		if err != nil {
			return math.NaN()
		}
		f = f*float64(base) + float64(d)
	}
	return f
}

// numberText writes a number as JavaScript does.
func numberText(f float64) string {
	var buf [32]byte
	return string(ftoa.FToStr(f, ftoa.ModeStandard, 0, buf[:0]))
}

// scalarText converts a primitive to text.
func scalarText(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case undefined:
		return "undefined"
	case bool:
		return strconv.FormatBool(x)
	case int64:
		if -exact <= x && x <= exact {
			return strconv.FormatInt(x, 10)
		}
		return numberText(float64(x))
	case float64:
		return numberText(x)
	case string:
		return x
	}
	return "[object Object]"
}

// text converts any value to text; a list joins its items with commas.
func (m *machine) text(v any) (string, error) {
	items, ok := v.([]any)
	if !ok {
		return scalarText(v), nil
	}
	var b strings.Builder
	if err := m.join(&b, items); err != nil {
		return "", err
	}
	return b.String(), m.spendText(b.Len())
}

func (m *machine) join(b *strings.Builder, items []any) error {
	for i, e := range items {
		if err := m.spend(1); err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if nullish(e) {
			continue
		}
		if inner, ok := e.([]any); ok {
			if err := m.join(b, inner); err != nil {
				return err
			}
			continue
		}
		s := scalarText(e)
		if err := m.spendText(len(s)); err != nil {
			return err
		}
		b.WriteString(s)
	}
	return nil
}

// primitive evaluates a node and turns lists and objects into text, as the
// operators + < == do.
func (m *machine) primitive(n node) (any, error) {
	v, err := m.eval(n)
	if err != nil {
		return nil, err
	}
	return m.toPrimitive(v)
}

func (m *machine) toPrimitive(v any) (any, error) {
	switch v.(type) {
	case []any, map[string]any:
		return m.text(v)
	}
	return v, nil
}

// strictEqual is ===. Lists and objects are equal to themselves only.
func strictEqual(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		return ok && sameList(x, y)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer()
	}
	x, ok := protocol.Number(a)
	y, ok2 := protocol.Number(b)
	return ok && ok2 && x == y
}

// sameList compares addresses. Two empty lists of one payload cannot be told
// apart and count as the same.
func sameList(a, b []any) bool {
	return len(a) == len(b) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// sameValue is what includes compares with: === and NaN equal to itself.
func sameValue(a, b any) bool {
	if x, ok := a.(float64); ok && math.IsNaN(x) {
		y, ok := b.(float64)
		return ok && math.IsNaN(y)
	}
	return strictEqual(a, b)
}

// looseEqual is ==.
func (m *machine) looseEqual(a, b any) (bool, error) {
	if nullish(a) || nullish(b) {
		return nullish(a) && nullish(b), nil
	}
	if typeName(a) == typeName(b) {
		return strictEqual(a, b), nil
	}
	a, err := m.toPrimitive(a)
	if err != nil {
		return false, err
	}
	if b, err = m.toPrimitive(b); err != nil {
		return false, err
	}
	if typeName(a) == typeName(b) {
		return strictEqual(a, b), nil
	}
	return toNumber(a) == toNumber(b), nil
}
