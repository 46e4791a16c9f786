// Package protocoltest helps to test that no field is lost when a struct is
// stored and read again, or copied into another.
package protocoltest

import (
	"reflect"

	"tavernsim/protocol"
)

// Fill sets every exported field that v points to, however deep, to a value
// that is not zero and follows from the field's name: a struct whose fields were
// put in another order is filled alike. It panics at a type it has no value for.
func Fill(v any) { fill(reflect.ValueOf(v).Elem(), "") }

func fill(v reflect.Value, name string) {
	switch v.Interface().(type) {
	case protocol.Raw:
		v.SetBytes(protocol.Encode(name))
		return
	case protocol.Priority:
		v.SetInt(int64(protocol.High))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(number(name)) + 0.5)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(number(name))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(number(name)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Interface:
		v.Set(reflect.ValueOf(name)) // any value
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), e)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), f.Name)
			}
		}
	default:
		panic("protocoltest: no value for " + name + " of type " + v.Type().String())
	}
}

// number is from 1 to 100.
func number(name string) int64 {
	sum := 0
	for _, c := range []byte(name) {
		sum += int(c)
	}
	return int64(sum%100 + 1)
}

// Zero names the fields that v points to, exported ones and those of what it
// embeds, that are zero.
func Zero(v any) (names []string) {
	e := reflect.ValueOf(v).Elem()
	for _, f := range reflect.VisibleFields(e.Type()) {
		if f.IsExported() && !f.Anonymous && e.FieldByIndex(f.Index).IsZero() {
			names = append(names, f.Name)
		}
	}
	return names
}
