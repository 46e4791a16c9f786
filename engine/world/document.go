package world

import (
	"math"
	"strconv"

	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Document is one immutable snapshot of a world: an object and its version.
// All methods are safe for concurrent use and take no lock.
type Document struct {
	root    *object
	version int64
}

// FromValue makes a document out of an object; nil is the empty one.
func FromValue(v any, version int64) (*Document, error) {
	if v == nil {
		v = map[string]any{}
	}
	node, err := builder{own: &owner{}, ver: version}.value(v, 0)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "world: make document: %w", err)
	}
	root, ok := node.(*object)
	if !ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "world: make document: the root is a %s; want an object", typeName(node))
	}
	return &Document{root: root, version: version}, nil
}

// Version counts the commits that changed the document.
func (d *Document) Version() int64 { return d.version }

// Size is the number of bytes of the whole as canonical msgpack.
func (d *Document) Size() int { return d.root.size() }

// Value is the whole document; shared, read-only.
func (d *Document) Value() map[string]any { return d.root.value() }

// Get reads the value at a path; shared, read-only. The empty path is the whole.
func (d *Document) Get(path Path) (any, bool) {
	node, ok := walk(d.root, path)
	if !ok {
		return nil, false
	}
	return valueOf(node), true
}

// Has reports whether something, also null, is at a path.
func (d *Document) Has(path Path) bool {
	_, ok := walk(d.root, path)
	return ok
}

// Len is the number of children at a path; 0 for a scalar or nothing.
func (d *Document) Len(path Path) int {
	switch x, _ := walk(d.root, path); x := x.(type) {
	case *object:
		return x.len()
	case *list:
		return x.n
	}
	return 0
}

// child steps from a node to one of its children.
func child(node any, s *Segment) (slot, bool) {
	switch x := node.(type) {
	case *object:
		if s.Kind == Name {
			return x.get(s.Key)
		}
	case *list:
		if i, ok := s.position(x.n); ok && i < x.n {
			return x.at(i), true
		}
	}
	return slot{}, false
}

func walk(root *object, path Path) (any, bool) {
	var node any = root
	for i := range path {
		s, ok := child(node, &path[i])
		if !ok {
			return nil, false
		}
		node = s.val
	}
	return node, true
}

// VersionOf is the version of the last write that could be seen at a path: of
// the place itself, of anything below it, of an ancestor that was replaced or
// removed. See promise 4 for a path where nothing is.
func (d *Document) VersionOf(path Path) int64 { return versionOf(d.root, d.version, path) }

func versionOf(root *object, version int64, path Path) int64 {
	var node any = root
	floor := int64(math.MinInt64) // of the lists above: they may have moved what is below
	for i := range path {
		s, ok := child(node, &path[i])
		if !ok {
			return max(floor, missingVersion(node, &path[i], version))
		}
		if l, isList := node.(*list); isList {
			floor = max(floor, l.born)
		}
		node, version = s.val, s.ver
	}
	return max(floor, version)
}

// missingVersion answers for a child that is not there; above is the version of
// the node itself.
func missingVersion(node any, s *Segment, above int64) int64 {
	switch x := node.(type) {
	case *object:
		if s.Kind == Name {
			return x.missing(s.Key)
		}
	case *list:
		if s.Kind == Append {
			return above
		}
		return x.born
	}
	return above
}

// AppendMsg appends the document's value as canonical msgpack.
func (d *Document) AppendMsg(b []byte) []byte { return appendNode(b, d.root) }

// AppendJSON appends the document's value as [AppendJSON] does.
func (d *Document) AppendJSON(b []byte) []byte { return AppendJSON(b, d.root) }

// MarshalJSON is AppendJSON.
func (d *Document) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil), nil }

// AppendJSON appends a value, or a node of a document, as JSON in one line, keys in byte
// order. Floats always show a point or an exponent, so that reading the text
// back gives the same types.
func AppendJSON(b []byte, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case float64:
		return appendFloat(b, x)
	case string:
		return wirejson.AppendText(b, x)
	case []any:
		b = append(b, '[')
		for i, e := range x {
			b = AppendJSON(comma(b, i), e)
		}
		return append(b, ']')
	case *list:
		b = append(b, '[')
		for i := range x.n {
			b = AppendJSON(comma(b, i), x.at(i).val)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, k := range protocol.SortedKeys(x) {
			b = AppendJSON(append(wirejson.AppendText(comma(b, i), k), ':'), x[k])
		}
		return append(b, '}')
	case *object:
		b = append(b, '{')
		i := 0
		x.each(func(k string, s slot) bool {
			b = AppendJSON(append(wirejson.AppendText(comma(b, i), k), ':'), s.val)
			i++
			return true
		})
		return append(b, '}')
	}
	panic("world: AppendJSON: not a value")
}

// comma stands before each element but the first.
func comma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

func appendFloat(b []byte, f float64) []byte {
	start := len(b)
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}
