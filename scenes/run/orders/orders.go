// Package orders reads and keeps orders from outside of scenes (docs/formats/orders.md), and
// is the door by which they reach a run that another process carries out: a folder of the
// run directory in which a letter is a file, and its answer another.
//
// [Read] reads a file of the user, [Keep] and [Kept] are the orders with which a run began,
// [Send] gives orders to a run, [Command] says when its waves may begin, and [Door.Serve]
// takes both there.
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
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tavernsim/engine/order"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

// maxFile bounds a file, in bytes.
const maxFile = 16 << 20

// keptFile has the orders with which a run began.
const keptFile = "orders.json"

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
		file, data = strings.TrimSuffix(file, "l"), order.Lines(data)
	}
	var list []order.Entry
	if doc := source.Parse(file, data, source.Limits{}, report); doc != nil {
		list = order.Parse(doc, report)
	}
	return list, report.Err()
}

// Keep writes the orders of a run into its directory.
func Keep(dir string, list []order.Entry) error {
	if len(list) == 0 {
		return nil
	}
	return write(filepath.Join(dir, keptFile), order.File{Orders: list})
}

// Kept are the orders that a run has from its beginning.
func Kept(dir string) ([]order.Entry, error) {
	list, err := Read(filepath.Join(dir, keptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// Forget removes them.
func Forget(dir string) error { return os.RemoveAll(filepath.Join(dir, keptFile)) }

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
