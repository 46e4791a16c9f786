package project

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// A schema's base address is that of the file it stands in, under a scheme that
// nothing but schemaCompiler can load: references reach the project only.
const schemaScheme = "project"

// jsonSchema is a compiled JSON Schema. It is safe for concurrent use.
type jsonSchema struct {
	compiled *jsonschema.Schema
	branches *branch
}

// schemaCompiler compiles schemas of one project.
type schemaCompiler struct{ tree *tree }

func newSchemaCompiler(t *tree) *schemaCompiler { return &schemaCompiler{tree: t} }

// Load answers the library when a schema refers to another file.
func (c *schemaCompiler) Load(address string) (any, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != schemaScheme {
		return nil, errors.New("a schema may refer to files of the project only")
	}
	clean, problem := c.tree.locate(strings.TrimPrefix(u.Path, "/"))
	if problem != "" {
		return nil, errors.New(problem)
	}
	doc := c.tree.parse(clean)
	if doc == nil {
		return nil, errors.New("see the faults of that file")
	}
	return doc.Root.Value(), nil
}

// schema compiles the schema at a node and reports what is wrong with it.
func (l *loader) schema(doc *source.Document, steps []string) *jsonSchema {
	node, _ := doc.Root.Find(steps...)
	if node.Kind != source.Object && node.Kind != source.Bool {
		l.fault(doc, steps, "", "a JSON Schema is an object, got %s", node.Kind)
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(l.schemas)
	// The address carries the path, so that two schemas of one file differ, in
	// the query, where relative references do not see it.
	address := (&url.URL{Scheme: schemaScheme, Path: "/" + doc.File, RawQuery: url.QueryEscape(strings.Join(steps, "/"))}).String()
	err := c.AddResource(address, node.Value())
	var compiled *jsonschema.Schema
	if err == nil {
		compiled, err = c.Compile(address)
	}
	if err != nil {
		l.schemaFaults(doc, steps, err)
		return nil
	}
	all := branches{}
	root := all.of(compiled)
	if sub, problem := all.problem(); sub != nil {
		l.fault(doc, slices.Concat(steps, stepsWithin(compiled.Location, sub)), "", "%s", problem)
		return nil
	}
	return &jsonSchema{compiled, root}
}

func (l *loader) schemaFaults(doc *source.Document, steps []string, err error) {
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		for _, v := range violations(detail) {
			l.fault(doc, slices.Concat(steps, v.steps), v.suggestion, "the schema is not valid JSON Schema: %s", v.message)
		}
		return
	}
	text := strings.ReplaceAll(err.Error(), schemaScheme+":///", "")
	l.fault(doc, steps, "", "the schema does not compile: %s", text)
}

// violation is one way in which a value breaks a schema.
type violation struct {
	steps      []string // to the offending place of the value
	message    string
	suggestion string
	required   bool // something is missing at steps
}

// check lists every violation, in the order of their places. A value that is
// too much work to check is one violation.
func (s *jsonSchema) check(v any) []violation {
	if left := steps(maxSchemaSteps); !left.take(s.branches, v) {
		return []violation{{message: fmt.Sprintf("checking it against the schema takes more than %d steps: alternatives multiply with its depth", maxSchemaSteps)}}
	}
	var detail *jsonschema.ValidationError
	if errors.As(s.compiled.Validate(v), &detail) {
		return violations(detail)
	}
	return nil
}

func violations(e *jsonschema.ValidationError) []violation {
	var list []violation
	collect(e, message.NewPrinter(language.English), &list)
	slices.SortStableFunc(list, func(a, b violation) int {
		if c := slices.Compare(a.steps, b.steps); c != 0 {
			return c
		}
		return strings.Compare(a.message, b.message)
	})
	return list
}

// maxReasons bounds a message that lists reasons, in bytes: each of them may be
// such a list.
const maxReasons = 1000

// collect goes down to the leaves, but not below "one of several must hold":
// there the alternatives explain one violation.
func collect(e *jsonschema.ValidationError, print *message.Printer, list *[]violation) {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains, *kind.PropertyNames:
		var reasons []string
		for _, c := range e.Causes {
			var inner []violation
			collect(c, print, &inner)
			for _, v := range inner {
				reasons = append(reasons, v.message)
			}
		}
		v := violation{steps: e.InstanceLocation, message: e.ErrorKind.LocalizedString(print)}
		if len(reasons) > 0 {
			v.message += ": " + strings.Join(reasons[:min(len(reasons), 8)], "; ")
		}
		if cut := strings.ToValidUTF8(v.message[:min(len(v.message), maxReasons)], ""); cut != v.message {
			v.message = cut + "…"
		}
		*list = append(*list, v)
	case *kind.AdditionalProperties:
		for _, name := range slices.Sorted(slices.Values(k.Properties)) {
			*list = append(*list, violation{steps: slices.Concat(e.InstanceLocation, []string{name}),
				message: "the schema does not allow this property"})
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

func leaf(e *jsonschema.ValidationError, print *message.Printer) violation {
	v := violation{steps: e.InstanceLocation, message: e.ErrorKind.LocalizedString(print)}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		v.required = true
	case *kind.Enum:
		got, isText := k.Got.(string)
		var want []string
		for _, w := range k.Want {
			if s, ok := w.(string); ok {
				want = append(want, s)
			}
		}
		if isText {
			v.message = fmt.Sprintf("got %q; %s", got, v.message)
			v.suggestion = source.Suggest(got, want)
		}
	}
	return v
}

func joinViolations(list []violation) string {
	var b bytes.Buffer
	for i, v := range list[:min(len(list), 8)] {
		if i > 0 {
			b.WriteString("; ")
		}
		if p := source.Path(v.steps...); p != "" {
			b.WriteString(p + ": ")
		}
		b.WriteString(v.message)
	}
	if len(list) > 8 {
		fmt.Fprintf(&b, "; and %d more", len(list)-8)
	}
	return b.String()
}

// fill adds the defaults of a schema's properties where they are missing, in v
// and in the objects inside it, and reports whether their number has a bound. It
// copies what it changes.
func (s *jsonSchema) fill(v map[string]any) (map[string]any, bool) {
	left := maxDefaults
	out, _ := fillDefaults(s.compiled, v, 0, &left)
	return out, left >= 0
}

func fillDefaults(s *jsonschema.Schema, m map[string]any, depth int, left *int) (out map[string]any, changed bool) {
	for ; s != nil && s.Ref != nil && len(s.Properties) == 0 && depth < protocol.MaxDepth; depth++ {
		s = s.Ref
	}
	if s == nil || depth >= protocol.MaxDepth {
		return m, false
	}
	out = m
	for _, name := range protocol.SortedKeys(s.Properties) {
		sub := s.Properties[name]
		have, given := m[name]
		value, filled := have, false
		if !given && sub.Default != nil {
			if *left--; *left < 0 {
				return out, changed
			}
			value, filled = *sub.Default, true
		}
		if x, isMap := value.(map[string]any); isMap {
			y, more := fillDefaults(sub, x, depth+1, left)
			value, filled = y, filled || more
		}
		if filled {
			if !changed {
				out, changed = maps.Clone(m), true
			}
			out[name] = value
		}
	}
	return out, changed
}
