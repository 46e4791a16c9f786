package orders

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tavernsim/engine/control"
	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/ownfile"
)

// Receipt says what became of an order.
type Receipt struct {
	ID      string             `json:"id"`
	Scene   string             `json:"scene"`
	Wave    uint64             `json:"wave,omitempty"`    // that the order is; 0 = it has none
	Planned bool               `json:"planned,omitempty"` // the run has it for its wave or time, also after a kill
	Refused string             `json:"refused,omitempty"` // why nothing of it took effect
	Kind    protocol.ErrorKind `json:"kind,omitempty"`    // of a refusal without a wave
}

// Stand says how the waves of a scene are controlled, after a command.
type Stand struct {
	Scene string `json:"scene"`
	control.Report
	Changed []string           `json:"changed,omitempty"` // what a reload made another, a line each
	Seen    *glance.Seen       `json:"seen,omitempty"`    // by a look
	Refused string             `json:"refused,omitempty"` // why the command changes nothing, or a reload not all
	Kind    protocol.ErrorKind `json:"kind,omitempty"`    // of the refusal
}

// Reload is a command that the run obeys, and no scene of it: it reads files of the operator
// again.
const Reload = "reload"

// Look asks for the agent that the command names as it is; see scenes/glance.
const Look = "look"

// Wish is a command on its way to a run.
type Wish struct {
	control.Command
	Wait protocol.Duration `json:"wait"` // the most that its answer takes
}

// Door takes letters with orders, and with commands, out of a folder.
type Door struct {
	Dir string // of the run
	// Give carries out one order and returns when that is durable. If it does not know what becomes of it (kind
	// unknown_outcome), its letter has no answer and stays for whoever goes on with the run.
	Give func(context.Context, *order.Entry) Receipt
	// Control gives a scene a command. Several goroutines call it.
	Control func(context.Context, *control.Command) Stand

	commands sync.WaitGroup // under way
}

const (
	folder = parts.Letters // of the letters, in the run directory
	letter = ".order.json"
	taken  = ".taken.json" // a letter whose orders are carried out, or were when the process was killed
	wish   = ".control.json"
	answer = ".receipt.json"
	look   = 100 * time.Millisecond // between two looks into the folder
)

// Serve takes letters until ctx ends, the oldest first, and answers them. What was not
// answered stays; the next process of the run takes it. Commands do not wait for orders.
func (d *Door) Serve(ctx context.Context) {
	d.commands.Go(func() { d.watch(ctx, wish, d.obey) })
	for _, name := range d.letters(taken) { // of the process before this one
		if ctx.Err() == nil {
			d.carryOut(ctx, name)
		}
	}
	d.watch(ctx, letter, d.take)
	d.commands.Wait()
}

// watch takes letters of a form until ctx ends.
func (d *Door) watch(ctx context.Context, form string, take func(context.Context, string)) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for _, name := range d.letters(form) {
			if ctx.Err() != nil {
				return
			}
			take(ctx, name)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// obey takes one command, and answers it when it has counted. One that a kill interrupts has
// no answer.
func (d *Door) obey(ctx context.Context, name string) {
	data, err := ownfile.ReadAll(name, maxFile)
	if removed := os.Remove(name); removed != nil { // it was taken back
		return
	}
	w := &Wish{}
	if err == nil {
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		err = strict.Decode(w)
	}
	d.commands.Go(func() {
		stand := Stand{Scene: w.Scene}
		if err != nil {
			stand.Refused, stand.Kind = err.Error(), protocol.KindInvalid
		} else {
			within, cancel := context.WithTimeout(ctx, w.Wait.Std())
			defer cancel()
			stand = d.Control(within, &w.Command)
		}
		_ = write(strings.TrimSuffix(name, wish)+answer, []Stand{stand}) // whoever asked gives up
	})
}

// letters are the files of letters of a form by name, which begins with the time.
func (d *Door) letters(form string) (names []string) {
	list, err := os.ReadDir(filepath.Join(d.Dir, folder))
	if err != nil {
		return nil // there is none
	}
	for _, e := range list {
		if strings.HasSuffix(e.Name(), form) && e.Type().IsRegular() {
			names = append(names, filepath.Join(d.Dir, folder, e.Name()))
		}
	}
	slices.Sort(names)
	return names
}

// take takes one letter, so that whoever sent it cannot take it back any more.
func (d *Door) take(ctx context.Context, name string) {
	to := strings.TrimSuffix(name, letter) + taken
	if os.Rename(name, to) == nil { // else it was taken back
		d.carryOut(ctx, to)
	}
}

// carryOut carries out a letter that was taken, and answers it.
func (d *Door) carryOut(ctx context.Context, name string) {
	var receipts []Receipt
	data, err := ownfile.ReadAll(name, maxFile)
	var list []order.Entry
	if err == nil {
		list, err = Parse(name, data)
	}
	if err != nil {
		receipts = []Receipt{{Refused: err.Error(), Kind: protocol.KindOf(err)}}
	}
	for i := range list {
		r := d.Give(ctx, &list[i])
		if ctx.Err() != nil && r.Wave == 0 || r.Kind == protocol.KindUnknownOutcome {
			return // whoever goes on with the run takes it
		}
		receipts = append(receipts, r)
	}
	if err := write(strings.TrimSuffix(name, taken)+answer, receipts); err == nil {
		_ = os.Remove(name)
	}
}

// Send gives orders to the process that carries out a run, in this order, and returns
// their receipts. It gives up when ctx ends; a letter that nobody has taken by then is taken back.
func Send(ctx context.Context, dir string, list []order.Entry) ([]Receipt, error) {
	return send[Receipt](ctx, dir, letter, order.File{Orders: list})
}

// Command gives a command to the process that carries out a run, and returns how its scene
// stands: at the latest after wait, which ends with ctx, too.
func Command(ctx context.Context, dir string, c *control.Command, wait time.Duration) (Stand, error) {
	list, err := send[Stand](ctx, dir, wish, Wish{Command: *c, Wait: protocol.Duration(wait)})
	if err == nil && len(list) != 1 {
		err = protocol.Errorf(protocol.KindCorrupt, "run %s: %d answers to a command", dir, len(list))
	}
	if err != nil {
		return Stand{}, err
	}
	return list[0], nil
}

// lookTime is how long a run has to show an agent: a wave may wait for models.
const lookTime = 2 * time.Second

// See asks the process that carries out a run for one agent as it is. It gives up soon: whoever asked
// can read the facts.
func See(ctx context.Context, dir, scene, agent string) (*glance.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	stand, err := Command(ctx, dir, &control.Command{Do: Look, Scene: scene, Agent: agent}, lookTime)
	switch {
	case err != nil:
		return nil, err
	case stand.Seen == nil:
		return nil, protocol.Errorf(cmp.Or(stand.Kind, protocol.KindConflict), "run %s: %s", dir, cmp.Or(stand.Refused, "it shows no agents"))
	}
	return stand.Seen, nil
}

// send leaves a letter and waits for its answer.
func send[T any](ctx context.Context, dir, form string, v any) ([]T, error) {
	in := filepath.Join(dir, folder)
	if err := os.MkdirAll(in, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(in, fmt.Sprintf("%020d-%d", time.Now().UnixNano(), os.Getpid()))
	if err := write(name+form, v); err != nil {
		return nil, err
	}
	return await[T](ctx, dir, name, form)
}

// await waits for the answer to a letter.
func await[T any](ctx context.Context, dir, name, form string) (receipts []T, err error) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for late := false; ; {
		data, err := ownfile.ReadAll(name+answer, maxFile)
		if err == nil {
			_ = os.Remove(name + answer)
			return receipts, json.Unmarshal(data, &receipts)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if late {
			return nil, protocol.Errorf(protocol.KindUnknownOutcome, "run %s: it was taken, and has not been answered: what becomes of it is not known yet (%w)", dir, context.Cause(ctx))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if os.Remove(name+form) != nil { // it was taken, and perhaps answered just now
				late = true
				continue
			}
			return nil, protocol.Errorf(protocol.KindTransient, "run %s: nobody took it, and it was taken back: %w", dir, context.Cause(ctx))
		}
	}
}
