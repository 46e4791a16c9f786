// Package receipts is the register of the orders of one running scene: past orders,
// orders that came while it runs, orders that wait for their wave or time, and the outcome of
// each.
//
// # Promises
//
//  1. An order with a known id is the known order if its content is the same, and a
//     conflict if not. The stage gets it once, even when its fact was dropped, unless more orders came after it than
//     the scene remembers (scenes/machines/ordered).
//  2. An order has its receipt when its wave is durable, or, if it waits for its
//     wave or time, when it is stored.
//  3. While the scene ends, an order that it does not have is refused. Letters of the run are not: their senders hear of the end.
//  4. At most machines.MaxOrders orders without a wave or time wait, and at most order.MaxOrders with one.
//
// Methods are safe for concurrent use.
//
// # Not here
//
// The changes of orders (engine/order), the folder in the run directory (scenes/run/orders), the time
// at which they are carried out (scenes/machines).
package receipts

import (
	"slices"
	"sync"

	"tavernsim/engine/agenda"
	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/ordered"
)

// Receipt says what became of an order.
type Receipt struct {
	ID      string
	Wave    uint64 // that the order is
	Refused string // why nothing of it took effect; "" = it did
	Planned bool   // it waits for its wave or time; nothing else is known yet
}

// Given is an order of the book.
type Given struct {
	Receipt // counts when Durable is closed
	Durable chan struct{}

	said  ordered.Said
	waits *int // the count of which it is one; nil = none
}

// Book is that of one scene.
type Book struct {
	Scene   string
	Journal history.Journal
	Codec   *protocol.Codec
	Tell    func(*machines.Order) // the stage
	Past    ordered.List          // of the stage when the scene begins or goes on; the stage changes none of these orders any more

	mu      sync.Mutex
	given   map[string]*Given // by id; nil until the journal was read
	begin   uint64            // the wave before the first one whose facts were read
	kept    []*Given          // whose waves are not durable
	waiting int               // that came while the scene runs and are not durable
	later   int               // that wait for their wave or time
	ends    bool              // the scene ends
}

// End refuses all orders that come from now on: the scene ends, for which it may wait, and carries out no more.
func (b *Book) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends = true
}

// Take gives the stage an order that is carried out at once, unless it has it.
func (b *Book) Take(o *agenda.Intervened) (*Given, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, err := b.lookup(o)
	if g != nil || err != nil {
		return g, err
	}
	if b.waiting >= machines.MaxOrders {
		return nil, protocol.Errorf(protocol.KindTransient, "order %s: %d orders of the scene %s wait; try again", o.ID, b.waiting, b.Scene)
	}
	b.tell(&machines.Order{Intervened: o}, &b.waiting)
	return b.given[o.ID], nil
}

// Plan gives the stage an order for a wave or time, unless it has it. keep keeps it over a
// kill, before the stage hears of it. at is the last wave of the scene.
func (b *Book) Plan(o *machines.Order, at uint64, keep func() error) (Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, err := b.lookup(o.Intervened)
	switch {
	case err != nil:
		return Receipt{}, err
	case g != nil:
		return g.now(), nil
	case o.Wave != 0 && o.Wave <= at:
		return Receipt{}, passed(o, b.Scene, at)
	case b.later >= order.MaxOrders:
		return Receipt{}, protocol.Errorf(protocol.KindLimit, "order %s: %d orders of the scene %s wait for their wave or time; no more are taken", o.ID, b.later, b.Scene)
	}
	if err := keep(); err != nil {
		return Receipt{}, err
	}
	b.tell(o, &b.later)
	return b.given[o.ID].now(), nil
}

// Letter gives the stage an order of the run itself, unless it has it: then it is false.
func (b *Book) Letter(o *machines.Order) (told bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, err := b.find(o.Intervened)
	if g != nil || err != nil {
		return false, err
	}
	b.tell(o, nil)
	return true, nil
}

// now is the receipt of an order that nobody waits for.
func (g *Given) now() Receipt {
	select {
	case <-g.Durable:
		return g.Receipt
	default:
		return Receipt{ID: g.ID, Planned: true}
	}
}

func passed(o *machines.Order, scene string, at uint64) error {
	return protocol.Errorf(protocol.KindConflict, "order %s: it is for wave %d, and the scene %s stands after wave %d", o.ID, o.Wave, scene, at)
}

func (b *Book) tell(o *machines.Order, waits *int) {
	b.given[o.ID] = &Given{Receipt: Receipt{ID: o.ID}, said: ordered.Sum(o.Intervened), Durable: make(chan struct{}), waits: waits}
	if waits != nil {
		*waits++
	}
	b.Tell(o)
}

// lookup finds an order that somebody gives, and refuses one that the scene does not have if it ends.
func (b *Book) lookup(o *agenda.Intervened) (*Given, error) {
	g, err := b.find(o)
	if g == nil && err == nil && b.ends {
		err = protocol.Errorf(protocol.KindConflict, "order %s: the scene %s is ending, and carries out no more orders", o.ID, b.Scene)
	}
	return g, err
}

// find gives the order of the book with the id of another one; nil = it has none.
func (b *Book) find(o *agenda.Intervened) (*Given, error) {
	if err := b.read(); err != nil {
		return nil, err
	}
	g := b.given[o.ID]
	if g != nil && g.said != ordered.Sum(o) {
		return nil, protocol.Errorf(protocol.KindConflict, "order %s: the scene %s has another order with this id; give yours one of its own", o.ID, b.Scene)
	}
	return g, nil
}

// read finds the orders that the scene has had, once.
func (b *Book) read() error {
	if b.given != nil {
		return nil
	}
	list, err := history.Orders(b.Journal, b.Codec)
	if err != nil {
		return err
	}
	b.begin = b.Journal.Begin().Number
	b.given = make(map[string]*Given, max(len(list), len(b.Past.Orders)))
	for _, x := range b.Past.Orders {
		b.past(Receipt{ID: x.ID, Wave: x.Wave, Refused: x.Refused}, x.Said)
	}
	for _, x := range list {
		b.past(Receipt{ID: x.ID, Wave: x.Wave, Refused: x.Refused}, ordered.Sum(x.Intervened))
	}
	return nil
}

// past notes an order that was carried out before.
func (b *Book) past(r Receipt, said ordered.Said) {
	g := &Given{Receipt: r, said: said, Durable: make(chan struct{})}
	close(g.Durable)
	b.given[r.ID] = g
}

// Kept notes the wave of an order, or that it was refused.
func (b *Book) Kept(wave uint64, f protocol.Fact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch x := f.(type) {
	case *agenda.Intervened:
		g := b.given[x.ID]
		g.Wave = wave
		b.kept = append(b.kept, g)
	case *agenda.OrderRefused:
		b.given[x.ID].Refused = x.Error
	}
}

// Wave is that of an order, also before it is durable; 0 = it has none.
func (b *Book) Wave(g *Given) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return g.Wave
}

// WaveKept gives the receipts of the orders up to a durable wave.
func (b *Book) WaveKept(wave uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.kept) > 0 && b.kept[0].Wave <= wave {
		g := b.kept[0]
		b.kept = b.kept[1:]
		close(g.Durable)
		if g.waits != nil {
			*g.waits--
		}
	}
}

// Planned are orders with their wave or time that a run has from its beginning, checked.
// Those that the scene had already are left out, and so are those that the run had before
// of which nobody knows that, because too many came after them. One whose wave has passed without it is
// an error, unless the run had it before: then it is carried out at the next wave that can
// be. at is the last wave of the scene.
func (b *Book) Planned(list []*machines.Order, at uint64, check func(*machines.Order) error) ([]*machines.Order, error) {
	if len(list) == 0 {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	list = slices.Clone(list)
	for i, o := range list {
		g, err := b.find(o.Intervened)
		switch {
		case err != nil:
			return nil, err
		case g != nil:
			list[i] = nil
		case o.Had && b.Past.Lacks(o.Wave, o.After, b.begin): // rather not than twice
			b.past(Receipt{ID: o.ID, Refused: "it is not carried out now: the run had it before, and what became of it then was dropped with old facts"}, ordered.Sum(o.Intervened))
			list[i] = nil
		case o.Wave != 0 && o.Wave <= at && !o.Had:
			return nil, passed(o, b.Scene, at)
		default:
			if err := check(o); err != nil {
				return nil, protocol.Errorf(protocol.KindOf(err), "order %s: %w", o.ID, err)
			}
			b.given[o.ID] = &Given{Receipt: Receipt{ID: o.ID}, said: ordered.Sum(o.Intervened), Durable: make(chan struct{}), waits: &b.later}
			b.later++
		}
	}
	return slices.DeleteFunc(list, func(o *machines.Order) bool { return o == nil }), nil
}

// Check refuses orders with their wave or time that a scene would refuse which does not run and goes on from a journal,
// and all that are new to one that has ended.
func Check(made *setup.Scene, journal history.Journal, list []*machines.Order) error {
	b := &Book{Scene: made.ID, Journal: journal, Codec: machines.NewCodec()}
	var err error
	if b.Past, err = history.Dropped(journal, b.Codec); err != nil {
		return err
	}
	left, err := b.Planned(list, journal.Durable().Number, func(o *machines.Order) error { return machines.CheckOrder(made, o.Intervened, o.Had) })
	if err != nil || len(left) == 0 {
		return err
	}
	reason, err := history.End(journal)
	if err == nil && reason != "" {
		err = protocol.Errorf(protocol.KindConflict, "order %s: the scene %s does not run: it has ended (%s)", left[0].ID, made.ID, reason)
	}
	return err
}

// Planned are the orders of a file that are for a scene; those that name none are for it,
// too. had = the run had them before it was interrupted.
func Planned(list []order.Entry, scene string, had bool) (planned []*machines.Order) {
	for i := range list {
		if e := &list[i]; e.Scene == "" || e.Scene == scene {
			planned = append(planned, &machines.Order{Intervened: e.Fact(), Wave: uint64(e.Wave), After: e.At.Std(), Had: had})
		}
	}
	return planned
}
