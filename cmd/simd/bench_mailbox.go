package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tavernsim/bench"
)

type benchMailboxOptions struct {
	benchForm
	bench.MailboxOptions
}

func newBenchMailbox(e *env) *cobra.Command {
	var o benchMailboxOptions
	c := &cobra.Command{
		Use:   "mailbox",
		Short: "A message into an actor, beside Proto.Actor's default mailbox",
		Long: `Send the same event to many actors and to a single one, in three alternating ways:
with Proto.Actor's default mailbox, with simd's, and with simd's behind the full
chain of middlewares. Then measure the memory of idle actors, and the delay of a
critical message behind a backlog of low ones.

Compare the ratios; they use CPU time, round by round.`,
		Example: `  simd bench mailbox
  simd bench mailbox --agents 1000 --messages 100000 --idle 0 --count 9 --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.IntVar(&o.Agents, "agents", 100_000, "receiving actors")
	f.IntVar(&o.Messages, "messages", 1_000_000, "messages per round and way")
	f.IntVar(&o.Idle, "idle", 1_000_000, "idle actors, to measure their memory (0 = not measured)")
	f.IntVar(&o.Backlog, "backlog", 1_000_000, "low messages in front of the critical ones (0 = not measured)")
	f.IntVar(&o.Rounds, "count", 11, "rounds; the result is their median")
	o.register(f, "one JSON object")
	least(f, 1, "agents", "messages", "count")
	least(f, 0, "idle", "backlog")
	return c
}

func (o *benchMailboxOptions) run(e *env) error {
	if err := o.check(); err != nil {
		return err
	}
	m, err := bench.RunMailbox(o.MailboxOptions)
	if err != nil {
		return err
	}
	return o.print(e.out, m, func(w io.Writer) error { return gobenchMailbox(w, m) }, func(t *benchTable) { showMailbox(t, m) })
}

func showMailbox(t *benchTable, m bench.Mailbox) {
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
}

func ratioText(median float64, over [2]float64) string {
	return fmt.Sprintf("%.2fx (%.2f to %.2f)", median, over[0], over[1])
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
