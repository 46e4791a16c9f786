package template

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Func is a function of templates. Call gets values, owns the slice and must
// return a value; state is what the execution was given.
type Func struct {
	Min, Max int // arguments, a piped one included; Max < 0 = any number
	Call     func(state any, args []any) (any, error)
}

func (f Func) arity() string {
	switch {
	case f.Max == f.Min:
		return fmt.Sprint(f.Min)
	case f.Max < 0:
		return fmt.Sprintf("at least %d", f.Min)
	}
	return fmt.Sprintf("%d to %d", f.Min, f.Max)
}

// run calls and holds the result to the bound of text.
func (f Func) run(name string, state any, args []any) (any, error) {
	v, err := f.Call(state, args)
	if s, ok := v.(string); ok && len(s) > MaxOutput {
		return nil, errLimit(name)
	}
	return v, err
}

// std returns the functions that every template has, as a map of your own.
// docs/formats lists them.
func std() map[string]Func {
	m := map[string]Func{
		"eq":    {2, -1, equalAny},
		"ne":    {2, 2, func(_ any, a []any) (any, error) { return !protocol.Equal(a[0], a[1]), nil }},
		"lt":    ordered(func(c int) bool { return c < 0 }),
		"le":    ordered(func(c int) bool { return c <= 0 }),
		"gt":    ordered(func(c int) bool { return c > 0 }),
		"ge":    ordered(func(c int) bool { return c >= 0 }),
		"not":   {1, 1, func(_ any, a []any) (any, error) { return !Truth(a[0]), nil }},
		"print": {0, -1, printAll(false)},

		"printf":   {1, -1, printf},
		"println":  {0, -1, func(s any, a []any) (any, error) { v, err := printAll(true)(s, a); return v.(string) + "\n", err }},
		"default":  {2, 2, func(_ any, a []any) (any, error) { return pick(Truth(a[1]), a[1], a[0]), nil }},
		"coalesce": {1, -1, coalesce},
		"ternary":  {3, 3, func(_ any, a []any) (any, error) { return pick(Truth(a[2]), a[0], a[1]), nil }},
	}
	for _, more := range []map[string]Func{textFuncs(), dataFuncs(), mathFuncs()} {
		for _, name := range protocol.SortedKeys(more) {
			m[name] = more[name]
		}
	}
	return m
}

func pick(yes bool, a, b any) any {
	if yes {
		return a
	}
	return b
}

func equalAny(_ any, a []any) (any, error) {
	return slices.ContainsFunc(a[1:], func(b any) bool { return protocol.Equal(a[0], b) }), nil
}

func ordered(holds func(int) bool) Func {
	return Func{2, 2, func(_ any, a []any) (any, error) {
		c, err := Compare(a[0], a[1])
		return err == nil && holds(c), err
	}}
}

func coalesce(_ any, a []any) (any, error) {
	for _, v := range a {
		if Truth(v) {
			return v, nil
		}
	}
	return nil, nil
}

// printAll joins values; unless spaced, only between two that are no text, as
// fmt does.
func printAll(spaced bool) func(any, []any) (any, error) {
	return func(_ any, a []any) (any, error) {
		var b []byte
		wasText := true
		for i, v := range a {
			_, isText := v.(string)
			if i > 0 && (spaced || !wasText && !isText) {
				b = append(b, ' ')
			}
			wasText = isText
			if b = appendText(b, v, MaxOutput); len(b) > MaxOutput {
				return "", tooLong("print")
			}
		}
		return string(b), nil
	}
}

// maxWidth bounds the widths and precisions of printf.
const maxWidth = 999

func printf(_ any, a []any) (any, error) {
	format, err := text(a[0])
	if err != nil {
		return nil, err
	}
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	longest := maxWidth
	for i, v := range a {
		switch v.(type) {
		case []any, map[string]any, nil:
			a[i] = string(appendJSON(nil, v, MaxOutput))
		}
		s, _ := a[i].(string)
		longest = max(longest, len(s))
	}
	if longest > MaxOutput || strings.Count(format, "%")*longest > MaxMade {
		return nil, tooLong("printf")
	}
	return fmt.Sprintf(format, a[1:]...), nil
}

func checkFormat(format string) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("+-# 0123456789.[]*", format[i]) >= 0; i++ {
			digits := len(format[i:]) - len(strings.TrimLeft(format[i:], "0123456789"))
			if format[i] == '*' || digits > 3 {
				return protocol.Errorf(protocol.KindInvalid, "format %q: want widths up to %d, written as digits", format, maxWidth)
			}
		}
	}
	return nil
}

func text(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", protocol.Errorf(protocol.KindInvalid, "%s is no text", Describe(v))
	}
	return s, nil
}

// number reads an argument as a number; whole says that it is an integer.
func number(v any) (i int64, f float64, whole bool, err error) {
	switch x := v.(type) {
	case int64:
		return x, float64(x), true, nil
	case float64:
		return 0, x, false, nil
	}
	return 0, 0, false, protocol.Errorf(protocol.KindInvalid, "%s is no number", Describe(v))
}

// integer reads an argument that must be a whole number.
func integer(v any) (int, error) {
	i, f, whole, err := number(v)
	if err != nil {
		return 0, err
	}
	if !whole {
		if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, protocol.Errorf(protocol.KindInvalid, "%s is no whole number", Describe(v))
		}
		i = int64(f)
	}
	return int(i), nil
}
