package order

import (
	"tavernsim/engine/agenda"
	"tavernsim/protocol"
)

// kindReload is what simd itself orders when it has read changed plugins: no file of orders, no
// person and no director has it.
const kindReload = "plugins_changed"

// Reload is the order by which a scene goes on with another edition of its plugins.
func Reload(id, by string, f *agenda.PluginsChanged) *agenda.Intervened {
	do := []any{map[string]any{kindReload: map[string]any{"edition": int64(f.Edition), "project": f.Project, "plugins": protocol.ListOf(f.Plugins), "tools": protocol.ListOf(f.Tools)}}}
	return &agenda.Intervened{ID: id, By: by, Reason: "plugins were read again", Do: protocol.Encode(do)}
}

// readReload reads a change of that kind; nil = it is another one.
func readReload(change any) *agenda.PluginsChanged {
	m, _ := change.(map[string]any)
	fields, ok := m[kindReload].(map[string]any)
	if !ok || len(m) != 1 {
		return nil
	}
	f := &agenda.PluginsChanged{Plugins: protocol.TextsIn(fields["plugins"]), Tools: protocol.TextsIn(fields["tools"])}
	edition, _ := fields["edition"].(int64)
	f.Edition = uint64(max(edition, 0))
	f.Project, _ = fields["project"].(string)
	return f
}
