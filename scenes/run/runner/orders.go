package runner

import (
	"context"
	"slices"

	"tavernsim/engine/control"
	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir"
)

// placed names the scene of every order.
func placed(list []order.Entry, scenes []string) ([]order.Entry, error) {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Scene == "" && len(scenes) == 1 {
			list[i].Scene = scenes[0]
		}
		if !slices.Contains(scenes, list[i].Scene) {
			return nil, protocol.Errorf(protocol.KindNotFound, "order %s: scene %q; the run has %v", list[i].ID, list[i].Scene, scenes)
		}
	}
	return list, nil
}

// addOrders puts the orders that are given to a run that goes on behind those that it has; added says
// that there are some.
func (opt *Options) addOrders(dir string, m *rundir.Manifest) (added bool, err error) {
	more, err := placed(opt.Orders, m.Scenes)
	if err != nil {
		return false, err
	}
	opt.Orders, err = orders.Kept(dir)
	if opt.had = len(opt.Orders); err != nil || len(more) == 0 {
		return false, err
	}
	for _, e := range more {
		if slices.ContainsFunc(opt.Orders, func(o order.Entry) bool { return o.ID == e.ID && o.Scene == e.Scene }) {
			return false, protocol.Errorf(protocol.KindConflict, "order %s: the run %s has an order with this id; give yours one of its own", e.ID, m.Run)
		}
	}
	opt.Orders = append(opt.Orders, more...)
	return true, nil
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
	list, err := placed([]order.Entry{*e}, r.Manifest.Scenes)
	if err == nil {
		receipt.Scene = list[0].Scene
		i := slices.IndexFunc(r.Scenes, func(s *Scene) bool { return s.ID == receipt.Scene })
		switch {
		case i < 0:
			err = protocol.Errorf(protocol.KindConflict, "the scene %s does not run", receipt.Scene)
		default:
			got, broke := r.order(ctx, r.Scenes[i].Run, &list[0])
			receipt.Wave, receipt.Refused, receipt.Planned, err = got.Wave, got.Refused, got.Planned, broke
		}
	}
	if err != nil {
		receipt.Refused, receipt.Kind = err.Error(), protocol.KindOf(err)
	}
	return receipt
}

// order gives a scene an order: one for a wave or time when the run directory has it.
func (r *Runner) order(ctx context.Context, scene *scenes.Run, e *order.Entry) (receipts.Receipt, error) {
	if e.Wave == 0 && e.At == 0 {
		return scene.Order(ctx, e.Fact())
	}
	return scene.Plan(scenes.Planned([]order.Entry{*e}, e.Scene, false)[0], func() error { return orders.Add(r.Dir, *e) })
}

// ordersOf are the orders that a scene has from the beginning of this process: those that the
// run had before it first.
func (opt *Options) ordersOf(scene string) []*machines.Order {
	return append(scenes.Planned(opt.Orders[:opt.had], scene, true), scenes.Planned(opt.Orders[opt.had:], scene, false)...)
}
