package source

import (
	"strconv"
	"strings"
)

// Kind says what a node holds.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Integer
	Float
	Text
	List
	Object
)

func (k Kind) String() string {
	names := [...]string{"null", "a boolean", "a whole number", "a number", "text", "a list", "an object"}
	if int(k) < len(names) {
		return names[k]
	}
	return "nothing"
}

// Pos is a place in a file. Line and column count from 1; 0 is "unknown".
type Pos struct{ Line, Column int }

// Node is one value of a file. It is immutable once parsed.
type Node struct {
	Kind Kind
	Pos  Pos
	// Literal is a scalar as written, without quotes.
	Literal string

	scalar any
	keys   []Key   // of an object, in file order
	elems  []*Node // of an object or list
}

// Key is the name of an object's member and where it stands.
type Key struct {
	Name string
	Pos  Pos
}

// Document is one parsed file.
type Document struct {
	File string
	Root *Node

	limits Limits
}

// Len counts the members of an object or the elements of a list.
func (n *Node) Len() int { return len(n.elems) }

// Keys lists an object's keys in file order; shared, read-only.
func (n *Node) Keys() []Key { return n.keys }

// Elem is element i of a list, or the value of key i of an object.
func (n *Node) Elem(i int) *Node { return n.elems[i] }

// Get finds an object's member; nil when there is none or n is no object.
func (n *Node) Get(name string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i, k := range n.keys {
		if k.Name == name {
			return n.elems[i]
		}
	}
	return nil
}

// Find follows keys and list indexes down the tree. It returns the node reached
// and how many steps it could follow; a node that exists is always returned.
func (n *Node) Find(steps ...string) (*Node, int) {
	for i, step := range steps {
		next := n.step(step)
		if next == nil {
			return n, i
		}
		n = next
	}
	return n, len(steps)
}

func (n *Node) step(name string) *Node {
	if n.Kind != List {
		return n.Get(name)
	}
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || i >= len(n.elems) {
		return nil
	}
	return n.elems[i]
}

// Value builds the plain value: nil, bool, int64, float64, string, []any or
// map[string]any. Every call builds a new one.
func (n *Node) Value() any {
	switch n.Kind {
	case List:
		list := make([]any, len(n.elems))
		for i, e := range n.elems {
			list[i] = e.Value()
		}
		return list
	case Object:
		m := make(map[string]any, len(n.elems))
		for i, e := range n.elems {
			m[n.keys[i].Name] = e.Value()
		}
		return m
	}
	return n.scalar
}

// Text is the text of a text node, else "".
func (n *Node) Text() string {
	if n == nil || n.Kind != Text {
		return ""
	}
	return n.scalar.(string)
}

// Path joins steps the way faults print them: a.b[0].c; the top is "".
func Path(steps ...string) string {
	var p *trail
	for _, s := range steps {
		if i, err := strconv.Atoi(s); err == nil && i >= 0 {
			p = &trail{up: p, index: i, list: true}
			continue
		}
		p = &trail{up: p, name: s}
	}
	return p.String()
}

// trail is the way from the root to the node at hand, kept on the stack while a
// tree is walked and written out only for a fault.
type trail struct {
	up    *trail
	name  string
	index int
	list  bool
}

func (p *trail) key(name string) *trail { return &trail{up: p, name: name} }
func (p *trail) item(i int) *trail      { return &trail{up: p, index: i, list: true} }

func (p *trail) String() string {
	if p == nil {
		return ""
	}
	head := p.up.String()
	switch {
	case p.list:
		return head + "[" + strconv.Itoa(p.index) + "]"
	case !plainKey(p.name):
		return head + "[" + strconv.Quote(p.name) + "]"
	case head == "":
		return p.name
	}
	return head + "." + p.name
}

func plainKey(s string) bool {
	return s != "" && !strings.ContainsAny(s, ".[]\" \t\r\n")
}
