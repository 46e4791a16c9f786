// Package orders reads and keeps orders from outside of scenes (docs/formats/orders.md), and
// is the door by which they reach a run that another process carries out: a folder of the
// run directory in which a letter is a file, and its answer another.
//
// [Read] reads a file of the user, [Keep] and [Kept] are the orders with which a run began,
// [Send] gives orders to a run, [Command] says when its waves may begin, [See] looks at one of
// its agents, and [Door.Serve] takes all of them there.
//
// # Promises
//
//  1. Files are written completely or not at all.
//  2. An order that [Send] gives up on was not taken, or its receipt is lost: the same order
//     sent again is carried out once.
//  3. A command does not wait for orders. One that a kill interrupts has no answer.
//
// # Not here
//
// What orders change (engine/order) and commands mean (engine/control), and when they are
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
	"tavernsim/tools/ownfile"
)

// maxFile bounds a file, in bytes.
const maxFile = 16 << 20

// Files of a run directory: the orders with which a run began, and those for a wave or time
// that came while it ran, a line each.
const (
	keptFile  = "orders.json"
	laterFile = "orders.jsonl"
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

// Keep writes the orders of a run into its directory, in the place of those that it has.
func Keep(dir string, list []order.Entry) error {
	if len(list) == 0 {
		return nil
	}
	if err := write(filepath.Join(dir, keptFile), order.File{Orders: list}); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, laterFile)) // they are among them
}

// Add keeps one more order of a run: it is on the disk when Add returns. One caller at a time.
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
		if err := f.Truncate(int64(bytes.LastIndexByte(data, '\n') + 1)); err != nil {
			return err
		}
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Sync()
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
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	if len(data) == 0 {
		return list, nil
	}
	later, err := Parse(filepath.Join(dir, laterFile), data)
	type key struct{ scene, id string }
	first := map[key]bool{}
	for _, e := range list {
		first[key{e.Scene, e.ID}] = true
	}
	return append(list, slices.DeleteFunc(later, func(e order.Entry) bool { return first[key{e.Scene, e.ID}] })...), err
}

// Forget removes them.
func Forget(dir string) error {
	return errors.Join(os.RemoveAll(filepath.Join(dir, keptFile)), os.RemoveAll(filepath.Join(dir, laterFile)))
}

func write(name string, v any) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".order-*")
	if err != nil {
		return err
	}
	err = errors.Join(json.NewEncoder(f).Encode(v), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
