package expr

import "slices"

// Reads lists the places below a root that the expression can read, each as the keys that
// lead to it; no keys = the whole root. Its value depends on nothing else of the root. The
// length of a list or text is a part of it.
func (p *Program) Reads(rootName string) (places [][]string) {
	v := reading{root: rootName}
	v.visit(p.top)
	slices.SortFunc(v.places, slices.Compare)
	return slices.CompactFunc(v.places, slices.Equal)
}

type reading struct {
	root   string
	places [][]string
	cut    bool // the chain at hand leads on below a length
}

// visit adds the longest chains of keys that begin at the root.
func (v *reading) visit(nodes ...node) {
	for _, n := range nodes {
		v.cut = false
		if keys, ok := v.keys(n); ok {
			v.places = append(v.places, keys)
			continue
		}
		v.visit(parts(n)...)
	}
}

// keys are the keys from the root to a node; false = it does not begin there.
func (v *reading) keys(n node) ([]string, bool) {
	switch n := n.(type) {
	case *root:
		return nil, n.name == v.root
	case *chain:
		return v.keys(n.operand)
	case *optional:
		return v.keys(n.operand)
	case *member:
		keys, ok := v.keys(n.left)
		if n.key == "length" || v.cut {
			v.cut = ok
			return keys, ok
		}
		return append(keys, n.key), ok
	}
	return nil, false
}

// parts are the nodes directly below one.
func parts(n node) []node {
	switch n := n.(type) {
	case *member:
		return []node{n.left}
	case *index:
		return []node{n.left, n.key}
	case *optional:
		return []node{n.operand}
	case *chain:
		return []node{n.operand}
	case *logical:
		return []node{n.left, n.right}
	case *equality:
		return []node{n.left, n.right}
	case *relation:
		return []node{n.left, n.right}
	case *arithmetic:
		return []node{n.left, n.right}
	case *membership:
		return []node{n.key, n.object}
	case *not:
		return []node{n.operand}
	case *negate:
		return []node{n.operand}
	case *positive:
		return []node{n.operand}
	case *typeOf:
		return []node{n.operand}
	case *void:
		return []node{n.operand}
	case *conditional:
		return []node{n.test, n.then, n.other}
	}
	return partsOfMany(n)
}

func partsOfMany(n node) (out []node) {
	switch n := n.(type) {
	case *template:
		return n.nodes
	case *list:
		return n.items
	case *object:
		for _, f := range n.fields {
			out = append(out, f.key, f.value)
		}
	case *call:
		return append([]node{n.receiver}, n.args...)
	case *iterate:
		return []node{n.receiver, n.body}
	case *match:
		return []node{n.text}
	case *mathCall:
		return n.args
	case *isArray:
		return []node{n.operand}
	case *objectKeys:
		return []node{n.operand}
	}
	return out
}
