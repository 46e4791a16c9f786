package template

import (
	"strconv"
	"strings"

	"tavernsim/protocol"
)

func textFuncs() map[string]Func {
	return map[string]Func{
		"lower":      text1(strings.ToLower),
		"upper":      text1(strings.ToUpper),
		"trim":       text1(strings.TrimSpace),
		"trimPrefix": text2(func(prefix, s string) any { return strings.TrimPrefix(s, prefix) }),
		"trimSuffix": text2(func(suffix, s string) any { return strings.TrimSuffix(s, suffix) }),
		"hasPrefix":  text2(func(prefix, s string) any { return strings.HasPrefix(s, prefix) }),
		"hasSuffix":  text2(func(suffix, s string) any { return strings.HasSuffix(s, suffix) }),
		"split":      text2(split),
		"lines":      {1, 1, func(s any, a []any) (any, error) { return text2(split).Call(s, []any{"\n", a[0]}) }},
		"replace":    {3, 3, replace},
		"repeat":     numberText(repeat),
		"truncate":   numberText(truncate),
		"indent":     numberText(indent),
		"join":       {2, 2, join},
		"quote":      {1, 1, func(_ any, a []any) (any, error) { return strconv.Quote(string(appendText(nil, a[0], MaxOutput))), nil }},
		"string":     {1, 1, func(_ any, a []any) (any, error) { return string(appendText(nil, a[0], MaxOutput)), nil }},
		"json":       {1, 1, func(_ any, a []any) (any, error) { return string(appendJSON(nil, a[0], MaxOutput)), nil }},
	}
}

func text1(f func(string) string) Func {
	return Func{1, 1, func(_ any, a []any) (any, error) {
		s, err := text(a[0])
		if err != nil {
			return nil, err
		}
		return f(s), nil
	}}
}

// text2 is a function of an option and the text, in this order, so that the
// text can be piped.
func text2(f func(option, s string) any) Func {
	return Func{2, 2, func(_ any, a []any) (any, error) {
		option, err := text(a[0])
		if err != nil {
			return nil, err
		}
		s, err := text(a[1])
		if err != nil {
			return nil, err
		}
		return f(option, s), nil
	}}
}

// numberText is a function of a number and the text.
func numberText(f func(n int, s string) (any, error)) Func {
	return Func{2, 2, func(_ any, a []any) (any, error) {
		n, err := integer(a[0])
		if err != nil {
			return nil, err
		}
		s, err := text(a[1])
		if err != nil {
			return nil, err
		}
		return f(n, s)
	}}
}

func split(sep, s string) any {
	if s == "" {
		return []any{}
	}
	parts := strings.Split(s, sep)
	return protocol.ListOf(parts)
}

func replace(_ any, a []any) (any, error) {
	var s [3]string
	for i := range s {
		var err error
		if s[i], err = text(a[i]); err != nil {
			return nil, err
		}
	}
	old, new, in := s[0], s[1], s[2]
	if n := strings.Count(in, old); n > 0 && len(new) > MaxOutput/n {
		return nil, tooLong("replace")
	}
	return strings.ReplaceAll(in, old, new), nil
}

func repeat(n int, s string) (any, error) {
	if n < 0 || n > MaxOutput || len(s)*n > MaxOutput {
		return nil, tooLong("repeat")
	}
	return strings.Repeat(s, n), nil
}

func tooLong(what string) error {
	return protocol.Errorf(protocol.KindLimit, "%s would make more than %d bytes", what, MaxOutput)
}

// truncate keeps the first n characters and says with "…" that there were more.
func truncate(n int, s string) (any, error) {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…", nil
		}
	}
	return s, nil
}

// indent puts n spaces before every line that is not empty.
func indent(n int, s string) (any, error) {
	lines := strings.Split(s, "\n")
	if n < 0 || n > maxWidth || n*len(lines) > MaxOutput {
		return nil, tooLong("indent")
	}
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", n) + line
		}
	}
	return strings.Join(lines, "\n"), nil
}

func join(_ any, a []any) (any, error) {
	sep, err := text(a[0])
	if err != nil {
		return nil, err
	}
	list, err := listOf(a[1])
	if err != nil {
		return nil, err
	}
	var b []byte
	for i, v := range list {
		if i > 0 {
			b = append(b, sep...)
		}
		if b = appendText(b, v, MaxOutput); len(b) > MaxOutput {
			return nil, tooLong("join")
		}
	}
	return string(b), nil
}
