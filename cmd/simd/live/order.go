// Package live has the commands that act on a running run: order, control,
// interact, approve.
package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/order"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir"
)

type orderOptions struct {
	order.Entry
	do   []string
	take string
	free string
	at   time.Duration
	wait time.Duration
	json bool
}

// NewOrder is `simd order`.
func NewOrder(e *cli.Env) *cobra.Command {
	var o orderOptions
	c := &cobra.Command{
		Use:   "order DIR [FILE]",
		Short: "Change a scene while it runs",
		Long: `Give orders to a run that another process carries out: the changes of --do as one
order, or the orders of a file (- = standard input, one order a line). An order is
carried out between two waves, as a whole or not at all, and is a fact of the run. The
command prints what became of each when that is durable.

With --at or --wave, or as the orders of the file say, the run keeps an order for a later
time of the scene or a wave, also over a kill, and the command does not wait for it; simd
inspect DIR orders shows what became of it.

Changes are JSON objects with one field, their kind, as docs/formats/orders.md has them.

Exit codes: 0 all carried out or kept, 1 some refused, or there was no answer within --wait: the
message says whether the run has taken them or they were taken back, 2 usage, also a faulty --do,
3 a faulty file, 4 no such run or agent, 6 the run has ended or is ending, or another order has the
id. If the only order is refused, the exit code is that of its reason: 2, 3, 4 or 6, and 1
for any other.`,
		Example: `  simd order runs/latest --by gm --do '{"event": {"type": "river.rose"}}'
  simd order runs/latest --do '{"goal": {"agent": "mira", "id": "rest"}}'
  simd order runs/latest --do '{"end": {}}'
  simd order runs/latest --at 2h --do '{"say": {"text": "The inn closes."}}'
  simd order runs/latest --take-over mira --by anna
  simd order runs/latest orders.yaml`,
		Args: cobra.RangeArgs(1, 2),
		RunE: cli.UntilSignal(func(ctx context.Context, args []string) error { return o.run(ctx, e, args) }),
	}
	f := c.Flags()
	f.StringArrayVar(&o.do, "do", nil, "a `CHANGE`; repeat it for several in one order")
	f.StringVar(&o.take, "take-over", "", "--by plays the agent `ID` from now on: simd interact asks what it does in its turns")
	f.StringVar(&o.free, "release", "", "nobody plays the agent `ID` any more")
	f.StringVar(&o.ID, "id", "", "name of the order; sent again, it is carried out once (default: drawn from the time)")
	f.StringVar(&o.By, "by", "", "who gives it")
	f.StringVar(&o.Reason, "reason", "", "why")
	f.DurationVar(&o.at, "at", 0, "carry it out at this scene time, counted from the start of the scene")
	f.Int64Var(&o.Wave, "wave", 0, "carry it out as this wave, or as the next one that can be")
	f.StringVar(&o.Scene, "scene", "", "`ID` of the scene, if the run has several")
	f.DurationVar(&o.wait, "wait", 30*time.Second, "how long to wait until the orders are carried out")
	f.BoolVar(&o.json, "json", false, "print the receipts as JSON")
	cli.Least(f, 1, "wait")
	cli.Least(f, 0, "at", "wave")
	return c
}

// underWay refuses a directory that is no run, or that of one that has ended: nobody will take
// a letter there.
func underWay(dir string) error {
	if _, err := rundir.ReadManifest(dir); err != nil {
		return err
	}
	if rundir.Summarized(dir) {
		return protocol.Errorf(protocol.KindConflict, "run %s has ended", dir)
	}
	return nil
}

func (o *orderOptions) run(ctx context.Context, e *cli.Env, args []string) error {
	if err := underWay(args[0]); err != nil {
		return err
	}
	list, err := o.orders(e, args[1:])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	receipts, err := orders.Send(ctx, args[0], list)
	if err != nil {
		return err
	}
	if o.json {
		if err := show.JSON(e.Out, receipts); err != nil {
			return err
		}
	}
	if err = o.tell(e, receipts); len(args) == 1 {
		err = cli.Given(err)
	}
	return err
}

// orders are those of the file, or the one of the flags.
func (o *orderOptions) orders(e *cli.Env, file []string) ([]order.Entry, error) {
	switch {
	case len(file) == 1 && (len(o.do) > 0 || o.take+o.free != "" || o.ID+o.By+o.Reason+o.Scene != "" || o.at != 0 || o.Wave != 0):
		return nil, cli.Usagef("the orders of a file have their own --do, --take-over, --release, --id, --by, --reason, --scene, --at and --wave")
	case len(file) == 1 && file[0] == "-":
		text, err := cli.ReadInput(e, file)
		if err != nil {
			return nil, err
		}
		return orders.Parse("standard input.jsonl", []byte(text))
	case len(file) == 1:
		return orders.Read(file[0])
	case len(o.do) == 0 && o.take+o.free == "":
		return nil, cli.Usagef("say what to change: --do CHANGE, --take-over ID, --release ID, or a file of orders")
	case o.take != "" && o.take == o.free:
		return nil, cli.Usagef("--take-over %s --release %s: an order does one of the two with an agent", protocol.Short(o.take, 80), protocol.Short(o.free, 80))
	case o.take != "" && o.By == "":
		return nil, cli.Usagef("--take-over %s: say who plays it, --by NAME", protocol.Short(o.take, 80))
	}
	if o.ID == "" {
		o.ID = "order-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	}
	o.At = protocol.Duration(o.at)
	for _, text := range o.do {
		change, err := valueOf(text)
		if err != nil {
			return nil, cli.Usagef("--do %s: %w", protocol.Short(text, 80), err)
		}
		if _, is := change.(map[string]any); !is {
			return nil, cli.Usagef("--do %s: want an object", protocol.Short(text, 80))
		}
		o.Do = append(o.Do, change)
	}
	for _, c := range [2][2]string{{"take_over", o.take}, {"release", o.free}} { // in this order
		if id := c[1]; id != "" {
			o.Do = append(o.Do, map[string]any{c[0]: map[string]any{"agent": id}})
		}
	}
	line, err := json.Marshal(o.Entry)
	if err != nil {
		return nil, err
	}
	list, err := orders.Parse("--do.jsonl", line)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return list, nil
}

// tell prints the receipts; an order that was not carried out is an error.
func (o *orderOptions) tell(e *cli.Env, receipts []orders.Receipt) error {
	failed := 0
	for _, r := range receipts {
		text := "carried out in wave " + terminal.Thousands(r.Wave)
		switch {
		case r.Refused != "":
			failed++
			text = "refused: " + terminal.Plain(r.Refused)
		case r.Planned:
			text = "waits for its wave or time"
		}
		if !o.json {
			fmt.Fprintf(e.Out, "%s  %s\n", terminal.Plain(r.ID), text)
		}
	}
	switch {
	case failed == 0:
		return nil
	case len(receipts) == 1 && receipts[0].Kind != "":
		return protocol.Errorf(receipts[0].Kind, "%s", receipts[0].Refused)
	}
	return fmt.Errorf("%d of %d orders were refused", failed, len(receipts))
}
