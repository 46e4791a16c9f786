package rpc

import (
	"encoding/json"
	"errors"
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
	err := json.Unmarshal(raw, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the field %s is a %s", wrong.Field, wrong.Value)
	}
	return err
}

// exact passes over a value whose objects have the fields of t, each once. It looks into structs, pointers to them and lists of
// structs; no answer has others.
func exact(r *wirejson.Reader, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case r.Null():
	case t.Kind() == reflect.Struct && !r.Is('{'):
		r.Fail("no object")
	case t.Kind() == reflect.Struct:
		fields := source.Fields(t)
		r.Distinct(func(name []byte) {
			i := slices.IndexFunc(fields, func(f source.Field) bool { return f.Name == string(name) })
			if i < 0 {
				r.Fail(fmt.Sprintf("unknown field %.80q", name))
				return
			}
			exact(r, fields[i].Type)
		})
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		if !r.Is('[') {
			r.Fail("no list")
			return
		}
		r.Array(func() { exact(r, t.Elem()) })
	default:
		r.Skip()
	}
}
