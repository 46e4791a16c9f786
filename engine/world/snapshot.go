package world

import (
	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// snapshotFormat is the first field of a snapshot.
const snapshotFormat = 1

// AppendSnapshot appends everything that decisions depend on:
//
//	[1, version, value, stamps]
//
// value is the document as canonical msgpack, readable by anybody. stamps is a
// binary string of msgpack integers, one walk of the value in document order:
// per object its birth, the number of removed keys it remembers, each as text
// and version; per list its birth; then per child its version, followed by the
// child's own stamps when it is a container.
func (d *Document) AppendSnapshot(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 4)
	b = msgp.AppendInt64(b, snapshotFormat)
	b = msgp.AppendInt64(b, d.version)
	b = appendNode(b, d.root)
	return msgp.AppendBytes(b, appendStamps(nil, d.root))
}

func appendStamps(b []byte, node any) []byte {
	switch x := node.(type) {
	case *object:
		b = msgp.AppendInt64(b, x.born)
		b = msgp.AppendInt64(b, int64(len(x.lost)))
		for _, g := range x.lost {
			b = msgp.AppendInt64(msgp.AppendString(b, g.key), g.ver)
		}
		x.each(func(_ string, s slot) bool {
			b = appendStamps(msgp.AppendInt64(b, s.ver), s.val)
			return true
		})
	case *list:
		b = msgp.AppendInt64(b, x.born)
		for i := range x.n {
			s := x.at(i)
			b = appendStamps(msgp.AppendInt64(b, s.ver), s.val)
		}
	}
	return b
}

// ReadSnapshot reads what AppendSnapshot wrote.
func ReadSnapshot(raw protocol.Raw) (*Document, error) {
	if err := protocol.CheckState(raw); err != nil {
		return nil, protocol.Errorf(protocol.KindCorrupt, "world: read snapshot: %w", err)
	}
	r := protocol.NewReader(raw, "world snapshot", 4)
	if format := r.Int(); r.Err() == nil && format != snapshotFormat {
		return nil, protocol.Errorf(protocol.KindCorrupt, "world: read snapshot: format %d; this program reads %d", format, snapshotFormat)
	}
	d := &Document{version: r.Int()}
	node, err := builder{own: &owner{}}.raw(r.Raw(), 0)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindCorrupt, "world: read snapshot: %w", err)
	}
	root, ok := node.(*object)
	if !ok {
		return nil, protocol.Errorf(protocol.KindCorrupt, "world: read snapshot: the root is a %s; want an object", typeName(node))
	}
	d.root = root
	packed, _, err := msgp.ReadBytesZC(r.Raw())
	r.Fail(err)
	stamps := protocol.NewValues(packed, "versions of a world snapshot")
	stamp(stamps, root)
	r.Fail(stamps.End())
	return d, r.End()
}

// stamp gives a freshly built container the versions that were kept.
func stamp(r *protocol.Reader, node any) {
	switch x := node.(type) {
	case *object:
		x.born = r.Int()
		if n := int(r.Int()); n < 0 || n > 2*MaxGraves {
			r.Fail(protocol.Errorf(protocol.KindCorrupt, "an object remembers %d removed keys; the limit is %d", n, 2*MaxGraves))
		} else if n > 0 {
			x.lost = make([]grave, n)
			for i := range x.lost {
				x.lost[i] = grave{r.String(), r.Int()}
			}
		}
		stampObject(r, x)
	case *list:
		x.born = r.Int()
		for _, c := range x.chunks {
			for i := range c.slots {
				c.slots[i].ver = r.Int()
				stamp(r, c.slots[i].val)
			}
		}
	}
}

func stampObject(r *protocol.Reader, x *object) {
	if x.wide == nil {
		for i := range x.small {
			x.small[i].ver = r.Int()
			stamp(r, x.small[i].val)
		}
		return
	}
	all := x.entries()
	for i := range all {
		all[i].ver = r.Int()
		stamp(r, all[i].val)
		x.wide.Set(all[i].key, all[i].slot)
	}
}
