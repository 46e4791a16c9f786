package world

import (
	"slices"
	"sync/atomic"

	"github.com/tidwall/btree"
	"github.com/tinylib/msgp/msgp"
)

// A node is a protocol scalar, an *object or a *list. Containers belong to one
// owner, who may write them; once the owner has let go (Editor.Document) nobody
// writes them again.

// owner is the right to edit in place. It has a size so that two never share an
// address.
type owner struct{ _ byte }

// slot is one child.
type slot struct {
	val any
	ver int64 // version of the last write at or below
}

type entry struct {
	key string
	slot
}

// grave remembers when a key was removed.
type grave struct {
	key string
	ver int64
}

// MaxGraves bounds the removed keys that an object remembers exactly.
const MaxGraves = 64

// Above widen children an object keeps them in a persistent B-tree, so that one
// write copies a few nodes of it; at or below narrow it is a sorted slice again.
const (
	widen  = 48
	narrow = 16
)

// CounterKey holds an object's own version, where somebody asked for one: an
// integer that every write on a path through the object raises by one. Only the
// engine writes it.
const CounterKey = "__version"

// children are those of a wide object. An interface hides the tree: a package compiles every method of each generic
// type in the fields of the types that it names, and documents are named everywhere. A pointer to it keeps objects small.
type children struct{ tree }

// tree is a *btree.Map[string, slot].
type tree interface {
	Len() int
	Get(key string) (slot, bool)
	Scan(yield func(string, slot) bool)
	Set(key string, s slot) (slot, bool)
	Delete(key string) (slot, bool)
}

// object is a JSON object. Exactly one of small and wide holds the children.
type object struct {
	own   *owner
	small []entry // by key
	wide  *children
	born  int64   // version that wrote the object as a whole; of keys never seen since
	lost  []grave // oldest first; at most 2*MaxGraves
	body  int     // encoded bytes of keys and values, without the header
	// counted: the object has a CounterKey.
	counted bool
	memo    atomic.Pointer[map[string]any]
}

func (o *object) len() int {
	if o.wide != nil {
		return o.wide.Len()
	}
	return len(o.small)
}

// size is the number of bytes of the canonical msgpack form.
func (o *object) size() int { return headerSize(o.len()) + o.body }

func headerSize(n int) int {
	switch {
	case n < 16:
		return 1
	case n < 1<<16:
		return 3
	}
	return 5
}

// find returns the place of a key in small, or where it belongs.
func (o *object) find(key string) (int, bool) {
	lo, hi := 0, len(o.small)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if o.small[mid].key < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(o.small) && o.small[lo].key == key
}

func (o *object) get(key string) (slot, bool) {
	if o.wide != nil {
		return o.wide.Get(key)
	}
	if i, ok := o.find(key); ok {
		return o.small[i].slot, true
	}
	return slot{}, false
}

// each visits the children in key order until yield returns false.
func (o *object) each(yield func(key string, s slot) bool) {
	if o.wide != nil {
		o.wide.Scan(yield)
		return
	}
	for i := range o.small {
		if !yield(o.small[i].key, o.small[i].slot) {
			return
		}
	}
}

// missing is the version to compare a key with that the object does not hold:
// when it was removed, as far as that is remembered.
func (o *object) missing(key string) int64 {
	for _, v := range slices.Backward(o.lost) {
		if v.key == key {
			return v.ver
		}
	}
	return o.born
}

// owned returns the object if own may write it, else a copy that it may.
func (o *object) owned(own *owner) *object {
	if o.own == own {
		if o.memo.Load() != nil {
			o.memo.Store(nil)
		}
		return o
	}
	c := &object{own: own, born: o.born, lost: slices.Clip(o.lost), body: o.body, counted: o.counted}
	if o.wide != nil {
		// Copy writes to its receiver, which other goroutines may be reading; a
		// copy of the small head takes that write instead.
		head := *o.wide.tree.(*btree.Map[string, slot])
		c.wide = &children{head.Copy()}
		return c
	}
	c.small = make([]entry, len(o.small), len(o.small)+1)
	copy(c.small, o.small)
	return c
}

// put stores a child in an owned object. delta is how much the encoded size of
// the value grew; for a new key it is its whole size.
func (o *object) put(key string, s slot, delta int) {
	o.counted = o.counted || key == CounterKey
	if o.wide != nil {
		if _, had := o.wide.Set(key, s); !had {
			delta += stringSize(key)
		}
		o.body += delta
		return
	}
	i, ok := o.find(key)
	o.body += delta
	if ok {
		o.small[i].slot = s
		return
	}
	o.body += stringSize(key)
	o.small = slices.Insert(o.small, i, entry{key, s})
	if len(o.small) > widen {
		o.widen()
	}
}

func (o *object) widen() {
	o.wide = &children{new(btree.Map[string, slot])}
	for _, e := range o.small {
		o.wide.Set(e.key, e.slot)
	}
	o.small = nil
}

// remove drops a child of an owned object and remembers when.
func (o *object) remove(key string, old slot, ver int64) {
	o.body -= stringSize(key) + sizeOf(old.val)
	o.counted = o.counted && key != CounterKey
	if o.wide != nil {
		o.wide.Delete(key)
		if o.wide.Len() <= narrow {
			o.small, o.wide = o.entries(), nil
		}
	} else if i, ok := o.find(key); ok {
		o.small = slices.Delete(o.small, i, i+1)
	}
	o.bury(key, ver)
}

// bury appends a grave. The slice may be shared with older documents below its
// length, never beyond it, because owned cuts its capacity.
func (o *object) bury(key string, ver int64) {
	if len(o.lost) >= 2*MaxGraves {
		forgotten := len(o.lost) - MaxGraves
		for _, g := range o.lost[:forgotten] {
			o.born = max(o.born, g.ver)
		}
		o.lost = slices.Clone(o.lost[forgotten:])
	}
	o.lost = append(o.lost, grave{key, ver})
}

// count raises the counter of an owned object that has one.
func (o *object) count(ver int64) {
	s, _ := o.get(CounterKey)
	n, ok := s.val.(int64)
	if !ok {
		return
	}
	o.put(CounterKey, slot{n + 1, ver}, intSize(n+1)-intSize(n))
}

// value materialises the object for readers and remembers the result.
func (o *object) value() map[string]any {
	if m := o.memo.Load(); m != nil {
		return *m
	}
	m := make(map[string]any, o.len())
	o.each(func(k string, s slot) bool {
		m[k] = valueOf(s.val)
		return true
	})
	o.memo.Store(&m)
	return m
}

// valueOf turns a node into a value.
func valueOf(node any) any {
	switch x := node.(type) {
	case *object:
		return x.value()
	case *list:
		return x.value()
	}
	return node
}

// sizeOf is the number of bytes of a node's canonical msgpack form.
func sizeOf(node any) int {
	switch x := node.(type) {
	case nil, bool:
		return 1
	case int64:
		return intSize(x)
	case float64:
		return 9
	case string:
		return stringSize(x)
	case *object:
		return x.size()
	case *list:
		return x.size()
	}
	panic("world: sizeOf: not a node")
}

// intSize follows msgp.AppendInt64, which writes every integer signed.
func intSize(i int64) int {
	switch {
	case i >= -32 && i < 128:
		return 1
	case i == int64(int8(i)):
		return 2
	case i == int64(int16(i)):
		return 3
	case i == int64(int32(i)):
		return 5
	}
	return 9
}

func stringSize(s string) int {
	switch n := len(s); {
	case n < 32:
		return n + 1
	case n < 256:
		return n + 2
	case n < 1<<16:
		return n + 3
	default:
		return n + 5
	}
}

// appendNode writes the canonical msgpack form.
func appendNode(b []byte, node any) []byte {
	switch x := node.(type) {
	case nil:
		return msgp.AppendNil(b)
	case bool:
		return msgp.AppendBool(b, x)
	case int64:
		return msgp.AppendInt64(b, x)
	case float64:
		return msgp.AppendFloat64(b, x)
	case string:
		return msgp.AppendString(b, x)
	case *object:
		b = msgp.AppendMapHeader(b, uint32(x.len()))
		x.each(func(k string, s slot) bool {
			b = appendNode(msgp.AppendString(b, k), s.val)
			return true
		})
		return b
	case *list:
		b = msgp.AppendArrayHeader(b, uint32(x.n))
		for i := range x.n {
			b = appendNode(b, x.at(i).val)
		}
		return b
	}
	panic("world: appendNode: not a node")
}

// typeName is the word for a node's type in messages.
func typeName(node any) string {
	switch node.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64, float64:
		return "number"
	case string:
		return "text"
	case *object:
		return "object"
	}
	return "list"
}
