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

// Kinds are all that Kind answers.
func Kinds() []string {
	kinds := []string{KindUnknown, KindSeveral, kindSet}
	for _, s := range specs() {
		kinds = append(kinds, s.Name)
	}
	return kinds
}

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
	if slices.Contains(Kinds(), kind) {
		return kind
	}
	return KindUnknown
}
