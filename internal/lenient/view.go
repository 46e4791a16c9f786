package lenient

import (
	"slices"

	"tavernsim/protocol"
)

// Get returns the last member of that key.
func (o *Object) Get(key string) (any, bool) {
	for _, v := range slices.Backward(o.Members) {
		if v.Key == key {
			return v.Value, true
		}
	}
	return nil, false
}

// Plain turns a value with order into a value of package protocol; of a key that
// comes twice the last stays.
func Plain(v any) (any, error) {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			p, err := Plain(e)
			if err != nil {
				return nil, err
			}
			out[i] = p
		}
		return out, nil
	case *Object:
		out := make(map[string]any, len(x.Members))
		for i := range x.Members {
			p, err := Plain(x.Members[i].Value)
			if err != nil {
				return nil, err
			}
			out[x.Members[i].Key] = p
		}
		return out, nil
	case Number:
		return nil, protocol.Errorf(protocol.KindInvalid, "the number %.40s fits neither 64 bits nor a float; write it as text", string(x))
	}
	return v, nil
}

// Ordered turns a value of package protocol into one with order: keys in byte
// order.
func Ordered(v any) any {
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = Ordered(e)
		}
		return out
	case map[string]any:
		out := &Object{Members: make([]Member, 0, len(x))}
		for _, k := range protocol.SortedKeys(x) {
			out.Members = append(out.Members, Member{Key: k, Value: Ordered(x[k])})
		}
		return out
	}
	return v
}
