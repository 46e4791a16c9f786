package protocol

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Normalize turns what a JSON, YAML or msgpack decoder returned into a value:
// integers become int64, other numbers float64, map keys strings, times RFC
// 3339 text. It reports the path of the first thing that is not a value. What
// is already a value is returned as it is, without a copy.
func Normalize(v any) (any, error) {
	if isValue(v) {
		return v, nil
	}
	return normalize(v, "")
}

// isValue reports whether something is a value already, as nearly all is. normalize would
// find the same, with a path for each element.
func isValue(v any) bool {
	switch x := v.(type) {
	case nil, bool, int64, string:
		return true
	case float64:
		return !math.IsNaN(x) && !math.IsInf(x, 0)
	case []any:
		return !slices.ContainsFunc(x, func(e any) bool { return !isValue(e) })
	case map[string]any:
		for _, e := range x {
			if !isValue(e) {
				return false
			}
		}
		return true
	}
	return false
}

// CheckNested refuses a value with more than [MaxNested] levels of lists and objects.
func CheckNested(v any) error {
	if Deeper(v, MaxNested) {
		return Errorf(KindInvalid, "the value is nested deeper than %d; write what is deeper as text", MaxNested)
	}
	return nil
}

// NormalizeBounded is Normalize and CheckNested.
func NormalizeBounded(v any) (any, error) {
	v, err := Normalize(v)
	if err == nil {
		err = CheckNested(v)
	}
	return v, err
}

// Deeper reports whether a value has more than so many levels of lists and objects.
func Deeper(v any, levels int) bool {
	switch x := v.(type) {
	case []any:
		return levels <= 0 || slices.ContainsFunc(x, func(e any) bool { return Deeper(e, levels-1) })
	case map[string]any:
		for _, e := range x {
			if Deeper(e, levels-1) {
				return true
			}
		}
		return levels <= 0
	}
	return false
}

func normalize(v any, path string) (any, error) {
	switch x := v.(type) {
	case nil, bool, int64, string:
		return x, nil
	case float64:
		return normalizeFloat(x, path)
	case float32:
		return normalizeFloat(float64(x), path)
	case int, int8, int16, int32:
		return reflect.ValueOf(x).Int(), nil
	case uint, uint8, uint16, uint32, uint64:
		return normalizeUint(reflect.ValueOf(x).Uint(), path)
	case json.Number:
		return normalizeNumber(x, path)
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano), nil
	case []any:
		return normalizeList(x, path)
	case map[string]any:
		return normalizeMap(x, path)
	case map[any]any:
		return normalizeAnyMap(x, path)
	}
	return nil, Errorf(KindInvalid, "value at %s: %T is no value; want null, boolean, number, text, list or object", at(path), v)
}

func normalizeFloat(f float64, path string) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, Errorf(KindInvalid, "value at %s: %v has no JSON form; want a finite number", at(path), f)
	}
	return f, nil
}

func normalizeUint(u uint64, path string) (any, error) {
	if u > math.MaxInt64 {
		return nil, Errorf(KindInvalid, "value at %s: %d does not fit 64 signed bits; write it as text", at(path), u)
	}
	return int64(u), nil
}

func normalizeNumber(n json.Number, path string) (any, error) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, Errorf(KindInvalid, "value at %s: number %s: %w", at(path), n, err)
	}
	return normalizeFloat(f, path)
}

func normalizeList(x []any, path string) (any, error) {
	var out []any
	for i, e := range x {
		n, err := normalize(e, path+"/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if out == nil && !same(e, n) {
			out = slices.Clone(x)
		}
		if out != nil {
			out[i] = n
		}
	}
	if out == nil {
		return x, nil
	}
	return out, nil
}

func normalizeMap(x map[string]any, path string) (any, error) {
	var out map[string]any
	var room [16]string
	for _, k := range KeysIn(room[:], x) {
		n, err := normalize(x[k], path+"/"+k)
		if err != nil {
			return nil, err
		}
		if out == nil && !same(x[k], n) {
			out = maps.Clone(x)
		}
		if out != nil {
			out[k] = n
		}
	}
	if out == nil {
		return x, nil
	}
	return out, nil
}

func normalizeAnyMap(x map[any]any, path string) (any, error) {
	out := make(map[string]any, len(x))
	for k, e := range x {
		key := fmt.Sprint(k)
		n, err := normalize(e, path+"/"+key)
		if err != nil {
			return nil, err
		}
		out[key] = n
	}
	return out, nil
}

// same reports whether normalize gave its argument back untouched: a container
// it rebuilt is another container, a scalar it converted has another type.
func same(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer()
	case map[any]any:
		return false
	}
	return a == b
}

func at(path string) string {
	if path == "" {
		return "the top"
	}
	return path
}

// Equal compares two values deeply. Integers and floats of the same number are
// equal.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, Equal)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	case int64:
		if f, ok := b.(float64); ok {
			return float64(x) == f
		}
	case float64:
		if i, ok := b.(int64); ok {
			return x == float64(i)
		}
	}
	return a == b
}

// SortedKeys lists the keys of an object in byte order, the only order in which
// anything that can be seen is produced from an object.
func SortedKeys[V any](m map[string]V) []string {
	return KeysIn(make([]string, 0, len(m)), m)
}

// KeysIn is SortedKeys in the room that the caller lends: the keys of small objects, which
// most are, fit on its stack.
func KeysIn[V any](room []string, m map[string]V) []string {
	keys := room[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ListOf is a list as values have them, of elements that are values.
func ListOf[T any](elements []T) []any {
	list := make([]any, len(elements))
	for i, e := range elements {
		list[i] = e
	}
	return list
}

// TextsIn are the texts in a list; its other elements are left out, and what is no list has none.
func TextsIn(v any) []string { return those[string](v) }

// ObjectsIn are the objects in a list, as TextsIn.
func ObjectsIn(v any) []map[string]any { return those[map[string]any](v) }

func those[T any](v any) (found []T) {
	list, _ := v.([]any)
	for _, e := range list {
		if x, ok := e.(T); ok {
			found = append(found, x)
		}
	}
	return found
}

// Number reads a number of either kind as float64.
func Number(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// Seconds is a span of so many seconds. It is 0 only if they are: a short span is not the span of none, which often
// means one without end.
func Seconds(f float64) time.Duration {
	if d := time.Duration(f * float64(time.Second)); d != 0 || f <= 0 {
		return d
	}
	return 1
}

// Decimal writes a number as people do, without an exponent.
func Decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
