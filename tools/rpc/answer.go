package rpc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"tavernsim/internal/source"
	"tavernsim/internal/wirejson"
)

// ReadAnswer reads what a service answered into a struct that into points to. A field that the struct does not have, one
// that stands twice, and one in other letters is an error: what a service says must not get lost. The error may have a part
// of the answer in it.
func ReadAnswer(raw json.RawMessage, into any) error {
	if err := wirejson.Read(raw, func(r *wirejson.Reader) { exact(r, reflect.TypeOf(into)) }); err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// exact passes over a value whose objects have the fields of t, each once.
func exact(r *wirejson.Reader, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct && r.Is('{'):
		fields := source.Fields(t)
		r.Distinct(func(name []byte) {
			i := slices.IndexFunc(fields, func(f source.Field) bool { return f.Name == string(name) })
			if i < 0 {
				r.Fail(fmt.Sprintf("unknown field %.80q", name))
				return
			}
			exact(r, fields[i].Type)
		})
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && r.Is('['):
		r.Array(func() { exact(r, t.Elem()) })
	default:
		r.Skip()
	}
}
