package plugin

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/places"
)

// Option is one thing that can be set.
type Option struct {
	Key         string   `json:"key"`
	Type        string   `json:"type"`
	DisplayName string   `json:"displayName,omitempty"`
	Description string   `json:"description,omitempty"`
	Default     any      `json:"default,omitempty"`
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
	Enum        []any    `json:"enum,omitempty"`
	Secret      bool     `json:"secret,omitempty"`
}

// Extensions begins the keys of all options.
const Extensions = "extensions."

// Name is the last part of the key.
func (o *Option) Name() string { return o.Key[strings.LastIndexByte(o.Key, '.')+1:] }

// option checks one option.
func (c *checker) option(i int) {
	o, here := &c.m.ConfigOptions[i], func(field string) []string { return at("configOptions", strconv.Itoa(i), field) }
	if o.Key == "" || o.Type == "" {
		return // reported as missing
	}
	c.faults = append(append(c.faults, manifest.Text(o.DisplayName, here("displayName")...)...), manifest.Text(o.Description, here("description")...)...)
	prefix := Extensions + c.name + "."
	if name, ok := strings.CutPrefix(o.Key, prefix); !ok {
		c.fault(here("key"), "write "+prefix+"NAME", "%q is no key of this plugin", protocol.Short(o.Key, 120))
		return
	} else if !isOption(name) {
		c.fault(here("key"), "", "%q is no name of an option: want a letter, then letters and digits, with single _ between them, at most 64 characters", protocol.Short(name, 80))
		return
	}
	if slices.ContainsFunc(c.m.ConfigOptions[:i], func(other Option) bool { return strings.EqualFold(other.Key, o.Key) }) {
		c.fault(here("key"), "rename one of them", "the option %s is given twice", o.Name())
	}
	switch {
	case o.Min != nil && o.Max != nil && *o.Min > *o.Max:
		c.fault(here("min"), "", "min is more than max")
	case o.Type == "boolean" && o.Min != nil:
		c.fault(here("min"), "remove it", "a boolean has no smallest value")
	case o.Type == "boolean" && o.Max != nil:
		c.fault(here("max"), "remove it", "a boolean has no largest value")
	}
	if o.Secret {
		c.secret(o, here)
		return
	}
	for k, v := range o.Enum {
		if problem := o.takes(v, false); problem != "" {
			c.fault(append(here("enum"), strconv.Itoa(k)), "", "%s", problem)
		}
	}
	if o.Default != nil {
		if problem := o.takes(o.Default, true); problem != "" {
			c.fault(here("default"), "", "%s", problem)
		}
	}
}

// secret checks an option whose value nobody sees.
func (c *checker) secret(o *Option, here func(string) []string) {
	switch {
	case o.Type != "string":
		c.fault(here("type"), "write string", "a secret is a text")
	case o.Default != nil:
		c.fault(here("default"), "remove it; the operator gives the value", "a secret has no default")
	case o.Enum != nil:
		c.fault(here("enum"), "remove it", "a secret is not one of a few values")
	}
}

// takes says why an option does not take a value; "" = it does.
func (o *Option) takes(v any, listed bool) string {
	want := func(what string) string { return fmt.Sprintf("want %s, got %s", what, shown(v)) }
	size, unit := 0.0, ""
	switch x := v.(type) {
	case string:
		if o.Type != "string" {
			return want(withArticle(o.Type))
		}
		if places.Any(x) {
			return "a value cannot have $KARYI{…} or $CONFIG{…} in it"
		}
		size, unit = float64(utf8.RuneCountInString(x)), " characters"
	case bool:
		if o.Type != "boolean" {
			return want(withArticle(o.Type))
		}
	case int64, float64:
		f, whole := asNumber(x)
		if o.Type != "number" && (o.Type != "integer" || !whole) {
			return want(withArticle(o.Type))
		}
		size = f
	default:
		return want(withArticle(o.Type))
	}
	if o.Type != "boolean" {
		switch {
		case o.Min != nil && size < *o.Min:
			return want("at least " + protocol.Decimal(*o.Min) + unit)
		case o.Max != nil && size > *o.Max:
			return want("at most " + protocol.Decimal(*o.Max) + unit)
		}
	}
	if listed && o.Enum != nil && !slices.ContainsFunc(o.Enum, func(e any) bool { return same(e, v) }) {
		list := make([]string, len(o.Enum))
		for i, e := range o.Enum {
			list[i] = shown(e)
		}
		return want("one of " + strings.Join(list, ", "))
	}
	return ""
}

func withArticle(typ string) string {
	return map[string]string{"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}[typ]
}

func asNumber(v any) (f float64, whole bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, x == math.Trunc(x)
	}
	return 0, false
}

func same(a, b any) bool {
	return text(a) == text(b)
}

// shown is a value as it is written in messages.
func shown(v any) string { return protocol.Short(text(v), 80) }

func text(v any) string {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		v = int64(f)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "a value"
	}
	return string(b)
}

// parse reads the text of an environment variable or a flag.
func (o *Option) parse(text string) any {
	if o.Type == "string" {
		return text
	}
	if v, err := source.ParseValue("value.json", []byte(text), source.Limits{MaxBytes: 4096}); err == nil {
		return v
	}
	return text // takes says what was expected
}

// Layers, as Value names them.
const (
	FromDefault     = "default"
	FromProject     = "project"
	FromScene       = "scene"
	FromFile        = "operator file"
	FromEnvironment = "environment"
	FromFlag        = "flag"
)

// Layer is where values come from: those of one plugin, by the names of its options. Text
// says that they are still texts.
type Layer struct {
	Name   string
	Values map[string]any
	Text   bool
}

// Value is what an option has, and from which layer.
type Value struct {
	Value any
	From  string
	Hides []string // layers that this one has taken the place of
}

// Config is the values of the options of one plugin, by their names. An option that has
// none is not in it.
type Config map[string]Value

// Resolve puts the values of the options together. The error names every value that
// cannot be.
func (m *Manifest) Resolve(layers ...Layer) (Config, error) {
	config, problems := Config{}, []string{}
	for i := range m.ConfigOptions {
		if o := &m.ConfigOptions[i]; o.Default != nil {
			config[o.Name()] = Value{Value: o.Default, From: FromDefault}
		}
	}
	for _, l := range layers {
		for _, name := range protocol.SortedKeys(l.Values) {
			v, problem := m.value(name, &l)
			if problem != "" {
				problems = append(problems, Extensions+m.Name+"."+protocol.Short(name, 80)+" ("+l.Name+"): "+problem)
				continue
			}
			next := Value{Value: v, From: l.Name}
			if before, had := config[name]; had {
				next.Hides = append(slices.Clone(before.Hides), before.From)
			}
			config[name] = next
		}
	}
	if len(problems) > 0 {
		return nil, protocol.Errorf(protocol.KindInvalid, "%s", strings.Join(problems, "; "))
	}
	return config, nil
}

// value is that of one option in a layer.
func (m *Manifest) value(name string, l *Layer) (v any, problem string) {
	o := m.Option(name)
	if o == nil {
		return nil, "there is no such option; " + m.options()
	}
	if o.Secret && l.Name == FromFlag {
		return nil, "a secret cannot be given by a flag, which everybody on the machine can read, and which the run's manifest keeps; give it in the operator's file, or in the environment"
	}
	if o.Secret && l.Name != FromFile && l.Name != FromEnvironment {
		return nil, "only the operator gives a secret, in a file or in the environment"
	}
	v = l.Values[name]
	if text, ok := v.(string); ok && l.Text {
		v = o.parse(text)
	}
	if problem = o.takes(v, true); problem != "" && o.Secret {
		problem = "the value is none that the option takes" // it is not shown
	}
	return v, problem
}

func (m *Manifest) options() string {
	if len(m.ConfigOptions) == 0 {
		return "the plugin has none"
	}
	var names []string
	for i := range m.ConfigOptions {
		names = append(names, m.ConfigOptions[i].Name())
	}
	return "there are " + strings.Join(names, ", ")
}

// Option finds an option by its name; nil = there is none.
func (m *Manifest) Option(name string) *Option {
	for i := range m.ConfigOptions {
		if o := &m.ConfigOptions[i]; o.Name() == name {
			return o
		}
	}
	return nil
}

// Variable is the environment variable that gives an option of a plugin.
func Variable(plugin, option string) string {
	return "SIMD_EXTENSIONS_" + upper(plugin) + "__" + upper(option)
}

func upper(s string) string {
	return strings.ToUpper(strings.ReplaceAll(s, "-", "_"))
}

// Environment is the layer of the environment. A variable that is no option's is a value of one that there is not.
func (m *Manifest) Environment(env []string) Layer {
	l := Layer{Name: FromEnvironment, Values: map[string]any{}, Text: true}
	for _, variable := range env {
		name, text, _ := strings.Cut(variable, "=")
		option, ok := strings.CutPrefix(name, Variable(m.Name, ""))
		if !ok {
			continue
		}
		for i := range m.ConfigOptions {
			if known := m.ConfigOptions[i].Name(); name == Variable(m.Name, known) {
				option = known
			}
		}
		l.Values[option] = text
	}
	return l
}

// Secrets are the names of the options that only the operator gives.
func (m *Manifest) Secrets() (names []string) {
	for i := range m.ConfigOptions {
		if m.ConfigOptions[i].Secret {
			names = append(names, m.ConfigOptions[i].Name())
		}
	}
	return names
}

// Texts are the values as programs get them: a text as it is, other values as JSON.
func (c Config) Texts() map[string]string {
	texts := map[string]string{}
	for name, v := range c {
		text, ok := v.Value.(string)
		if !ok {
			b, _ := json.Marshal(v.Value) // a number or a boolean
			text = string(b)
		}
		texts[name] = text
	}
	return texts
}
