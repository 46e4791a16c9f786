package agentfact

import (
	"tavernsim/engine/agent/private"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Writes reports whether a fact changes a place of the private state.
func Writes(f protocol.Fact, place world.Path) bool {
	switch x := f.(type) {
	case *StateUpdated:
		path, err := private.ParsePath(x.Path, nil)
		return err == nil && within(path, x.Op, x.Value, place)
	case *statecmd.Committed:
		for i := range x.Parts {
			for k := range x.Parts[i].Changes {
				c := &x.Parts[i].Changes[k]
				if within(c.Path, string(c.Op), c.Value, place) {
					return true
				}
			}
		}
	}
	return false
}

// within reports whether a change concerns a place. A merge concerns the fields that it has.
func within(path world.Path, op string, value protocol.Raw, place world.Path) bool {
	if op != private.OpMerge || len(path) >= len(place) {
		return world.Overlap(path, place)
	}
	v, _ := value.Value()
	fields, _ := v.(map[string]any)
	for key := range fields {
		if world.Overlap(path.Key(key), place) {
			return true
		}
	}
	return false
}
