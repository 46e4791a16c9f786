package ledger

import (
	"strings"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Timer says that something will be removed. Element is nil for the value at
// Path; otherwise Path is a list and the first element that is equal to Element
// goes, or when none is, the first that has all fields of Element.
type Timer struct {
	Path    world.Path
	Element protocol.Raw
	Until   protocol.Time
	Key     string // as written, for the audit
	OpID    string // of the entry that set it
}

// Timers is the index of what expires (C16). It lives beside the document, so
// that nothing of it shows in the state.
type Timers struct {
	byPath    cow[Timer]
	byTime    cow[string] // time and path key, to the path key
	byElement cow[string] // of elements: see elementKey; to the path key
}

// Due is the timer that fires next.
type Due struct {
	Until protocol.Time
	ID    string
}

// Share returns a copy; from now on neither side writes what both hold.
func (t *Timers) Share() Timers {
	return Timers{t.byPath.share(), t.byTime.share(), t.byElement.share()}
}

// Frozen is what Share returns, for one that nobody writes any more and that
// others may be reading.
func (t Timers) Frozen() Timers {
	return Timers{t.byPath.frozen(), t.byTime.frozen(), t.byElement.frozen()}
}

// TimerID is the id of a timer. The id of a place is a prefix of the
// ids of everything below it.
func TimerID(path world.Path, element bool, opID string) string {
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

// Set starts a timer, in the place of another of the same id.
func (t *Timers) Set(id string, x Timer) {
	t.Clear(id)
	writable(&t.byPath).Set(id, x)
	writable(&t.byTime).Set(timeKey(x.Until)+id, id)
	if key, ok := elementKey(id, &x); ok {
		writable(&t.byElement).Set(key, id)
	}
}

// Clear stops a timer and reports whether there was one.
func (t *Timers) Clear(id string) bool {
	old, ok := t.byPath.get(id)
	if !ok {
		return false
	}
	writable(&t.byPath).Delete(id)
	writable(&t.byTime).Delete(timeKey(old.Until) + id)
	if key, ok := elementKey(id, &old); ok {
		writable(&t.byElement).Delete(key)
	}
	return true
}

// Below lists the ids at a path and, when deep, of everything below it, elements
// included.
func (t *Timers) Below(path world.Path, deep bool) []string {
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
	ascend(&t.byPath, key, func(id string, _ Timer) bool {
		if !strings.HasPrefix(id, key) {
			return false
		}
		out = append(out, id)
		return true
	})
	return out
}

// First is the timer that fires next.
func (t *Timers) First() (Due, bool) {
	if t.byTime.len() == 0 {
		return Due{}, false
	}
	_, id, _ := t.byTime.m.Min()
	x, _ := t.byPath.get(id)
	return Due{x.Until, id}, true
}

// TimerChange sets a timer, or clears it when Until is 0.
type TimerChange struct {
	ID    string
	Timer Timer
}

// Apply carries a change out.
func (t *Timers) Apply(c TimerChange) {
	if c.Timer.Until == 0 {
		t.Clear(c.ID)
		return
	}
	t.Set(c.ID, c.Timer)
}

// Get returns a timer.
func (t *Timers) Get(id string) (Timer, bool) { return t.byPath.get(id) }

// Len counts the timers.
func (t *Timers) Len() int { return t.byPath.len() }

// Changes lists what would start all timers, in the order of their places.
func (t *Timers) Changes() (out []TimerChange) {
	ascend(&t.byPath, "", func(id string, x Timer) bool {
		out = append(out, TimerChange{id, x})
		return true
	})
	return out
}
