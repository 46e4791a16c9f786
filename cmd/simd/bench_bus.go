package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/bench"
)

// benchForm is how a benchmark prints.
type benchForm struct{ json, gobench bool }

func (f *benchForm) check(count int, positive ...int) error {
	for _, n := range append(positive, count) {
		if n < 1 {
			return usageError{fmt.Errorf("bench wants numbers of at least 1, got %d", n)}
		}
	}
	if f.json && f.gobench {
		return usageError{fmt.Errorf("bench prints one of --json and --gobench")}
	}
	return nil
}

type benchMailboxOptions struct {
	benchForm
	bench.MailboxOptions
}

func newBenchMailbox(e *env) *cobra.Command {
	var o benchMailboxOptions
	c := &cobra.Command{
		Use:   "mailbox",
		Short: "A message into an actor, beside Proto.Actor's default mailbox",
		Long: `Send the same event to many actors and to a single one, in three ways that take
turns: with Proto.Actor's default mailbox, with ours, and with ours behind the
full chain of middlewares. Then the memory of actors that do nothing, and how long
a critical message takes behind a backlog of low ones.

Keep the ratios: they are of CPU time, round by round.`,
		Example: `  simd bench mailbox
  simd bench mailbox --agents 1000 --messages 100000 --idle 0 --count 9 --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.IntVar(&o.Agents, "agents", 100_000, "actors that are sent to")
	f.IntVar(&o.Messages, "messages", 1_000_000, "messages of each round and side")
	f.IntVar(&o.Idle, "idle", 1_000_000, "actors that do nothing, for their memory (0 = not measured)")
	f.IntVar(&o.Backlog, "backlog", 1_000_000, "low messages in front of the critical ones (0 = not measured)")
	f.IntVar(&o.Rounds, "count", 11, "rounds; medians count")
	f.BoolVar(&o.json, "json", false, "one JSON object")
	f.BoolVar(&o.gobench, "gobench", false, "the form of go test -bench, for benchstat")
	return c
}

func (o *benchMailboxOptions) run(e *env) error {
	if err := o.check(o.Rounds, o.Agents, o.Messages, o.Idle+1, o.Backlog+1); err != nil {
		return err
	}
	m, err := bench.RunMailbox(o.MailboxOptions)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		return writeJSON(e.out, m)
	case o.gobench:
		return gobenchMailbox(e.out, m)
	}
	return showMailbox(e.out, m)
}

func showMailbox(w io.Writer, m bench.Mailbox) error {
	var t benchTable
	t.head("%s messages, %d senders, %d rounds", thousands(int64(m.Messages)), m.Senders, m.Rounds)
	for _, s := range []bench.Sends{m.Many, m.Hot} {
		t.head("to %s", plural(s.Actors, "actor"))
		t.spread("Proto.Actor default", s.Default, "")
		t.spread("ours", s.Bare, ratioText(s.BareRatio, s.BareRange))
		t.spread("ours, full chain", s.Chain, ratioText(s.ChainRatio, s.ChainRange))
	}
	if i := m.Idle; i.Actors > 0 {
		t.head("idle, %s", plural(i.Actors, "actor"))
		t.row("resident, each", "%.0f bytes   (Proto.Actor default: %.0f)", i.Bytes, i.Default)
	}
	if c := m.Critical; c.Backlog > 0 {
		t.head("critical behind %s low ones (never less than %s)", thousands(int64(c.Backlog)), thousands(int64(c.Left)))
		t.row("until it is handled", "p50 %s  p99 %s  max %s", brief(c.P50/1e9), brief(c.P99/1e9), brief(c.Max/1e9))
		t.row("the actor's own work", "p99 %s  max %s   (%.0f ns a low message)", brief(c.OwnP99/1e9), brief(c.OwnMax/1e9), c.LowNs)
		t.row("share of the low lane", "%.2f %% while critical ones never run out", 100*c.LowShare)
	}
	return t.print(w)
}

func ratioText(median float64, over [2]float64) string {
	return fmt.Sprintf("%.2fx (%.2f to %.2f)", median, over[0], over[1])
}

// benchTable is what a person reads.
type benchTable struct{ strings.Builder }

func (t *benchTable) head(format string, args ...any) {
	fmt.Fprintf(t, format+"\n", args...)
}

func (t *benchTable) row(name, format string, args ...any) {
	fmt.Fprintf(t, "  %-24s %s\n", name, fmt.Sprintf(format, args...))
}

func (t *benchTable) spread(name string, s bench.Spread, note string) {
	t.row(name, "%7.0f ns CPU  %7.0f ns wall (%.0f to %.0f)  %.2f allocations  %s", s.CPU, s.Median, s.Min, s.Max, s.Allocs, note)
}

func (t *benchTable) print(w io.Writer) error {
	lines := strings.Split(t.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

// gobenchLine is one line that benchstat reads.
func gobenchLine(w io.Writer, name string, s bench.Spread, more string) {
	fmt.Fprintf(w, "Benchmark%s 1 %.1f ns/op %.1f cpu-ns/op %.3f allocs/op%s\n", name, s.Median, s.CPU, s.Allocs, more)
}

func gobenchMailbox(w io.Writer, m bench.Mailbox) error {
	for _, s := range []bench.Sends{m.Many, m.Hot} {
		gobenchLine(w, fmt.Sprintf("Mailbox/mailbox=default/actors=%d", s.Actors), s.Default, "")
		gobenchLine(w, fmt.Sprintf("Mailbox/mailbox=laned/actors=%d", s.Actors), s.Bare, fmt.Sprintf(" %.3f x-default", s.BareRatio))
		gobenchLine(w, fmt.Sprintf("Mailbox/mailbox=chain/actors=%d", s.Actors), s.Chain, fmt.Sprintf(" %.3f x-default", s.ChainRatio))
	}
	if i := m.Idle; i.Actors > 0 {
		fmt.Fprintf(w, "BenchmarkIdle/actors=%d 1 %.1f B/actor %.1f default-B/actor\n", i.Actors, i.Bytes, i.Default)
	}
	if c := m.Critical; c.Backlog > 0 {
		fmt.Fprintf(w, "BenchmarkCritical/backlog=%d %d %.0f p50-ns %.0f p99-ns %.0f max-ns %.0f own-p99-ns %.5f low-share\n", c.Backlog, c.Probes, c.P50, c.P99, c.Max, c.OwnP99, c.LowShare)
	}
	return nil
}

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
real mailboxes, beside bare sends of a pointer to each; route an event among many
subscriptions, beside one; and ask filters.

Keep the ratios: they are of CPU time, round by round.`,
		Example: `  simd bench bus
  simd bench bus --agents 10000 --subscriptions 100000 --types 1000 --count 9 --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.IntVar(&o.Subscribers, "agents", 100_000, "subscribers that hear the event")
	f.IntVar(&o.Subscriptions, "subscriptions", 1_000_000, "subscriptions, for routing")
	f.IntVar(&o.Types, "types", 10_000, "event types among them")
	f.IntVar(&o.Rounds, "count", 5, "rounds; medians count")
	f.BoolVar(&o.json, "json", false, "one JSON object")
	f.BoolVar(&o.gobench, "gobench", false, "the form of go test -bench, for benchstat")
	return c
}

func (o *benchBusOptions) run(e *env) error {
	if err := o.check(o.Rounds, o.Subscribers, o.Subscriptions, o.Types); err != nil {
		return err
	}
	b, err := bench.RunBus(o.BusOptions)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		return writeJSON(e.out, b)
	case o.gobench:
		return gobenchBus(e.out, b)
	}
	var t benchTable
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
	return t.print(e.out)
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
