package choice

import (
	"math"
	"slices"
	"strings"

	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Bounds of made parameters: a schema may refer to itself, and repeat what it gives.
const (
	maxBytes  = 64 << 10 // of JSON; a stream takes about 60 times as much
	leastCost = 64       // bytes that each schema costs that is looked at, so that these are bounded, too
	maxLevels = 16
)

// least makes a small value of a JSON Schema, out of what clients write of it: type, const, enum, default, properties,
// required, items, minItems, minLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, $ref within the schema,
// allOf, and the first of anyOf and of oneOf.
type least struct {
	root any
	left int // bytes that may still be made; below 0 nothing is made any more
}

// pay takes bytes from those that are left; false = they were too few.
func (l *least) pay(bytes int) bool {
	l.left -= bytes
	return l.left >= 0
}

// gives pays for a value of the schema.
func (l *least) gives(v any) any {
	if !l.pay(size(v)) {
		return nil
	}
	return v
}

func size(v any) int { return len(template.AppendJSON(nil, v)) }

// of makes a value that fits all of several schemas; nil is null, and what nothing is known of.
func (l *least) of(level int, schemas ...any) any {
	all := l.parts(nil, level, schemas)
	if l.left < 0 {
		return nil
	}
	if v, ok := all.first("const"); ok {
		return l.gives(v)
	}
	v, given := all.first("default")
	for _, s := range all {
		list, _ := s["enum"].([]any)
		switch {
		case len(list) == 0:
		case given && l.pay(len(list)) && slices.ContainsFunc(list, func(e any) bool { return protocol.Equal(e, v) }):
		default:
			return l.gives(list[0])
		}
	}
	if given {
		return l.gives(v)
	}
	return l.typed(all, level)
}

// typed makes a value of the type that the schemas name, or the first of several.
func (l *least) typed(all parts, level int) any {
	switch kind := all.kind(); kind {
	case "object":
		return l.object(all, level)
	case "array":
		made := []any{}
		for items := all.under("items"); float64(len(made)) < all.most("minItems") && l.left > 0; {
			made = append(made, l.of(level+1, items...))
		}
		return made
	case "string":
		n := int(min(all.most("minLength"), float64(l.left)))
		l.left -= n
		return strings.Repeat("x", n)
	case "integer", "number":
		return all.number(kind == "integer")
	case "boolean":
		return false
	}
	return nil
}

// object makes the members that have to be.
func (l *least) object(all parts, level int) any {
	made := map[string]any{}
	for _, s := range all {
		names, _ := s["required"].([]any)
		for _, n := range names {
			if !l.pay(size(n) + len(":,")) {
				return made
			}
			name, ok := n.(string)
			if _, has := made[name]; ok && !has {
				made[name] = l.of(level+1, all.under("properties", name)...)
			}
		}
	}
	return made
}

// at finds what a reference within the schema names; nil = nothing.
func (l *least) at(to string) any {
	rest, here := strings.CutPrefix(to, "#/")
	if !here || !l.pay(len(to)) {
		return nil
	}
	at, spelled := l.root, strings.NewReplacer("~1", "/", "~0", "~")
	for step := range strings.SplitSeq(rest, "/") {
		m, _ := at.(map[string]any)
		at = m[spelled.Replace(step)]
	}
	return at
}

// parts are schemas that a value has to fit together.
type parts []map[string]any

// parts adds schemas and those that they consist of.
func (l *least) parts(to parts, level int, schemas []any) parts {
	for _, schema := range schemas {
		if level > maxLevels || !l.pay(leastCost) {
			return to
		}
		s, ok := schema.(map[string]any)
		if !ok {
			continue
		}
		to = append(to, s)
		if ref, ok := s["$ref"].(string); ok {
			to = l.parts(to, level+1, []any{l.at(ref)})
		}
		for _, name := range [...]string{"allOf", "anyOf", "oneOf"} {
			list, _ := s[name].([]any)
			if name != "allOf" {
				list = list[:min(len(list), 1)]
			}
			to = l.parts(to, level+1, list)
		}
	}
	return to
}

// first is the first member with a name.
func (all parts) first(name string) (v any, ok bool) {
	for _, s := range all {
		if v, ok = s[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// under are the schemas at a path of names.
func (all parts) under(path ...string) (list []any) {
	for _, s := range all {
		at, ok := any(s), true
		for _, name := range path {
			m, _ := at.(map[string]any)
			at, ok = m[name]
		}
		if ok {
			list = append(list, at)
		}
	}
	return list
}

// most is the largest of the numbers with a name, at least 0.
func (all parts) most(name string) (most float64) {
	for _, s := range all {
		n, _ := protocol.Number(s[name])
		most = max(most, n)
	}
	return most
}

// kind is the first type that is named. What has properties is an object.
func (all parts) kind() string {
	v, ok := all.first("type")
	if several, _ := v.([]any); len(several) > 0 {
		v = several[0]
	}
	if _, has := all.first("properties"); has && !ok {
		return "object"
	}
	kind, _ := v.(string)
	return kind
}

// bound is what a member of a schema says of a number.
type bound struct {
	name  string
	fits  func(n, bound float64) bool
	whole func(float64) float64 // rounds a bound of whole numbers
	step  int64                 // from the bound, rounded, to the next number that fits
}

func bounds() [4]bound {
	return [...]bound{
		{"minimum", func(n, b float64) bool { return n >= b }, math.Ceil, 0},
		{"exclusiveMinimum", func(n, b float64) bool { return n > b }, math.Floor, 1},
		{"maximum", func(n, b float64) bool { return n <= b }, math.Floor, 0},
		{"exclusiveMaximum", func(n, b float64) bool { return n < b }, math.Ceil, -1},
	}
}

// number makes a number: next to a lower bound, or else 0, next to an upper bound, or between them; 0 if none fits.
func (all parts) number(whole bool) any {
	var try []any
	low, high := math.Inf(-1), math.Inf(1)
	for i, b := range bounds() {
		if i == 2 {
			try = append(try, int64(0))
		}
		for _, s := range all {
			n, ok := protocol.Number(s[b.name])
			if !ok {
				continue
			}
			if i < 2 {
				low = max(low, n)
			} else {
				high = min(high, n)
			}
			if exact, ok := s[b.name].(int64); ok { // a float may not hold it
				try = append(try, exact+b.step)
				continue
			}
			if whole {
				n = b.whole(n) + 0 // and not -0
			}
			try = append(try, n+float64(b.step))
		}
	}
	if middle := low/2 + high/2; !whole && !math.IsInf(middle, 0) && !math.IsNaN(middle) {
		try = append(try, middle)
	}
	for _, v := range try {
		if all.fit(v) {
			return v
		}
	}
	return int64(0)
}

// fit reports whether a number is within all bounds.
func (all parts) fit(v any) bool {
	n, _ := protocol.Number(v)
	for _, b := range bounds() {
		for _, s := range all {
			if limit, ok := protocol.Number(s[b.name]); ok && !b.fits(n, limit) {
				return false
			}
		}
	}
	return true
}
