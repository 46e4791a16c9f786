package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Setup is the access of a Kind to the node that it builds. It is valid during Build.
type Setup struct {
	node   *Node
	index  int // in the definition
	faults *faults

	// What the definition connects, before the kind has declared anything.
	explicit map[string]Type // handle to the type that its first edge brings
	common   map[string]Type // handle to the type that all its edges bring
	literals map[string]any  // normalized inputValues
	offered  map[string]Type // by an edge from "*"

	outUsed map[string]bool // handles with an edge

	ins    []In
	outs   []outPort
	config map[string]any // normalized configValues
	read   []string       // config keys that the kind has read

	open bool // nothing is connected yet, and everything may be: see OfNode
}

type outPort struct {
	name string
	typ  Type
}

// NodeID is the id of the node in its definition.
func (s *Setup) NodeID() string { return s.node.ID }

// In declares an input and returns its number for Exec.
func (s *Setup) In(in In) int {
	if in.Type == "" {
		in.Type = Wildcard
	}
	if in.Name == HandleAfter || slices.ContainsFunc(s.ins, func(o In) bool { return o.Name == in.Name }) {
		s.Faultf("", "", "the kind %s declares the input %q, which is taken", s.node.Type, in.Name)
	}
	s.ins = append(s.ins, in)
	return len(s.ins) - 1
}

// Out declares an output and returns its number for Exec.
func (s *Setup) Out(name string, t Type) int {
	if t == "" {
		t = Wildcard
	}
	if name == HandleError || slices.ContainsFunc(s.outs, func(o outPort) bool { return o.name == name }) {
		s.Faultf("", "", "the kind %s declares the output %q, which is taken", s.node.Type, name)
	}
	s.outs = append(s.outs, outPort{name, t})
	return len(s.outs) - 1
}

// Free lists the inputs that the definition gives and the kind has not declared
// yet, sorted: for kinds whose inputs are named by the user. What stays
// undeclared is a fault.
func (s *Setup) Free() []string {
	var names []string
	for _, name := range protocol.SortedKeys(s.explicit) {
		if !s.declared(name) && name != HandleAfter {
			names = append(names, name)
		}
	}
	for _, name := range protocol.SortedKeys(s.literals) {
		if _, ok := s.explicit[name]; !ok && !s.declared(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Offered lists what an edge from "*" to "*" could bring besides [Setup.Free]
// and what is declared, sorted. The kind declares what it wants of it.
func (s *Setup) Offered() []string {
	var names []string
	for _, name := range protocol.SortedKeys(s.offered) {
		_, given := s.explicit[name]
		_, literal := s.literals[name]
		if !given && !literal && !s.declared(name) && name != HandleAfter {
			names = append(names, name)
		}
	}
	return names
}

func (s *Setup) declared(name string) bool {
	return slices.ContainsFunc(s.ins, func(in In) bool { return in.Name == name })
}

// Inputs lists the inputs declared so far, in order.
func (s *Setup) Inputs() []string {
	names := make([]string, len(s.ins))
	for i := range s.ins {
		names[i] = s.ins[i].Name
	}
	return names
}

// Given reports whether an edge or a literal feeds an input.
func (s *Setup) Given(name string) bool {
	_, edge := s.explicit[name]
	_, literal := s.literals[name]
	_, offered := s.offered[name]
	return edge || literal || offered
}

// Takes is [Setup.Given]; of a tool that takes all that its kind can take (see [OfNode]) it also holds of an input in whose
// place the configuration says nothing.
func (s *Setup) Takes(name string) bool { return s.Given(name) || s.open && s.config[name] == nil }

// Names are names that the configuration reads. Of a tool that takes all that its kind can take those which nothing else
// gives are inputs ([Setup.Free]).
func (s *Setup) Names(names []string) {
	for _, name := range names {
		if s.open && !s.declared(name) && name != HandleAfter {
			s.explicit[name] = Wildcard
		}
	}
}

// Incoming is the type of what the definition gives to an input; WILDCARD when
// nothing does.
func (s *Setup) Incoming(name string) Type {
	if t, ok := s.explicit[name]; ok {
		return t
	}
	if v, ok := s.literals[name]; ok {
		return typeOf(v)
	}
	if t, ok := s.offered[name]; ok {
		return t
	}
	return Wildcard
}

// Used reports whether an edge leaves an output, so that a kind can skip unused work.
func (s *Setup) Used(output string) bool { return s.outUsed[output] || s.outUsed[HandleAll] }

// Faultf reports a fault of the node: of a config key, or of the node as a
// whole when field is "".
func (s *Setup) Faultf(field, suggestion, format string, args ...any) {
	path := nodePath(s.index)
	if field != "" {
		path = nodePath(s.index, "configValues", field)
	}
	s.faults.add(Fault{Node: s.node.ID, Field: field, Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// Strictf reports a fault of a config key that older programs let pass: the kind builds the node nevertheless.
func (s *Setup) Strictf(key, suggestion, format string, args ...any) {
	s.faults.add(Fault{Node: s.node.ID, Field: key, Path: nodePath(s.index, "configValues", key), Message: fmt.Sprintf(format, args...), Suggestion: suggestion, Strict: true})
}

// Value reads a config key; nil when it is not there. A key that no kind reads
// is a fault.
func (s *Setup) Value(key string) any {
	if !slices.Contains(s.read, key) {
		s.read = append(s.read, key)
	}
	return s.config[key]
}

func setting[T any](s *Setup, key, want string, missing T) T {
	v := s.Value(key)
	if v == nil {
		return missing
	}
	t, ok := v.(T)
	if !ok {
		s.Faultf(key, "", "want %s, got %s", want, template.Describe(v))
		return missing
	}
	return t
}

// Text reads a text from the configuration.
func (s *Setup) Text(key, missing string) string { return setting(s, key, "text", missing) }

// NeedText reads a text that must be there.
func (s *Setup) NeedText(key string) string {
	v := s.Text(key, "")
	if v == "" && s.config[key] == nil {
		s.Faultf(key, "", "is missing")
	}
	return v
}

// Bool reads true or false from the configuration.
func (s *Setup) Bool(key string, missing bool) bool {
	return setting(s, key, "true or false", missing)
}

// Object reads an object from the configuration.
func (s *Setup) Object(key string) map[string]any {
	return setting(s, key, "an object", map[string]any(nil))
}

// List reads a list from the configuration.
func (s *Setup) List(key string) []any { return setting(s, key, "a list", []any(nil)) }

// Texts reads a list of texts from the configuration.
func (s *Setup) Texts(key string) []string {
	list := s.List(key)
	out := make([]string, 0, len(list))
	for i, v := range list {
		t, ok := v.(string)
		if !ok {
			s.Faultf(key, "", "element %d: want text, got %s", i, template.Describe(v))
		}
		out = append(out, t)
	}
	return out
}

// Number reads a number from the configuration.
func (s *Setup) Number(key string, missing float64) float64 {
	v := s.Value(key)
	if v == nil {
		return missing
	}
	f, ok := protocol.Number(v)
	if !ok {
		s.Faultf(key, "", "want a number, got %s", template.Describe(v))
		return missing
	}
	return f
}

// Int reads a whole number between low and high from the configuration.
func (s *Setup) Int(key string, missing, low, high int) int {
	v := s.Value(key)
	if v == nil {
		return missing
	}
	n, ok := wholeNumber(v)
	if !ok || n.(int64) < int64(low) || n.(int64) > int64(high) {
		s.Faultf(key, "", "want a whole number from %s to %s, got %s", strconv.Itoa(low), strconv.Itoa(high), template.Describe(v))
		return missing
	}
	return int(n.(int64))
}

// Duration reads a time span such as "1m30s" from the configuration.
func (s *Setup) Duration(key string) time.Duration {
	text := s.Text(key, "0s")
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		s.Faultf(key, "write 500ms, 90s or 1h30m; units are ns, us, ms, s, m and h", "%q is no time span", text)
		return 0
	}
	return d
}

// OneOf reads one of some words from the configuration; the first is the
// default.
func (s *Setup) OneOf(key string, words ...string) string {
	v := s.Text(key, words[0])
	if !slices.Contains(words, v) {
		s.Faultf(key, suggest(v, words), "%q is not offered", v)
		return words[0]
	}
	return v
}

// checkConfig reports keys that the kind did not read.
func (s *Setup) checkConfig() {
	slices.Sort(s.read)
	for _, key := range protocol.SortedKeys(s.config) {
		if !slices.Contains(s.read, key) {
			s.Faultf(key, suggest(key, s.read), "%s has no setting of this name", s.node.Type)
		}
	}
}

// normalized brings literals of a file into the value form.
func (s *Setup) normalized(m map[string]any, field string) map[string]any {
	out := make(map[string]any, len(m))
	for _, k := range protocol.SortedKeys(m) {
		v, err := protocol.Normalize(m[k])
		if err != nil {
			s.faults.add(Fault{Node: s.node.ID, Field: k, Path: nodePath(s.index, field, k), Message: err.Error()})
			continue
		}
		out[k] = v
	}
	return out
}

// Settings lists the keys of the configuration, sorted.
func (s *Setup) Settings() []string { return protocol.SortedKeys(s.config) }

// Common is the one type of all edges into an input, and WILDCARD when they
// differ.
func (s *Setup) Common(input string) Type {
	if t := s.common[input]; t != "" {
		return t
	}
	return Wildcard
}
