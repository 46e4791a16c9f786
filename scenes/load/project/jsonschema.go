package project

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tavernsim/internal/schemacost"
	"tavernsim/internal/schemafault"
	"tavernsim/internal/source"
	"tavernsim/protocol"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema's base address is that of the file it stands in, under a scheme that
// nothing but schemaCompiler can load: references reach the project only.
const schemaScheme = "project"

// maxDefaults bounds the values that the defaults of a schema fill in: a few could ask for
// more than there is memory.
const maxDefaults = 10_000

// jsonSchema is a compiled JSON Schema. It is safe for concurrent use.
type jsonSchema struct {
	compiled *jsonschema.Schema
	cost     *schemacost.Cost
}

// schemaCompiler compiles schemas of one project.
type schemaCompiler struct{ tree *tree }

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
	if doc := c.tree.parse(clean); doc != nil {
		return doc.Root.Value(), nil
	}
	return nil, errors.New("see the faults of that file")
}

// schema compiles the schema at a node and reports what is wrong with it.
func (l *loader) schema(doc *source.Document, steps []string) *jsonSchema {
	node, _ := doc.Root.Find(steps...)
	if node.Kind != source.Object && node.Kind != source.Bool {
		l.fault(doc, steps, "", "a JSON Schema is an object, got %s", node.Kind)
		return nil
	}
	return l.compile(doc, steps, node.Value())
}

// compile compiles the value of a schema whose place steps lead to.
func (l *loader) compile(doc *source.Document, steps []string, value any) *jsonSchema {
	c := jsonschema.NewCompiler()
	c.UseLoader(l.schemas)
	// The address carries the path, so that two schemas of one file differ, in
	// the query, where relative references do not see it.
	address := (&url.URL{Scheme: schemaScheme, Path: "/" + doc.File, RawQuery: url.QueryEscape(strings.Join(steps, "/"))}).String()
	err := c.AddResource(address, value)
	var compiled *jsonschema.Schema
	if err == nil {
		compiled, err = c.Compile(address)
	}
	if err != nil {
		l.schemaFaults(doc, steps, err)
		return nil
	}
	cost, sub, problem := schemacost.Of(compiled)
	if sub != nil {
		l.fault(doc, slices.Concat(steps, schemacost.Place(compiled.Location, sub)), "", "%s", problem)
		return nil
	}
	return &jsonSchema{compiled, cost}
}

func (l *loader) schemaFaults(doc *source.Document, steps []string, err error) {
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		for _, v := range schemafault.Of(detail) {
			l.fault(doc, slices.Concat(steps, v.Steps), v.Suggestion, "the schema is not valid JSON Schema: %s", v.Message)
		}
		return
	}
	text := strings.ReplaceAll(err.Error(), schemaScheme+":///", "")
	l.fault(doc, steps, "", "the schema does not compile: %s", text)
}

// check lists every violation, in the order of their places. A value that is
// too much work to check is one violation.
func (s *jsonSchema) check(v any) []schemafault.Violation {
	if !s.cost.Within(v) {
		return []schemafault.Violation{{Message: fmt.Sprintf("checking it against the schema takes more than %d steps: alternatives multiply with its depth", schemacost.MaxSteps)}}
	}
	if detail, ok := errors.AsType[*jsonschema.ValidationError](s.compiled.Validate(v)); ok {
		return schemafault.Of(detail)
	}
	return nil
}

// CompileSchema compiles a JSON Schema that refers to no file: that of a model's answer.
func CompileSchema(schema any) (check func(value any) error, err error) {
	text, err := json.Marshal(schema)
	report := &source.Report{}
	doc := source.Parse("schema", text, source.Limits{}, report)
	if err = cmp.Or(err, report.Err()); err != nil {
		return nil, err
	}
	s := (&loader{report: report, schemas: &schemaCompiler{newTree(embed.FS{}, Limits{}, report, report)}}).schema(doc, nil)
	return s.fits, report.Err()
}

// fits says how a value violates the schema; nil is one that everything fits.
func (s *jsonSchema) fits(v any) error {
	if s == nil {
		return nil
	}
	if list := s.check(v); len(list) > 0 {
		return errors.New(schemafault.Join(list))
	}
	return nil
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
