package order

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

// File is a file of orders.
type File struct {
	Orders []Entry `json:"orders"`
}

// Entry is one order of a file. It is carried out at the beginning of a wave, at a time, or
// when both have come; without both at the beginning of the run.
type Entry struct {
	ID     string            `json:"id"`
	Scene  string            `json:"scene,omitempty"` // "" = the only scene of the run
	Wave   int64             `json:"wave,omitempty"`
	At     protocol.Duration `json:"at,omitempty"` // of scene time, since the start of the scene
	By     string            `json:"by,omitempty"`
	Reason string            `json:"reason,omitempty"`
	Do     []any             `json:"do"`
	// Refused says why nothing of it took effect, in a list of the orders of a run. It is
	// not read.
	Refused string `json:"refused,omitempty"`
}

// Kinds names the kinds of changes of an order, each with how often it comes; a change has one.
func (e *Entry) Kinds() string {
	var kinds []string
	counts := map[string]int{}
	for _, change := range e.Do {
		m, _ := change.(map[string]any)
		for kind := range m {
			if counts[kind]++; counts[kind] == 1 {
				kinds = append(kinds, kind)
			}
		}
	}
	for i, kind := range kinds {
		if n := counts[kind]; n > 1 {
			kinds[i] = fmt.Sprintf("%s ×%d", kind, n)
		}
	}
	return strings.Join(kinds, ", ")
}

// MaxOrders bounds one file.
const MaxOrders = 10_000

// Bounds of texts, in bytes.
const (
	MaxText   = 256 // of an id, and of who gave an order
	maxReason = cast.MaxReason
)

func rules() source.Rules {
	return source.Rules{
		"order.File.orders":   {Required: true, MaxItems: MaxOrders, Doc: "Orders, in the order in which they are carried out at one moment."},
		"order.Entry.id":      {Doc: "Name of the order, one in a scene; at most 256 bytes. Default `order-N`, N its place in the file."},
		"order.Entry.scene":   {Doc: "Scene that it is for; may be absent where the run has one scene."},
		"order.Entry.wave":    {Range: &source.Range{Min: 1, Max: 1 << 53}, Doc: "The order is this wave, or the next one that can be."},
		"order.Entry.at":      {Range: &source.Range{Min: 0, Max: 1e9}, Doc: "Scene time since the start of the scene. With `wave`: both must have come. Without both: at once."},
		"order.Entry.by":      {Doc: "Who gives it; at most 256 bytes."},
		"order.Entry.reason":  {Doc: "Why; at most 2 KiB."},
		"order.Entry.do":      {Required: true, MaxItems: MaxChanges, Doc: "Changes, each an object with one field, the kind of the change. All of them or none."},
		"order.Entry.refused": {Doc: "Why nothing of it took effect, in what `simd inspect DIR orders --json` prints. It is not read."},
	}
}

// Lines makes a file of a text with one order a line. Empty lines are none, and every order keeps its line.
func Lines(text []byte) []byte {
	out, separator := []byte(`{"orders":[`), ""
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			out = append(out, separator...)
			separator = ","
		}
		out = append(out, line...)
	}
	return append(out, "]}"...)
}

// Parse reads a file of orders and reports its faults with their places. An order without
// an id gets its place in the file: order-1 and so on. Orders keep their places, but for
// those of later waves or times, which the stage sorts.
func Parse(doc *source.Document, report *source.Report) []Entry {
	before := report.Total()
	f := &File{}
	d := source.Decoder{Rules: rules(), Report: report}
	if !d.Decode(doc, f) {
		return nil
	}
	ids := map[string]bool{}
	for i := range f.Orders {
		e := &f.Orders[i]
		fault := func(field, message string) {
			steps := []string{"orders", strconv.Itoa(i)}
			if field != "" {
				steps = append(steps, field)
			}
			n, _ := doc.Root.Find(steps...)
			report.At(doc, n.Pos, source.Path(steps...), message, "")
		}
		if e.ID == "" {
			e.ID = "order-" + strconv.Itoa(i+1)
		}
		key := e.Scene + "\x00" + e.ID
		if ids[key] {
			fault("id", "another order of this file has the id "+e.ID)
		}
		ids[key] = true
		for field, text := range map[string]string{"id": e.ID, "by": e.By} {
			if len(text) > MaxText {
				fault(field, fmt.Sprintf("%d bytes, want at most %d", len(text), MaxText))
			}
		}
		if len(e.Reason) > maxReason {
			fault("reason", fmt.Sprintf("%d bytes, want at most %d", len(e.Reason), maxReason))
		}
		if _, err := Read(e.ID, e.Reason, protocol.Encode(e.Do)); err != nil {
			fault("do", err.Error())
		}
	}
	if report.Total() > before {
		return nil
	}
	return f.Orders
}

// Fact is the order as the stage keeps it.
func (e *Entry) Fact() *agenda.Intervened {
	return &agenda.Intervened{ID: e.ID, By: e.By, Reason: e.Reason, Do: protocol.Encode(e.Do)}
}

// EntryOf is the order of a fact, for the wave and the time of scene that it had.
func EntryOf(scene string, wave uint64, after time.Duration, f *agenda.Intervened, refused string) (Entry, error) {
	v, err := f.Do.Value()
	do, _ := v.([]any)
	return Entry{ID: f.ID, Scene: scene, Wave: int64(wave), At: protocol.Duration(after), By: f.By, Reason: f.Reason, Do: do, Refused: refused}, err
}
