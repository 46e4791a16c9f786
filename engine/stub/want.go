package stub

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Texts is a list of texts; in a file one text alone is a list of one.
type Texts []string

// UnmarshalJSON reads a text or a list of texts.
func (t *Texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = Texts{one}
		return nil
	}
	var list []string
	if json.Unmarshal(b, &list) != nil || list == nil {
		return errors.New("want text or a list of texts")
	}
	*t = list
	return nil
}

// Wanted are the values that a rule wants of one field.
type Wanted struct {
	path  []string
	whole string // the path as one name, which wins
	any   []any
}

// WantedOf reads fields by dotted path. A list holds if one of its elements equals the
// field; with whole, also if all of it does.
func WantedOf(fields map[string]any, whole bool) (list []Wanted) {
	for _, path := range protocol.SortedKeys(fields) {
		want := fields[path]
		values, isList := want.([]any)
		switch {
		case !isList:
			values = []any{want}
		case whole:
			values = append(slices.Clip(values), want)
		}
		list = append(list, Wanted{path: strings.Split(path, "."), whole: path, any: values})
	}
	return list
}

// Holds reports whether a field of an object has one of the values.
func (v *Wanted) Holds(object map[string]any) bool {
	have, ok := object[v.whole]
	if !ok {
		if have, ok = walk(object, v.path); !ok {
			return false
		}
	}
	for _, want := range v.any {
		if s, isText := want.(string); isText {
			if h, ok := have.(string); ok && h == s {
				return true
			}
			continue
		}
		if protocol.Equal(have, want) {
			return true
		}
	}
	return false
}

func walk(m map[string]any, path []string) (any, bool) {
	var v any = m
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}
