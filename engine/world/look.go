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
	return lookAt(node), true
}

func lookAt(node any) Look {
	l := Look{Kind: typeName(node), Size: sizeOf(node)}
	switch x := node.(type) {
	case *object:
		l.Len = x.len()
	case *list:
		l.Len = x.n
	}
	return l
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

// Found is what an editor holds at a path at one moment. It does not follow
// later edits.
type Found struct {
	Look
	Path   Path // the path asked for, list positions counted from the front
	Exists bool
	node   any
}

// Value is what was found; shared, read-only; nil when nothing was.
func (f *Found) Value() any { return valueOf(f.node) }

// Raw encodes what was found without building it.
func (f *Found) Raw() protocol.Raw { return appendNode(make([]byte, 0, f.Size), f.node) }

// Find walks a path once. Where the path leaves what exists, and for [-], the
// rest of Path stays as it was asked.
func (e *Editor) Find(path Path) Found {
	f := Found{Path: path}
	var node any = e.root
	for i := range path {
		if l, ok := node.(*list); ok && path[i].Kind != Append {
			if pos, ok := path[i].position(l.n); ok && (path[i].Kind != Index || path[i].Pos < 0) {
				f.resolve(path, i, pos)
			}
		}
		s, ok := child(node, &path[i])
		if !ok {
			return f
		}
		node = s.val
	}
	f.node, f.Exists, f.Look = node, true, lookAt(node)
	return f
}

// resolve writes a position into a copy of the path.
func (f *Found) resolve(path Path, i, pos int) {
	if &f.Path[0] == &path[0] {
		f.Path = append(Path{}, path...)
	}
	f.Path[i] = Segment{Kind: Index, Pos: pos}
}

// Permitted asks a table of permissions about a write to what the editor holds.
func (e *Editor) Permitted(p *Permissions, profile, by string, op Op, path Path, value any) error {
	return p.check(e.root, profile, by, op, path, value)
}
