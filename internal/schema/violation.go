package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// Violation is one way in which a value breaks a schema.
type Violation struct {
	Steps      []string // to the offending place of the value
	Message    string
	Suggestion string
	Required   bool // something is missing at steps
}

// Violations lists the violations of a value, in the order of their places.
func Violations(e *jsonschema.ValidationError) []Violation {
	var list []Violation
	collect(e, message.NewPrinter(language.English), &list)
	slices.SortStableFunc(list, func(a, b Violation) int {
		return cmp.Or(slices.Compare(a.Steps, b.Steps), strings.Compare(a.Message, b.Message))
	})
	return list
}

// maxReasons bounds a message that lists reasons, in bytes: each of them may be
// such a list.
const maxReasons = 1000

// collect goes down to the leaves, but not below "one of several must hold":
// there the alternatives explain one violation.
func collect(e *jsonschema.ValidationError, print *message.Printer, list *[]Violation) {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.PropertyNames:
		var reasons []string
		for _, c := range e.Causes {
			var inner []Violation
			collect(c, print, &inner)
			for _, v := range inner {
				reasons = append(reasons, v.Message)
			}
		}
		v := Violation{Steps: e.InstanceLocation, Message: e.ErrorKind.LocalizedString(print)}
		if len(reasons) > 0 {
			v.Message += ": " + strings.Join(reasons[:min(len(reasons), 8)], "; ")
		}
		if cut := strings.ToValidUTF8(v.Message[:min(len(v.Message), maxReasons)], ""); cut != v.Message {
			v.Message = cut + "…"
		}
		*list = append(*list, v)
	case *kind.AdditionalProperties:
		for _, name := range slices.Sorted(slices.Values(k.Properties)) {
			*list = append(*list, Violation{Steps: slices.Concat(e.InstanceLocation, []string{name}),
				Message: "the schema does not allow this property"})
		}
	default:
		for _, c := range e.Causes {
			collect(c, print, list)
		}
		if len(e.Causes) == 0 {
			*list = append(*list, leaf(e, print))
		}
	}
}

func leaf(e *jsonschema.ValidationError, print *message.Printer) Violation {
	v := Violation{Steps: e.InstanceLocation, Message: e.ErrorKind.LocalizedString(print)}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		v.Required = true
	case *kind.Enum:
		got, isText := k.Got.(string)
		var want []string
		for _, w := range k.Want {
			if s, ok := w.(string); ok {
				want = append(want, s)
			}
		}
		if isText {
			v.Message, v.Suggestion = fmt.Sprintf("got %q; %s", got, v.Message), source.Suggest(got, want)
		}
	}
	return v
}

// Join is all of them in one line, with their places.
func Join(list []Violation) string {
	var parts []string
	for _, v := range list[:min(len(list), 8)] {
		if p := source.Path(v.Steps...); p != "" {
			v.Message = p + ": " + v.Message
		}
		parts = append(parts, v.Message)
	}
	if len(list) > 8 {
		parts = append(parts, fmt.Sprintf("and %d more", len(list)-8))
	}
	return strings.Join(parts, "; ")
}

// byPointer lists violations by the JSON pointers of their places.
func byPointer(list []Violation) error {
	if len(list) == 0 {
		return nil
	}
	parts := make([]string, len(list))
	for i, v := range list {
		var pointer strings.Builder
		for _, step := range v.Steps {
			pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
		}
		if parts[i] = v.Message; pointer.Len() > 0 {
			parts[i] = protocol.Short(pointer.String(), 80) + ": " + v.Message
		}
	}
	return errors.New(strings.Join(parts, "; "))
}
