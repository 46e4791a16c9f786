package statecmd

import (
	"strings"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// timer says that something will be removed. Element is nil for the value at
// Path; otherwise Path is a list and the first element that matches Element
// goes: all its fields when it is an object, else equality.
type timer struct {
	Path    world.Path
	Element protocol.Raw
	Until   protocol.Time
	Key     string // as written, for the audit
	OpID    string // of the entry that set it
}

// timers is the index of what expires (C16). It lives beside the document, so
// that nothing of it shows in the state.
type timers struct {
	byPath cow[timer]
	byTime cow[string] // time and path key, to the path key
}

type due struct {
	until protocol.Time
	id    string
}

func (t *timers) share() timers { return timers{t.byPath.share(), t.byTime.share()} }

func (t timers) frozen() timers { return timers{t.byPath.frozen(), t.byTime.frozen()} }

// timerID is the key of a timer in byPath. The id of a place is a prefix of the
// ids of everything below it.
func timerID(path world.Path, element bool, opID string) string {
	id := pathKey(path)
	if element {
		id += "\x01" + opID
	}
	return id
}

// pathKey encodes a path so that prefixes of paths are prefixes of keys.
func pathKey(path world.Path) string {
	var b strings.Builder
	for _, s := range path {
		if s.Kind == world.Name {
			b.WriteByte(2)
			b.WriteString(strings.ReplaceAll(s.Key, "\x00", "\x00\xff"))
		} else {
			b.WriteByte(3)
			b.WriteString(world.Path{s}.String())
		}
		b.WriteString("\x00\x00")
	}
	return b.String()
}

func (t *timers) set(id string, x timer) {
	t.clear(id)
	t.byPath.write().Set(id, x)
	t.byTime.write().Set(timeKey(x.Until)+id, id)
}

func (t *timers) clear(id string) bool {
	old, ok := t.byPath.get(id)
	if !ok {
		return false
	}
	t.byPath.write().Delete(id)
	t.byTime.write().Delete(timeKey(old.Until) + id)
	return true
}

// below lists the ids at a path and, when deep, of everything below it, elements
// included.
func (t *timers) below(path world.Path, deep bool) []string {
	if t.byPath.len() == 0 {
		return nil
	}
	key := pathKey(path)
	if !deep {
		if _, ok := t.byPath.get(key); ok {
			return []string{key}
		}
		return nil
	}
	var out []string
	t.byPath.ascend(key, func(id string, _ timer) bool {
		if !strings.HasPrefix(id, key) {
			return false
		}
		out = append(out, id)
		return true
	})
	return out
}

func (t *timers) first() (due, bool) {
	if t.byTime.len() == 0 {
		return due{}, false
	}
	_, id, _ := t.byTime.m.Min()
	x, _ := t.byPath.get(id)
	return due{x.Until, id}, true
}
