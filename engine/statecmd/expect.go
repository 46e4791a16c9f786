package statecmd

import (
	"strings"
	"unicode/utf8"

	"tavernsim/engine/secret"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/statecmd/ledger"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// checkExpect is step 10 (C17): what the writer expects of the key after the
// write.
func (o *op) checkExpect() *command.Fault {
	if o.o.Expect == nil {
		return nil
	}
	value, exists := o.d.edit.Get(o.after())
	value = bare(value)
	for _, name := range protocol.SortedKeys(o.o.Expect) {
		want := o.o.Expect[name]
		ok, known := expected(name, want, value, exists)
		if !known {
			o.warn(command.WarnExpect, "expect knows no %q; it was ignored%s", name, command.Hint(command.Nearest(name, expectNames())))
			continue
		}
		if !ok {
			hidden, _ := secret.Hide(want)
			shown := shortJSON(hidden)
			if secretAt(o.path) {
				shown = secret.Redacted
			}
			return &command.Fault{Code: command.ExpectFailed, Message: textf("after the write %q does not meet expect %s = %s", o.place.key, name, shown)}
		}
	}
	return nil
}

func expectNames() []string {
	return []string{"exists", "equals", "missing", "type", "contains", "gte", "lte", "length"}
}

// after is where the entry's key leads once it has been carried out.
func (o *op) after() world.Path {
	last := len(o.path) - 1
	if o.path[last].Kind != world.Append {
		return o.path
	}
	return o.path[:last:last].At(-1)
}

// expected judges one expectation. A malformed one is not met.
func expected(name string, want, value any, exists bool) (ok, known bool) {
	switch name {
	case "exists":
		return want == exists, true
	case "missing":
		return want == !exists, true
	case "equals":
		return exists && protocol.Equal(value, bare(want)), true
	case "type":
		text, _ := want.(string)
		return exists && isType(value, text), true
	case "contains":
		return exists && contains(value, want), true
	case "gte", "lte":
		return exists && compare(name, want, value), true
	case "length":
		n, isNumber := protocol.Number(want)
		length, has := lengthOf(value)
		return exists && isNumber && has && n == float64(length), true
	}
	return false, false
}

func compare(name string, want, value any) bool {
	a, ok := protocol.Number(value)
	b, okWant := protocol.Number(want)
	if !ok || !okWant {
		return false
	}
	x, xInt := value.(int64)
	y, yInt := want.(int64)
	if xInt && yInt { // floats would round large integers
		return name == "gte" && x >= y || name == "lte" && x <= y
	}
	return name == "gte" && a >= b || name == "lte" && a <= b
}

// contains: a text in a text, an element in a list, fields in an object.
func contains(value, want any) bool {
	switch x := value.(type) {
	case string:
		part, ok := want.(string)
		return ok && strings.Contains(x, part)
	case []any:
		for _, e := range x {
			if protocol.Equal(e, want) {
				return true
			}
		}
	case map[string]any:
		if fields, ok := want.(map[string]any); ok {
			return ledger.HasFields(x, fields)
		}
		key, ok := want.(string)
		_, has := x[key]
		return ok && has
	}
	return false
}

func lengthOf(v any) (int, bool) {
	switch x := v.(type) {
	case string:
		return utf8.RuneCountInString(x), true
	case []any:
		return len(x), true
	case map[string]any:
		return len(x), true
	}
	return 0, false
}
