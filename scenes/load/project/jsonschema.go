package project

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"tavernsim/internal/schema"
	"tavernsim/internal/source"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A schema's base address is that of the file it stands in, under a scheme that
// nothing but schemaCompiler can load: references reach the project only.
const schemaScheme = "project"

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
func (l *loader) schema(doc *source.Document, steps []string) *schema.Schema {
	node, _ := doc.Root.Find(steps...)
	if node.Kind != source.Object && node.Kind != source.Bool {
		l.fault(doc, steps, "", "a JSON Schema is an object, got %s", node.Kind)
		return nil
	}
	return l.compile(doc, steps, node.Value())
}

// compile compiles the value of a schema whose place steps lead to.
func (l *loader) compile(doc *source.Document, steps []string, value any) *schema.Schema {
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
	checked, inside, problem := schema.New(compiled)
	if problem != "" {
		l.fault(doc, slices.Concat(steps, inside), "", "%s", problem)
	}
	return checked
}

func (l *loader) schemaFaults(doc *source.Document, steps []string, err error) {
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		for _, v := range schema.Violations(detail) {
			l.fault(doc, slices.Concat(steps, v.Steps), v.Suggestion, "the schema is not valid JSON Schema: %s", v.Message)
		}
		return
	}
	text := strings.ReplaceAll(err.Error(), schemaScheme+":///", "")
	l.fault(doc, steps, "", "the schema does not compile: %s", text)
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
	return s.Fits, report.Err()
}
