package expr

import (
	"fmt"
	"math"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"tavernsim/protocol"
)

// compiler turns the parser's tree into nodes and refuses what is outside the
// subset.
type compiler struct {
	src    string
	roots  []string
	any    bool // every name that means nothing else is a root
	used   map[string]bool
	locals []string // parameters in scope; the index is the slot
	depth  int
	fresh  bool
}

func (c *compiler) fail(n ast.Node, hint, format string, args ...any) error {
	return at(c.src, where(n), fmt.Sprintf(format, args...), hint)
}

func (c *compiler) compile(e ast.Expression) (node, error) {
	if c.depth++; c.depth > MaxNested {
		return nil, c.fail(e, "", "nested deeper than %d", MaxNested)
	}
	defer func() { c.depth-- }()
	switch x := e.(type) {
	case *ast.NullLiteral:
		return &literal{}, nil
	case *ast.BooleanLiteral:
		return &literal{x.Value}, nil
	case *ast.NumberLiteral:
		return c.number(x)
	case *ast.StringLiteral:
		return c.text(x, x.Value)
	case *ast.Identifier:
		return c.identifier(x)
	case *ast.DotExpression:
		return c.dot(x)
	case *ast.BracketExpression:
		return c.bracket(x)
	case *ast.OptionalChain:
		operand, err := c.compile(x.Expression)
		return &chain{operand}, err
	case *ast.Optional:
		operand, err := c.compile(x.Expression)
		return &optional{operand}, err
	case *ast.BinaryExpression:
		return c.binary(x)
	case *ast.UnaryExpression:
		return c.unary(x)
	case *ast.ConditionalExpression:
		nodes, err := c.all(x.Test, x.Consequent, x.Alternate)
		if err != nil {
			return nil, err
		}
		return &conditional{nodes[0], nodes[1], nodes[2]}, nil
	case *ast.TemplateLiteral:
		return c.template(x)
	case *ast.ArrayLiteral:
		return c.list(x)
	case *ast.ObjectLiteral:
		return c.object(x)
	case *ast.CallExpression:
		return c.call(x)
	}
	return nil, c.outside(e)
}

// outside says why an expression is not in the subset.
func (c *compiler) outside(e ast.Expression) error {
	switch x := e.(type) {
	case *ast.AssignExpression:
		return c.fail(x, "write === to compare", "an expression cannot assign")
	case *ast.ArrowFunctionLiteral:
		return c.fail(x, "", "an arrow function stands only as the argument of some, every, filter or map")
	case *ast.FunctionLiteral:
		return c.fail(x, "write x => expression", "functions are not in the subset")
	case *ast.RegExpLiteral:
		return c.fail(x, "write /re/.test(text)", "a regular expression stands only before .test")
	case *ast.SequenceExpression:
		return c.fail(x, "join conditions with && or ||", "the comma operator is not in the subset")
	case *ast.SpreadElement:
		return c.fail(x.Expression, "", "spread is not in the subset")
	case *ast.NewExpression:
		return c.fail(x, "", "new is not in the subset")
	case *ast.ThisExpression:
		return c.fail(x, didYouMean("this", c.roots), "this is not in the subset")
	}
	return c.fail(e, "", "%s is not in the subset", construct(e))
}

func construct(e ast.Expression) string {
	switch e.(type) {
	case *ast.ClassLiteral:
		return "a class"
	case *ast.AwaitExpression:
		return "await"
	case *ast.YieldExpression:
		return "yield"
	case *ast.MetaProperty:
		return "a meta property"
	case *ast.PrivateDotExpression:
		return "a private field"
	}
	return "this expression"
}

func (c *compiler) all(list ...ast.Expression) ([]node, error) {
	out := make([]node, len(list))
	for i, e := range list {
		var err error
		if out[i], err = c.compile(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *compiler) number(x *ast.NumberLiteral) (node, error) {
	switch v := x.Value.(type) {
	case int64:
		return &literal{canonical(float64(v))}, nil
	case float64:
		return &literal{canonical(v)}, nil
	}
	return nil, c.fail(x, "write a plain number", "number %s is not in the subset", x.Literal)
}

func (c *compiler) text(n ast.Node, s unistring.String) (*literal, error) {
	if slices.Contains(wholeUnits(s.AsUtf16()), halfPair) {
		return nil, c.fail(n, "write the whole character", "the text holds half a surrogate pair")
	}
	return &literal{s.String()}, nil
}

// halfPair marks what wholeUnits found of no pair; it is no character.
const halfPair = -1

// wholeUnits lists the characters of UTF-16 text.
func wholeUnits(units []uint16) []rune {
	var out []rune
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		switch {
		case r < 0xd800 || r > 0xdfff:
		case r < 0xdc00 && i+1 < len(units) && units[i+1]&0xfc00 == 0xdc00:
			r = 0x10000 + (r-0xd800)<<10 + rune(units[i+1]) - 0xdc00
			i++
		default:
			r = halfPair
		}
		out = append(out, r)
	}
	return out
}

func (c *compiler) identifier(x *ast.Identifier) (node, error) {
	name := x.Name.String()
	for slot, known := range slices.Backward(c.locals) {
		if known == name {
			return &local{slot}, nil
		}
	}
	if slices.Contains(c.roots, name) {
		c.used[name] = true
		return &root{name}, nil
	}
	switch name {
	case "undefined":
		return &literal{undefined{}}, nil
	case "NaN":
		return &literal{math.NaN()}, nil
	case "Infinity":
		return &literal{math.Inf(1)}, nil
	case "Math", "Array", "Object":
		return nil, c.fail(x, "call one of its functions", "%s is no value", name)
	}
	if c.any {
		c.used[name] = true
		return &root{name}, nil
	}
	return nil, c.fail(x, didYouMean(name, slices.Concat(c.locals, c.roots)), "unknown name %q", name)
}

func (c *compiler) dot(x *ast.DotExpression) (node, error) {
	key := x.Identifier.Name.String()
	if c.isGlobal(x.Left, "Math") {
		v, ok := mathConstants()[key]
		if !ok {
			return nil, c.fail(&x.Identifier, didYouMean(key, mathNames()), "unknown Math.%s", key)
		}
		return &literal{v}, nil
	}
	left, err := c.compile(x.Left)
	if err != nil {
		return nil, err
	}
	return c.member(left, key, where(&x.Identifier)), nil
}

func (c *compiler) member(left node, key string, p place) node {
	return &member{left: left, key: key, place: p, src: c.src,
		null:  at(c.src, p, fmt.Sprintf("cannot read %q of null", key), "write ?. before it"),
		undef: at(c.src, p, fmt.Sprintf("cannot read %q of undefined", key), "write ?. before it")}
}

func (c *compiler) bracket(x *ast.BracketExpression) (node, error) {
	nodes, err := c.all(x.Left, x.Member)
	if err != nil {
		return nil, err
	}
	if lit, ok := nodes[1].(*literal); ok {
		if key, ok := lit.value.(string); ok {
			return c.member(nodes[0], key, where(x.Member)), nil
		}
	}
	return &index{left: nodes[0], key: nodes[1], place: where(x.Member), src: c.src}, nil
}

// isGlobal reports whether e is a built-in name that no root or local hides.
func (c *compiler) isGlobal(e ast.Expression, name string) bool {
	id, ok := e.(*ast.Identifier)
	return ok && id.Name.String() == name && !slices.Contains(c.roots, name) && !slices.Contains(c.locals, name)
}

func (c *compiler) binary(x *ast.BinaryExpression) (node, error) {
	if _, private := x.Left.(*ast.PrivateIdentifier); private {
		return nil, c.outside(x.Left)
	}
	nodes, err := c.all(x.Left, x.Right)
	if err != nil {
		return nil, err
	}
	l, r, p := nodes[0], nodes[1], where(x.Right)
	switch x.Operator {
	case token.LOGICAL_AND:
		return &logical{opAnd, l, r}, nil
	case token.LOGICAL_OR:
		return &logical{opOr, l, r}, nil
	case token.COALESCE:
		return &logical{opCoalesce, l, r}, nil
	case token.STRICT_EQUAL:
		return &equality{l, r, true, false}, nil
	case token.STRICT_NOT_EQUAL:
		return &equality{l, r, true, true}, nil
	case token.EQUAL:
		return &equality{l, r, false, false}, nil
	case token.NOT_EQUAL:
		return &equality{l, r, false, true}, nil
	case token.LESS:
		return &relation{opLess, l, r}, nil
	case token.LESS_OR_EQUAL:
		return &relation{opLessEqual, l, r}, nil
	case token.GREATER:
		return &relation{opGreater, l, r}, nil
	case token.GREATER_OR_EQUAL:
		return &relation{opGreaterEqual, l, r}, nil
	case token.PLUS:
		return &arithmetic{opAdd, l, r}, nil
	case token.MINUS:
		return &arithmetic{opSubtract, l, r}, nil
	case token.MULTIPLY:
		return &arithmetic{opMultiply, l, r}, nil
	case token.SLASH:
		return &arithmetic{opDivide, l, r}, nil
	case token.REMAINDER:
		return &arithmetic{opRemainder, l, r}, nil
	case token.IN:
		return &membership{l, r, p, c.src}, nil
	}
	return nil, c.fail(x, operatorHint(x.Operator), "operator %s is not in the subset", x.Operator)
}

func operatorHint(op token.Token) string {
	switch op {
	case token.AND:
		return "write && for and"
	case token.OR:
		return "write || for or"
	case token.EXPONENT:
		return "write Math.pow(a, b)"
	case token.INSTANCEOF:
		return "write typeof, or Array.isArray(x)"
	}
	return ""
}

func (c *compiler) unary(x *ast.UnaryExpression) (node, error) {
	switch x.Operator {
	case token.NOT, token.MINUS, token.PLUS, token.TYPEOF, token.VOID:
	default:
		return nil, c.fail(x, "", "operator %s is not in the subset", x.Operator)
	}
	operand, err := c.compile(x.Operand)
	if err != nil {
		return nil, err
	}
	switch x.Operator {
	case token.NOT:
		return &not{operand}, nil
	case token.MINUS:
		if lit, ok := operand.(*literal); ok {
			if f, ok := protocol.Number(lit.value); ok {
				return &literal{canonical(-f)}, nil
			}
		}
		return &negate{operand}, nil
	case token.PLUS:
		return &positive{operand}, nil
	case token.TYPEOF:
		return &typeOf{operand}, nil
	default:
		return &void{operand}, nil
	}
}

func (c *compiler) template(x *ast.TemplateLiteral) (node, error) {
	if x.Tag != nil {
		return nil, c.fail(x, "", "a tagged template is not in the subset")
	}
	t := &template{}
	for _, e := range x.Elements {
		lit, err := c.text(e, e.Parsed)
		if err != nil {
			return nil, err
		}
		t.texts = append(t.texts, lit.value.(string))
	}
	var err error
	t.nodes, err = c.all(x.Expressions...)
	return t, err
}

func (c *compiler) list(x *ast.ArrayLiteral) (node, error) {
	c.fresh = true
	for i, e := range x.Value {
		if e == nil {
			return nil, c.fail(x, "write undefined or null", "item %d of the list is missing", i+1)
		}
	}
	items, err := c.all(x.Value...)
	return &list{items}, err
}

func (c *compiler) object(x *ast.ObjectLiteral) (node, error) {
	c.fresh = true
	o := &object{}
	for _, p := range x.Value {
		f, err := c.property(p)
		if err != nil {
			return nil, err
		}
		o.fields = append(o.fields, f)
	}
	return o, nil
}

func (c *compiler) property(p ast.Property) (f field, err error) {
	switch x := p.(type) {
	case *ast.PropertyShort:
		if x.Initializer != nil {
			return f, c.fail(x.Initializer, "", "a default is not in the subset")
		}
		f.key = &literal{x.Name.Name.String()}
		f.value, err = c.identifier(&x.Name)
	case *ast.PropertyKeyed:
		if x.Kind != ast.PropertyKindValue {
			return f, c.fail(x.Key, "", "methods, getters and setters are not in the subset")
		}
		if f.key, err = c.propertyKey(x); err == nil {
			f.value, err = c.compile(x.Value)
		}
	default:
		err = c.outside(p)
	}
	return f, err
}

func (c *compiler) propertyKey(x *ast.PropertyKeyed) (node, error) {
	key, err := c.compile(x.Key)
	if lit, ok := key.(*literal); ok && !x.Computed && lit.value == "__proto__" {
		return nil, c.fail(x.Key, "", "__proto__ is not in the subset")
	}
	return key, err
}
