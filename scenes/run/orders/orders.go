// Package orders reads and stores orders from outside of scenes (docs/formats/orders.md), and
// sends them to a run of another process through a [Door]: a folder of the
// run directory in which a message is a file, and its answer another.
//
// [Read] reads a file of the user, [Keep] and [Kept] store and read the orders with which a run began,
// [Send] gives orders to a run, [Command] says when its waves may begin, [See] shows one of
// its agents, and [Door.Serve] receives all of them in the run.
//
// # Promises
//
//  1. Files are written completely or not at all.
//  2. When [Send] gives up, it has withdrawn the order, or the error says that the run took it. The
//     same order sent again is carried out once.
//  3. A command does not wait for orders. A command that a kill interrupts has no answer.
//  4. [Placed] and [Joined] give what [Kept] gives after storing, to the last bit.
//
// # Not here
//
// The changes of orders (engine/order), the meaning of commands (engine/control), and the times at which they are
// taken (scenes).
package orders

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tavernsim/engine/order"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir/parts"
	"tavernsim/tools/ownfile"
)

// maxFile bounds a file, in bytes.
const maxFile = 16 << 20

// Files of a run directory: the orders with which a run began, and those for a wave or time
// that came while it ran, a line each.
const (
	keptFile  = parts.Orders
	laterFile = parts.LaterOrders
)

// Read reads a file of orders: YAML or JSON, or one order a line (.jsonl).
func Read(file string) ([]order.Entry, error) {
	data, err := ownfile.ReadAll(file, maxFile)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "orders: %w", err)
	}
	return Parse(file, data)
}

// Parse reads the text of such a file; its name says which form it has.
func Parse(file string, data []byte) ([]order.Entry, error) {
	report := &source.Report{}
	if strings.HasSuffix(file, ".jsonl") {
		data = order.Lines(data)
	}
	var list []order.Entry
	if doc := source.Parse(file, data, source.Limits{}, report); doc != nil {
		list = order.Parse(doc, report)
	}
	return list, report.Err()
}

// Keep writes the orders of a run into its directory, in the place of those that it has. What is more
// than a file of orders may have becomes lines.
func Keep(dir string, list []order.Entry) error {
	if len(list) == 0 {
		return Forget(dir)
	}
	first := min(len(list), order.MaxOrders)
	var lines bytes.Buffer
	for _, e := range list[first:] {
		if err := json.NewEncoder(&lines).Encode(e); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(dir, keptFile), order.File{Orders: list[:first]}); err != nil {
		return err
	}
	if lines.Len() == 0 {
		return os.RemoveAll(filepath.Join(dir, laterFile)) // they are among them
	}
	return writeBytes(filepath.Join(dir, laterFile), lines.Bytes())
}

// key is what one order has alone.
type key struct{ scene, id string }

func keyOf(e *order.Entry) key { return key{e.Scene, e.ID} }

// Placed are orders as they are when the run directory is read again, each with the name of its scene. One that is given
// twice is taken once.
func Placed(list []order.Entry, scenes []string) ([]order.Entry, error) {
	placed, at := make([]order.Entry, 0, len(list)), map[key]int{}
	for _, e := range list {
		if e.Scene == "" && len(scenes) == 1 {
			e.Scene = scenes[0]
		}
		if !slices.Contains(scenes, e.Scene) {
			return nil, protocol.Errorf(protocol.KindNotFound, "order %s: scene %q; the run has %v", e.ID, e.Scene, scenes)
		}
		again, err := reread(e)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindOf(err), "order %s: %w", e.ID, err)
		}
		i, twice := at[keyOf(&again)]
		switch {
		case !twice:
			at[keyOf(&again)] = len(placed)
			placed = append(placed, again)
		case !same(placed[i], again):
			return nil, protocol.Errorf(protocol.KindInvalid, "order %s: two of the given orders of the scene %s have this id; give each one of its own", again.ID, again.Scene)
		}
	}
	return placed, nil
}

// reread is an order that was written and read: JSON writes the number 1.0 as 1, which is a whole one.
func reread(e order.Entry) (order.Entry, error) {
	line, err := json.Marshal(e)
	if err != nil {
		return e, protocol.Errorf(protocol.KindInvalid, "%w", err)
	}
	list, err := Parse("as it is kept.jsonl", line)
	if err != nil {
		return e, err
	}
	return list[0], nil
}

// Joined are the orders that a run has, as many as had, and behind them those that are given to it when it goes on and
// that it has not.
func Joined(dir, run string, scenes []string, more []order.Entry) (all []order.Entry, had int, err error) {
	if more, err = Placed(more, scenes); err != nil {
		return nil, 0, err
	}
	if all, err = Kept(dir); err != nil {
		return nil, 0, err
	}
	had = len(all)
	at := make(map[key]int, had)
	for i := range all {
		at[keyOf(&all[i])] = i
	}
	for _, e := range more {
		switch i, known := at[keyOf(&e)]; {
		case !known:
			all = append(all, e)
		case !same(all[i], e):
			return nil, 0, protocol.Errorf(protocol.KindConflict, "order %s: the run %s has another order with this id; give yours one of its own", e.ID, run)
		}
	}
	return all, had, nil
}

// same reports whether two orders are one, as they are kept.
func same(a, b order.Entry) bool {
	x, bad := json.Marshal(a)
	y, err := json.Marshal(b)
	return bad == nil && err == nil && bytes.Equal(x, y)
}

// Add keeps one more order of a run: it is on the disk when Add returns. After an error the run does
// not have it. One caller at a time.
func Add(dir string, e order.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, laterFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(appendLine(f, line), f.Close())
}

// appendLine appends a line behind the last whole one: what a kill left behind it is no order.
func appendLine(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size+int64(len(line))+1 > maxFile {
		return protocol.Errorf(protocol.KindLimit, "%d bytes of orders for a wave or time came while the run is under way; no more are taken", size)
	}
	last := make([]byte, 1)
	if size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
	}
	if size > 0 && last[0] != '\n' {
		data, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		size = int64(bytes.LastIndexByte(data, '\n') + 1)
		if err := f.Truncate(size); err != nil {
			return err
		}
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err == nil && size == 0 {
		err = parts.SyncFolder(filepath.Dir(f.Name())) // the file is new
	}
	if err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}

// Kept are the orders that a run has, each once: from its beginning, and those that came
// while it ran and are for a wave or time.
func Kept(dir string) ([]order.Entry, error) {
	list, err := Read(filepath.Join(dir, keptFile))
	if errors.Is(err, fs.ErrNotExist) {
		list, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := ownfile.ReadAll(filepath.Join(dir, laterFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	later, err := lines(filepath.Join(dir, laterFile), data[:bytes.LastIndexByte(data, '\n')+1])
	if err != nil {
		return nil, err
	}
	known := map[key]bool{}
	return slices.DeleteFunc(append(list, later...), func(e order.Entry) bool {
		again := known[keyOf(&e)]
		known[keyOf(&e)] = true
		return again
	}), nil
}

// lines reads orders, each by itself: there may be more than a file of the user can have.
func lines(file string, data []byte) (list []order.Entry, err error) {
	number := 0
	for line := range bytes.Lines(data) {
		if number++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		one, err := Parse(file, line)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindCorrupt, "%s, line %d: it is no order that can be read (%w); mend the line, or remove it: then its order is not carried out", file, number, err)
		}
		list = append(list, one...)
	}
	return list, nil
}

// Forget removes them.
func Forget(dir string) error {
	return errors.Join(os.RemoveAll(filepath.Join(dir, keptFile)), os.RemoveAll(filepath.Join(dir, laterFile)))
}

func write(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeBytes(name, append(data, '\n'))
}

func writeBytes(name string, data []byte) error {
	if len(data) > maxFile {
		return protocol.Errorf(protocol.KindLimit, "%s: %d bytes; at most %d", name, len(data), maxFile)
	}
	f, err := os.CreateTemp(filepath.Dir(name), parts.NewOrders)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return parts.SyncFolder(filepath.Dir(name))
}
