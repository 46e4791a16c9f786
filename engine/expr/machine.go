package expr

import (
	"strconv"
	"strings"
)

// machine is one evaluation. It lives on the stack of Eval: nothing keeps a
// pointer to it.
type machine struct {
	env    Env
	left   int  // steps; below 0 the budget ended the evaluation
	short  bool // errShort is on its way to its chain
	locals [MaxLocals]any
}

// spend takes steps for work whose size the text does not show.
func (m *machine) spend(steps int) error {
	if m.left -= steps; m.left < 0 {
		return errSteps
	}
	return nil
}

func (m *machine) spendText(bytes int) error  { return m.spend(bytes / BytesPerStep) }
func (m *machine) spendItems(items int) error { return m.spend(items / ItemsPerStep) }

func (m *machine) eval(n node) (any, error) {
	if m.left--; m.left < 0 {
		return nil, errSteps
	}
	switch n := n.(type) {
	case *literal:
		return n.value, nil
	case *root:
		if v, ok := m.env.Lookup(n.name); ok {
			return v, nil
		}
		return undefined{}, nil
	case *local:
		return m.locals[n.slot], nil
	case *member:
		return m.member(n)
	case *index:
		return m.index(n)
	case *logical:
		return m.logical(n)
	case *conditional:
		return m.conditional(n)
	case *call:
		return m.call(n)
	case *iterate:
		return m.iterate(n)
	case *arithmetic:
		return m.arithmetic(n)
	case *chain:
		v, err := m.eval(n.operand)
		if m.short {
			m.short = false
			return undefined{}, nil
		}
		return v, err
	case *optional:
		v, err := m.eval(n.operand)
		if err == nil && nullish(v) {
			return m.endChain()
		}
		return v, err
	}
	return m.evalRare(n)
}

// evalRare holds the nodes that seldom stand in a filter, and those of which
// truth and numeric know a form without a box.
func (m *machine) evalRare(n node) (any, error) {
	switch n := n.(type) {
	case *equality:
		return boxed(m.equality(n))
	case *relation:
		return boxed(m.relation(n))
	case *not:
		ok, err := m.truth(n.operand)
		return !ok, err
	case *membership:
		return boxed(m.membership(n))
	case *match:
		return boxed(m.match(n))
	case *negate, *positive, *mathCall:
		f, err := m.numeric(n)
		return canonical(f), err
	case *typeOf:
		v, err := m.eval(n.operand)
		return typeName(v), err
	case *void:
		_, err := m.eval(n.operand)
		return undefined{}, err
	case *template:
		return m.template(n)
	case *list:
		return m.list(n)
	case *object:
		return m.object(n)
	case *isArray:
		v, err := m.eval(n.operand)
		_, ok := v.([]any)
		return ok, err
	case *objectKeys:
		return m.objectKeys(n)
	}
	panic("expr: a node that the machine does not know")
}

// endChain unwinds to the optional chain around it.
func (m *machine) endChain() (any, error) {
	m.short = true
	return nil, errShort
}

func boxed(b bool, err error) (any, error) { return b, err }

// truth evaluates a node where only its truth counts.
func (m *machine) truth(n node) (bool, error) {
	switch n := n.(type) {
	case *equality:
		return m.equality(n)
	case *relation:
		return m.relation(n)
	case *not:
		ok, err := m.truth(n.operand)
		return !ok, err
	case *logical:
		if n.op == opCoalesce {
			break
		}
		ok, err := m.truth(n.left)
		if err != nil || ok == (n.op == opOr) {
			return ok, err
		}
		return m.truth(n.right)
	}
	v, err := m.eval(n)
	return err == nil && Truthy(v), err
}

func (m *machine) logical(n *logical) (any, error) {
	left, err := m.eval(n.left)
	if err != nil {
		return nil, err
	}
	done := false
	switch n.op {
	case opAnd:
		done = !Truthy(left)
	case opOr:
		done = Truthy(left)
	default:
		done = !nullish(left)
	}
	if done {
		return left, nil
	}
	return m.eval(n.right)
}

func (m *machine) conditional(n *conditional) (any, error) {
	ok, err := m.truth(n.test)
	if err != nil {
		return nil, err
	}
	if ok {
		return m.eval(n.then)
	}
	return m.eval(n.other)
}

func (m *machine) member(n *member) (any, error) {
	left, err := m.eval(n.left)
	if err != nil {
		return nil, err
	}
	switch x := left.(type) {
	case map[string]any:
		if v, ok := x[n.key]; ok {
			return v, nil
		}
		return undefined{}, nil
	case nil:
		return nil, n.null
	case undefined:
		return nil, n.undef
	}
	return m.property(left, n.key, n.src, n.place)
}

// property reads from what is no object: text, a list, a number, a boolean. A
// method is no value, and undefined would hide that its call was forgotten.
func (m *machine) property(v any, key string, src string, p place) (any, error) {
	length := 0
	switch x := v.(type) {
	case string:
		if err := m.spendText(len(x)); err != nil {
			return nil, err
		}
		length = textLength(x)
	case []any:
		length = len(x)
	default:
		return undefined{}, nil
	}
	if key == "length" {
		return int64(length), nil
	}
	if i, ok := listIndex(key); ok && i < length {
		return itemAt(v, i), nil
	}
	if _, method := methodOf(key); method {
		return nil, at(src, p, key+" is a method of "+describe(v), "call it: "+key+"(…)")
	}
	return undefined{}, nil
}

// listIndex reads a key that is the usual decimal form of an index.
func listIndex(key string) (int, bool) {
	i, err := strconv.Atoi(key)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == key
}

// itemAt reads an index that exists.
func itemAt(v any, i int) any {
	if s, ok := v.(string); ok {
		return unitAt(s, i)
	}
	return v.([]any)[i]
}

func (m *machine) index(n *index) (any, error) {
	left, err := m.eval(n.left)
	if err != nil {
		return nil, err
	}
	key, err := m.eval(n.key)
	if err != nil {
		return nil, err
	}
	if nullish(left) {
		name, _ := m.text(key)
		return nil, at(n.src, n.place, "cannot read "+strconv.Quote(name)+" of "+nullName(left), "write ?. before it")
	}
	if items, ok := left.([]any); ok {
		if i, ok := key.(int64); ok && i >= 0 && i < int64(len(items)) {
			return items[i], nil
		}
	}
	name, err := m.text(key)
	if err != nil {
		return nil, err
	}
	if x, ok := left.(map[string]any); ok {
		if v, ok := x[name]; ok {
			return v, nil
		}
		return undefined{}, nil
	}
	return m.property(left, name, n.src, n.place)
}

func (m *machine) equality(n *equality) (bool, error) {
	if err := m.spend(1); err != nil {
		return false, err
	}
	left, err := m.eval(n.left)
	if err != nil {
		return false, err
	}
	right, err := m.eval(n.right)
	if err != nil {
		return false, err
	}
	if a, ok := left.(string); ok {
		if b, ok := right.(string); ok {
			return (a == b) != n.negate, m.spendText(len(a))
		}
	}
	if n.strict {
		return strictEqual(left, right) != n.negate, nil
	}
	equal, err := m.looseEqual(left, right)
	return equal != n.negate, err
}

func (m *machine) relation(n *relation) (bool, error) {
	if isNumeric(n.left) || isNumeric(n.right) {
		return m.relationOfNumbers(n)
	}
	left, err := m.primitive(n.left)
	if err != nil {
		return false, err
	}
	right, err := m.primitive(n.right)
	if err != nil {
		return false, err
	}
	if a, ok := left.(string); ok {
		if b, ok := right.(string); ok {
			order := compareText(a, b)
			return holds(n.op, order < 0, order == 0), m.spendText(min(len(a), len(b)))
		}
	}
	return compareNumbers(n.op, toNumber(left), toNumber(right)), nil
}

func (m *machine) membership(n *membership) (bool, error) {
	key, err := m.eval(n.key)
	if err != nil {
		return false, err
	}
	container, err := m.eval(n.object)
	if err != nil {
		return false, err
	}
	name, err := m.text(key)
	if err != nil {
		return false, err
	}
	switch x := container.(type) {
	case map[string]any:
		_, ok := x[name]
		return ok, nil
	case []any:
		i, ok := listIndex(name)
		return name == "length" || ok && i < len(x), nil
	}
	return false, at(n.src, n.place, "in wants an object or a list, got "+describe(container), "")
}

func (m *machine) match(n *match) (bool, error) {
	v, err := m.eval(n.text)
	if err != nil {
		return false, err
	}
	s, err := m.text(v)
	if err != nil {
		return false, err
	}
	// RE2 does a bounded number of operations per byte.
	if err := m.spend(len(s) / (BytesPerStep / 16)); err != nil {
		return false, err
	}
	return n.re.MatchString(s), nil
}

func (m *machine) template(n *template) (any, error) {
	var b strings.Builder
	b.WriteString(n.texts[0])
	for i, e := range n.nodes {
		v, err := m.eval(e)
		if err != nil {
			return nil, err
		}
		s, err := m.text(v)
		if err != nil {
			return nil, err
		}
		if err := m.spendText(len(s)); err != nil {
			return nil, err
		}
		b.WriteString(s)
		b.WriteString(n.texts[i+1])
	}
	return b.String(), nil
}

func (m *machine) list(n *list) (any, error) {
	items := make([]any, len(n.items), len(n.items)+1) // never without an address: see sameList
	for i, e := range n.items {
		var err error
		if items[i], err = m.eval(e); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (m *machine) object(n *object) (any, error) {
	out := make(map[string]any, len(n.fields))
	for _, f := range n.fields {
		k, err := m.eval(f.key)
		if err != nil {
			return nil, err
		}
		key, err := m.text(k)
		if err != nil {
			return nil, err
		}
		if out[key], err = m.eval(f.value); err != nil {
			return nil, err
		}
	}
	return out, nil
}
