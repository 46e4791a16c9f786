package template

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"

	"tavernsim/protocol"
)

// checkList refuses what the doc says is not offered. top says that dot is
// still the data.
func (c *compiler) checkList(list *parse.ListNode, top bool) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		if err := c.checkNode(n, top); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) checkNode(n parse.Node, top bool) error {
	switch n := n.(type) {
	case *parse.ActionNode:
		return c.checkPipe(n.Pipe, top)
	case *parse.IfNode:
		return c.checkBranch(&n.BranchNode, top, top)
	case *parse.WithNode:
		return c.checkBranch(&n.BranchNode, top, false)
	case *parse.RangeNode:
		if _, ok := constant(n.Pipe); ok {
			return c.errorf(n, "range over a constant; want a list or an object")
		}
		return c.checkBranch(&n.BranchNode, top, false)
	case *parse.TemplateNode:
		return c.errorf(n, "template is not offered; write the text where it is used")
	}
	return nil
}

func constant(p *parse.PipeNode) (parse.Node, bool) {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return nil, false
	}
	switch n := p.Cmds[0].Args[0].(type) {
	case *parse.NumberNode, *parse.StringNode, *parse.BoolNode:
		return n, true
	}
	return nil, false
}

func (c *compiler) checkBranch(n *parse.BranchNode, top, inside bool) error {
	if err := c.checkPipe(n.Pipe, top); err != nil {
		return err
	}
	if err := c.checkList(n.List, inside); err != nil {
		return err
	}
	return c.checkList(n.ElseList, top)
}

func (c *compiler) checkPipe(p *parse.PipeNode, top bool) error {
	for i, cmd := range p.Cmds {
		if err := c.checkCommand(cmd, i > 0, top); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) checkCommand(cmd *parse.CommandNode, piped, top bool) error {
	for i, arg := range cmd.Args {
		if i == 0 {
			continue
		}
		if err := c.checkOperand(arg, top); err != nil {
			return err
		}
	}
	args := len(cmd.Args) - 1
	if piped {
		args++
	}
	if ident, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return c.checkCall(ident, args)
	}
	if args > 0 {
		return c.errorf(cmd, "%s is no function, so it takes no argument", cmd.Args[0])
	}
	if cmd.Args[0].Type() == parse.NodeNil {
		return c.errorf(cmd, "nil is no value to print; want a field or a function")
	}
	return c.checkOperand(cmd.Args[0], top)
}

func (c *compiler) checkOperand(n parse.Node, top bool) error {
	switch n := n.(type) {
	case *parse.FieldNode:
		if top {
			return c.checkRoot(n, n.Ident[0])
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return c.checkRoot(n, n.Ident[1])
		}
	case *parse.ChainNode:
		return c.checkOperand(n.Node, top)
	case *parse.PipeNode:
		if len(n.Decl) > 0 {
			return c.errorf(n, "a variable cannot be declared inside parentheses")
		}
		return c.checkPipe(n, top)
	case *parse.IdentifierNode:
		return c.checkCall(n, 0)
	case *parse.NumberNode:
		return c.checkNumber(n)
	}
	return nil
}

func (c *compiler) checkNumber(n *parse.NumberNode) error {
	if n.IsInt || n.IsFloat && !n.IsUint {
		return nil
	}
	return c.errorf(n, "number %s: want a 64-bit integer or a float", n.Text)
}

func (c *compiler) checkRoot(at parse.Node, name string) error {
	if c.used != nil {
		c.used[name] = true
	}
	if c.roots == nil || slices.Contains(c.roots, name) {
		return nil
	}
	if len(c.roots) == 0 {
		return c.errorf(at, ".%s: no such name; there are none", name)
	}
	return c.errorf(at, ".%s: no such name%s; there are %s", name, suggest(name, c.roots), strings.Join(c.roots, ", "))
}

func (c *compiler) checkCall(ident *parse.IdentifierNode, args int) error {
	if ident.Ident == "and" || ident.Ident == "or" {
		if args == 0 {
			return c.errorf(ident, "%s: want at least 1 argument", ident.Ident)
		}
		return nil
	}
	fn, ok := c.funcs[ident.Ident]
	switch {
	case !ok && ident.Ident == "ref":
		return c.errorf(ident, "dynamic references \"{{{key}}}\" are not offered here")
	case !ok:
		return c.errorf(ident, "unknown function %q%s", ident.Ident, suggest(ident.Ident, protocol.SortedKeys(c.funcs)))
	case args < fn.Min || fn.Max >= 0 && args > fn.Max:
		return c.errorf(ident, "%s: %d arguments; want %s", ident.Ident, args, fn.arity())
	}
	return nil
}

// missing says that an object lacks a name, and what it has.
func missing(name string, m map[string]any) error {
	keys := protocol.SortedKeys(m)
	if len(keys) == 0 {
		return fmt.Errorf("no %q; the object is empty", name)
	}
	hint := suggest(name, keys)
	if more := len(keys) - 12; more > 0 {
		keys = append(keys[:12:12], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("no %q%s; there are %s", name, hint, strings.Join(keys, ", "))
}

// suggest finds the nearest of the names, if one is near.
func suggest(name string, names []string) string {
	best, at := len(name)/3+2, ""
	for _, n := range names {
		if d := protocol.EditDistance(name, n, best); d < best {
			best, at = d, n
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", at)
}
