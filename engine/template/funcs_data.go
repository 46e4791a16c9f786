package template

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

func dataFuncs() map[string]Func {
	return map[string]Func{
		"list":  {0, -1, func(_ any, a []any) (any, error) { return bounded(a) }},
		"dict":  {0, -1, dict},
		"len":   {1, 1, length},
		"index": {1, -1, index},
		"get":   {2, 3, get},
		"has":   {2, 2, has},
		"keys":  {1, 1, keys},
		"first": {1, 1, func(_ any, a []any) (any, error) { return end(a[0], false) }},
		"last":  {1, 1, func(_ any, a []any) (any, error) { return end(a[0], true) }},
		"slice": {1, 3, slice},
		"sort":  {1, 1, sorted},
	}
}

func listOf(v any) ([]any, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s is no list", Describe(v))
	}
	return list, nil
}

func objectOf(v any) (map[string]any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s is no object", Describe(v))
	}
	return m, nil
}

func dict(_ any, a []any) (any, error) {
	if len(a)%2 != 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "want pairs of a name and a value")
	}
	m := make(map[string]any, len(a)/2)
	for i := 0; i < len(a); i += 2 {
		k, err := text(a[i])
		if err != nil {
			return nil, err
		}
		m[k] = a[i+1]
	}
	return bounded(m)
}

// bounded refuses a list or an object that is too large with all that stands in
// it: one that holds the one before twice doubles each time.
func bounded(v any) (any, error) {
	if protocol.SizeOf(v, MaxMade) > MaxMade {
		return nil, errMade()
	}
	return v, nil
}

func length(_ any, a []any) (any, error) {
	switch x := a[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(x)), nil
	case []any:
		return int64(len(x)), nil
	case map[string]any:
		return int64(len(x)), nil
	}
	return nil, protocol.Errorf(protocol.KindInvalid, "%s has no length", Describe(a[0]))
}

// index walks into lists and objects; every step must exist.
func index(_ any, a []any) (any, error) {
	v := a[0]
	for _, step := range a[1:] {
		next, ok, err := at(v, step)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, protocol.Errorf(protocol.KindNotFound, "no %s in %s", Describe(step), Describe(v))
		}
		v = next
	}
	return v, nil
}

// at finds one step in a list or an object.
func at(v, step any) (any, bool, error) {
	switch x := v.(type) {
	case []any:
		i, err := integer(step)
		if err != nil || i < 0 || i >= len(x) {
			return nil, false, err
		}
		return x[i], true, nil
	case map[string]any:
		k, err := text(step)
		if err != nil {
			return nil, false, err
		}
		e, ok := x[k]
		return e, ok, nil
	}
	return nil, false, protocol.Errorf(protocol.KindInvalid, "%s is neither list nor object", Describe(v))
}

// get finds a dotted path, or gives the fallback (null without one) when any
// part of it is missing.
func get(_ any, a []any) (any, error) {
	path, err := text(a[1])
	if err != nil {
		return nil, err
	}
	v := a[0]
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		next, ok := m[name]
		if !ok {
			return fallback(a), nil
		}
		v = next
	}
	return v, nil
}

func fallback(a []any) any {
	if len(a) == 3 {
		return a[2]
	}
	return nil
}

func has(_ any, a []any) (any, error) {
	switch x := a[0].(type) {
	case map[string]any:
		k, err := text(a[1])
		_, ok := x[k]
		return ok, err
	case []any:
		return slices.ContainsFunc(x, func(e any) bool { return protocol.Equal(e, a[1]) }), nil
	case string:
		s, err := text(a[1])
		return err == nil && strings.Contains(x, s), err
	}
	return nil, protocol.Errorf(protocol.KindInvalid, "%s holds nothing; want an object, a list or text", Describe(a[0]))
}

func keys(_ any, a []any) (any, error) {
	m, err := objectOf(a[0])
	if err != nil {
		return nil, err
	}
	return protocol.ListOf(protocol.SortedKeys(m)), nil
}

func end(v any, last bool) (any, error) {
	list, err := listOf(v)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if last {
		return list[len(list)-1], nil
	}
	return list[0], nil
}

// slice cuts a list or the characters of a text; bounds outside are moved in.
func slice(_ any, a []any) (any, error) {
	bounds := [2]int{0, math.MaxInt}
	for i, v := range a[1:] {
		n, err := integer(v)
		if err != nil {
			return nil, err
		}
		bounds[i] = max(n, 0)
	}
	switch x := a[0].(type) {
	case []any:
		to := min(bounds[1], len(x))
		return x[min(bounds[0], to):to:to], nil
	case string:
		r := []rune(x)
		to := min(bounds[1], len(r))
		return string(r[min(bounds[0], to):to]), nil
	}
	return nil, protocol.Errorf(protocol.KindInvalid, "%s cannot be cut; want a list or text", Describe(a[0]))
}

// sorted orders a list of numbers or of texts; equal ones keep their order.
func sorted(_ any, a []any) (any, error) {
	list, err := listOf(a[0])
	if err != nil {
		return nil, err
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(x, y any) int {
		c, e := Compare(x, y)
		err = cmp.Or(err, e)
		return c
	})
	return out, err
}

func mathFuncs() map[string]Func {
	return map[string]Func{
		"add":   {2, -1, fold(addInt, func(a, b float64) float64 { return a + b })},
		"sub":   {2, 2, fold(subInt, func(a, b float64) float64 { return a - b })},
		"mul":   {2, -1, fold(mulInt, func(a, b float64) float64 { return a * b })},
		"div":   {2, 2, fold(divInt, func(a, b float64) float64 { return a / b })},
		"mod":   {2, 2, fold(modInt, math.Mod)},
		"min":   {1, -1, extreme(-1)},
		"max":   {1, -1, extreme(1)},
		"abs":   {1, 1, abs},
		"floor": float1(math.Floor),
		"ceil":  float1(math.Ceil),
		"round": {1, 2, round},
		"int":   {1, 1, toInt},
		"float": {1, 1, toFloat},
	}
}

// toFloat reads a number, or text that is one.
func toFloat(_ any, a []any) (any, error) {
	s, ok := a[0].(string)
	if !ok {
		_, f, _, err := number(a[0])
		return f, err
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s is no number", Describe(s))
	}
	return finite(f)
}

// toInt cuts the fraction of a number, or of text that is one.
func toInt(state any, a []any) (any, error) {
	if i, ok := a[0].(int64); ok {
		return i, nil
	}
	v, err := toFloat(state, a)
	if err != nil {
		return nil, err
	}
	n := whole(math.Trunc(v.(float64)))
	if _, ok := n.(int64); !ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s is too large for an integer", Describe(a[0]))
	}
	return n, nil
}

// fold applies an operation from left to right: in integers as long as they are
// and the result fits, else in floats.
func fold(ints func(a, b int64) (int64, bool), floats func(a, b float64) float64) func(any, []any) (any, error) {
	return func(_ any, args []any) (any, error) {
		acc := args[0]
		for _, arg := range args[1:] {
			i, f, whole1, err := number(acc)
			if err != nil {
				return nil, err
			}
			j, g, whole2, err := number(arg)
			if err != nil {
				return nil, err
			}
			if n, ok := ints(i, j); ok && whole1 && whole2 {
				acc = n
				continue
			}
			if acc, err = finite(floats(f, g)); err != nil {
				return nil, err
			}
		}
		_, _, _, err := number(acc)
		return acc, err
	}
}

func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, protocol.Errorf(protocol.KindInvalid, "the result is no finite number (a division by zero?)")
	}
	return f, nil
}

func addInt(a, b int64) (int64, bool) { s := a + b; return s, (s > a) == (b > 0) }
func subInt(a, b int64) (int64, bool) { s := a - b; return s, (s < a) == (b > 0) }

func mulInt(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	return p, p/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
}

func divInt(a, b int64) (int64, bool) {
	if b == 0 || b == -1 || a%b != 0 {
		return 0, false
	}
	return a / b, true
}

func modInt(a, b int64) (int64, bool) {
	if b == 0 {
		return 0, false
	}
	return a % b, true
}

func extreme(sign int) func(any, []any) (any, error) {
	return func(_ any, args []any) (any, error) {
		if list, ok := args[0].([]any); ok && len(args) == 1 {
			args = list
		}
		if len(args) == 0 {
			return nil, protocol.Errorf(protocol.KindInvalid, "the list is empty")
		}
		best := args[0]
		for _, v := range args {
			c, err := Compare(v, best)
			if err != nil {
				return nil, err
			}
			if c*sign > 0 {
				best = v
			}
		}
		return best, nil
	}
}

func abs(_ any, a []any) (any, error) {
	i, x, isInt, err := number(a[0])
	if isInt && i > math.MinInt64 {
		return max(i, -i), nil
	}
	return whole(math.Abs(x)), err
}

// float1 rounds a number; a whole result that integers hold exactly becomes one.
func float1(f func(float64) float64) Func {
	return Func{1, 1, func(_ any, a []any) (any, error) {
		_, x, isInt, err := number(a[0])
		if err != nil || isInt {
			return a[0], err
		}
		return whole(f(x)), nil
	}}
}

func whole(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return int64(f)
	}
	return f
}

// round to a number of decimals, halves away from zero.
func round(_ any, a []any) (any, error) {
	places := 0
	if len(a) == 2 {
		var err error
		if places, err = integer(a[1]); err != nil {
			return nil, err
		}
	}
	_, x, isInt, err := number(a[0])
	if err != nil || isInt {
		return a[0], err
	}
	if places <= 0 {
		return whole(math.Round(x)), nil
	}
	scale := math.Pow10(min(places, 15))
	if r := math.Round(x*scale) / scale; !math.IsInf(r, 0) {
		return r, nil
	}
	return x, nil
}
