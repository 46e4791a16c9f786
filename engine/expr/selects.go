package expr

// Selects finds the shape "X === root.key && …", or the same turned around,
// where X does not read the root. It returns X: whoever holds many values of
// root.key evaluates X once and asks the whole expression only about the value
// that X names. The condition stands first, so when X fails, the expression
// fails for every root; when X is another value, it is false. whole says that
// nothing follows: for the value that X names, the expression is true.
func (p *Program) Selects(rootName, key string) (x *Program, whole, ok bool) {
	n := p.top
	_, more := n.(*logical)
	for {
		l, and := n.(*logical)
		if !and || l.op != opAnd {
			break
		}
		n = l.left
	}
	eq, ok := n.(*equality)
	if !ok || !eq.strict || eq.negate {
		return nil, false, false
	}
	for _, side := range [][2]node{{eq.left, eq.right}, {eq.right, eq.left}} {
		if isKey(side[0], rootName, key) && !reads(side[1], rootName) {
			q := *p
			q.top = side[1]
			return &q, !more, true
		}
	}
	return nil, false, false
}

func isKey(n node, rootName, key string) bool {
	m, ok := n.(*member)
	if !ok || m.key != key {
		return false
	}
	r, ok := m.left.(*root)
	return ok && r.name == rootName
}

// reads reports whether a path of members, the only X worth selecting by, could
// read a root. Everything else counts as if it did.
func reads(n node, rootName string) bool {
	switch n := n.(type) {
	case *root:
		return n.name == rootName
	case *member:
		return reads(n.left, rootName)
	case *chain:
		return reads(n.operand, rootName)
	case *optional:
		return reads(n.operand, rootName)
	}
	return true
}
