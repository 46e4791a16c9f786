package doctest

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tavernsim/internal/source"
)

// Zeros names fields of definitions whose zero, or empty list, would silently be the default
// although it was written: numbers and times without a pointer, and lists, with a default that is
// something else, unless the rule refuses them or its sentence says what 0 is ("0 = the default"). honoured are
// fields that tell them apart otherwise.
func Zeros(t *testing.T, types []reflect.Type, rules source.Rules, honoured ...string) {
	t.Helper()
	said := regexp.MustCompile(`\b0( =|:) `)
	for _, typ := range types {
		for _, f := range source.Fields(typ) {
			key, rule := typ.String()+"."+f.Name, rules.Of(typ, f.Name)
			if !defaults(rule, f.Type) || rule.Required || rule.Strict && f.Type.Kind() == reflect.Slice || said.MatchString(rule.Doc) || slices.Contains(honoured, key) {
				continue
			}
			if r := rule.Range; f.Type.Kind() == reflect.Slice || r == nil || r.Min < 0 || r.Min == 0 && !r.Open {
				t.Errorf("%s: its zero is the default, whoever writes it: refuse it (Strict, with a Range above 0 if it is a number), or tell it apart", key)
			}
		}
	}
}

// defaults reports whether a value of a type that is not given is something else than zero.
func defaults(rule source.Rule, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64, reflect.Bool, reflect.Slice:
	default:
		return false
	}
	switch rule.Default {
	case nil:
		return strings.Contains(strings.ToLower(rule.Doc), "default:")
	case int64(0), 0.0, false, "0s":
		return false
	}
	return true
}
