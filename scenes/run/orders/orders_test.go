package orders_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/control"
	"tavernsim/engine/order"
	"tavernsim/protocol"
	"tavernsim/scenes/run/orders"
)

// entries are two orders.
func entries(t *testing.T) []order.Entry {
	t.Helper()
	list, err := orders.Parse("orders.yaml", []byte("orders:\n  - {id: a, do: [{end: {}}]}\n  - {id: b, do: [{event: {type: bell}}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Promise 1: whoever reads a folder finds whole files; nothing else is left there.
func TestDoor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "orders"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "orders", "0.order.json"), []byte(`{"orders": [`), 0o600); err != nil { // it is taken first
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	var got []string
	go func() {
		defer close(done)
		(&orders.Door{Dir: dir, Give: func(_ context.Context, e *order.Entry) orders.Receipt {
			got = append(got, e.ID)
			if e.ID == "b" {
				return orders.Receipt{ID: e.ID, Refused: "no bell", Kind: protocol.KindNotFound}
			}
			return orders.Receipt{ID: e.ID, Wave: 4}
		}}).Serve(ctx)
	}()
	receipts, err := orders.Send(ctx, dir, entries(t))
	if err != nil || len(receipts) != 2 || receipts[0].Wave != 4 || receipts[1].Refused != "no bell" {
		t.Errorf("%+v, %v", receipts, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "orders", "0.receipt.json")); err != nil || !strings.Contains(string(b), `"kind":"invalid"`) {
		t.Errorf("%s, %v", b, err)
	}
	cancel()
	<-done
	if left, err := os.ReadDir(filepath.Join(dir, "orders")); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
	if strings.Join(got, " ") != "a b" {
		t.Error(got)
	}
}

// Promise 2: what nobody takes is taken back.
func TestNobodyThere(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := orders.Send(ctx, dir, entries(t)); protocol.KindOf(err) != protocol.KindTransient {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "orders")); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

// Promise 2: a letter whose orders are being carried out is not taken back, and the next process goes
// on with it.
func TestTakenLetter(t *testing.T) {
	dir := t.TempDir()
	serve := func(give func(context.Context, *order.Entry) orders.Receipt) (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&orders.Door{Dir: dir, Give: give}).Serve(ctx)
		}()
		return func() { cancel(); <-done }
	}
	ctx, giveUp := context.WithCancel(context.Background())
	stop := serve(func(ctx context.Context, e *order.Entry) orders.Receipt {
		giveUp()
		<-ctx.Done()
		return orders.Receipt{ID: e.ID}
	})
	if _, err := orders.Send(ctx, dir, entries(t)[:1]); protocol.KindOf(err) != protocol.KindUnknownOutcome || !strings.Contains(err.Error(), "it was taken") || strings.Contains(err.Error(), "taken back") {
		t.Error(err)
	}
	stop()
	given := make(chan string, 1)
	stop = serve(func(_ context.Context, e *order.Entry) orders.Receipt {
		given <- e.ID
		return orders.Receipt{ID: e.ID, Wave: 3}
	})
	if id := <-given; id != "a" {
		t.Error(id)
	}
	stop()
	if left, err := os.ReadDir(filepath.Join(dir, "orders")); err != nil || len(left) != 1 || !strings.HasSuffix(left[0].Name(), ".receipt.json") {
		t.Error(left, err)
	}
}

// Promise 2: a letter has no answer while nobody knows what became of one of its orders. Whoever goes on with the run
// answers it; other letters do not wait for that.
func TestLetterOfAnUnknownOutcome(t *testing.T) {
	dir := t.TempDir()
	serve := func(first orders.Receipt) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&orders.Door{Dir: dir, Give: func(_ context.Context, e *order.Entry) orders.Receipt {
				if e.ID == "a" {
					return first
				}
				return orders.Receipt{ID: e.ID, Wave: 4}
			}}).Serve(ctx)
		}()
		return func() { cancel(); <-done }
	}
	list, told := entries(t), make(chan error, 1)
	go func() {
		got, err := orders.Send(t.Context(), dir, list[:1])
		if err == nil && got[0].Wave != 3 {
			err = protocol.Errorf(protocol.KindInternal, "%+v", got)
		}
		told <- err
	}()
	for { // the letter is there, so the other one is behind it
		if there, _ := filepath.Glob(filepath.Join(dir, "orders", "*.order.json")); len(there) > 0 {
			break
		}
		runtime.Gosched()
	}
	stop := serve(orders.Receipt{ID: "a", Refused: "it failed", Kind: protocol.KindUnknownOutcome})
	if got, err := orders.Send(t.Context(), dir, list[1:]); err != nil || got[0].Wave != 4 {
		t.Error(got, err)
	}
	stop()
	stop = serve(orders.Receipt{ID: "a", Wave: 3})
	if err := <-told; err != nil {
		t.Error(err)
	}
	stop()
}

// A run keeps what it began with.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	if list, err := orders.Kept(dir); err != nil || list != nil {
		t.Error(list, err)
	}
	if err := orders.Keep(dir, entries(t)); err != nil {
		t.Fatal(err)
	}
	list, err := orders.Kept(dir)
	if err != nil || len(list) != 2 || list[1].ID != "b" {
		t.Error(list, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "orders.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := orders.Kept(dir); err == nil || !strings.Contains(err.Error(), "orders.json:2") {
		t.Error(err)
	}
	if _, err := orders.Read(filepath.Join(dir, "none.yaml")); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
}

func TestFaultOfALine(t *testing.T) {
	_, err := orders.Parse("night.jsonl", []byte(`{"do": [{"end": {}}]}`+"\n\n"+`{"do": [{"snow": {}}]}`))
	if err == nil || !strings.Contains(err.Error(), "night.jsonl:3:9: orders[1].do") {
		t.Error(err)
	}
}

// A letter that somebody removed has no answer: that is an error, and nothing is waited for.
func TestLetterIsGone(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&orders.Door{Dir: dir, Give: func(context.Context, *order.Entry) orders.Receipt {
			if err := os.RemoveAll(filepath.Join(dir, "orders")); err != nil {
				t.Error(err)
			}
			cancel()
			return orders.Receipt{}
		}}).Serve(ctx)
	}()
	if _, err := orders.Send(ctx, dir, entries(t)); err == nil {
		t.Error("an order without a receipt")
	}
	<-done
}

// Promise 3: commands are answered while an order is carried out, and faulty ones refused.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	taken, done, told := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(done)
		(&orders.Door{Dir: dir,
			Give: func(ctx context.Context, e *order.Entry) orders.Receipt {
				close(taken)
				<-ctx.Done()
				return orders.Receipt{ID: e.ID, Wave: 3}
			},
			Control: func(ctx context.Context, c *control.Command) orders.Stand {
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("it waits for ever")
				}
				return orders.Stand{Scene: "s", Report: control.Report{State: c.Do, Wave: uint64(c.Waves)}}
			}}).Serve(ctx)
	}()
	go func() {
		_, err := orders.Send(context.Background(), dir, entries(t)[:1])
		told <- err
	}()
	<-taken
	got, err := orders.Command(ctx, dir, &control.Command{Do: control.Step, Waves: 4}, time.Minute)
	if err != nil || got.Scene != "s" || got.State != control.Step || got.Wave != 4 {
		t.Error(got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "orders", "0.control.json"), []byte(`{"do": "pause", "now": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		if b, err := os.ReadFile(filepath.Join(dir, "orders", "0.receipt.json")); err == nil {
			if !strings.Contains(string(b), `unknown field`) {
				t.Errorf("%s", b)
			}
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	cancel()
	if err := <-told; err != nil {
		t.Error(err)
	}
	<-done
}

// Promise 4: an order is what it is when the run directory was read again, also a number that JSON writes in another way.
func TestPlacedAsKept(t *testing.T) {
	given, err := orders.Parse("orders.yaml", []byte("orders:\n  - {do: [{event: {type: bell, payload: {level: 1.0, half: 0.5, much: 1e3, none: -0.0}}}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	placed, err := orders.Placed(given, []string{"s"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := orders.Keep(dir, placed); err != nil {
		t.Fatal(err)
	}
	kept, err := orders.Kept(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || !reflect.DeepEqual(kept[0], placed[0]) || kept[0].Scene != "s" {
		t.Errorf("%#v\n%#v", kept, placed)
	}
	if v := given[0].Do[0].(map[string]any)["event"].(map[string]any)["payload"].(map[string]any)["level"]; v != 1.0 {
		t.Errorf("the order that was given is another: %#v", v)
	}
	given[0].Do = []any{map[string]any{"event": map[string]any{"type": "bell", "payload": 1e20}}}
	if _, err := orders.Placed(given, []string{"s"}); err == nil || !strings.Contains(err.Error(), "order order-1: ") {
		t.Error("an order that nobody could read again:", err)
	}
}

// Of the orders that are given each is taken once. Two with one id are a fault of whoever gives them, not of the run.
func TestTwoOrdersWithOneID(t *testing.T) {
	scenes := []string{"s"}
	list := entries(t)
	twice := append(list[:1:1], list[0])
	twice[1].Scene = "s"
	if got, err := orders.Placed(twice, scenes); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
	other := list[1]
	other.ID = "a"
	two := append(list[:1:1], other)
	if _, err := orders.Placed(two, scenes); protocol.KindOf(err) != protocol.KindInvalid || !strings.Contains(err.Error(), "order a: two of the given orders of the scene s have this id") {
		t.Error(err)
	}
	dir := t.TempDir()
	if _, _, err := orders.Joined(dir, "r", scenes, two); protocol.KindOf(err) != protocol.KindInvalid || strings.Contains(err.Error(), "the run r has") {
		t.Error(err)
	}
	other.Scene = "s"
	if err := orders.Keep(dir, []order.Entry{other}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := orders.Joined(dir, "r", scenes, list); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "order a: the run r has another order with this id") {
		t.Error(err)
	}
}
