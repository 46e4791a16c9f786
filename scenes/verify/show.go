package verify

import (
	"reflect"
	"strings"
	"time"
	"unicode"

	"tavernsim/protocol"
)

// shown is a fact as plain values, fields by the names of docs/formats/facts.md.
func shown(f protocol.Fact) any {
	v := reflect.Indirect(reflect.ValueOf(f))
	return plain(v)
}

func plain(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	switch x := v.Interface().(type) {
	case protocol.Raw:
		value, err := x.Value()
		if err != nil {
			return "cannot be read: " + err.Error()
		}
		return value
	case protocol.Time:
		if x == 0 {
			return nil
		}
		return x.String()
	case time.Duration:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return plain(v.Elem())
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.Struct:
		return fields(v)
	}
	return v.Interface()
}

func fields(v reflect.Value) any {
	m := map[string]any{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			m[snake(f.Name)] = plain(v.Field(i))
		}
	}
	if len(m) == 0 && v.NumField() > 0 { // it keeps its fields to itself and says itself
		if s, ok := v.Interface().(interface{ String() string }); ok {
			return s.String()
		}
	}
	return m
}

// snake writes TokensIn as tokens_in.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
