package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tavernsim/protocol"
	"tavernsim/tam/answer"
)

// Form is what the other side of a call wants to know from a person while the call is out.
type Form struct {
	Message string `json:"message"`
	// Schema is the JSON Schema of the answer: an object without objects in it. nil = yes or no
	// is the answer.
	Schema map[string]any `json:"schema,omitempty"`
}

// Filled is what came of a Form.
type Filled struct {
	Given  bool           // a person has answered
	Answer map[string]any // what; it fits the schema
	Silent bool           // nobody answered, and nobody said no
	Why    string         // it was not given
}

// Ask asks a person. It returns soon after ctx ends.
type Ask func(ctx context.Context, f Form) Filled

// Bounds of a form.
const (
	maxFormMessage = 4 << 10  // bytes
	maxFormSchema  = 16 << 10 // bytes as JSON
	maxFormFields  = 32
	maxFormAnswer  = 64 << 10 // bytes as JSON
)

// Tame makes a form one that can be shown to a person, and says what is wrong with it.
func (f *Form) Tame() error {
	if len(f.Message) > maxFormMessage {
		return protocol.Errorf(protocol.KindLimit, "its message has more than %d bytes", maxFormMessage)
	}
	f.Message = answer.Clean(f.Message)
	v, err := protocol.Normalize(f.Schema)
	if err != nil {
		return protocol.Errorf(protocol.KindInvalid, "its schema is no value: %w", err)
	}
	b, err := json.Marshal(v)
	if err != nil || len(b) > maxFormSchema {
		return protocol.Errorf(protocol.KindLimit, "its schema has more than %d bytes", maxFormSchema)
	}
	f.Schema, _ = cleaned(v).(map[string]any)
	fields := f.Fields()
	if n := len(fields); n > maxFormFields {
		return protocol.Errorf(protocol.KindLimit, "it has %d fields, more than %d", n, maxFormFields)
	}
	for _, name := range protocol.SortedKeys(fields) {
		switch fields[name]["type"] {
		case "string", "number", "integer", "boolean", "array":
		default:
			return protocol.Errorf(protocol.KindInvalid, "the field %q is no text, number, boolean or list", protocol.Short(name, 80))
		}
	}
	if refers(any(f.Schema)) {
		return protocol.Errorf(protocol.KindInvalid, "its schema cannot be used: it has references")
	}
	_, err = f.compile()
	return err
}

// Fields are the schemas of the fields, by name.
func (f *Form) Fields() map[string]map[string]any {
	all, _ := f.Schema["properties"].(map[string]any)
	fields := map[string]map[string]any{}
	for name, s := range all {
		fields[name], _ = s.(map[string]any)
	}
	return fields
}

// Required reports whether a field must be given.
func (f *Form) Required(name string) bool {
	list, _ := f.Schema["required"].([]any)
	for _, r := range list {
		if r == name {
			return true
		}
	}
	return false
}

// Whole is an answer with the defaults of the fields that it leaves out.
func (f *Form) Whole(answer map[string]any) map[string]any {
	whole := maps.Clone(answer)
	if whole == nil {
		whole = map[string]any{}
	}
	for name, field := range f.Fields() {
		if value, is := field["default"]; is {
			if _, given := whole[name]; !given {
				whole[name] = value
			}
		}
	}
	return whole
}

// Check says what is wrong with an answer, whose fields without a value have their defaults.
func (f *Form) Check(answer map[string]any) error {
	answer = f.Whole(answer)
	if b, err := json.Marshal(answer); err != nil || len(b) > maxFormAnswer {
		return protocol.Errorf(protocol.KindLimit, "an answer has at most %d bytes", maxFormAnswer)
	}
	fields := f.Fields()
	for _, name := range protocol.SortedKeys(answer) {
		if fields[name] == nil {
			return protocol.Errorf(protocol.KindInvalid, "nobody asks for %q; the fields are: %s", protocol.Short(name, 80), strings.Join(protocol.SortedKeys(fields), ", "))
		}
	}
	s, err := f.compile()
	if err != nil || s == nil {
		return err
	}
	v, err := protocol.Normalize(answer)
	if err != nil {
		return protocol.Errorf(protocol.KindInvalid, "the answer is no value: %w", err)
	}
	if err := s.Validate(v); err != nil {
		_, what, _ := strings.Cut(err.Error(), "\n") // the first line names the schema
		return protocol.Errorf(protocol.KindInvalid, "the answer does not fit: %s", strings.TrimSpace(what))
	}
	return nil
}

// refers reports whether a schema refers to another one: with references a small one could take
// for ever to check.
func refers(v any) bool {
	switch x := v.(type) {
	case []any:
		return slices.ContainsFunc(x, refers)
	case map[string]any:
		for name, e := range x {
			if strings.HasPrefix(name, "$") && name != "$schema" && name != "$comment" || refers(e) {
				return true
			}
		}
	}
	return false
}

// compile compiles the schema; nil = there is none.
func (f *Form) compile() (*jsonschema.Schema, error) {
	if f.Schema == nil {
		return nil, nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	const address = "form:///asked"
	err := c.AddResource(address, f.Schema)
	var s *jsonschema.Schema
	if err == nil {
		s, err = c.Compile(address)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "its schema cannot be used: %s", protocol.Short(err.Error(), 200))
	}
	return s, nil
}

// nothing is where addresses of other schemas lead.
type nothing struct{}

// Load implements jsonschema.URLLoader.
func (nothing) Load(address string) (any, error) {
	return nil, errors.New("a form refers to nothing outside: " + fmt.Sprintf("%.80q", address))
}
