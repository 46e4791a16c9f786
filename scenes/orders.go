package scenes

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"tavernsim/engine/agenda"
	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
)

// Receipt says what became of an order. It is given when that is durable.
type Receipt struct {
	ID      string
	Wave    uint64 // that the order is
	Refused string // why nothing of it took effect; "" = it did
}

// orders are the orders of a run: those that came while it runs, and those of its journal.
type orders struct {
	mu      sync.Mutex
	given   map[string]*given // by id; nil until the journal was read
	kept    []*given          // whose waves are not durable
	waiting int               // that came while the scene runs and are not durable
}

type given struct {
	Receipt
	order   *agenda.Intervened
	planned bool          // from the beginning of the run
	durable chan struct{} // closed when the receipt counts
}

// Order gives the scene an order and waits until its wave is durable, or ctx is done: the
// order is carried out all the same then. An order with the id of another one is that one
// if it says the same, and a conflict if not. machines.MaxOrders wait; one more is told
// that the scene is busy.
func (r *Run) Order(ctx context.Context, o *agenda.Intervened) (Receipt, error) {
	if err := machines.CheckOrder(r.scene.Scene, o); err != nil {
		return Receipt{}, err
	}
	g, err := r.scene.take(o)
	if err != nil {
		return Receipt{}, err
	}
	select {
	case <-g.durable:
		return g.Receipt, nil
	case <-r.stage.over:
		select {
		case <-g.durable:
			return g.Receipt, nil
		default:
			return Receipt{}, protocol.Errorf(protocol.KindConflict, "order %s: the scene %s stopped before it", o.ID, r.scene.ID)
		}
	case <-ctx.Done():
		return Receipt{}, protocol.Errorf(protocol.KindCancelled, "order %s: %w", o.ID, ctx.Err())
	}
}

// take sends the stage an order, unless it has it.
func (s *scene) take(o *agenda.Intervened) (*given, error) {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	if err := s.orders.read(s.journal, s.Codec); err != nil {
		return nil, err
	}
	if g := s.orders.given[o.ID]; g != nil {
		if !same(g.order, o) {
			return nil, protocol.Errorf(protocol.KindConflict, "order %s: the scene %s has another order with this id; give yours one of its own", o.ID, s.ID)
		}
		return g, nil
	}
	if s.orders.waiting >= machines.MaxOrders {
		return nil, protocol.Errorf(protocol.KindTransient, "order %s: %d orders of the scene %s wait; try again", o.ID, s.orders.waiting, s.ID)
	}
	g := &given{Receipt: Receipt{ID: o.ID}, order: o, durable: make(chan struct{})}
	s.orders.given[o.ID] = g
	s.orders.waiting++
	s.stage.Tell(carrying(protocol.KindControl, machines.Input(&machines.Order{Intervened: o})))
	return g, nil
}

func same(a, b *agenda.Intervened) bool {
	return a.By == b.By && a.Reason == b.Reason && bytes.Equal(a.Do, b.Do)
}

// read finds the orders of the journal, once.
func (l *orders) read(journal history.Journal, codec *protocol.Codec) error {
	if l.given != nil {
		return nil
	}
	list, err := history.Orders(journal, codec)
	if err != nil {
		return err
	}
	l.given = make(map[string]*given, len(list))
	past := make(chan struct{})
	close(past)
	for _, x := range list {
		l.given[x.ID] = &given{Receipt: Receipt{ID: x.ID, Wave: x.Wave, Refused: x.Refused}, order: x.Intervened, durable: past}
	}
	return nil
}

// orderKept notes the wave of an order, or that it was refused.
func (l *orders) orderKept(wave uint64, f protocol.Fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch x := f.(type) {
	case *agenda.Intervened:
		g := l.given[x.ID]
		g.Wave = wave
		l.kept = append(l.kept, g)
	case *agenda.OrderRefused:
		l.given[x.ID].Refused = x.Error
	}
}

// waveKept gives the receipts of the orders up to a durable wave.
func (l *orders) waveKept(wave uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.kept) > 0 && l.kept[0].Wave <= wave {
		g := l.kept[0]
		l.kept = l.kept[1:]
		close(g.durable)
		if !g.planned {
			l.waiting--
		}
	}
}

// Planned are the orders of a file that are for a scene; those that name none are for it,
// too.
func Planned(list []order.Entry, scene string) (planned []*machines.Order) {
	for i := range list {
		if e := &list[i]; e.Scene == "" || e.Scene == scene {
			planned = append(planned, &machines.Order{Intervened: e.Fact(), Wave: uint64(e.Wave), After: e.At.Std()})
		}
	}
	return planned
}

// planned are orders with their wave or time that a run has from its beginning. Those
// that the journal has already are left out; one whose wave has passed without it is an
// error.
func (s *scene) planned(list []*machines.Order, at uint64) ([]*machines.Order, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := s.orders.read(s.journal, s.Codec); err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	for i, o := range list {
		g := s.orders.given[o.ID]
		switch {
		case g != nil && same(g.order, o.Intervened):
			list[i] = nil
		case g != nil:
			return nil, protocol.Errorf(protocol.KindConflict, "order %s: the journal of the scene %s has another order with this id", o.ID, s.ID)
		case o.Wave != 0 && o.Wave <= at:
			return nil, protocol.Errorf(protocol.KindConflict, "order %s: it is for wave %d, and the scene %s stands after wave %d", o.ID, o.Wave, s.ID, at)
		default:
			if err := machines.CheckOrder(s.Scene, o.Intervened); err != nil {
				return nil, protocol.Errorf(protocol.KindOf(err), "order %s: %w", o.ID, err)
			}
			s.orders.given[o.ID] = &given{Receipt: Receipt{ID: o.ID}, order: o.Intervened, durable: make(chan struct{}), planned: true}
		}
	}
	return slices.DeleteFunc(list, func(o *machines.Order) bool { return o == nil }), nil
}
