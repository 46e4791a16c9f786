package machines

import (
	"cmp"
	"slices"
	"time"

	"tavernsim/engine/travel"
)

// MaxOrders bounds the orders that wait for their wave and have no wave or time.
const MaxOrders = 256

// Waiting are the orders that no wave has taken yet, in the order in which they are carried out if
// their waves and times allow it.
type Waiting []*Order

// add puts an order where it stands among the others: a letter before every later one, which may have been
// brought to the front meanwhile, anything else behind all others.
func (w *Waiting) add(o *Order) {
	i := len(*w)
	if o.By == travel.By {
		if later := slices.IndexFunc(*w, func(x *Order) bool { return x.laterLetter(o) }); later >= 0 {
			i = later
		}
	}
	*w = slices.Insert(*w, i, o)
}

// take removes the first order.
func (w *Waiting) take() *Order {
	o := (*w)[0]
	*w = (*w)[1:]
	return o
}

// first brings an order to the front.
func (w Waiting) first(i int) {
	if i > 0 {
		o := w[i]
		copy(w[1:], w[:i])
		w[0] = o
	}
}

// due brings the first order to the front that may be a wave after so much scene time; false = none may.
func (w Waiting) due(wave uint64, elapsed time.Duration) bool {
	i := slices.IndexFunc(w, func(o *Order) bool { return o.allowed(wave, elapsed) })
	w.first(i)
	return i >= 0
}

// timed is the index of the order with the earliest time, of those that may be a wave; -1 = none.
func (w Waiting) timed(wave uint64) int {
	found := -1
	for i, o := range w {
		if o.After != 0 && o.Wave <= wave && (found < 0 || o.After < w[found].After) {
			found = i
		}
	}
	return found
}

// Unreached are those that a scene which ends does not carry out. Letters are none of them: the scene that
// sent one hears that this scene has ended.
func (w Waiting) Unreached() []*Order {
	return slices.DeleteFunc(slices.Clone(w), func(o *Order) bool { return o.By == travel.By })
}

// allowed reports whether an order may be a wave after so much scene time.
func (o *Order) allowed(wave uint64, elapsed time.Duration) bool {
	return o.Wave <= wave && (o.After == 0 || o.After <= elapsed)
}

// laterLetter reports whether an order is a letter that is carried out after another one:
// letters of one moment have an order of their own, however they came.
func (o *Order) laterLetter(than *Order) bool {
	return o.By == travel.By && CompareLetters(o.After, o.ID, than.After, than.ID) > 0
}

// CompareLetters is the order of letters, by their times and their ids.
func CompareLetters[T ~int64](at T, id string, than T, other string) int {
	return cmp.Or(cmp.Compare(at, than), cmp.Compare(len(id), len(other)), cmp.Compare(id, other))
}
