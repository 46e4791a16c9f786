package wirejson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// Comma separates what comes next from what was written of an object or a list.
func Comma(b []byte) []byte {
	if last := b[len(b)-1]; last == '[' || last == '{' {
		return b
	}
	return append(b, ',')
}

// AppendText writes a text.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		x, size := rune(c), 1
		if c >= utf8.RuneSelf {
			x, size = utf8.DecodeRuneInString(s[i:])
			if (x != utf8.RuneError || size > 1) && x != '\u2028' && x != '\u2029' {
				i += size
				continue
			}
		}
		b = appendEscaped(append(b, s[from:i]...), x)
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

func appendEscaped(b []byte, x rune) []byte {
	const digits = "0123456789abcdef"
	switch x {
	case '"', '\\':
		return append(b, '\\', byte(x))
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', digits[x>>12&15], digits[x>>8&15], digits[x>>4&15], digits[x&15])
}

// AppendFloat writes a number. The error says that none is written so.
func AppendFloat(b []byte, x float64) ([]byte, error) {
	if a := math.Abs(x); x == 0 || a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(b, x, 'f', -1, 64), nil
	}
	return AppendAny(b, x)
}

// AppendAny writes any value, by encoding/json.
func AppendAny(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes()[:buf.Len()-1], nil // without the end of the line
}
