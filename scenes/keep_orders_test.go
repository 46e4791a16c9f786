package scenes_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/ordered"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/scenestest"
)

// plusOne is an order that adds one to a place of the world.
func plusOne(id string) *agenda.Intervened {
	return doing(id, map[string]any{"world": map[string]any{"path": "ordered", "op": "add", "value": int64(1)}})
}

// shortening are the settings of a run of which every stop drops all but the last waves.
func shortening(clock agenda.ClockKind) scenestest.Settings {
	stop := &agenda.Stop{Ticks: 1 << 40, Deliberations: 1 << 40}
	if clock == agenda.Realtime {
		stop = &agenda.Stop{}
	}
	return scenestest.Settings{Clock: clock, Snapshots: 1, Keep: persistence.Keep{Waves: 1}, Stop: stop}
}

// stoppedAt goes on with a run up to a wave.
func stoppedAt(t *testing.T, s *scenestest.Scene, set scenestest.Settings, wave uint64) {
	t.Helper()
	set.InterruptAt = wave
	if r := s.Run(t, set); r.Err != nil || r.Reason != "" && r.Final {
		t.Fatal(wave, r.Reason, r.Err)
	}
}

// begins is the wave before the first one that is kept.
func begins(t *testing.T, s *scenestest.Scene) (begin, end uint64) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) { begin, end = j.Begin().Number, j.Durable().Number })
	return begin, end
}

// mustCount goes on with a run, lets do happen, and compares how often its orders were carried out.
func mustCount(t *testing.T, s *scenestest.Scene, set scenestest.Settings, want int64, do func(*scenestest.Running)) {
	t.Helper()
	set.InterruptAt = 0
	r, err := s.Start(set)
	if err != nil {
		t.Fatal(err)
	}
	do(r)
	// Nothing waits before this order any more that could be carried out at once.
	if _, err := r.Run.Order(t.Context(), doing(fmt.Sprint("last ", rand.Uint64()), map[string]any{"reflect": map[string]any{"agent": s.Made(t, set).Name(0)}})); err != nil {
		t.Error(err)
	}
	if sum, _ := r.Run.World().Value()["ordered"].(int64); sum != want {
		t.Errorf("orders were carried out %d times, want %d", sum, want)
	}
	r.Run.Interrupt()
	if out := r.Close(); out.Err != nil {
		t.Error(out.Err)
	}
}

// Orders of one time and orders of waves are carried out once, wherever a run with a shortened history stops.
func TestPlannedOrdersOfAShortenedHistory(t *testing.T) {
	for _, at := range []func(i int) machines.Order{
		func(int) machines.Order { return machines.Order{After: 10 * time.Second} },
		func(i int) machines.Order { return machines.Order{Wave: 3 + uint64(i)/4} },
		func(i int) machines.Order {
			return machines.Order{Wave: 5, After: time.Duration(i%3) * 4 * time.Second}
		},
	} {
		s := scenestest.New(t, scenestest.Town(t), "")
		set := shortening(agenda.Virtual)
		const orders = 12
		for i := range orders {
			o := at(i)
			o.Intervened = plusOne(fmt.Sprint("o", i))
			set.Orders = append(set.Orders, &o)
		}
		for i := range 50 { // that are for waves which do not come
			set.Orders = append(set.Orders, &machines.Order{Intervened: plusOne(fmt.Sprint("never ", i)), Wave: 1 << 40})
		}
		rng, most := rand.New(rand.NewPCG(1, uint64(set.Orders[0].After))), uint64(10)
		if scenestest.Long() {
			most = 4
		}
		for wave := uint64(2); wave < 60; wave += 1 + rng.Uint64N(most) {
			stoppedAt(t, s, set, wave)
			for _, o := range set.Orders {
				o.Had = true
			}
		}
		if begin, _ := begins(t, s); begin < 40 {
			t.Fatalf("the history begins after wave %d: nothing is tested", begin)
		}
		mustCount(t, s, set, orders, func(*scenestest.Running) {})
		mustVerify(t, s, set)
		mustRemember(t, s, set, orders+1)
	}
}

// mustRemember compares the orders of a run that a fold knows from the oldest snapshot and from the newest one.
func mustRemember(t *testing.T, s *scenestest.Scene, set scenestest.Settings, want int) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		var lists [2]ordered.List
		for i := range lists {
			state, _, err := history.Fold(s.Made(t, set), j, history.Options{NoSnapshots: i == 0})
			if err != nil {
				t.Fatal(err)
			}
			lists[i] = state.Ordered
		}
		if !reflect.DeepEqual(lists[0], lists[1]) || len(lists[0].Orders) != want || lists[0].Wave != 0 {
			t.Errorf("the oldest snapshot leads to %+v, the newest to %+v; want %d orders", lists[0], lists[1], want)
		}
	})
}

// An order that the scene has taken counts once, also when it is given again and its fact was dropped. Another one with its
// id is refused.
func TestOrdersGivenAgainInAShortenedHistory(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		if !scenestest.Long() && clock == agenda.Realtime { // which takes ten seconds
			continue
		}
		s := scenestest.New(t, scenestest.Town(t), "")
		set := shortening(clock)
		told := map[string]receipts.Receipt{}
		faulty := doing("faulty", map[string]any{"world": map[string]any{"path": "ordered", "op": "push", "value": int64(1)}})
		give := func(r *scenestest.Running) {
			for i := range 20 {
				o := plusOne(fmt.Sprint("o", i))
				if i == 10 {
					o = faulty
				}
				got, err := r.Run.Order(t.Context(), o)
				if was, again := told[o.ID]; err != nil || again && was != got || (got.Refused == "") == (o == faulty) {
					t.Errorf("%s: %+v, %v; before %+v", o.ID, got, err, was)
				}
				told[o.ID] = got
			}
			planned := &machines.Order{Intervened: plusOne("planned"), After: 1}
			if _, err := r.Run.Plan(t.Context(), planned, func() error { return nil }); err != nil {
				t.Error(err)
			}
		}
		mustCount(t, s, set, 20, give)
		for begin, end := begins(t, s); begin < told["o19"].Wave; begin, end = begins(t, s) { // each stop leaves a snapshot
			stoppedAt(t, s, set, end+10)
		}
		mustCount(t, s, set, 20, give)
		mustCount(t, s, set, 20, func(r *scenestest.Running) {
			if _, err := r.Run.Order(t.Context(), doing("o3", map[string]any{"world": map[string]any{"path": "ordered", "value": int64(7)}})); protocol.KindOf(err) != protocol.KindConflict {
				t.Error(err)
			}
		})
	}
}

// An order that the run has taken for a time that had passed is not lost, if a kill comes before its wave and the facts of
// its time were dropped.
func TestALateOrderIsNotLost(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	set := shortening(agenda.Virtual)
	for wave := uint64(10); wave < 60; wave += 10 {
		stoppedAt(t, s, set, wave)
	}
	if begin, _ := begins(t, s); begin == 0 {
		t.Fatal("nothing was dropped: nothing is tested")
	}
	set.Orders = []*machines.Order{{Intervened: plusOne("late"), After: time.Second, Had: true}, {Intervened: plusOne("later"), Wave: 3, Had: true}}
	for range 3 {
		mustCount(t, s, set, 2, func(*scenestest.Running) {})
	}
}

// A run that goes on knows from its beginning which waves have passed: an order for one of them is refused, also before
// the next wave.
func TestAPassedWaveAfterAResume(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	stoppedAt(t, s, scenestest.Settings{}, 10)
	r, err := s.Start(scenestest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Run.Plan(t.Context(), &machines.Order{Intervened: plusOne("late"), Wave: 3}, func() error { return nil })
	if protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("%+v, %v", got, err)
	}
	r.Run.Interrupt()
	r.Close()
}
