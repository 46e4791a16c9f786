package expr

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// method is a whitelisted one.
type method uint8

const (
	mIncludes method = iota + 1
	mStartsWith
	mEndsWith
	mIndexOf
	mSlice
	mAt
	mToLowerCase
	mToUpperCase
	mTrim
	mSome
	mEvery
	mFilter
	mMap
)

// methodNames lists them; the index is the method less one.
func methodNames() []string {
	return []string{"includes", "startsWith", "endsWith", "indexOf", "slice", "at",
		"toLowerCase", "toUpperCase", "trim", "some", "every", "filter", "map"}
}

func methodOf(name string) (method, bool) {
	i := slices.Index(methodNames(), name)
	return method(i + 1), i >= 0
}

func (m method) iterates() bool { return m >= mSome }

// call compiles receiver.method(…), Math.f(…), Array.isArray, Object.keys and
// /re/.test(…); there is nothing else to call.
func (c *compiler) call(x *ast.CallExpression) (node, error) {
	callee, opt := x.Callee, false
	if o, ok := callee.(*ast.Optional); ok {
		callee, opt = o.Expression, true
	}
	dot, ok := callee.(*ast.DotExpression)
	if !ok {
		return nil, c.fail(x, "call a method, as in text.includes('a')", "only methods can be called")
	}
	name := dot.Identifier.Name.String()
	switch {
	case c.isGlobal(dot.Left, "Math"):
		return c.mathCall(x, &dot.Identifier, name)
	case c.isGlobal(dot.Left, "Array"), c.isGlobal(dot.Left, "Object"):
		return c.static(x, dot, name)
	}
	if re, ok := dot.Left.(*ast.RegExpLiteral); ok {
		return c.match(x, re, dot, name)
	}
	m, ok := methodOf(name)
	if !ok {
		return nil, c.fail(&dot.Identifier, methodHint(name), "method %q is not in the subset", name)
	}
	if m.iterates() {
		return c.iterate(x, dot, m, opt)
	}
	receiver, err := c.compile(dot.Left)
	if err != nil {
		return nil, err
	}
	args, err := c.all(x.ArgumentList...)
	if err != nil {
		return nil, err
	}
	c.fresh = c.fresh || m == mSlice
	return &call{method: m, name: name, receiver: receiver, args: args, optional: opt, place: where(&dot.Identifier), src: c.src}, nil
}

func methodHint(name string) string {
	switch name {
	case "contains", "has":
		return `did you mean "includes"?`
	case "find", "findIndex":
		return "write filter(…)[0], or some(…)"
	case "match", "search", "matches":
		return "write /re/.test(text)"
	case "lower":
		return `did you mean "toLowerCase"?`
	case "upper":
		return `did you mean "toUpperCase"?`
	}
	return didYouMean(name, methodNames())
}

func (c *compiler) iterate(x *ast.CallExpression, dot *ast.DotExpression, m method, opt bool) (node, error) {
	name := dot.Identifier.Name.String()
	receiver, err := c.compile(dot.Left)
	if err != nil {
		return nil, err
	}
	if len(x.ArgumentList) != 1 {
		return nil, c.fail(&dot.Identifier, "write "+name+"(x => …)", "%s wants one arrow function, got %d arguments", name, len(x.ArgumentList))
	}
	arrow, ok := x.ArgumentList[0].(*ast.ArrowFunctionLiteral)
	if !ok {
		return nil, c.fail(x.ArgumentList[0], "write "+name+"(x => …)", "%s wants an arrow function", name)
	}
	it := &iterate{method: m, name: name, receiver: receiver, optional: opt, slot: len(c.locals),
		params: len(arrow.ParameterList.List), place: where(&dot.Identifier), src: c.src}
	it.body, err = c.arrow(arrow)
	c.fresh = c.fresh || m == mFilter || m == mMap
	return it, err
}

// arrow compiles the body with its parameters in the next slots.
func (c *compiler) arrow(x *ast.ArrowFunctionLiteral) (node, error) {
	body, ok := x.Body.(*ast.ExpressionBody)
	switch {
	case !ok:
		return nil, c.fail(x, "write x => expression", "an arrow function with statements is not in the subset")
	case x.Async:
		return nil, c.fail(x, "", "async is not in the subset")
	case x.ParameterList.Rest != nil || len(x.ParameterList.List) > 3:
		return nil, c.fail(x, "", "an arrow function takes (item, index, list)")
	case len(c.locals)+len(x.ParameterList.List) > MaxLocals:
		return nil, c.fail(x, "", "more than %d parameters in scope", MaxLocals)
	}
	outer := len(c.locals)
	defer func() { c.locals = c.locals[:outer] }()
	for _, b := range x.ParameterList.List {
		id, ok := b.Target.(*ast.Identifier)
		if !ok || b.Initializer != nil {
			return nil, c.fail(b, "write a plain name", "patterns and defaults are not in the subset")
		}
		c.locals = append(c.locals, id.Name.String())
	}
	return c.compile(body.Expression)
}

func (c *compiler) mathCall(x *ast.CallExpression, id *ast.Identifier, name string) (node, error) {
	fn, ok := mathFunctions()[name]
	if name == "random" {
		return nil, c.fail(id, "use the tool that draws random numbers", "an expression draws no chance")
	}
	if !ok {
		return nil, c.fail(id, didYouMean(name, mathNames()), "unknown Math.%s", name)
	}
	args, err := c.all(x.ArgumentList...)
	return &mathCall{fn, args}, err
}

func (c *compiler) static(x *ast.CallExpression, dot *ast.DotExpression, name string) (node, error) {
	isArr, keys := c.isGlobal(dot.Left, "Array") && name == "isArray", c.isGlobal(dot.Left, "Object") && name == "keys"
	if !isArr && !keys {
		return nil, c.fail(&dot.Identifier, "there are Array.isArray and Object.keys", "function %q is not in the subset", name)
	}
	if len(x.ArgumentList) != 1 {
		return nil, c.fail(&dot.Identifier, "", "%s wants one argument, got %d", name, len(x.ArgumentList))
	}
	operand, err := c.compile(x.ArgumentList[0])
	if isArr {
		return &isArray{operand}, err
	}
	return &objectKeys{operand, where(x.ArgumentList[0]), c.src}, err
}

// match compiles /re/flags.test(text) to RE2.
func (c *compiler) match(x *ast.CallExpression, re *ast.RegExpLiteral, dot *ast.DotExpression, name string) (node, error) {
	if name != "test" {
		return nil, c.fail(&dot.Identifier, "write /re/.test(text)", "a regular expression has only test")
	}
	if len(x.ArgumentList) != 1 {
		return nil, c.fail(&dot.Identifier, "", "test wants one argument, got %d", len(x.ArgumentList))
	}
	compiled, err := c.regexp(re)
	if err != nil {
		return nil, err
	}
	text, err := c.compile(x.ArgumentList[0])
	return &match{compiled, text}, err
}

func (c *compiler) regexp(re *ast.RegExpLiteral) (*regexp.Regexp, error) {
	var flags strings.Builder
	for i, f := range re.Flags {
		switch {
		case !strings.ContainsRune("gimsu", f) || strings.ContainsRune(re.Flags[:i], f):
			return nil, c.fail(re, "the flags are g, i, m, s, u, each once", "regular expression flag %q", f)
		case f == 'i' || f == 'm':
			flags.WriteRune(f)
		}
	}
	pattern, err := parser.TransformRegExp(re.Pattern, strings.Contains(re.Flags, "s"), strings.Contains(re.Flags, "u"))
	if err != nil {
		return nil, c.fail(re, "there is no lookaround and no back reference", "regular expression: %v", err)
	}
	if flags.Len() > 0 {
		pattern = "(?" + flags.String() + ")" + pattern
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, c.fail(re, "", "regular expression: %v", err)
	}
	return compiled, nil
}
