package bind

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/tam"
)

// The codes that only a binder gives, beside those of package tam.
const (
	ParamError   tam.Code = "param_error"   // the value cannot be read as the declared type
	UnknownParam tam.Code = "unknown_param" // the tool forbids it
	MissingParam tam.Code = "missing_param"
)

// Options change how values are read.
type Options struct {
	// ChineseBooleans reads 是 and 否 as true and false.
	ChineseBooleans bool
}

// Problem is a finding about one parameter. One of severity error means that
// the call must not run.
type Problem struct {
	Code     tam.Code
	Severity tam.Severity
	Param    string
	Message  string // what was received and what was expected
}

// Coercion is one conversion that Bind made. The cost says how much was guessed:
// 0 reading a number as one, 1 a spelling, 3 a change of shape, 10 a repair.
type Coercion struct {
	Param string
	How   string
	Cost  int
}

// Bound is a call fitted to its tool.
type Bound struct {
	Params    map[string]any    // typed, under the names of the schema
	URIs      map[string]string // parameters whose value is still to be fetched, likewise
	TypeHints map[string]string // hints of those
	Coercions []Coercion
	Problems  []Problem
}

// OK reports whether the call may run.
func (b *Bound) OK() bool {
	return !slices.ContainsFunc(b.Problems, func(p Problem) bool { return p.Severity == tam.SeverityError })
}

// Bind fits a call to a schema. Names are found exactly, then squashed, then with
// the step number that the parser may have taken off or left on.
func Bind(in tam.Invocation, s Schema, o Options) Bound {
	b := binder{in: in, schema: &s, opt: o, from: map[string]string{}}
	b.out.Params = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(in.Params)) {
		b.param(name, in.Params[name])
	}
	for _, name := range slices.Sorted(maps.Keys(in.URIs)) {
		b.uri(name, in.URIs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(in.Orphans)) {
		if p := s.find(name); p != nil && b.claim(p.Name, name) {
			b.renamed(name, p.Name)
			b.set(p.Name, p, in.Orphans[name], "")
		}
	}
	b.missing()
	return b.out
}

type binder struct {
	in     tam.Invocation
	schema *Schema
	opt    Options
	out    Bound
	from   map[string]string // property to the name it came from
}

func (b *binder) problem(code tam.Code, sev tam.Severity, param, format string, args ...any) {
	b.out.Problems = append(b.out.Problems, Problem{Code: code, Severity: sev, Param: param, Message: fmt.Sprintf(format, args...)})
}

func (b *binder) param(name string, v any) {
	p := b.lookup(name)
	if p == nil {
		b.undeclared(name, v)
		return
	}
	if !b.claim(p.Name, name) {
		return
	}
	if p.Name != name {
		b.renamed(name, p.Name)
	}
	b.set(p.Name, p, v, b.in.TypeHints[name])
}

// lookup finds the property of a parameter: by its name, by the name with the
// step number that was taken for a suffix, or by the name without one.
func (b *binder) lookup(name string) *Property {
	if p := b.schema.find(name); p != nil {
		return p
	}
	if p := b.schema.find(name + strconv.Itoa(b.in.Index)); p != nil {
		return p
	}
	base, ok := strings.CutSuffix(name, "_"+strconv.Itoa(b.in.Index))
	if !ok {
		return nil
	}
	return b.schema.find(base)
}

// claim takes a property for a name; false, with a problem, when another name
// has it already.
func (b *binder) claim(property, name string) bool {
	if other, taken := b.from[property]; taken {
		b.problem(tam.DuplicateKey, tam.SeverityError, property, "received %s and %s, both for the parameter %s; expected one of them", other, name, property)
		return false
	}
	b.from[property] = name
	return true
}

// renamed tells that a name was spelled otherwise. Squashing is silent, as it
// only undoes what normalisation did.
func (b *binder) renamed(name, property string) {
	if Squash(name) != Squash(property) {
		b.problem(tam.ParamRenamed, tam.SeverityInfo, property, "received %s; taken as the declared parameter %s", name, property)
	}
}

// undeclared handles a parameter that the schema does not know. A shared one is
// dropped where the tool forbids it, for it was meant for other steps; a comment
// is a note.
func (b *binder) undeclared(name string, v any) {
	switch {
	case name == "comment" && len(b.schema.Properties) > 0:
	case !b.schema.Closed:
		b.set(name, nil, v, b.in.TypeHints[name])
	case slices.Contains(b.in.Inherited, name):
	default:
		b.problem(UnknownParam, tam.SeverityError, name, "received parameter %s; expected one of %s", short(name), b.names())
	}
}

func (b *binder) names() string {
	var names []string
	for _, p := range b.schema.Properties {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return "no parameters"
	}
	return strings.Join(names, ", ")
}

// set reads a value: by its hint first, then by the declared type.
func (b *binder) set(name string, p *Property, v any, hint string) {
	t := Type{}
	if p != nil {
		t = p.Type
	}
	text, isText := v.(string)
	if isText && hint != "" && hint != "text" {
		decoded, how, cost, err := applyHint(hint, text)
		if err != "" {
			b.problem(ParamError, tam.SeverityError, name, "received %q for %s with type hint %s: %s; expected %s", short(text), name, hint, err, hintText(hint))
			return
		}
		if how != "" {
			b.out.Coercions = append(b.out.Coercions, Coercion{name, how, cost})
		}
		v = decoded
	}
	f := fitter{opt: b.opt}
	got, ok := f.fit(v, t, 0)
	if !ok {
		b.problem(ParamError, tam.SeverityError, name, "received %s for %s; expected %s", shown(v), name, t)
		return
	}
	for _, c := range f.done {
		c.Param = name
		b.out.Coercions = append(b.out.Coercions, c)
	}
	b.out.Params[name] = got
}

// uri passes a reference on, unless the schema declares the whole name: then it
// was an ordinary parameter.
func (b *binder) uri(name, value string) {
	if p := b.schema.find("uri_" + name); p != nil && b.schema.find(name) == nil {
		if b.claim(p.Name, "uri_"+name) {
			b.set(p.Name, p, value, b.in.TypeHints[name])
		}
		return
	}
	target := name
	p := b.lookup(name)
	switch {
	case p != nil:
		target = p.Name
		b.renamed(name, target)
	case b.schema.Closed:
		b.problem(UnknownParam, tam.SeverityError, name, "received uri_%s; expected a reference for one of %s", short(name), b.names())
		return
	}
	if !b.claim(target, "uri_"+name) {
		return
	}
	if b.out.URIs == nil {
		b.out.URIs, b.out.TypeHints = map[string]string{}, map[string]string{}
	}
	b.out.URIs[target] = value
	if h := b.in.TypeHints[name]; h != "" {
		b.out.TypeHints[target] = h
	}
}

func (b *binder) missing() {
	for _, p := range b.schema.Properties {
		if _, given := b.from[p.Name]; p.Required && !given {
			b.problem(MissingParam, tam.SeverityError, p.Name, "received no %s; expected %s", p.Name, p.Type)
		}
	}
}

// short cuts a received text for a message, at a character boundary.
func short(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	end := limit
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func shown(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(short(s))
	}
	return short(fmt.Sprintf("%v (%T)", v, v))
}
