package order

import (
	"slices"

	"tavernsim/protocol"
)

// What Kind says of changes that are not of one kind.
const (
	KindSeveral = "several"
	KindUnknown = "unknown"
)

// Kind is the kind of the changes of an order, for who counts orders.
func Kind(do protocol.Raw) (kind string) {
	v, err := do.Value()
	list, ok := v.([]any)
	if err != nil || !ok {
		return KindUnknown
	}
	for _, change := range list {
		m, ok := change.(map[string]any)
		if !ok || len(m) != 1 {
			return KindUnknown
		}
		for name := range m {
			switch name = canonical(name); kind {
			case "", name:
				kind = name
			default:
				kind = KindSeveral
			}
		}
	}
	if kind == KindSeveral || kind == kindSet || slices.ContainsFunc(specs(), func(s protocol.ToolSpec) bool { return s.Name == kind }) {
		return kind
	}
	return KindUnknown
}
