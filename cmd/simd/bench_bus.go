package main

import (
	"fmt"
	"io"
	"tavernsim/bench"

	"github.com/spf13/cobra"
)

type benchBusOptions struct {
	benchForm
	bench.BusOptions
}

func newBenchBus(e *env) *cobra.Command {
	var o benchBusOptions
	c := &cobra.Command{
		Use:   "bus",
		Short: "The event channel: fan-out, routing, filters",
		Long: `Publish an event to many subscribers, through the machine that routes and into
real mailboxes, and compare with sending a bare pointer to each. Route an event
among many subscriptions and among one, and evaluate filters.

Compare the ratios; they use CPU time, round by round.`,
		Example: `  simd bench bus
  simd bench bus --agents 10000 --subscriptions 100000 --types 1000 --count 9 --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.IntVar(&o.Subscribers, "agents", 100_000, "subscribers that hear the event")
	f.IntVar(&o.Subscriptions, "subscriptions", 1_000_000, "subscriptions, for routing")
	f.IntVar(&o.Types, "types", 10_000, "event types among them")
	f.IntVar(&o.Rounds, "count", 5, "rounds; the result is their median")
	o.register(f, "one JSON object")
	least(f, 1, "agents", "subscriptions", "types", "count")
	return c
}

func (o *benchBusOptions) run(e *env) error {
	if err := o.check(); err != nil {
		return err
	}
	b, err := bench.RunBus(o.BusOptions)
	if err != nil {
		return err
	}
	return o.print(e.out, b, func(w io.Writer) error { return gobenchBus(w, b) }, func(t *benchTable) { showBus(t, b) })
}

func showBus(t *benchTable, b bench.Bus) {
	t.head("one event to %s, per delivery, %d rounds", plural(b.Subscribers, "subscriber"), b.Rounds)
	t.spread("a pointer to each", b.Pointer, "")
	t.spread("through the channel", b.FanOut, fmt.Sprintf("%.2fx", b.FanOutRatio))
	t.row("allocated", "%.0f bytes each; the body of %d bytes is encoded once", b.Bytes, b.BodyBytes)
	t.head("routing one event, %s subscriptions of %s types", thousands(int64(b.Subscribed)), thousands(int64(b.Types)))
	t.spread("one subscription", b.RouteAlone, "")
	t.spread("all of them", b.Route, fmt.Sprintf("%.2fx", b.RouteRatio))
	t.head("filters")
	for _, f := range b.Filters {
		t.row(f.Text, "")
		t.spread("  alone", f.First, "and the payload is decoded for it")
		t.spread("  one more", f.More, "")
	}
	t.spread("decoding the payload", b.Decode, "once for an event, for all filters and receivers")
	t.spread("on self", b.FilterSelf, "a filter without a shortcut, for one subscriber")
}

func gobenchBus(w io.Writer, b bench.Bus) error {
	gobenchLine(w, fmt.Sprintf("FanOut/way=pointer/subscribers=%d", b.Subscribers), b.Pointer, "")
	gobenchLine(w, fmt.Sprintf("FanOut/way=channel/subscribers=%d", b.Subscribers), b.FanOut, fmt.Sprintf(" %.3f x-pointer", b.FanOutRatio))
	gobenchLine(w, "Route/subscriptions=1/types=1", b.RouteAlone, "")
	gobenchLine(w, fmt.Sprintf("Route/subscriptions=%d/types=%d", b.Subscribed, b.Types), b.Route, fmt.Sprintf(" %.3f x-one", b.RouteRatio))
	for i, f := range b.Filters {
		on := []string{"payload", "target"}[i]
		gobenchLine(w, "Filter/on="+on, f.More, "")
		gobenchLine(w, "Filter/on="+on+"/first", f.First, "")
	}
	gobenchLine(w, "Decode", b.Decode, "")
	gobenchLine(w, "Filter/on=self", b.FilterSelf, "")
	return nil
}
