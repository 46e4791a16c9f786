package bind

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/internal/lenient"
	"tavernsim/protocol"
)

// Bind fits the parameters of a call to a schema: typed values under the names
// of the schema. Names are found exactly, then squashed, then with the step
// number that the parser may have taken off or left on. An error lists
// everything that is wrong; then the call must not run.
func Bind(c *protocol.Call, s *Schema) (map[string]any, error) {
	if c.Broken != "" {
		return nil, broken(c.Broken)
	}
	if s.takes(c) {
		return c.Params, nil
	}
	b := binder{in: c, schema: s, out: make(map[string]any, len(c.Params)), from: map[string]string{}}
	for _, name := range protocol.SortedKeys(c.Params) {
		b.param(name, c.Params[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.URIs)) {
		b.uri(name, c.URIs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Orphans)) {
		if p := s.find(name); p != nil && b.claim(p.Name, name) {
			b.set(p.Name, p, c.Orphans[name], "")
		}
	}
	b.missing()
	if len(b.faults) > 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s", strings.Join(b.faults, "; "))
	}
	return bounded(b.out)
}

// broken says why arguments were kept as text. Only the text is in the facts, so it is read again.
func broken(arguments string) error {
	text, err := lenient.Read(arguments, lenient.Options{})
	if object, ok := text.Value.(*lenient.Object); err == nil && ok && !object.Cut {
		if _, err := lenient.Plain(object); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the arguments cannot be read: %w", err)
		}
	}
	return protocol.Errorf(protocol.KindInvalid, "the arguments are no JSON object: %s; write one object with the parameters", protocol.Short(arguments, 200))
}

// bounded refuses parameters that nothing could keep.
func bounded(params map[string]any) (map[string]any, error) {
	var wrong error
	first := ""
	for name, v := range params {
		if err := protocol.CheckNested(v); err != nil && (wrong == nil || name < first) {
			wrong, first = protocol.Errorf(protocol.KindInvalid, "%s: %w", short(name), err), name
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return params, nil
}

type binder struct {
	in     *protocol.Call
	schema *Schema
	out    map[string]any
	from   map[string]string // property to the name it came from
	faults []string
}

func (b *binder) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

func (b *binder) param(name string, v any) {
	p := b.lookup(name)
	if p == nil {
		b.undeclared(name, v)
		return
	}
	if b.claim(p.Name, name) {
		b.set(p.Name, p, v, b.in.TypeHints[name])
	}
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

// claim takes a property for a name; false, with a fault, when another name has
// it already.
func (b *binder) claim(property, name string) bool {
	if other, taken := b.from[property]; taken {
		b.fault("received %s and %s, both for the parameter %s; expected one of them", short(other), short(name), property)
		return false
	}
	b.from[property] = name
	return true
}

// undeclared handles a parameter that the schema does not know. A shared one is
// dropped where the tool forbids it, for it was meant for other steps; a comment
// is a note.
func (b *binder) undeclared(name string, v any) {
	switch {
	case name == "comment" && len(b.schema.Properties) > 0:
	case b.schema.Closed && slices.Contains(b.in.Inherited, name):
	case !b.schema.Closed || b.schema.Loose:
		b.set(name, nil, v, b.in.TypeHints[name])
	default:
		b.fault("received the unknown parameter %s; expected %s", short(name), b.names())
	}
}

func (b *binder) names() string {
	if len(b.schema.Properties) == 0 {
		return "no parameters"
	}
	names := make([]string, len(b.schema.Properties))
	for i, p := range b.schema.Properties {
		names[i] = p.Name
	}
	return "one of " + strings.Join(names, ", ")
}

// set reads a value: by its hint first, then by the declared type. Null for a
// type that has none means that the parameter is not given.
func (b *binder) set(name string, p *Property, v any, hint string) {
	t := Type{}
	if p != nil {
		t = p.Type
	}
	text, isText := v.(string)
	raw := p != nil && p.Raw
	if isText && hint != "" && hint != "text" && !(raw && hint == "json") {
		decoded, fault := applyHint(hint, text)
		if fault != "" {
			b.fault("received %q for %s with type hint %s: %s; expected %s", short(text), name, hint, fault, hintText(hint))
			return
		}
		b.put(name, t, decoded)
		return
	}
	if isText && hint == "" && !raw && p != nil && len(t.Names) == 0 && b.in.Origin == protocol.OriginTAM {
		// It takes anything, and text is all that the grammar has.
		if t, err := lenient.Read(text, lenient.Options{Plain: true, Strict: true}); err == nil {
			v = t.Value
		}
	}
	b.put(name, t, v)
}

func (b *binder) put(name string, t Type, v any) {
	if v == nil {
		b.out[name] = nil
		return
	}
	got, ok := fit(v, t, 0)
	if !ok && b.schema.Loose {
		b.out[name] = v
		return
	}
	if !ok {
		b.fault("received %s for %s; expected %s", shown(v), name, t)
		return
	}
	b.out[name] = got
}

// uri puts a reference in the place of its parameter, if that is empty. If nobody fetches what it refers
// to, it is refused. If the schema declares the whole name, it was an ordinary parameter.
func (b *binder) uri(name, value string) {
	whole := "uri_" + name
	target, ordinary := b.standsFor(name)
	if ordinary {
		if b.claim(target, whole) {
			b.set(target, b.schema.find(whole), value, b.in.TypeHints[name])
		}
		return
	}
	if b.schema.References {
		if isNothing(b.out[target]) {
			b.from[target], b.out[target] = whole, value
		}
		return
	}
	b.from[target] = whole
	b.fault("received %s, a reference to %q; expected %s itself, for references are not fetched here", short(whole), short(value), short(name))
}

// standsFor is the parameter of a reference; ordinary = the schema declares the whole name.
func (b *binder) standsFor(name string) (target string, ordinary bool) {
	if p := b.schema.find("uri_" + name); p != nil && b.schema.find(name) == nil {
		return p.Name, true
	}
	if p := b.lookup(name); p != nil {
		return p.Name, false
	}
	return name, false
}

func (b *binder) missing() {
	for i := range b.schema.Properties {
		p := &b.schema.Properties[i]
		_, tried := b.from[p.Name]
		if p.Default != nil && b.schema.defaults > 0 {
			if !b.given(p, tried) {
				b.out[p.Name] = copied(p.Default)
			}
			continue
		}
		if v, given := b.out[p.Name]; p.Required && !b.schema.Loose && (!tried || given && isNothing(v)) {
			b.fault("received no %s; expected %s", p.Name, p.Type)
		}
	}
}

// given reports whether a parameter with a default has a value of the call. What was tried and
// did not fit is a fault already.
func (b *binder) given(p *Property, tried bool) bool {
	v, put := b.out[p.Name]
	return put && (v != nil || p.Type.has("null")) || !put && tried
}

// copied is a value of a schema as one of a call, which whoever has the call may change.
func copied(v any) any {
	switch x := v.(type) {
	case []any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = copied(x[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(x))
		for name := range x {
			m[name] = copied(x[name])
		}
		return m
	}
	return v
}

// isNothing says what does not stand in for a required parameter.
func isNothing(v any) bool { return v == nil || v == "" }

func short(s string) string { return protocol.Short(s, 80) }

func shown(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(short(s))
	}
	return short(fmt.Sprintf("%v (%T)", v, v))
}
