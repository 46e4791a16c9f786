package template

import (
	texttemplate "text/template"
	"text/template/parse"

	"tavernsim/protocol"
)

// The oracle of the tests runs text/template over a rewritten tree:
//
//   - the data are wrapped in a frame, so that functions get their state: the
//     template becomes {{with .Data}}…{{end}}, the user's $ becomes $.Data, and
//     every function gets $ as its first argument;
//   - what an action prints goes through the same printing as in the package;
//   - what a range walks must be a list or an object.

// frame is the data that text/template sees. Its fields are exported for it.
type oracleFrame struct {
	Data *map[string]any // a pointer, because "with" skips an empty map
	name string
}

const (
	funcPrint = "_print"
	funcList  = "_list"
)

func (c *compiler) oracle(tree *parse.Tree) (*texttemplate.Template, error) {
	c.rewriteList(tree.Root)
	body := &parse.WithNode{BranchNode: parse.BranchNode{
		NodeType: parse.NodeWith,
		Pipe:     pipeOf(0, &parse.FieldNode{NodeType: parse.NodeField, Ident: []string{"Data"}}),
		List:     tree.Root,
	}}
	tree.Root = &parse.ListNode{NodeType: parse.NodeList, Nodes: []parse.Node{body}}
	return texttemplate.New(c.name).Option("missingkey=error").Funcs(c.bindings()).AddParseTree(c.name, tree)
}

// bindings are the functions in the shape text/template calls.
func (c *compiler) bindings() texttemplate.FuncMap {
	out := texttemplate.FuncMap{funcPrint: printArg, funcList: listArg}
	for name, fn := range c.funcs {
		out[name] = func(f *oracleFrame, args ...any) (any, error) {
			for i, a := range args {
				args[i] = plain(a)
			}
			return fn.run(f.name, nil, args)
		}
	}
	return out
}

// plain undoes what text/template and the frame do to values.
func plain(v any) any {
	switch x := v.(type) {
	case *map[string]any:
		return *x
	case int:
		return int64(x)
	case int32:
		return int64(x)
	}
	return v
}

func printArg(_ *oracleFrame, v any) string { return string(AppendText(nil, plain(v))) }

func listArg(_ *oracleFrame, v any) (any, error) {
	switch x := plain(v).(type) {
	case nil, []any, map[string]any:
		return x, nil
	default:
		return nil, protocol.Errorf(protocol.KindInvalid, "range over %s; want a list or an object", Describe(x))
	}
}

// rewriteList works in place: the tree belongs to this compilation.
func (c *compiler) rewriteList(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			rewritePipe(n.Pipe)
			if len(n.Pipe.Decl) == 0 {
				pipeInto(n.Pipe, funcPrint)
			}
		case *parse.IfNode:
			c.rewriteBranch(&n.BranchNode)
		case *parse.WithNode:
			c.rewriteBranch(&n.BranchNode)
		case *parse.RangeNode:
			c.rewriteBranch(&n.BranchNode)
			pipeInto(n.Pipe, funcList)
		}
	}
}

func (c *compiler) rewriteBranch(n *parse.BranchNode) {
	rewritePipe(n.Pipe)
	c.rewriteList(n.List)
	c.rewriteList(n.ElseList)
}

func rewritePipe(p *parse.PipeNode) {
	for _, cmd := range p.Cmds {
		for i := range cmd.Args {
			cmd.Args[i] = rewriteOperand(cmd.Args[i], i == 0)
		}
		if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok && id.Ident != "and" && id.Ident != "or" {
			cmd.Args = append([]parse.Node{id, frameArg(id.Pos)}, cmd.Args[1:]...)
		}
	}
}

func rewriteOperand(n parse.Node, first bool) parse.Node {
	switch n := n.(type) {
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			n.Ident = append([]string{"$", "Data"}, n.Ident[1:]...)
		}
	case *parse.ChainNode:
		n.Node = rewriteOperand(n.Node, false)
	case *parse.PipeNode:
		rewritePipe(n)
	case *parse.IdentifierNode:
		if !first { // a call without arguments in the place of an argument
			return pipeOf(n.Pos, n, frameArg(n.Pos))
		}
	}
	return n
}

func ident(pos parse.Pos, name string) *parse.IdentifierNode {
	return parse.NewIdentifier(name).SetPos(pos)
}

func frameArg(pos parse.Pos) parse.Node {
	return &parse.VariableNode{NodeType: parse.NodeVariable, Pos: pos, Ident: []string{"$"}}
}

func pipeOf(pos parse.Pos, args ...parse.Node) *parse.PipeNode {
	cmd := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: args}
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{cmd}}
}

func pipeInto(p *parse.PipeNode, name string) {
	p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: p.Pos, Args: []parse.Node{ident(p.Pos, name), frameArg(p.Pos)}})
}
