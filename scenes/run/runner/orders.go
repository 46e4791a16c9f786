package runner

import (
	"context"
	"errors"
	"slices"

	"tavernsim/engine/control"
	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/run/orders"
)

// checkOrders refuses new orders that their scenes would refuse.
func (r *Runner) checkOrders(opt *Options) error {
	for _, id := range r.Manifest.Scenes {
		list := receipts.Planned(opt.Orders[opt.had:], id, false)
		if len(list) == 0 {
			continue
		}
		made, err := r.Manifest.Made(r.Project, id, opt.Middleware, opt.External)
		if err != nil {
			return err
		}
		journal, err := r.store.Journal(id)
		if err != nil {
			return err
		}
		if err := errors.Join(receipts.Check(made, journal, list), journal.Close()); err != nil {
			return err
		}
	}
	return nil
}

// takeOrders takes orders out of the run directory until the run has stopped.
func (r *Runner) takeOrders() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&orders.Door{Dir: r.Dir, Give: r.give, Control: r.control}).Serve(ctx)
	}()
	return func() { cancel(); <-done }
}

// control gives a scene a command, looks at one of its agents, or makes the run read files again.
func (r *Runner) control(ctx context.Context, c *control.Command) orders.Stand {
	stand, err := orders.Stand{Scene: c.Scene}, error(nil)
	if stand.Scene == "" && len(r.Manifest.Scenes) == 1 {
		stand.Scene = r.Manifest.Scenes[0]
	}
	i := slices.IndexFunc(r.Scenes, func(s *Scene) bool { return s.ID == stand.Scene })
	switch {
	case c.Do == orders.Reload && *c != (control.Command{Do: c.Do}):
		err = protocol.Errorf(protocol.KindInvalid, "reload is for the run, and has nothing beside it")
	case c.Do == orders.Reload:
		stand.Changed, err = r.Reload()
	case c.Do == orders.Look && i >= 0:
		stand.Seen, err = r.Scenes[i].Run.Look(ctx, c.Agent)
	case i >= 0:
		stand.Report, err = r.Scenes[i].Run.Control(ctx, c)
	case slices.Contains(r.Manifest.Scenes, stand.Scene):
		err = protocol.Errorf(protocol.KindConflict, "the scene %s does not run", stand.Scene)
	default:
		err = protocol.Errorf(protocol.KindNotFound, "scene %q; the run has %v", stand.Scene, r.Manifest.Scenes)
	}
	if err != nil {
		stand.Refused, stand.Kind = err.Error(), protocol.KindOf(err)
	}
	return stand
}

// Controlled are the commands with which the scenes begin again as people wanted them when they
// stopped (Options.Control). It is called after Wait.
func (r *Runner) Controlled() (list []control.Command) {
	for _, s := range r.inOrder() {
		commands := s.outcome.Control
		if s.Run == nil { // it did not begin
			commands = control.For(s.ID, r.wanted)
		}
		for _, c := range commands {
			c.Scene = s.ID
			list = append(list, c)
		}
	}
	return list
}

// give carries out one order that came while the run is under way.
func (r *Runner) give(ctx context.Context, e *order.Entry) orders.Receipt {
	receipt := orders.Receipt{ID: e.ID, Scene: e.Scene}
	list, err := orders.Placed([]order.Entry{*e}, r.Manifest.Scenes)
	if err == nil {
		receipt.Scene = list[0].Scene
		i := slices.IndexFunc(r.Scenes, func(s *Scene) bool { return s.ID == receipt.Scene })
		if i < 0 {
			err = protocol.Errorf(protocol.KindConflict, "the scene %s does not run", receipt.Scene)
		} else {
			got, broke := r.order(ctx, r.Scenes[i].Run, &list[0])
			receipt.Wave, receipt.Refused, receipt.Planned, err = got.Wave, got.Refused, got.Planned, broke
		}
	}
	if err != nil {
		receipt.Refused, receipt.Kind = err.Error(), protocol.KindOf(err)
	}
	return receipt
}

// order gives a scene an order: one that waits for a wave or time when the run directory has it.
func (r *Runner) order(ctx context.Context, scene *scenes.Run, e *order.Entry) (receipts.Receipt, error) {
	return scene.Plan(ctx, receipts.Planned([]order.Entry{*e}, e.Scene, false)[0], func() error { return orders.Add(r.Dir, *e) })
}

// ordersOf are the orders that a scene has from the beginning of this process: those that the
// run had before it first.
func (opt *Options) ordersOf(scene string) []*machines.Order {
	return append(receipts.Planned(opt.Orders[:opt.had], scene, true), receipts.Planned(opt.Orders[opt.had:], scene, false)...)
}
