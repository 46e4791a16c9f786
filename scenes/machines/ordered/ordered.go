// Package ordered remembers the outcomes of the orders of a scene, even when their facts were dropped.
//
// # Promises
//
//  1. A [List] has each order of the counted facts, with its wave and the reason of a refusal, except the oldest
//     ones beyond maxBytes.
//  2. Orders missing from a list came up to [List.Wave], at a scene time up to [List.After]. Wave 0: none is missing.
//  3. Two orders have the same [Sum] if and only if they have the same content.
//
// # Not here
//
// Letters between scenes: the scenes send them again. The handling of a repeated order (scenes/receipts).
package ordered

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
)

// List is the orders of a scene in the order of their waves. It is folded from the facts.
type List struct {
	Wave   uint64
	After  time.Duration // since the start of the scene
	Orders []Order

	bytes int // of Orders
}

// Order is one of a list.
type Order struct {
	ID      string
	Said    Said
	Wave    uint64 // that it is
	After   time.Duration
	Refused string // why nothing of it took effect; "" = it did
}

// Said is what an order says, as a sum.
type Said [sha256.Size]byte

const (
	// maxBytes bounds a list in memory: 14,000 of the largest orders, more than one letter or file can have.
	maxBytes = 8 << 20
	// maxRefused bounds the text of a refusal, in bytes.
	maxRefused = 256
)

// size is about what an order takes, in bytes.
func (o *Order) size() int { return len(o.ID) + len(o.Refused) + 80 }

// Count counts a fact at a scene time.
func (l *List) Count(d *agenda.State, at protocol.Time, f protocol.Fact) {
	switch x := f.(type) {
	case *agenda.Intervened:
		if x.By != travel.By {
			l.add(Order{ID: x.ID, Said: Sum(x), Wave: d.Wave + 1, After: at.Sub(d.Begun())})
		}
	case *agenda.OrderRefused:
		if n := len(l.Orders); n > 0 && l.Orders[n-1].ID == x.ID {
			o := l.Orders[n-1]
			l.Orders, l.bytes = l.Orders[:n-1], l.bytes-o.size()
			o.Refused = strings.ToValidUTF8(x.Error[:min(len(x.Error), maxRefused)], "")
			l.add(o)
		}
	}
}

func (l *List) add(o Order) {
	l.Orders, l.bytes = append(l.Orders, o), l.bytes+o.size()
	for ; l.bytes > maxBytes; l.Orders = l.Orders[1:] {
		first := &l.Orders[0]
		l.Wave, l.After, l.bytes = first.Wave, max(l.After, first.After), l.bytes-first.size()
	}
}

// Kept is the list of a snapshot of a wave at a scene time. A program that kept none (nil) may have had any orders.
func Kept(l *List, wave uint64, after time.Duration) List {
	if l == nil {
		return List{Wave: wave, After: after}
	}
	for i := range l.Orders {
		l.bytes += l.Orders[i].size()
	}
	return *l
}

// Lacks reports whether the list may lack an order that could be carried out at a wave and a time, if the facts behind
// the wave begin are known beside it.
func (l *List) Lacks(wave uint64, after time.Duration, begin uint64) bool {
	return min(l.Wave, begin) > 0 && wave <= min(l.Wave, begin) && after <= l.After
}

// Sum is the sum of what an order says.
func Sum(o *agenda.Intervened) (sum Said) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q ", o.By, o.Reason)
	h.Write(words(o))
	h.Sum(sum[:0])
	return sum
}

// words are the changes of an order as JSON, which has one form for 1.0 and 1: run directories keep orders so, and
// the fact of one may have the other form. Letters between scenes are long, and nothing rewrites them.
func words(o *agenda.Intervened) []byte {
	if o.By == travel.By {
		return o.Do
	}
	do, err := o.Do.Value()
	if err != nil {
		return o.Do
	}
	text, err := json.Marshal(do)
	if err != nil { // a number without a form in JSON
		return o.Do
	}
	return text
}
