package bus

import (
	"slices"
	"strings"

	"tavernsim/engine/bus/paths"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// WorldUpdated asks the channel to announce changes of the world to the agents that
// subscribed to them.
type WorldUpdated struct {
	Before, After int64 // versions
	Changes       []WorldChange
}

// WorldChange is one change of the world.
type WorldChange struct {
	Path    string // as world.Path writes it
	Op      string
	By      string // instance id
	Reason  string
	Request string // id
}

// MaxAnnounced bounds the changes listed in one event; "changes" counts all.
const MaxAnnounced = 100

// announce makes one event for the subscriptions to the whole world, then one per
// pattern that a change touches, in the order of the patterns.
func (r *routing) announce(w *WorldUpdated) {
	var general []*group
	r.state.index.match(TypeWorldUpdated, func(g *group) { general = append(general, g) })
	if len(general) > 0 {
		r.tell(w, TypeWorldUpdated, nil, "", general)
	}
	for _, t := range r.touched(w) {
		for _, typ := range []string{TypeWorldUpdated, TypeWorldWatched} {
			if groups := ofType(t.entry.Value, typ); len(groups) > 0 {
				r.tell(w, typ, t.changes, t.entry.Text, groups)
			}
		}
	}
}

func ofType(groups []*group, typ string) (out []*group) {
	for _, g := range groups {
		if g.sub.Type == typ {
			out = append(out, g)
		}
	}
	return out
}

// touched is a pattern, and the changes that touch it.
type touched struct {
	entry   *paths.Entry[[]*group]
	changes []int
}

func (r *routing) touched(w *WorldUpdated) (list []*touched) {
	if r.state.index.paths.Len() == 0 {
		return nil
	}
	found := map[*paths.Entry[[]*group]]*touched{}
	for i := range w.Changes {
		// A text that is not a path counts as the root, which touches every pattern.
		path, err := world.ParsePath(w.Changes[i].Path)
		if err != nil {
			path = nil
		}
		r.state.index.paths.Touched(path, func(e *paths.Entry[[]*group]) {
			t := found[e]
			if t == nil {
				t = &touched{entry: e}
				found[e], list = t, append(list, t)
			}
			t.changes = append(t.changes, i)
		})
	}
	slices.SortFunc(list, func(a, b *touched) int { return strings.Compare(a.entry.Text, b.entry.Text) })
	return list
}

// tell routes the event of one pattern; "" is the event with all changes.
func (r *routing) tell(w *WorldUpdated, typ string, changes []int, pattern string, groups []*group) {
	d := &protocol.Draft{EventHeader: protocol.EventHeader{Type: typ, Source: r.state.cfg.Owner}, Body: protocol.Encode(w.payload(changes, pattern))}
	r.fact(r.route(d, func() {
		for _, g := range groups {
			r.visit(g)
		}
	}))
}

func (w *WorldUpdated) payload(which []int, pattern string) map[string]any {
	count := len(which)
	if which == nil {
		count = len(w.Changes)
	}
	paths, by, updates := []any{}, []any{}, []any{}
	for i := range min(count, MaxAnnounced) {
		c := &w.Changes[i]
		if which != nil {
			c = &w.Changes[which[i]]
		}
		paths, by = append(paths, c.Path), append(by, c.By)
		updates = append(updates, map[string]any{"path": c.Path, "op": c.Op, "by": c.By, "reason": c.Reason, "request": c.Request})
	}
	payload := map[string]any{"version": w.After, "version_before": w.Before, "changes": int64(count), "paths": paths, "by": by, "updates": updates}
	if pattern != "" {
		payload["path"] = pattern
	}
	return payload
}
