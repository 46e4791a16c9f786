package scenes

import (
	"context"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
)

// Order gives the scene an order and waits until its wave is durable, or ctx is done: the
// order is carried out all the same then. If the scene stops first and the wave of the order may
// become durable all the same, the error is of kind unknown_outcome. An order with the id of another
// one is that one if it says the same, and a conflict if not. machines.MaxOrders wait; one more is told
// that the scene is busy.
func (r *Run) Order(ctx context.Context, o *agenda.Intervened) (receipts.Receipt, error) {
	err := machines.CheckOrder(r.scene.Scene, o, false)
	var g *receipts.Given
	if err == nil {
		g, err = r.scene.orders.Take(o)
	}
	if err != nil {
		r.scene.metrics.OrderFailed(o, err)
		return receipts.Receipt{}, err
	}
	return r.await(ctx, g)
}

func (r *Run) await(ctx context.Context, g *receipts.Given) (receipts.Receipt, error) {
	var err error
	select {
	case <-g.Durable:
	case <-r.stage.over.Done():
		err = r.stoppedBefore(g)
	case <-ctx.Done():
		err = protocol.Errorf(protocol.KindCancelled, "order %s: %w", g.ID, ctx.Err())
	}
	select {
	case <-g.Durable:
		return g.Receipt, nil
	default:
		return receipts.Receipt{}, err
	}
}

// stoppedBefore says what a scene that has stopped leaves of an order. A stage that failed has not read that the last
// waves are durable.
func (r *Run) stoppedBefore(g *receipts.Given) error {
	book := r.scene.orders
	wave := book.Wave(g)
	book.WaveKept(r.scene.journal.Durable().Number)
	if wave == 0 {
		return protocol.Errorf(protocol.KindConflict, "order %s: the scene %s stopped before it", g.ID, r.scene.ID)
	}
	return protocol.Errorf(protocol.KindUnknownOutcome, "order %s: the scene %s stopped before its wave %d was durable; give the order again when the scene goes on: it is carried out once", g.ID, r.scene.ID, wave)
}

// Stopped reports whether the scene has stopped, or failed: it takes nothing any more.
func (r *Run) Stopped() bool { return r.stage.over.Err() != nil }

// Made is the scene as it is compiled.
func (r *Run) Made() *setup.Scene { return r.scene.Scene }

// Reload lets the scene go on with another edition of its plugins, which it has. It waits as Order
// does; the receipt says why the scene refuses.
func (r *Run) Reload(ctx context.Context, id string, f *agenda.PluginsChanged) (receipts.Receipt, error) {
	g, err := r.scene.orders.Take(order.Reload(id, "simd", f))
	if err != nil {
		return receipts.Receipt{}, err
	}
	return r.await(ctx, g)
}

// Plan gives the scene an order for a wave or a time, after keep has kept it over a kill. It
// does not wait until it is carried out. order.MaxOrders wait. An order whose time has passed is one that is carried
// out at once: Plan waits for it as Order does, and keeps nothing.
func (r *Run) Plan(ctx context.Context, o *machines.Order, keep func() error) (receipt receipts.Receipt, err error) {
	if o.Wave == 0 && o.After <= r.elapsed() {
		return r.Order(ctx, o.Intervened)
	}
	defer func() {
		if err != nil {
			r.scene.metrics.OrderFailed(o.Intervened, err)
		}
	}()
	if err := machines.CheckOrder(r.scene.Scene, o.Intervened, false); err != nil {
		return receipts.Receipt{}, err
	}
	if r.Stopped() {
		return receipts.Receipt{}, protocol.Errorf(protocol.KindConflict, "order %s: the scene %s has stopped", o.ID, r.scene.ID)
	}
	return r.scene.orders.Plan(o, uint64(r.Progress.Waves.Load()), keep)
}

// elapsed is how long ago the scene began, in scene time; 0 before its first wave.
func (r *Run) elapsed() time.Duration {
	begun, now := protocol.Time(r.Progress.Begun.Load()), protocol.Time(r.Progress.Now.Load())
	if begun != 0 && r.scene.Clock == agenda.Realtime { // no wave, and no message to the stage, may have come for long
		now = max(r.scene.seen(), protocol.TimeOf(time.Now()))
	}
	return now.Sub(begun)
}
