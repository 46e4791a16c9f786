package template

import (
	"errors"
	"slices"
	"strings"
	"text/template/parse"

	"tavernsim/protocol"
)

// compiler holds what Compile knows about one template, and where in it the
// compilation stands.
type compiler struct {
	name  string
	src   string
	funcs map[string]Func
	roots []string
	used  map[string]bool // the names that it reads of the data; nil = nobody asks

	inside bool       // a range or with has moved dot away from the data
	scope  []variable // visible here
	slots  int        // given out
	heap   bool       // the template has a range or a call
	err    error      // the first one found while compiling
}

// variable is a declared variable and where an execution keeps it.
type variable struct {
	name string
	slot int
}

func newCompiler(name, src string) *compiler {
	return &compiler{name: name, src: src, funcs: std()}
}

func (c *compiler) setRoots(names []string) {
	c.roots = append([]string{}, names...) // not nil: no names are known ones, too
	slices.Sort(c.roots)
}

func (c *compiler) errorf(at parse.Node, format string, args ...any) error {
	return errorAt(protocol.KindInvalid, c.name, c.src, start(at), format, args...)
}

// start is where a node begins in the source. The parser places a path of
// several names at its second part.
func start(n parse.Node) parse.Pos {
	switch n := n.(type) {
	case *parse.FieldNode:
		if len(n.Ident) > 1 {
			return n.Pos - parse.Pos(len(n.Ident[0])+1)
		}
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			return n.Pos - parse.Pos(len(n.Ident[0]))
		}
	}
	return n.Position()
}

// parse reads the source into a checked tree.
func (c *compiler) parse() (*parse.Tree, error) {
	c.src = references(c.src)
	tree := parse.New(c.name)
	tree.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	if _, err := tree.Parse(c.src, "{{", "}}", set); err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "%w", err)
	}
	if len(set) > 1 {
		return nil, protocol.Errorf(protocol.KindInvalid, "template %s: define and block are not offered; write the text where it is used", c.name)
	}
	return tree, c.checkList(tree.Root, true)
}

// references turns "{{{key}}}" into a call of ref.
func references(src string) string {
	if !strings.Contains(src, "{{{") {
		return src
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(src, "{{{")
		key, after, closed := strings.Cut(rest, "}}}")
		if !ok || !closed || strings.ContainsAny(key, "{}\"\n") {
			b.WriteString(src)
			return b.String()
		}
		b.WriteString(before + `{{ref "` + strings.TrimSpace(key) + `"}}`)
		src = after
	}
}

// compile turns a checked tree into closures.
func (c *compiler) compile(tree *parse.Tree) (*Template, error) {
	t := &Template{name: c.name, roots: c.roots}
	t.body = c.segments(tree.Root)
	t.slots, t.heap = c.slots, c.heap
	if list := tree.Root.Nodes; len(list) == 1 {
		if action, ok := list[0].(*parse.ActionNode); ok && len(action.Pipe.Decl) == 0 {
			t.whole = c.pipe(action.Pipe)
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return t, nil
}

// segment is literal text, or something that is run.
type segment struct {
	text string
	run  func(e exec, dst []byte) ([]byte, error)
}

// eval yields the value of a pipeline.
type eval func(e exec) (any, error)

// exec is one execution, at one place. It is passed by value, so that plain
// templates put nothing on the heap.
type exec struct {
	t     *Template
	src   Source
	state any
	limit int    // length that the output may not pass
	dot   any    // inside a range or with
	frame *frame // of templates with ranges, calls or variables
}

// frame is what the places of one execution share.
type frame struct {
	steps int
	made  int // bytes that functions have made
	vars  []any
}

// Signals of break and continue to the range around them.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

func (t *Template) start(src Source, state any, limit int) exec {
	e := exec{t: t, src: src, state: state, limit: limit}
	if t.slots > 0 || t.heap {
		e.frame = &frame{vars: make([]any, t.slots)}
	}
	return e
}

func (e exec) run(dst []byte, list []segment) ([]byte, error) {
	var err error
	for i := range list {
		if s := &list[i]; s.run == nil {
			dst = append(dst, s.text...)
		} else if dst, err = s.run(e, dst); err != nil {
			return dst, err
		}
		if len(dst) > e.limit {
			return dst, errLimit(e.t.name)
		}
	}
	return dst, nil
}

// segments compiles a list of nodes; variables declared in it end with it.
func (c *compiler) segments(list *parse.ListNode) []segment {
	if list == nil {
		return nil
	}
	visible := len(c.scope)
	defer func() { c.scope = c.scope[:visible] }()
	out := make([]segment, 0, len(list.Nodes))
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			out = append(out, segment{text: string(n.Text)})
		case *parse.ActionNode:
			out = append(out, segment{run: c.action(n.Pipe)})
		case *parse.IfNode:
			out = append(out, segment{run: c.branch(&n.BranchNode, false)})
		case *parse.WithNode:
			out = append(out, segment{run: c.branch(&n.BranchNode, true)})
		case *parse.RangeNode:
			out = append(out, segment{run: c.loop(n)})
		case *parse.BreakNode:
			out = append(out, segment{run: func(_ exec, dst []byte) ([]byte, error) { return dst, errBreak }})
		case *parse.ContinueNode:
			out = append(out, segment{run: func(_ exec, dst []byte) ([]byte, error) { return dst, errContinue }})
		}
	}
	return out
}

// action prints a pipeline, or keeps its value in a variable.
func (c *compiler) action(p *parse.PipeNode) func(exec, []byte) ([]byte, error) {
	value := c.pipe(p)
	if slots := c.declare(p); len(slots) > 0 {
		return func(e exec, dst []byte) ([]byte, error) {
			v, err := value(e)
			e.keep(slots, v)
			return dst, err
		}
	}
	return func(e exec, dst []byte) ([]byte, error) {
		v, err := value(e)
		if err != nil {
			return dst, err
		}
		return appendText(dst, v, e.limit), nil
	}
}

// declare gives the variables of a pipeline their slots: new ones for :=, those
// they have for =.
func (c *compiler) declare(p *parse.PipeNode) []int {
	var slots []int
	for _, d := range p.Decl {
		if p.IsAssign {
			slots = append(slots, c.slot(d))
			continue
		}
		c.scope = append(c.scope, variable{name: d.Ident[0], slot: c.slots})
		slots = append(slots, c.slots)
		c.slots++
	}
	return slots
}

// slot finds a variable. The parser has refused unknown names, all but one that
// is used in its own declaration.
func (c *compiler) slot(n *parse.VariableNode) int {
	for _, v := range slices.Backward(c.scope) {
		if v.name == n.Ident[0] {
			return v.slot
		}
	}
	if c.err == nil {
		c.err = c.errorf(n, "%s is used before it has a value", n.Ident[0])
	}
	return 0
}

func (e exec) keep(slots []int, v any) {
	for _, slot := range slots {
		e.frame.vars[slot] = v
	}
}

// branch compiles if, and with, which moves dot.
func (c *compiler) branch(n *parse.BranchNode, moves bool) func(exec, []byte) ([]byte, error) {
	visible := len(c.scope)
	defer func() { c.scope = c.scope[:visible] }()
	cond := c.pipe(n.Pipe)
	slots := c.declare(n.Pipe)
	yes := c.within(n.List, moves)
	no := c.segments(n.ElseList)
	return func(e exec, dst []byte) ([]byte, error) {
		v, err := cond(e)
		if err != nil {
			return dst, err
		}
		e.keep(slots, v)
		if !Truth(v) {
			return e.run(dst, no)
		}
		if moves {
			e.dot = v
		}
		return e.run(dst, yes)
	}
}

// within compiles a body in which dot may have moved.
func (c *compiler) within(list *parse.ListNode, moved bool) []segment {
	before := c.inside
	c.inside = before || moved
	defer func() { c.inside = before }()
	return c.segments(list)
}

// loop compiles range. One variable gets the element, two get its index or name
// and the element.
func (c *compiler) loop(n *parse.RangeNode) func(exec, []byte) ([]byte, error) {
	visible := len(c.scope)
	defer func() { c.scope = c.scope[:visible] }()
	c.heap = true
	over := c.pipe(n.Pipe)
	l := &loop{slots: c.declare(n.Pipe), name: c.name, src: c.src, pos: n.Pipe.Pos}
	l.body = c.within(n.List, true)
	l.none = c.segments(n.ElseList)
	return func(e exec, dst []byte) ([]byte, error) {
		v, err := over(e)
		if err != nil {
			return dst, err
		}
		e.keep(l.slots, v)
		return l.run(e, dst, v)
	}
}

// loop is a compiled range.
type loop struct {
	slots      []int
	body, none []segment
	name, src  string
	pos        parse.Pos
}

func (l *loop) run(e exec, dst []byte, over any) ([]byte, error) {
	var err error
	var more bool
	switch x := over.(type) {
	case nil:
	case []any:
		for i, elem := range x {
			if dst, more, err = l.round(e, dst, int64(i), elem); err != nil || !more {
				return dst, err
			}
		}
		if len(x) > 0 {
			return dst, nil
		}
	case map[string]any:
		for _, k := range protocol.SortedKeys(x) {
			if dst, more, err = l.round(e, dst, k, x[k]); err != nil || !more {
				return dst, err
			}
		}
		if len(x) > 0 {
			return dst, nil
		}
	default:
		return dst, errorAt(protocol.KindInvalid, l.name, l.src, l.pos, "range over %s; want a list or an object", Describe(x))
	}
	return e.run(dst, l.none)
}

func (l *loop) round(e exec, dst []byte, key, elem any) (out []byte, more bool, err error) {
	if e.frame.steps++; e.frame.steps > MaxSteps {
		return dst, false, errorAt(protocol.KindLimit, l.name, l.src, l.pos, "more than %d rounds of ranges", MaxSteps)
	}
	switch len(l.slots) {
	case 1:
		e.frame.vars[l.slots[0]] = elem
	case 2:
		e.frame.vars[l.slots[0]], e.frame.vars[l.slots[1]] = key, elem
	}
	e.dot = elem
	dst, err = e.run(dst, l.body)
	switch {
	case err == nil || errors.Is(err, errContinue):
		return dst, true, nil
	case errors.Is(err, errBreak):
		return dst, false, nil
	}
	return dst, false, err
}
