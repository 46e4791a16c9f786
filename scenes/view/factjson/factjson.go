// Package factjson converts facts to JSON objects with the names of
// docs/formats/facts.md, for views of a run (scenes/view/inspect) and for the two sides
// of a difference (scenes/view/verify).
package factjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/bus"
	"tavernsim/engine/secret"
	"tavernsim/engine/world"
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// Object is a JSON object whose members keep their order.
type Object []Member

// Member of an Object. Its value is one of: nil, bool, int64, uint64, float64,
// string, json.RawMessage, Object, []any of these.
type Member struct {
	Name  string
	Value any
}

// Get finds a member by its name; nil when there is none.
func (o Object) Get(name string) any {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	b, err := []byte{'{'}, error(nil)
	for _, m := range o {
		b = append(wirejson.AppendText(wirejson.Comma(b), m.Name), ':')
		if b, err = wirejson.AppendAny(b, m.Value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// Of lists the fields of a fact as docs/formats/facts.md names them: times as
// RFC 3339 (null: none), spans as 1m30s, priorities by name, paths as text,
// values as they are.
func Of(f protocol.Fact) Object {
	o, _ := Encoded(f).(Object)
	return o
}

// Encoded is a part of a fact as what an Object holds.
func Encoded(part any) any { return encode(reflect.ValueOf(part)) }

// encode turns a part of a fact into what an Object holds.
func encode(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return encode(v.Elem())
	}
	switch x := v.Interface().(type) {
	case protocol.Time:
		return timeOrNil(x)
	case time.Duration:
		return x.String()
	case protocol.Priority:
		return x.String()
	case protocol.Raw:
		return Value(x)
	case world.Path:
		return x.String()
	case protocol.Sequenced:
		return Sequenced(x)
	case map[string]any:
		if x == nil {
			return nil
		}
		return JSON(x)
	}
	return encodeKind(v)
}

func encodeKind(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return secret.Text(v.String())
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = encode(v.Index(i))
		}
		return list
	case reflect.Struct:
		return members(v)
	case reflect.Map:
		return mapped(v)
	}
	return nil
}

// mapped is a map as an object, its names in byte order.
func mapped(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	o := Object{}
	for k, e := range v.Seq2() {
		m := Member{fmt.Sprint(k), encode(e)}
		if secret.Is(m.Name) {
			m.Value = secret.Redacted
		}
		o = append(o, m)
	}
	slices.SortFunc(o, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	secretMembers(o)
	return o
}

func members(v reflect.Value) Object {
	o := appendMembers(Object{}, v)
	if l, ok := reflect.TypeAssert[protocol.Laid](v); ok {
		order := strings.Fields(l.Layout())
		slices.SortFunc(o, func(a, b Member) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	}
	secretMembers(o)
	return o
}

func appendMembers(o Object, v reflect.Value) Object {
	for i := range v.NumField() {
		switch field := v.Type().Field(i); {
		case field.Anonymous:
			o = appendMembers(o, v.Field(i))
		case field.IsExported() && field.Tag.Get("msgpack") != "-":
			name := protocol.SnakeName(field.Name)
			value := encode(v.Field(i))
			if draft, ok := reflect.TypeAssert[protocol.Raw](v.Field(i)); ok && name == "draft" {
				value = Sequenced(protocol.Sequenced{To: bus.Service, Data: draft}).Get("data")
			}
			o = append(o, Member{name, value})
		}
	}
	return o
}

// Sequenced is a request with its data by name. What cannot be read is shown as
// the value that it is.
func Sequenced(s protocol.Sequenced) Object {
	data, err := request(s)
	if err != nil || data == nil {
		return Object{{"to", s.To}, {"data", Value(s.Data)}}
	}
	return Object{{"to", s.To}, {"data", encode(reflect.ValueOf(data))}}
}

// request reads a request as its service does; nil = it is a value with names already.
func request(s protocol.Sequenced) (any, error) {
	for _, k := range machines.Services() {
		if k.Name == s.To && k.Read != nil {
			return k.Read(s.Data)
		}
	}
	return nil, nil
}

// Value is an encoded value as JSON; nil when there is none.
func Value(raw protocol.Raw) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := raw.Value()
	if err != nil {
		return Object{{"unreadable", err.Error()}}
	}
	return JSON(v)
}

// JSON is a value as JSON, exact, keys in byte order, without secrets.
func JSON(v any) any {
	if v == nil {
		return nil
	}
	shown, _ := secret.Hide(v)
	return json.RawMessage(world.AppendJSON(nil, shown))
}

func timeOrNil(t protocol.Time) any {
	if t == 0 {
		return nil
	}
	return t.String()
}

// Same reports whether two values are the same JSON.
func Same(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
