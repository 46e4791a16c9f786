package toolcall

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/internal/wirejson"
)

// maxPlainLevels is how many objects and lists nest in plain arguments.
const maxPlainLevels = 9

// plain reads arguments as nearly all of them are: JSON without escapes, exponents, numbers
// beyond 64 bits and keys that come twice. ok is false for others; lenient.Read gives the same
// for these, and needs three times the stack, which the goroutine of a call does not have.
func plain(in *wirejson.Reader, s string) (params map[string]any, ok bool) {
	if strings.IndexByte(s, '\\') >= 0 || !utf8.ValidString(s) {
		return nil, false
	}
	err := in.ReadString(s, maxPlainLevels, func(r *wirejson.Reader) {
		params, ok = plainValue(r).(map[string]any)
	})
	return params, ok && err == nil
}

func plainValue(r *wirejson.Reader) any {
	switch {
	case r.Is('"'):
		return r.Text()
	case r.Is('{'):
		m := map[string]any{}
		r.Object(func(name []byte) {
			key, before := r.Own(name), len(m)
			if m[key] = plainValue(r); len(m) == before {
				r.Fail("a name that was there")
			}
		})
		return m
	case r.Is('['):
		list := []any{}
		r.Array(func() { list = append(list, plainValue(r)) })
		return list
	}
	switch word := r.Raw(); string(word) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	default:
		return plainNumber(r, string(word))
	}
}

// plainNumber reads up to 15 digits, with a fraction at most.
func plainNumber(r *wirejson.Reader, word string) any {
	switch {
	case strings.ContainsAny(word, "eE") || len(strings.TrimPrefix(word, "-")) > 15:
		r.Fail("a number that is not plain")
	case strings.Contains(word, "."):
		f, _ := strconv.ParseFloat(word, 64)
		return f
	}
	n, _ := strconv.ParseInt(word, 10, 64)
	return n
}
