package schema

import (
	"cmp"
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

const (
	maxViolations = 100  // in a list
	maxInText     = 8    // in a text of one line, or behind "one of several must hold"
	maxMessage    = 1000 // bytes of one message: it may list reasons, each of them such a list, or the values of an enum
	maxGot        = 500  // bytes that a message shows of the value itself
)

// Violations lists the violations of a value, in the order of their places: the
// first hundred.
func Violations(e *jsonschema.ValidationError) []Violation {
	list, _ := first(e, maxViolations)
	for i := range list {
		list[i].Suggestion = suggestion(list[i].of)
	}
	return plain(list)
}

// found is a violation that may have no message yet: there can be as many as the
// value has parts, and a message costs more than a violation.
type found struct {
	Violation
	of *jsonschema.ValidationError
}

func plain(list []found) []Violation {
	out := make([]Violation, len(list))
	for i := range list {
		out[i] = list[i].Violation
	}
	return out
}

// first is the first violations by their places, and of one place by their messages, and how
// many there are. The library finds them in the order of maps.
func first(e *jsonschema.ValidationError, most int) (list []found, total int) {
	gather(e, &list)
	total = len(list)
	slices.SortStableFunc(list, func(a, b found) int { return slices.Compare(a.Steps, b.Steps) })
	end := min(most, total)
	for end > 0 && end < total && slices.Equal(list[end].Steps, list[end-1].Steps) {
		end++
	}
	list = list[:end]
	print := message.NewPrinter(language.English)
	for i := range list {
		if list[i].Message == "" {
			list[i].Message = text(list[i].of, print)
		}
	}
	slices.SortStableFunc(list, func(a, b found) int {
		return cmp.Or(slices.Compare(a.Steps, b.Steps), strings.Compare(a.Message, b.Message))
	})
	return list[:min(most, end)], total
}

// gather goes down to the leaves, but not below "one of several must hold":
// there the alternatives explain one violation.
func gather(e *jsonschema.ValidationError, list *[]found) {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.PropertyNames:
		*list = append(*list, found{Violation{Steps: e.InstanceLocation}, e})
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			*list = append(*list, found{Violation{Steps: slices.Concat(e.InstanceLocation, []string{name}),
				Message: "the schema does not allow this property"}, e})
		}
	default:
		for _, c := range e.Causes {
			gather(c, list)
		}
		if len(e.Causes) == 0 {
			_, required := k.(*kind.Required)
			*list = append(*list, found{Violation{Steps: e.InstanceLocation, Required: required}, e})
		}
	}
}

// text says what a violation is, with the first reasons of one that has some.
func text(e *jsonschema.ValidationError, print *message.Printer) string {
	s := short(e.ErrorKind).LocalizedString(print)
	if k, ok := e.ErrorKind.(*kind.Enum); ok {
		if got, isText := k.Got.(string); isText {
			s = fmt.Sprintf("got %q; %s", protocol.Short(got, maxGot), s)
		}
	}
	var reasons []string
	for _, c := range e.Causes {
		if len(reasons) == maxInText {
			break
		}
		list, _ := first(c, maxInText-len(reasons))
		for _, v := range list {
			reasons = append(reasons, v.Message)
		}
	}
	if len(reasons) > 0 {
		s += ": " + strings.Join(reasons, "; ")
	}
	return protocol.Short(s, maxMessage)
}

// short is a kind whose message shows no more than the bounds let through.
func short(k jsonschema.ErrorKind) jsonschema.ErrorKind {
	switch k := k.(type) {
	case *kind.Enum:
		return &kind.Enum{Got: k.Got, Want: fewValues(k.Want)}
	case *kind.Pattern:
		return &kind.Pattern{Got: protocol.Short(k.Got, maxGot), Want: k.Want}
	case *kind.Format:
		if got, ok := k.Got.(string); ok {
			return &kind.Format{Got: protocol.Short(got, maxGot), Want: k.Want, Err: k.Err}
		}
	case *kind.PropertyNames:
		return &kind.PropertyNames{Property: protocol.Short(k.Property, maxGot)}
	}
	return k
}

// fewValues are the first values of an enum, at least as many as a message has room for. One
// that has lists or objects is named without its values.
func fewValues(want []any) []any {
	room, few := maxMessage, 0
	for _, w := range want {
		switch x := w.(type) {
		case []any, map[string]any:
			return []any{w}
		case string:
			room -= len(x)
		}
		if room--; room >= 0 {
			few++
		}
	}
	return want[:min(few+1, len(want))]
}

// suggestion is the value of an enum that was probably meant.
func suggestion(e *jsonschema.ValidationError) string {
	k, ok := e.ErrorKind.(*kind.Enum)
	if !ok {
		return ""
	}
	got, isText := k.Got.(string)
	if !isText || len(got) > maxGot {
		return ""
	}
	var want []string
	for _, w := range k.Want {
		if s, ok := w.(string); ok {
			want = append(want, s)
		}
	}
	return source.Suggest(got, want)
}

// inOneLine is the first violations with their places, and how many more there are.
func inOneLine(list []Violation, total int, place func(steps []string) string) string {
	var parts []string
	for _, v := range list {
		if p := place(v.Steps); p != "" {
			v.Message = p + ": " + v.Message
		}
		parts = append(parts, v.Message)
	}
	if total > len(list) {
		parts = append(parts, fmt.Sprintf("and %d more", total-len(list)))
	}
	return strings.Join(parts, "; ")
}

func path(steps []string) string { return protocol.Short(source.Path(steps...), maxMessage) }

// pointer is a JSON pointer.
func pointer(steps []string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return protocol.Short(b.String(), 80)
}
