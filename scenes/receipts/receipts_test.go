package receipts_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/order"
	"tavernsim/engine/travel"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
)

// empty is a journal without orders.
type empty struct{ history.Journal }

func (empty) Scan(persistence.Query, func(protocol.Record) error) error { return nil }
func (empty) Begin() persistence.Wave                                   { return persistence.Wave{} }

// shortened is one whose first waves were dropped.
type shortened struct{ empty }

func (shortened) Begin() persistence.Wave   { return persistence.Wave{Number: 20} }
func (shortened) Durable() persistence.Wave { return persistence.Wave{Number: 30} }

// Promise 1: an order whose fact was dropped is not carried out again.
func TestDropped(t *testing.T) {
	var told []string
	b := book(&told)
	b.Journal = shortened{}
	list := []*machines.Order{
		{Intervened: asks("first", ""), Had: true}, {Intervened: asks("dropped", ""), Wave: 3, Had: true},
		{Intervened: asks("perhaps", ""), Wave: 19, Had: true}, {Intervened: asks("later", ""), Wave: 40, Had: true}, {Intervened: asks("new", ""), Wave: 50},
	}
	got, err := b.Planned(list, 30, func(*agenda.Intervened) error { return nil })
	var ids []string
	for _, o := range got {
		ids = append(ids, o.ID)
	}
	if err != nil || strings.Join(ids, " ") != "perhaps later new" {
		t.Error(ids, err)
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
	got, err := b.Planned([]*machines.Order{{Intervened: of(int64(1)), Had: true}}, 5, func(*agenda.Intervened) error { return nil })
	if err != nil || len(got) != 0 || len(told) != 1 {
		t.Error(got, err, told)
	}
	if _, err := b.Take(of(1.5)); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
}

// Promise 3: so many wait, and no more; who is carried out makes room.
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
	sound := func(*agenda.Intervened) error { return nil }
	var told []string
	list := []*machines.Order{{Intervened: asks("a", ""), Wave: 3, Had: true}, {Intervened: asks("b", ""), Wave: 7}}
	if got, err := book(&told).Planned(list, 5, sound); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
	list[0].Had = false
	if _, err := book(&told).Planned(list, 5, sound); err == nil || !strings.Contains(err.Error(), "order a: it is for wave 3, and the scene s stands after wave 5") {
		t.Error(err)
	}
	if _, err := book(&told).Planned(list, 0, func(*agenda.Intervened) error { return errors.New("faulty") }); err == nil || !strings.Contains(err.Error(), "order a: faulty") {
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
