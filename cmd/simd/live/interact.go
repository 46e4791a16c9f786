package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/order"
	"tavernsim/engine/panel"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/replies"
	"tavernsim/scenes/run/interact"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir"
	"tavernsim/tools/approvals"
)

type interactOptions struct {
	value  string
	file   string
	cancel bool
	play   bool
	take   string
	by     string
	wait   time.Duration
	json   bool
}

// NewInteract is `simd interact`.
func NewInteract(e *cli.Env) *cobra.Command {
	var o interactOptions
	c := &cobra.Command{
		Use:   "interact DIR [ID]",
		Short: "Answer what agents ask people",
		Long: `List the open questions of a run that another process carries out (simd run
--interactive), or answer one by its id. With --play each question is shown as it opens,
and a line of the standard input answers it: JSON, or plain text where the question takes
text; questions that --by may not answer are passed over. An empty line leaves it open and passes it over; simd interact DIR ID answers it
then. It ends with the run, or with the input.

With --take-over ID, --by plays an agent meanwhile: in each of its turns the agent asks what
it does. A line is what it says aloud; /help lists what else it can do. At the end of the
input the agent goes on by itself.

An answer is an order, and so a fact of the run; one for which a turn waits is a part of that
turn. It is checked against the schema of its question; one that does not fit changes nothing
and may be tried again. Questions whether a tool may be called are listed, too; simd approve
answers them.

Exit codes: 0 answered or listed, 1 refused, or nobody took the answer within --wait, or
no process carries out the run whose questions are listed, 2 usage, 4 no such run or question, 6 nobody can be asked in the run.`,
		Example: `  simd interact runs/latest
  simd interact runs/latest ada/3.1 --value '"by the river"' --by player
  simd interact runs/latest ada/3.1 --file map.png --by player
  simd interact runs/latest ada/3.1 --cancel
  simd interact runs/latest --play --by player
  simd interact runs/latest --play --take-over mira --by anna`,
		Args: cobra.RangeArgs(1, 2),
		RunE: cli.UntilSignal(func(ctx context.Context, args []string) error { return o.run(ctx, e, args) }),
	}
	f := c.Flags()
	f.StringVar(&o.value, "value", "", "the answer, `JSON`")
	f.StringVar(&o.file, "file", "", "the answer is this `FILE`, where a file is asked for; at most 512 KiB")
	f.BoolVar(&o.cancel, "cancel", false, "end the question without an answer")
	f.BoolVar(&o.play, "play", false, "show each question as it opens, and answer it by a line")
	f.StringVar(&o.take, "take-over", "", "with --play: --by plays the agent `ID`, until the input ends")
	f.StringVar(&o.by, "by", "person", "who answers")
	f.DurationVar(&o.wait, "wait", 30*time.Second, "how long to wait until the run has taken an answer")
	f.BoolVar(&o.json, "json", false, "print the open questions, or what became of an answer, as JSON")
	cli.Least(f, 1, "wait")
	return c
}

func (o *interactOptions) run(ctx context.Context, e *cli.Env, args []string) error {
	m, err := rundir.ReadManifest(args[0])
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && (o.value != "" || o.file != "" || o.cancel):
		return cli.Usagef("--value, --file and --cancel are for one question: simd interact DIR ID")
	case o.take != "" && !o.play:
		return cli.Usagef("--take-over %s goes with --play; simd order DIR --take-over ID --by NAME takes an agent over without asking anything", protocol.Short(o.take, 80))
	case o.play && (len(args) == 2 || o.json):
		return cli.Usagef("--play answers all questions; an ID and --json do not go with it")
	case len(args) == 2 && !o.says():
		return cli.Usagef("say the answer, --value JSON or --file FILE, or --cancel")
	case len(args) == 1 && !o.play:
		return o.list(e, args[0])
	case !m.Interactive:
		return protocol.Errorf(protocol.KindConflict, "run %s: nobody can be asked in it; it began without --interactive", m.Run)
	case o.play:
		return o.playAll(ctx, e, args[0])
	}
	return o.one(ctx, e, args[0], args[1])
}

// list prints the open questions, and those about calls.
func (o *interactOptions) list(e *cli.Env, dir string) error {
	list, err := interact.List(dir)
	if err != nil {
		return err
	}
	if o.json {
		if list == nil {
			list = []panel.Asked{}
		}
		return errors.Join(show.JSON(e.Out, list), unheard(dir, len(list)))
	}
	for i := range list {
		_ = terminal.Print(e.Out, shownText(&list[i])+"\n")
	}
	leave, err := approvals.List(rundir.Approvals(dir))
	for _, q := range leave {
		fmt.Fprintf(e.Out, "%s  %s asks to call %s (simd approve %s)\n", q.ID, terminal.Plain(q.Agent), terminal.Plain(q.Tool), dir)
	}
	if err == nil && len(list)+len(leave) == 0 {
		fmt.Fprintln(e.Out, "nothing is asked")
	}
	return errors.Join(err, unheard(dir, len(list)+len(leave)))
}

// unheard is the error of open questions of a run that was killed: nobody hears an answer.
func unheard(dir string, questions int) error {
	if questions == 0 || persistence.InUse(filepath.Join(dir, rundir.JournalDir)) {
		return nil
	}
	return fmt.Errorf("no process carries out the run %s: nobody takes an answer until it goes on (simd run --resume %[1]s), and then it asks again", dir)
}

// one answers a question, or ends it.
func (o *interactOptions) one(ctx context.Context, e *cli.Env, dir, id string) error {
	list, err := interact.List(dir)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].ID == id {
			r := &panel.Reply{By: o.by, Cancel: o.cancel}
			if o.file != "" {
				if r.Value, err = interact.File(o.file); err != nil {
					return cli.Usagef("--file: %w", err)
				}
			} else if !o.cancel {
				if r.Value, err = valueOf(o.value); err != nil {
					return cli.Usagef("--value %s: %w", protocol.Short(o.value, 80), err)
				}
			}
			return o.send(ctx, e, dir, &list[i], r)
		}
	}
	return protocol.Errorf(protocol.KindNotFound, "run %s has no open question %q: simd interact %s lists them", dir, protocol.Short(id, 80), dir)
}

// says reports whether exactly one of the flags is there that end a question.
func (o *interactOptions) says() bool {
	n := 0
	for _, given := range []bool{o.value != "", o.file != "", o.cancel} {
		if given {
			n++
		}
	}
	return n == 1
}

// send ends a question by an order; one for whose answer a turn waits by a reply.
func (o *interactOptions) send(ctx context.Context, e *cli.Env, dir string, q *panel.Asked, r *panel.Reply) error {
	change := map[string]any{"answer": map[string]any{"interaction": q.ID, "value": r.Value}}
	switch {
	case q.Wait == panel.WaitTurn:
		return o.reply(ctx, e, dir, q, r)
	case r.Cancel:
		change = map[string]any{"cancel": map[string]any{"interaction": q.ID}}
	}
	return o.order(ctx, e, dir, q.Scene, q.ID, change)
}

// reply gives a turn the answer for which it waits, and waits until it has been taken.
func (o *interactOptions) reply(ctx context.Context, e *cli.Env, dir string, q *panel.Asked, r *panel.Reply) error {
	if err := replies.Fits(q, r); err != nil {
		return errors.New(err.Error()) // refused, like an order
	}
	if err := interact.Reply(dir, q, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	tick := time.NewTicker(nextLook)
	defer tick.Stop()
	for {
		list, err := interact.List(dir)
		if err != nil {
			return err
		}
		if !open(list, q) && o.json {
			return show.JSON(e.Out, orders.Receipt{ID: q.ID, Scene: q.Scene})
		} else if !open(list, q) {
			fmt.Fprintf(e.Out, "%s  taken\n", terminal.Plain(q.ID))
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("nobody took the answer to %s within %s; answer again when the run goes on", terminal.Plain(q.ID), o.wait), interact.Withdraw(dir, q))
		}
	}
}

// order gives the run an order and says what became of it; about is what it is about.
func (o *interactOptions) order(ctx context.Context, e *cli.Env, dir, scene, about string, change map[string]any) error {
	line, err := json.Marshal(order.Entry{ID: "interact-" + strconv.FormatInt(time.Now().UnixNano(), 36), Scene: scene, By: o.by, Do: []any{change}})
	if err != nil {
		return err
	}
	entries, err := orders.Parse("answer.jsonl", line)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	receipts, err := orders.Send(ctx, dir, entries)
	switch {
	case err != nil:
		return err
	case len(receipts) == 1 && receipts[0].Refused != "":
		return fmt.Errorf("%s", receipts[0].Refused)
	case len(receipts) == 1 && o.json:
		return show.JSON(e.Out, receipts[0])
	case len(receipts) == 1:
		fmt.Fprintf(e.Out, "%s  taken in wave %s\n", terminal.Plain(about), terminal.Thousands(receipts[0].Wave))
	}
	return nil
}

// nextLook is the time between two looks for questions.
const nextLook = 200 * time.Millisecond

// playAll shows each question as it opens and reads its answer, until the run or the input
// ends.
func (o *interactOptions) playAll(ctx context.Context, e *cli.Env, dir string) (err error) {
	if o.take != "" {
		err := o.order(ctx, e, dir, "", "take over "+o.take, map[string]any{"take_over": map[string]any{"agent": o.take}})
		if protocol.KindOf(err) == protocol.KindUnknownOutcome { // the run takes it over all the same
			return errors.Join(err, o.release(context.WithoutCancel(ctx), e, dir, "", o.take))
		}
		if err != nil {
			return err
		}
		defer func() {
			if o.take != "" && !rundir.Summarized(dir) {
				err = errors.Join(err, o.release(context.WithoutCancel(ctx), e, dir, "", o.take))
			}
		}()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in := linesOf(ctx, e.In)
	if list, err := interact.List(dir); err == nil { // it may go on just now
		if err := unheard(dir, len(list)); err != nil {
			fmt.Fprintln(e.Err, err)
		}
	}
	tick := time.NewTicker(nextLook)
	defer tick.Stop()
	shown := map[string]bool{} // by scene and id: asked once each
	for {
		list, err := interact.List(dir)
		if err != nil {
			return err
		}
		if len(list) == 0 && rundir.Summarized(dir) {
			return nil
		}
		for i := range list {
			mine := panel.NotFor(list[i].Players, o.by) == ""
			if key := list[i].Scene + "/" + list[i].ID; mine && !shown[key] {
				shown[key] = true
				if ends, err := o.ask(ctx, e, in, dir, &list[i]); ends || err != nil {
					return err
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// typed is a line of the input, with the error that ended it.
type typed struct {
	text string
	err  error
}

// linesOf reads lines until the input or ctx ends: a read of a terminal heeds no ctx.
func linesOf(ctx context.Context, r io.Reader) <-chan typed {
	lines := make(chan typed)
	go func() {
		defer close(lines)
		for in := bufio.NewReaderSize(r, 1<<16); ; {
			text, err := in.ReadString('\n')
			select {
			case lines <- typed{strings.TrimSpace(text), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// ask shows a question until it has an answer, an empty line, or an end that somebody else
// gave it; ends = the input has.
func (o *interactOptions) ask(ctx context.Context, e *cli.Env, in <-chan typed, dir string, q *panel.Asked) (ends bool, err error) {
	_ = terminal.Print(e.Out, shownText(q)+"\n")
	for {
		fmt.Fprint(e.Out, "> ")
		line, more := typed{}, false
		select {
		case line, more = <-in:
		case <-ctx.Done():
		}
		text := line.text
		switch {
		case !more, text == "" && errors.Is(line.err, io.EOF):
			return true, nil
		case text == "":
			return false, line.err
		}
		value, told, fits := any(nil), "", error(nil)
		if acts(q) {
			var released bool
			if value, told, released, fits = actOf(q, text); released {
				return false, o.release(ctx, e, dir, q.Scene, q.Agent)
			}
		} else {
			if text == wordRelease && o.take != "" {
				return false, o.release(ctx, e, dir, q.Scene, o.take)
			}
			value, fits = answerOf(q, text)
			if fits != nil && wantsFile(q) { // the line is no answer, so it names one
				value, fits = interact.File(text)
			}
		}
		if told != "" {
			fmt.Fprintln(e.Out, told)
			continue
		}
		if fits == nil {
			fits = o.send(ctx, e, dir, q, &panel.Reply{By: o.by, Value: value})
		}
		if fits == nil {
			return false, nil
		}
		fmt.Fprintln(e.Out, terminal.Plain(fits.Error()))
		if list, err := interact.List(dir); err != nil || !open(list, q) {
			return false, err
		}
	}
}

// release lets an agent go on by itself.
func (o *interactOptions) release(ctx context.Context, e *cli.Env, dir, scene, agent string) error {
	if agent == o.take {
		o.take = ""
	}
	return o.order(ctx, e, dir, scene, "release "+agent, map[string]any{"release": map[string]any{"agent": agent}})
}

func open(list []panel.Asked, q *panel.Asked) bool {
	return slices.ContainsFunc(list, func(x panel.Asked) bool { return x.ID == q.ID && x.Scene == q.Scene })
}

// asText is a text as it is, and any other value as JSON.
func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

// payloadText shows the fields of an object, and the elements of lists in it, a line each.
func payloadText(payload any) string {
	fields, ok := payload.(map[string]any)
	if !ok {
		return "\n  " + terminal.Plain(asText(payload))
	}
	var b strings.Builder
	for _, name := range protocol.SortedKeys(fields) {
		list, ok := fields[name].([]any)
		if !ok {
			list = []any{fields[name]}
		}
		for _, v := range list {
			fmt.Fprintf(&b, "\n  %-10s  %s", terminal.Plain(name), terminal.Plain(asText(v)))
		}
	}
	return b.String()
}

// shownText shows a question to who plays.
func shownText(q *panel.Asked) string {
	if acts(q) {
		return actText(q)
	}
	return askedText(q)
}

// wantsFile reports whether a question is one of the built-in action file, and not of an action of
// this name that a panel has.
func wantsFile(q *panel.Asked) bool {
	m, _ := q.Schema.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	return q.Action == "file" && properties["base64"] != nil
}

// endText says how long an answer is waited for.
func endText(q *panel.Asked) string {
	if q.Wait == panel.WaitTurn {
		return fmt.Sprintf("the agent's turn waits, for at most %s", q.Timeout.Std())
	}
	if q.Due != 0 {
		return fmt.Sprintf("until %s of the scene", q.Due)
	}
	return fmt.Sprintf("time stands, for at most %s", q.Timeout.Std())
}

// askedText shows a question.
func askedText(q *panel.Asked) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s asks", terminal.Plain(q.ID), terminal.Plain(q.Agent))
	if q.To != "" {
		fmt.Fprintf(&b, " %s", terminal.Plain(q.To))
	}
	fmt.Fprintf(&b, ": %s", terminal.Plain(q.Action))
	if q.Panel != "" {
		fmt.Fprintf(&b, " (%s)", terminal.Plain(q.Panel))
	}
	if q.Title != "" {
		fmt.Fprintf(&b, "\n  %s", terminal.Plain(q.Title))
	}
	if len(q.Players) > 0 {
		fmt.Fprintf(&b, "\n  for %s (--by)", terminal.Plain(strings.Join(q.Players, ", ")))
	}
	if q.Payload != nil {
		b.WriteString(payloadText(q.Payload))
	}
	switch {
	case wantsFile(q):
		b.WriteString("\n  answer: a file (--file FILE, or its name)")
	case q.Schema != nil:
		schema, _ := q.Schema.(map[string]any)
		words, ok := schema["enum"].([]any)
		if !ok || len(schema) > 1 {
			words = []any{q.Schema}
		}
		texts := make([]string, len(words))
		for i, w := range words {
			texts[i] = terminal.Plain(asText(w))
		}
		fmt.Fprintf(&b, "\n  answer: %s", strings.Join(texts, ", "))
	}
	fmt.Fprintf(&b, "\n  %s", endText(q))
	return b.String()
}
