package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/tools/ownfile"
)

// Receipt says what became of an order.
type Receipt struct {
	ID      string             `json:"id"`
	Scene   string             `json:"scene"`
	Wave    uint64             `json:"wave,omitempty"`    // that the order is; 0 = it has none
	Refused string             `json:"refused,omitempty"` // why nothing of it took effect
	Kind    protocol.ErrorKind `json:"kind,omitempty"`    // of a refusal without a wave
}

// Door takes letters with orders out of a folder.
type Door struct {
	Dir string // of the run
	// Give carries out one order and returns when that is durable.
	Give func(context.Context, *order.Entry) Receipt
}

const (
	folder = "orders" // of the letters, in the run directory
	letter = ".order.json"
	answer = ".receipt.json"
	look   = 100 * time.Millisecond // between two looks into the folder
)

// Serve takes letters until ctx ends, the oldest first, and answers them. What was not
// taken stays; the next process of the run takes it.
func (d *Door) Serve(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for _, name := range d.letters() {
			if ctx.Err() != nil {
				return
			}
			d.take(ctx, name)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// letters are the files of letters by name, which begins with the time.
func (d *Door) letters() (names []string) {
	list, err := os.ReadDir(filepath.Join(d.Dir, folder))
	if err != nil {
		return nil // there is none
	}
	for _, e := range list {
		if strings.HasSuffix(e.Name(), letter) && e.Type().IsRegular() {
			names = append(names, filepath.Join(d.Dir, folder, e.Name()))
		}
	}
	slices.Sort(names)
	return names
}

// take carries out one letter and answers it.
func (d *Door) take(ctx context.Context, name string) {
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
		if ctx.Err() != nil && r.Wave == 0 {
			return // the next process takes it
		}
		receipts = append(receipts, r)
	}
	if err := write(strings.TrimSuffix(name, letter)+answer, receipts); err == nil {
		_ = os.Remove(name)
	}
}

// Send gives orders to the process that carries out a run, in this order, and returns
// their receipts. It gives up when ctx ends, and when nobody takes the letter.
func Send(ctx context.Context, dir string, list []order.Entry) ([]Receipt, error) {
	in := filepath.Join(dir, folder)
	if err := os.MkdirAll(in, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(in, fmt.Sprintf("%020d-%d", time.Now().UnixNano(), os.Getpid()))
	if err := write(name+letter, order.File{Orders: list}); err != nil {
		return nil, err
	}
	return await(ctx, dir, name)
}

// await waits for the answer to a letter.
func await(ctx context.Context, dir, name string) (receipts []Receipt, err error) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for late := false; ; {
		data, err := ownfile.ReadAll(name+answer, maxFile)
		if err == nil {
			_ = os.Remove(name + answer)
			return receipts, json.Unmarshal(data, &receipts)
		}
		if late || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if os.Remove(name+letter) != nil { // it was answered just now
				late = true
				continue
			}
			return nil, protocol.Errorf(protocol.KindTransient, "run %s: nobody took the order, and it was taken back: %w", dir, context.Cause(ctx))
		}
	}
}
