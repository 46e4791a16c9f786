package world

import "tavernsim/protocol"

// Kinds of values, as words.
const (
	KindNull    = "null"
	KindBoolean = "boolean"
	KindNumber  = "number"
	KindText    = "text"
	KindList    = "list"
	KindObject  = "object"
)

// Look is what can be said of a place without building its value.
type Look struct {
	Kind string
	Len  int // children of a list or object
	Size int // bytes as canonical msgpack
}

// Look describes what is at a path.
func (e *Editor) Look(path Path) (Look, bool) {
	node, ok := walk(e.root, path)
	if !ok {
		return Look{}, false
	}
	l := Look{Kind: typeName(node), Size: sizeOf(node)}
	switch x := node.(type) {
	case *object:
		l.Len = x.len()
	case *list:
		l.Len = x.n
	}
	return l, true
}

// Raw encodes the value at a path without building it.
func (e *Editor) Raw(path Path) (protocol.Raw, bool) {
	node, ok := walk(e.root, path)
	if !ok {
		return nil, false
	}
	return appendNode(make([]byte, 0, sizeOf(node)), node), true
}

// Items visits the elements of the list at a path in order until yield returns
// false; elements are shared, read-only. Nothing else is visited.
func (e *Editor) Items(path Path, yield func(i int, v any) bool) {
	node, _ := walk(e.root, path)
	l, ok := node.(*list)
	if !ok {
		return
	}
	for i := range l.n {
		if !yield(i, valueOf(l.at(i).val)) {
			return
		}
	}
}

// Resolve returns the path with positions in existing lists counted from the
// front. Where the path leaves what exists, and for [-], it stays as it is.
func (e *Editor) Resolve(path Path) Path {
	var out Path
	var node any = e.root
	for i := range path {
		if l, ok := node.(*list); ok && path[i].Kind != Append {
			if pos, ok := path[i].position(l.n); ok && (path[i].Kind != Index || path[i].Pos < 0) {
				if out == nil {
					out = append(Path{}, path...)
				}
				out[i] = Segment{Kind: Index, Pos: pos}
			}
		}
		s, ok := child(node, &path[i])
		if !ok {
			break
		}
		node = s.val
	}
	if out == nil {
		return path
	}
	return out
}

// Permitted asks a table of permissions about a write to what the editor holds.
func (e *Editor) Permitted(p *Permissions, profile string, op Op, path Path, value any) error {
	return p.check(e.root, profile, op, path, value)
}
