package expr

import (
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja/parser"

	"tavernsim/protocol"
)

// call runs a method that takes values.
func (m *machine) call(n *call) (any, error) {
	receiver, err := m.receiver(n.receiver, n.src, n.place, n.name)
	if err != nil {
		return nil, err
	}
	if !hasMethod(receiver, n.method) {
		return m.noMethod(receiver, n.optional, n.src, n.place, n.name)
	}
	args := arguments{n: min(2, len(n.args))}
	for i, a := range n.args {
		v, err := m.eval(a)
		if err != nil {
			return nil, err
		}
		if i < len(args.v) {
			args.v[i] = v
		}
	}
	if s, ok := receiver.(string); ok {
		return m.textMethod(n.method, s, args)
	}
	return m.listMethod(n.method, receiver.([]any), args)
}

// hasMethod reports whether a value has one of the methods that take values.
func hasMethod(v any, method method) bool {
	switch v.(type) {
	case string:
		return true
	case []any:
		return method == mIncludes || method == mIndexOf || method == mSlice || method == mAt
	}
	return false
}

func (m *machine) receiver(n node, src string, p place, name string) (any, error) {
	v, err := m.eval(n)
	if err == nil && nullish(v) {
		err = at(src, p, "cannot read "+strconv.Quote(name)+" of "+nullName(v), "write ?. before it")
	}
	return v, err
}

// noMethod ends a call of what the receiver does not have: receiver.name?.()
// is undefined, without the question mark it is an error.
func (m *machine) noMethod(receiver any, optional bool, src string, p place, name string) (any, error) {
	if optional {
		return m.endChain()
	}
	return nil, at(src, p, describe(receiver)+" has no method "+name, "")
}

// arguments are the first two of a call; n says how many were given.
type arguments struct {
	v [2]any
	n int
}

// number reads argument i as a number; when it was not given or is undefined,
// it is the default.
func (m *machine) number(a *arguments, i int, otherwise float64) (float64, error) {
	if i >= a.n {
		return otherwise, nil
	}
	if _, none := a.v[i].(undefined); none {
		return otherwise, nil
	}
	v, err := m.toPrimitive(a.v[i])
	return toNumber(v), err
}

// argText reads argument i as text; one that was not given is "undefined".
func (m *machine) argText(a *arguments, i int) (string, error) {
	if i >= a.n {
		return "undefined", nil
	}
	if s, ok := a.v[i].(string); ok {
		return s, nil
	}
	return m.text(a.v[i])
}

func (m *machine) textMethod(method method, s string, args arguments) (any, error) {
	if err := m.spendText(len(s)); err != nil {
		return nil, err
	}
	switch method {
	case mSlice:
		length := textLength(s)
		from, to, err := m.span(&args, length)
		if err != nil || from >= to {
			return "", err
		}
		return sliceText(s, from, to), nil
	case mAt:
		f, err := m.number(&args, 0, 0)
		if i, ok := fromEnd(f, textLength(s)); ok {
			return unitAt(s, i), err
		}
		return undefined{}, err
	case mToLowerCase:
		return lower(s), nil
	case mToUpperCase:
		return upper(s), nil
	case mTrim:
		return strings.Trim(s, parser.WhitespaceChars), nil
	}
	return m.find(method, s, args)
}

// find searches text in text.
func (m *machine) find(method method, s string, args arguments) (any, error) {
	part, err := m.argText(&args, 0)
	if err != nil {
		return nil, err
	}
	if args.n < 2 {
		return findAll(method, s, part), nil
	}
	length := textLength(s)
	otherwise := 0.0
	if method == mEndsWith {
		otherwise = math.Inf(1)
	}
	f, err := m.number(&args, 1, otherwise)
	if err != nil {
		return nil, err
	}
	return findFrom(method, s, part, max(0, min(whole(f), length))), nil
}

// findAll searches from the beginning, or for endsWith from the end.
func findAll(method method, s, part string) any {
	switch method {
	case mIncludes:
		return strings.Contains(s, part)
	case mStartsWith:
		return strings.HasPrefix(s, part)
	case mEndsWith:
		return strings.HasSuffix(s, part)
	}
	if before, _, ok := strings.Cut(s, part); ok {
		return int64(textLength(before))
	}
	return int64(-1)
}

// findFrom searches from a unit, or for endsWith up to it.
func findFrom(method method, s, part string, unit int) any {
	offset, whole := offsetOf(s, unit)
	switch method {
	case mIncludes:
		return strings.Contains(s[offset:], part)
	case mStartsWith:
		return part == "" || whole && strings.HasPrefix(s[offset:], part)
	case mEndsWith:
		return part == "" || whole && strings.HasSuffix(s[:offset], part)
	}
	if part == "" {
		return int64(unit)
	}
	if i := strings.Index(s[offset:], part); i >= 0 {
		return int64(textLength(s[:offset+i]))
	}
	return int64(-1)
}

func (m *machine) listMethod(method method, items []any, args arguments) (any, error) {
	if method == mAt {
		f, err := m.number(&args, 0, 0)
		if i, ok := fromEnd(f, len(items)); ok {
			return items[i], err
		}
		return undefined{}, err
	}
	if err := m.spendItems(len(items)); err != nil {
		return nil, err
	}
	if method == mSlice {
		from, to, err := m.span(&args, len(items))
		if err != nil {
			return nil, err
		}
		return append(make([]any, 0, max(1, to-from)), items[from:max(from, to)]...), nil
	}
	return m.findItem(method, items, args)
}

func (m *machine) findItem(method method, items []any, args arguments) (any, error) {
	f, err := m.number(&args, 1, 0)
	if err != nil {
		return nil, err
	}
	same, want := strictEqual, any(undefined{})
	if method == mIncludes {
		same = sameValue
	}
	if args.n > 0 {
		want = args.v[0]
	}
	from, found := position(f, len(items)), -1
	for i, e := range items[from:] {
		if same(e, want) {
			found = from + i
			break
		}
	}
	if method == mIncludes {
		return found >= 0, nil
	}
	return int64(found), nil
}

// span reads the arguments of slice.
func (m *machine) span(args *arguments, length int) (from, to int, err error) {
	f, err := m.number(args, 0, 0)
	if err != nil {
		return 0, 0, err
	}
	t, err := m.number(args, 1, math.Inf(1))
	return position(f, length), position(t, length), err
}

// fromEnd reads the argument of at.
func fromEnd(f float64, length int) (int, bool) {
	i := whole(f)
	if i < 0 {
		i += length
	}
	return i, i >= 0 && i < length
}

// iterate runs some, every, filter and map.
func (m *machine) iterate(n *iterate) (any, error) {
	receiver, err := m.receiver(n.receiver, n.src, n.place, n.name)
	if err != nil {
		return nil, err
	}
	items, ok := receiver.([]any)
	if !ok {
		return m.noMethod(receiver, n.optional, n.src, n.place, n.name)
	}
	if n.method == mFilter || n.method == mMap {
		return m.collect(n, items)
	}
	for i := range items {
		m.bind(n, items, i)
		ok, err := m.truth(n.body)
		if err != nil {
			return nil, err
		}
		if ok == (n.method == mSome) {
			return ok, nil
		}
	}
	return n.method == mEvery, nil
}

func (m *machine) collect(n *iterate, items []any) (any, error) {
	out := make([]any, 0, 1)
	for i, e := range items {
		m.bind(n, items, i)
		v, err := m.eval(n.body)
		switch {
		case err != nil:
			return nil, err
		case n.method == mMap:
			out = append(out, v)
		case Truthy(v):
			out = append(out, e)
		}
	}
	return out, nil
}

// bind gives the arrow function its parameters.
func (m *machine) bind(n *iterate, items []any, i int) {
	if n.params > 0 {
		m.locals[n.slot] = items[i]
	}
	if n.params > 1 {
		m.locals[n.slot+1] = int64(i)
	}
	if n.params > 2 {
		m.locals[n.slot+2] = items
	}
}

func (m *machine) objectKeys(n *objectKeys) (any, error) {
	v, err := m.eval(n.operand)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case nil, undefined:
		return nil, at(n.src, n.place, "Object.keys of "+nullName(v), "guard it, as in (x ?? {})")
	case map[string]any:
		if err := m.spend(len(x)); err != nil {
			return nil, err
		}
		keys := make([]any, 0, len(x)+1)
		for _, k := range protocol.SortedKeys(x) {
			keys = append(keys, k)
		}
		return keys, nil
	case []any:
		return m.indexes(len(x))
	case string:
		return m.indexes(textLength(x))
	}
	return m.indexes(0)
}

func (m *machine) indexes(n int) (any, error) {
	if err := m.spend(n); err != nil {
		return nil, err
	}
	keys := make([]any, n, n+1)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	return keys, nil
}
