package template

import (
	"slices"
	"strings"
	"text/template/parse"

	"tavernsim/protocol"
)

// pipe compiles a checked pipeline, without what it declares.
func (c *compiler) pipe(p *parse.PipeNode) eval {
	value := c.command(p.Cmds[0], nil)
	for _, cmd := range p.Cmds[1:] {
		value = c.command(cmd, value)
	}
	return value
}

// command compiles one step of a pipeline; final is the value piped into it.
func (c *compiler) command(cmd *parse.CommandNode, final eval) eval {
	ident, ok := cmd.Args[0].(*parse.IdentifierNode)
	if !ok {
		return c.operand(cmd.Args[0])
	}
	args := make([]eval, 0, len(cmd.Args))
	for _, a := range cmd.Args[1:] {
		args = append(args, c.operand(a))
	}
	if ident.Ident == "and" || ident.Ident == "or" {
		return shortCircuit(ident.Ident == "or", args, final)
	}
	if final != nil {
		args = append(args, final)
	}
	return c.call(ident, args)
}

func (c *compiler) operand(n parse.Node) eval {
	switch n := n.(type) {
	case *parse.FieldNode:
		if c.inside {
			return c.fields(dot, "", n.Ident, start(n))
		}
		return c.path(n, n.Ident)
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return c.path(n, n.Ident[1:])
		}
		slot := c.slot(n)
		return c.fields(func(e exec) (any, error) { return e.frame.vars[slot], nil }, n.Ident[0], n.Ident[1:], start(n))
	case *parse.DotNode:
		if c.inside {
			return dot
		}
		return data
	case *parse.ChainNode:
		return c.fields(c.operand(n.Node), "(…)", n.Field, n.Pos)
	case *parse.PipeNode:
		return c.pipe(n)
	case *parse.IdentifierNode:
		return c.call(n, nil)
	}
	v := literal(n)
	return func(exec) (any, error) { return v, nil }
}

func dot(e exec) (any, error)  { return e.dot, nil }
func data(e exec) (any, error) { return e.t.all(e.src), nil }

// literal is the value of a checked constant.
func literal(n parse.Node) any {
	switch n := n.(type) {
	case *parse.StringNode:
		return n.Text
	case *parse.BoolNode:
		return n.True
	case *parse.NumberNode:
		if n.IsInt {
			return n.Int64
		}
		return n.Float64
	}
	return nil
}

// call compiles a function call.
func (c *compiler) call(ident *parse.IdentifierNode, args []eval) eval {
	fn, pos, src := c.funcs[ident.Ident], ident.Pos, c.src
	makes := !slices.Contains(selecting(), ident.Ident)
	c.heap = true
	return func(e exec) (any, error) {
		values := make([]any, len(args))
		for i, arg := range args {
			v, err := arg(e)
			if err != nil {
				return nil, err
			}
			values[i] = v
		}
		v, err := fn.run(e.t.name, e.state, values)
		if err == nil && makes {
			err = e.frame.make(v)
		}
		if err != nil {
			return nil, errorAt(protocol.KindOf(err), e.t.name, src, pos, "%s: %w", ident.Ident, err)
		}
		return v, nil
	}
}

// selecting lists the functions that hand out what there is and make nothing.
func selecting() []string {
	return []string{"coalesce", "default", "first", "get", "index", "last", "max", "min", "ternary"}
}

// make counts what a function has made: text, or a list or an object without
// what stands in it.
func (f *frame) make(v any) error {
	switch x := v.(type) {
	case string:
		f.made += len(x)
	case []any:
		f.made += protocol.ValueBytes * len(x)
	case map[string]any:
		f.made += 2 * protocol.ValueBytes * len(x)
	}
	if f.made > MaxMade {
		return errMade()
	}
	return nil
}

func errMade() error {
	return protocol.Errorf(protocol.KindLimit, "the functions have made more than %d bytes", MaxMade)
}

// shortCircuit compiles and and or, which stop at the first argument that
// settles them. What is piped in is computed before and counts last.
func shortCircuit(settles bool, args []eval, final eval) eval {
	return func(e exec) (any, error) {
		var last any
		var err error
		if final != nil {
			if last, err = final(e); err != nil {
				return nil, err
			}
		}
		for i, arg := range args {
			v, err := arg(e)
			if err != nil || Truth(v) == settles {
				return v, err
			}
			if final == nil && i == len(args)-1 {
				return v, nil
			}
		}
		return last, nil
	}
}

// path compiles names that begin at the data.
func (c *compiler) path(at parse.Node, names []string) eval {
	if len(names) == 0 {
		return data
	}
	root, rest, pos, src := names[0], names[1:], start(at), c.src
	return func(e exec) (any, error) {
		v, ok := e.src.Lookup(root)
		if !ok {
			return nil, errorAt(protocol.KindNotFound, e.t.name, src, pos, ".%s: %w", root, missing(root, e.t.all(e.src)))
		}
		for i, name := range rest {
			m, isMap := v.(map[string]any)
			next, ok := m[name]
			if !ok || !isMap {
				return nil, e.stuck(src, pos, "."+strings.Join(names[:i+1], "."), name, v)
			}
			v = next
		}
		return v, nil
	}
}

// fields compiles names that begin at any other value.
func (c *compiler) fields(base eval, label string, names []string, pos parse.Pos) eval {
	if len(names) == 0 {
		return base
	}
	src := c.src
	return func(e exec) (any, error) {
		v, err := base(e)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			m, isMap := v.(map[string]any)
			next, ok := m[name]
			if !ok || !isMap {
				return nil, e.stuck(src, pos, strings.Join(append([]string{label}, names[:i]...), "."), name, v)
			}
			v = next
		}
		return v, nil
	}
}

// stuck says why a path does not go on from a value.
func (e exec) stuck(src string, pos parse.Pos, at, name string, v any) error {
	if at == "" {
		at = "."
	}
	m, ok := v.(map[string]any)
	if !ok {
		return errorAt(protocol.KindInvalid, e.t.name, src, pos, "%s is %s, so it has no %q", at, Describe(v), name)
	}
	return errorAt(protocol.KindNotFound, e.t.name, src, pos, "%s.%s: %w", strings.TrimSuffix(at, "."), name, missing(name, m))
}
