package ledger

import (
	"bytes"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Elements are the timers of elements of one list, in the order of their ids. What is taken is
// no longer among them. The zero Elements has none.
type Elements struct {
	List world.Path
	left []waiting
}

// waiting is one timer; its id is empty when it was taken.
type waiting struct {
	id      string
	element protocol.Raw
	want    any // element, once it was read
}

// Elements lists the timers of elements of a list, without those that are gone.
func (t *Timers) Elements(list world.Path, gone []string) Elements {
	e := Elements{List: list}
	taken := make(map[string]bool, len(gone))
	for _, id := range gone {
		taken[id] = true
	}
	for _, id := range t.Below(list, true) {
		if x, _ := t.byPath.get(id); x.Element != nil && len(x.Path) == len(list) && !taken[id] {
			e.left = append(e.left, waiting{id: id, element: x.Element})
		}
	}
	return e
}

// Len is at least the number of timers that are left; 0 = none is.
func (e *Elements) Len() int { return len(e.left) }

// Take takes the first timer of exactly this element, else the first whose element fits; "" = none is.
func (e *Elements) Take(element protocol.Raw, fits func(want any) bool) string {
	at := -1
	for i := range e.left {
		if w := &e.left[i]; w.id != "" && bytes.Equal(w.element, element) {
			at = i
			break
		}
	}
	for i := 0; at < 0 && i < len(e.left); i++ {
		if w := &e.left[i]; w.id != "" && w.read() && fits(w.want) {
			at = i
		}
	}
	if at < 0 {
		return ""
	}
	id := e.left[at].id
	e.left[at] = waiting{}
	for len(e.left) > 0 && e.left[0].id == "" {
		e.left = e.left[1:]
	}
	return id
}

// read decodes the element, once. One that cannot be read fits nothing.
func (w *waiting) read() bool {
	if w.want == nil {
		w.want, _ = w.element.Value()
	}
	return w.want != nil
}
