package receipts_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/order"
	"tavernsim/engine/travel"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/ordered"
	"tavernsim/scenes/receipts"
)

// empty is a journal without orders.
type empty struct{ history.Journal }

func (empty) Scan(persistence.Query, func(protocol.Record) error) error { return nil }
func (empty) Begin() persistence.Wave                                   { return persistence.Wave{} }

// shortened is one whose first waves were dropped, with a snapshot of wave 30.
type shortened struct {
	empty
	scene machines.SceneSnapshot
}

func (shortened) Begin() persistence.Wave   { return persistence.Wave{Number: 20} }
func (shortened) Durable() persistence.Wave { return persistence.Wave{Number: 30} }
func (j shortened) SnapshotAt(wave uint64) (*persistence.Snapshot, error) {
	raw, err := machines.NewCodec().Marshal(&j.scene)
	return &persistence.Snapshot{Wave: persistence.Wave{Number: wave}, Read: func(yield func(string, []byte) error) error { return yield(machines.Agenda, raw) }}, err
}

// short is a book of such a journal.
func short(t *testing.T, told *[]string, orders *ordered.List) *receipts.Book {
	t.Helper()
	a := agenda.New(agenda.Config{Clock: agenda.Virtual})
	a.Start(0)
	a.Now = protocol.Time(100 * time.Second)
	raw, err := a.Snapshot(machines.NewCodec())
	if err != nil {
		t.Fatal(err)
	}
	b := book(told)
	b.Journal = shortened{scene: machines.SceneSnapshot{Agenda: raw, Orders: orders}}
	if b.Past, err = history.Dropped(b.Journal, b.Codec); err != nil {
		t.Fatal(err)
	}
	return b
}

// Promise 1: an order whose fact was dropped is not carried out again, and one that the scene did not carry out is.
func TestDropped(t *testing.T) {
	list := func() []*machines.Order {
		return []*machines.Order{
			{Intervened: asks("first", ""), Had: true}, {Intervened: asks("early", ""), Wave: 3, Had: true}, {Intervened: asks("perhaps", ""), Wave: 19, Had: true},
			{Intervened: asks("at once", ""), After: 50 * time.Second, Had: true}, {Intervened: asks("now", ""), After: 100 * time.Second, Had: true},
			{Intervened: asks("later", ""), Wave: 40, Had: true}, {Intervened: asks("in time", ""), After: 200 * time.Second, Had: true}, {Intervened: asks("new", ""), Wave: 50},
		}
	}
	of := func(wave uint64, after time.Duration, ids ...string) *ordered.List {
		l := &ordered.List{Wave: wave, After: after}
		for _, id := range ids {
			l.Orders = append(l.Orders, ordered.Order{ID: id, Said: ordered.Sum(asks(id, "")), Wave: 7, After: time.Second})
		}
		return l
	}
	for _, c := range []struct {
		what   string
		orders *ordered.List
		want   string
	}{
		{"of an older program", nil, "later, in time, new"},
		{"with all orders", of(0, 0, "first", "now"), "early, perhaps, at once, later, in time, new"},
		{"with no order", of(0, 0), "first, early, perhaps, at once, now, later, in time, new"},
		{"without the oldest", of(5, 50*time.Second, "perhaps"), "now, later, in time, new"},
		{"that lacks one of a kept wave", of(25, 100*time.Second), "later, in time, new"},
	} {
		var told []string
		b := short(t, &told, c.orders)
		got, err := b.Planned(list(), 30, func(*machines.Order) error { return nil })
		var ids []string
		for _, o := range got {
			ids = append(ids, o.ID)
		}
		if err != nil || strings.Join(ids, ", ") != c.want {
			t.Errorf("a snapshot %s: %q, want %q; %v", c.what, strings.Join(ids, ", "), c.want, err)
		}
		for _, o := range list() {
			r, err := b.Plan(o, 30, func() error { return nil })
			if err != nil || len(told) > 0 || r.Planned != slices.Contains(ids, o.ID) || !r.Planned && r.Wave == 0 && r.Refused == "" {
				t.Errorf("a snapshot %s: %s is given again: %v, %+v, %v", c.what, o.ID, told, r, err)
			}
		}
	}
}

// Promise 1 for orders that are carried out at once: such a one has the receipt that it had.
func TestDroppedAndGivenAgain(t *testing.T) {
	var told []string
	b := short(t, &told, &ordered.List{Orders: []ordered.Order{{ID: "a", Said: ordered.Sum(asks("a", "")), Wave: 7, Refused: "no"}}})
	g, err := b.Take(asks("a", ""))
	if err != nil || !durable(g) || g.Receipt != (receipts.Receipt{ID: "a", Wave: 7, Refused: "no"}) || len(told) > 0 {
		t.Error(g, err, told)
	}
	if _, err := b.Take(asks("a", "other")); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
}

func book(told *[]string) *receipts.Book {
	return &receipts.Book{Scene: "s", Journal: empty{}, Codec: machines.NewCodec(), Tell: func(o *machines.Order) { *told = append(*told, o.ID) }}
}

func asks(id string, reason string) *agenda.Intervened {
	return &agenda.Intervened{ID: id, Reason: reason, Do: protocol.Encode([]any{})}
}

func durable(g *receipts.Given) bool {
	select {
	case <-g.Durable:
		return true
	default:
		return false
	}
}

// Promises 1 and 2: an order is told once, another one with its id is a conflict, and a
// receipt is given when its wave is durable, or when the order is kept.
func TestBook(t *testing.T) {
	var told []string
	b := book(&told)
	first, err := b.Take(asks("a", ""))
	again, twice := b.Take(asks("a", ""))
	if err != nil || twice != nil || first != again || len(told) != 1 || durable(first) {
		t.Fatal(err, twice, told)
	}
	if _, err := b.Take(asks("a", "other")); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
	b.Kept(4, asks("a", ""))
	b.Kept(4, &agenda.OrderRefused{ID: "a", Error: "no"})
	b.WaveKept(3)
	if durable(first) {
		t.Error("a receipt before its wave")
	}
	b.WaveKept(4)
	if !durable(first) || first.Receipt != (receipts.Receipt{ID: "a", Wave: 4, Refused: "no"}) {
		t.Errorf("%+v", first.Receipt)
	}
	kept, full := 0, errors.New("no room")
	keep := func() error { kept++; return full }
	plan := func(o *machines.Order) (receipts.Receipt, error) { return b.Plan(o, 4, keep) }
	if _, err := plan(&machines.Order{Intervened: asks("lost", ""), After: 5}); err == nil || len(told) != 1 {
		t.Error("an order is told that was not kept", told)
	}
	kept, full = 0, nil
	for range 2 {
		if got, err := plan(&machines.Order{Intervened: asks("b", ""), Wave: 9}); err != nil || got != (receipts.Receipt{ID: "b", Planned: true}) || kept != 1 {
			t.Error(got, err, kept)
		}
	}
	if got, err := plan(&machines.Order{Intervened: asks("a", ""), After: 5}); err != nil || got.Wave != 4 {
		t.Error(got, err)
	}
	for _, o := range []*machines.Order{{Intervened: asks("b", "other"), Wave: 9}, {Intervened: asks("c", ""), Wave: 4}} {
		if _, err := plan(o); protocol.KindOf(err) != protocol.KindConflict {
			t.Error(o.ID, err)
		}
	}
	b.Kept(9, asks("b", ""))
	b.WaveKept(9)
	if got, err := plan(&machines.Order{Intervened: asks("b", ""), Wave: 9}); err != nil || got.Planned || got.Wave != 9 {
		t.Error(got, err)
	}
}

// Promise 1: two orders that JSON writes in one way say the same. Of runs that exist the journal has 1.0, where the run
// directory has 1.
func TestNumbersAsKept(t *testing.T) {
	var told []string
	b := book(&told)
	of := func(level any) *agenda.Intervened {
		return &agenda.Intervened{ID: "a", Do: protocol.Encode([]any{map[string]any{"event": map[string]any{"type": "bell", "payload": level}}})}
	}
	if _, err := b.Take(of(1.0)); err != nil {
		t.Fatal(err)
	}
	got, err := b.Planned([]*machines.Order{{Intervened: of(int64(1)), Had: true}}, 5, func(*machines.Order) error { return nil })
	if err != nil || len(got) != 0 || len(told) != 1 {
		t.Error(got, err, told)
	}
	if _, err := b.Take(of(1.5)); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
}

// Promise 3: who gives an order again while the scene ends hears what became of it; another one is refused.
func TestEnding(t *testing.T) {
	var told []string
	b := book(&told)
	keep := func() error { return nil }
	g, err := b.Take(asks("a", ""))
	if err != nil {
		t.Fatal(err)
	}
	b.End()
	if again, err := b.Take(asks("a", "")); err != nil || again != g {
		t.Error(again, err)
	}
	_, at := b.Take(asks("b", ""))
	_, later := b.Plan(&machines.Order{Intervened: asks("c", ""), After: 5}, 0, keep)
	if protocol.KindOf(at) != protocol.KindConflict || protocol.KindOf(later) != protocol.KindConflict || len(told) != 1 {
		t.Error(at, later, told)
	}
	if is, err := b.Letter(&machines.Order{Intervened: asks("letter", "")}); err != nil || !is {
		t.Error("a letter of the run is refused:", err)
	}
}

// Promise 4: so many wait, and no more; who is carried out makes room.
func TestBookIsFull(t *testing.T) {
	var told []string
	b := book(&told)
	for i := range machines.MaxOrders {
		if _, err := b.Take(asks(fmt.Sprint(i), "")); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := b.Take(asks("more", "")); protocol.KindOf(err) != protocol.KindTransient {
		t.Error(err)
	}
	b.Kept(2, asks("0", ""))
	b.WaveKept(2)
	if _, err := b.Take(asks("more", "")); err != nil {
		t.Error(err)
	}
	keep := func() error { return nil }
	for i := range order.MaxOrders {
		if _, err := b.Plan(&machines.Order{Intervened: asks(fmt.Sprint("later ", i), ""), After: 5}, 0, keep); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := b.Plan(&machines.Order{Intervened: asks("later", ""), After: 5}, 0, keep); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
}

// Orders of the beginning: one whose wave has passed is an error, unless the run had it.
func TestPlanned(t *testing.T) {
	sound := func(*machines.Order) error { return nil }
	var told []string
	list := []*machines.Order{{Intervened: asks("a", ""), Wave: 3, Had: true}, {Intervened: asks("b", ""), Wave: 7}}
	if got, err := book(&told).Planned(list, 5, sound); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
	list[0].Had = false
	if _, err := book(&told).Planned(list, 5, sound); err == nil || !strings.Contains(err.Error(), "order a: it is for wave 3, and the scene s stands after wave 5") {
		t.Error(err)
	}
	if _, err := book(&told).Planned(list, 0, func(*machines.Order) error { return errors.New("faulty") }); err == nil || !strings.Contains(err.Error(), "order a: faulty") {
		t.Error(err)
	}
}

// The book does not keep what letters carry, and still knows a letter that comes again.
func TestLettersAreNotKept(t *testing.T) {
	var told []string
	b := book(&told)
	letter := func(n int, state byte) *machines.Order {
		l := &travel.Letter{Kind: travel.Arrive, Scene: "x", Number: uint64(n), Agent: "a", Profile: "p", State: bytes.Repeat([]byte{state}, 128<<10)}
		return &machines.Order{Intervened: &agenda.Intervened{ID: l.ID(), By: travel.By, Do: l.Do()}}
	}
	const letters = 1000 // of 128 MiB
	for n := range letters {
		o := letter(n, 1)
		if told, err := b.Letter(o); !told || err != nil {
			t.Fatal(told, err)
		}
		b.Kept(uint64(n), o.Intervened)
		b.WaveKept(uint64(n))
	}
	runtime.GC()
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB are held", m.HeapAlloc>>20)
	}
	if told, err := b.Letter(letter(7, 1)); told || err != nil {
		t.Errorf("a letter that comes again: %v, %v", told, err)
	}
	if told, err := b.Letter(letter(7, 2)); told || protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("another letter with its id: %v, %v", told, err)
	}
	if len(told) != letters {
		t.Errorf("the stage was told %d", len(told))
	}
}
