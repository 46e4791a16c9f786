package tool

import "tavernsim/engine/world"

// MaxReads bounds the places that one request may require to be unchanged.
const MaxReads = 200

// WorldView is the world of a turn's wake. All reads of the turn go through it,
// so that it can note the places on which the decision depends.
type WorldView struct {
	*world.Document
	// Asked are the places that tools read, for check_reads: at most one more than a
	// request may declare.
	Asked []world.Path
}

// Ask notes a place.
func (v *WorldView) Ask(path world.Path) {
	if len(v.Asked) <= MaxReads {
		v.Asked = append(v.Asked, path)
	}
}

// Perceived is what patterns show an agent of the world; nil shows all of it.
func (v *WorldView) Perceived(patterns []world.Pattern, instance string) map[string]any {
	if patterns == nil {
		return v.Value()
	}
	own := make([]world.Pattern, len(patterns))
	for i, p := range patterns {
		own[i] = p.For(instance)
	}
	return v.Part(own)
}
