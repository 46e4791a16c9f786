package protocol

import (
	"reflect"

	"github.com/tinylib/msgp/msgp"
)

// FactType describes one kind of fact, in the package that decides it.
type FactType struct {
	Kind   string
	Type   reflect.Type // of the struct
	Read   func(*Codec, Raw) (Fact, error)
	Trace  []int // where the stored array names causal traces: a place for each level, or Each; nil = it names none
	Bytes  bool  // a scene has no use for what is in it, and keeps the bytes that it gets
	Others bool  // agents hear of it that did not decide it
}

// Each in a Trace stands for every element of a list.
const Each = -1

// Traced says where the fact names causal traces.
func (t FactType) Traced(path ...int) FactType { t.Trace = path; return t }

// AsBytes says that a scene does not decode the fact.
func (t FactType) AsBytes() FactType { t.Bytes = true; return t }

// ForOthers says that other agents than the one who decided the fact hear of it.
func (t FactType) ForOthers() FactType { t.Others = true; return t }

// ByCodec is a kind of fact that the codec reads and checks hold to what its
// machine decides.
func ByCodec[T any, F interface {
	*T
	Fact
}](checks ...func(F) error) FactType {
	return FactType{Kind: F(new(T)).FactKind(), Type: reflect.TypeFor[T](), Read: func(c *Codec, b Raw) (Fact, error) {
		f := F(new(T))
		if err := c.Unmarshal(b, f); err != nil {
			return nil, err
		}
		for _, check := range checks {
			if err := check(f); err != nil {
				return nil, err
			}
		}
		return f, nil
	}}
}

// ByHand is a kind of fact that reads itself.
func ByHand[T any, F interface {
	*T
	Fact
}](read func(Raw) (F, error)) FactType {
	return FactType{Kind: F(new(T)).FactKind(), Type: reflect.TypeFor[T](), Read: func(_ *Codec, b Raw) (Fact, error) {
		f, err := read(b)
		if err != nil {
			return nil, err
		}
		return f, nil
	}}
}

// ReadFact reads a fact of one of the kinds that the codec was made for.
func (c *Codec) ReadFact(kind string, data Raw) (Fact, error) {
	t, ok := c.facts[kind]
	if !ok {
		return nil, Errorf(KindUnknown, "a fact of kind %q: this version does not know it; use the version that wrote the run", kind)
	}
	return t.Read(c, data)
}

// FactType is what the codec knows of a kind; the zero FactType of others.
func (c *Codec) FactType(kind string) FactType { return c.facts[kind] }

// FactKinds lists the kinds of facts that the codec reads, in byte order.
func (c *Codec) FactKinds() []string { return SortedKeys(c.facts) }

// Traces yields the causal traces that an encoded fact names. Any bytes are
// taken: what is no such fact has none. Nothing is decoded that lies behind the
// trace, and nothing is allocated.
func (c *Codec) Traces(kind string, data []byte, yield func(trace []byte)) {
	t := c.facts[kind]
	t.Traces(data, yield)
}

// Traces yields the causal traces that an encoded fact of the type names, as [Codec.Traces] does.
func (t *FactType) Traces(data []byte, yield func(trace []byte)) {
	if t.Trace != nil {
		traces(data, t.Trace, yield)
	}
}

func traces(b []byte, path []int, yield func([]byte)) {
	if len(path) == 0 {
		if trace, _, err := msgp.ReadStringZC(b); err == nil && len(trace) > 0 {
			yield(trace)
		}
		return
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	for i := 0; i < int(n) && err == nil; i++ {
		if path[0] == Each || path[0] == i {
			traces(rest, path[1:], yield)
		}
		if path[0] == i {
			return
		}
		rest, err = msgp.Skip(rest)
	}
}

// Naming is a fact that names agents by their ordinals.
type Naming interface {
	LastAgent() uint32 // the highest
}

// Answer is to whom a fact answers.
type Answer struct {
	To    string // instance id
	Kind  string // of the observation
	Wakes bool   // it is urgent enough to deliberate for
}

// Answering is a fact that answers somebody who asked.
type Answering interface {
	Fact
	Answers() (a Answer, ok bool)
	Told() map[string]any // what the observation says
}
