package source

import (
	"reflect"
	"strings"
)

// Rule says about one field of a definition what its Go type does not.
type Rule struct {
	Required bool     // present, and not empty when it is text
	Enum     []string // of text, or of the elements of a list of text
	Range    *Range   // of a number, or of a duration in seconds
	Hint     string   // what to write in place of a value out of its range
	Strict   bool     // older programs took zero, or an empty list, for what is not given: they are faults, and Range does not hold the zero
	Duration bool     // a text is a duration, or another word
	MaxItems int      // of a list or an object; 0 = no limit
	Doc      string   // one sentence: meaning, unit, limits
	Default  any      // a value; nil = none
	Section  string   // of the specification
}

// Range holds both ends. Open leaves out Min itself.
type Range struct {
	Min, Max float64
	Open     bool
}

// Rules maps "package.Type.field" (the field by its json name) to its rule. A
// field without a rule takes whatever its type takes.
type Rules map[string]Rule

// Of finds the rule of a field.
func (r Rules) Of(t reflect.Type, name string) Rule { return r[t.String()+"."+name] }

// Field is one field of a definition struct.
type Field struct {
	Name  string // in files
	Index []int
	Type  reflect.Type
}

// Fields lists the fields of a struct type that appear in files, in order.
func Fields(t reflect.Type) []Field {
	var list []Field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		list = append(list, Field{Name: name, Index: f.Index, Type: f.Type})
	}
	return list
}
