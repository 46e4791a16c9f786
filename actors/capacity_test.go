package actors

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// letters collects dead letters.
type letters struct {
	mu   sync.Mutex
	list []string
}

func (l *letters) hear(d DeadLetter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, fmt.Sprint(d.Type, " ", d.Lane, " ", d.Reason))
}

func bounded(l delivery.Lane, c Capacity) (*Supervisor, *letters) {
	dead := &letters{}
	sup := &Supervisor{Dead: dead.hear}
	sup.Lanes[l] = c
	return sup, dead
}

// Promise 10: what a full lane refuses is told, and there is room again.
func TestALaneRefuses(t *testing.T) {
	sup, dead := bounded(delivery.Low, Capacity{Max: 2})
	inBubble(t, sup, func(t *testing.T, ref *Ref, r *recorder) {
		for i := range 4 {
			ref.Tell(event(fmt.Sprint("low", i), protocol.Low))
			ref.Tell(event(fmt.Sprint("normal", i), protocol.Normal)) // another lane has its own room
		}
		if want := []string{"low2 low queue_full", "low3 low queue_full"}; !slices.Equal(dead.list, want) {
			t.Errorf("dead letters %q, want %q", dead.list, want)
		}
		if got, want := r.open(), []string{"normal0", "normal1", "normal2", "normal3", "low0", "low1"}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
		ref.Tell(event("room again", protocol.Low))
		synctest.Wait()
		if last := r.got[len(r.got)-1]; last != "room again" {
			t.Errorf("last handled %q", last)
		}
	})
}

func TestALaneDropsItsOldest(t *testing.T) {
	sup, dead := bounded(delivery.Low, Capacity{Max: 3, Policy: DropOldest})
	inBubble(t, sup, func(t *testing.T, ref *Ref, r *recorder) {
		for i := range 8 {
			ref.Tell(event(fmt.Sprint(i), protocol.Low))
		}
		// The receiver is at work: twice the capacity waits, the rest is refused.
		if want := []string{"6 low queue_full", "7 low queue_full"}; !slices.Equal(dead.list, want) {
			t.Errorf("dead letters %q, want %q", dead.list, want)
		}
		if got, want := r.open(), []string{"3", "4", "5"}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want the newest three that were taken: %v", got, want)
		}
		if want := []string{"0 low dropped_oldest", "1 low dropped_oldest", "2 low dropped_oldest"}; !slices.Equal(dead.list[2:], want) {
			t.Errorf("dropped %q, want %q", dead.list[2:], want)
		}
	})
}

// Also while the actor waits for its supervisor, the newest stay.
func TestASuspendedActorDropsItsOldest(t *testing.T) {
	sup, dead := bounded(delivery.Normal, Capacity{Max: 2, Policy: DropOldest})
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &recorder{boom: map[string]func() error{"boom": func() error { panic("kettle") }}}
		sup.Failed = func(string, *Failure) {}
		sup.New = func(uint8, uint32) (Behavior, error) { return r, nil }
		ref := spawn(t, s, "a", r, sup)
		ref.Tell(event("boom", protocol.Normal))
		synctest.Wait()
		for i := range 10 {
			ref.Tell(event(fmt.Sprint(i), protocol.Normal))
			synctest.Wait()
		}
		if len(dead.list) != 8 || ref.Waiting() != 2 {
			t.Errorf("%d dead letters, %d waiting, want 8 and 2", len(dead.list), ref.Waiting())
		}
		s.Restart(ref)
		synctest.Wait()
		if want := []string{"8", "9"}; !slices.Equal(r.got, want) {
			t.Errorf("handled %v, want %v", r.got, want)
		}
		s.Stop(ref)
		s.Close()
	})
}

// Promise 2. A sender outside waits for room; everything arrives, in its order.
func TestALaneBlocksItsSenders(t *testing.T) {
	for _, limit := range []int32{1, 2, 7} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			sup, dead := bounded(delivery.Normal, Capacity{Max: limit, Policy: Block})
			inBubble(t, sup, func(t *testing.T, ref *Ref, r *recorder) {
				var senders sync.WaitGroup
				for s := range 3 {
					senders.Go(func() {
						for i := range 20 {
							ref.Tell(event(fmt.Sprintf("%d/%02d", s, i), protocol.Normal))
						}
					})
				}
				synctest.Wait()
				if n := ref.Waiting(); n != int(limit) {
					t.Errorf("%d wait in a lane of %d", n, limit)
				}
				r.open()
				senders.Wait()
				synctest.Wait()
				got := r.got[1:]
				for s := range 3 {
					own := slices.DeleteFunc(slices.Clone(got), func(x string) bool { return x[0] != byte('0'+s) })
					if len(own) != 20 || !slices.IsSorted(own) {
						t.Errorf("sender %d: %v", s, own)
					}
				}
				if len(dead.list) > 0 {
					t.Errorf("dead letters %q", dead.list)
				}
			})
		})
	}
}

// Promise 7. A handler that would have to wait is refused: the receiver may need its
// worker. Here it is the receiver itself.
func TestAWorkerIsNeverBlocked(t *testing.T) {
	sup, dead := bounded(delivery.Normal, Capacity{Max: 1, Policy: Block})
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		var ref *Ref
		r := &recorder{boom: map[string]func() error{"go": func() error {
			for i := range 3 {
				ref.Tell(event(fmt.Sprint(i), protocol.Normal))
			}
			return nil
		}}}
		ref = spawn(t, s, "a", r, sup)
		ref.Tell(event("go", protocol.Normal))
		synctest.Wait() // a deadlock would end the test here
		if want := []string{"1 normal queue_full", "2 normal queue_full"}; !slices.Equal(dead.list, want) || !slices.Equal(r.got, []string{"0"}) {
			t.Errorf("dead letters %q, handled %v", dead.list, r.got)
		}
		s.Stop(ref)
		s.Close()
	})
}

// Who waits for an actor that stops gets a dead letter and goes on.
func TestAStopEndsTheWait(t *testing.T) {
	sup, dead := bounded(delivery.Normal, Capacity{Max: 1, Policy: Block})
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem(Options{Workers: 1})
		r := &recorder{gate: make(chan struct{})}
		ref := spawn(t, s, "a", r, sup)
		ref.Tell(event("gate", protocol.Normal))
		synctest.Wait()
		var senders sync.WaitGroup
		senders.Go(func() {
			ref.Tell(event("taken", protocol.Normal))
			ref.Tell(event("waits", protocol.Normal))
		})
		synctest.Wait()
		s.Stop(ref)
		close(r.gate)
		senders.Wait()
		synctest.Wait()
		slices.Sort(dead.list)
		if want := []string{"taken normal stopped", "waits normal stopped"}; !slices.Equal(dead.list, want) {
			t.Errorf("dead letters %q, want %q", dead.list, want)
		}
		s.Close()
	})
}

// Promise 10. What is no event is bounded too, by a number of its own: what is beyond is a
// dead letter, and the lanes for events keep their room.
func TestControlIsBounded(t *testing.T) {
	dead := &letters{}
	sup := &Supervisor{Dead: dead.hear, Control: 3, Lanes: each(Capacity{Max: 1, Policy: Block})}
	inBubble(t, sup, func(t *testing.T, ref *Ref, r *recorder) {
		for i := range 5 {
			ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: fmt.Sprint("control", i)}, Kind: protocol.KindControl})
			ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: fmt.Sprint("wake", i)}, Kind: protocol.KindWake})
		}
		ref.Tell(event("event", protocol.Normal))
		if want := []string{"control3 control queue_full", "wake3 wake queue_full", "control4 control queue_full", "wake4 wake queue_full"}; !slices.Equal(dead.list, want) {
			t.Errorf("dead letters %q, want %q", dead.list, want)
		}
		if got, want := r.open(), []string{"control0", "control1", "control2", "event", "wake0", "wake1", "wake2"}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
		ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: "room again"}, Kind: protocol.KindControl})
		synctest.Wait()
		if last := r.got[len(r.got)-1]; last != "room again" {
			t.Errorf("last handled %q", last)
		}
	})
}

// Promise 10. An actor of which nobody says otherwise takes as much as the doc says, and no
// lane is without a bound.
func TestEveryLaneHasABound(t *testing.T) {
	sup := &Supervisor{}
	sup.bound()
	for l := range delivery.Lanes {
		want := int32(DefaultCapacity)
		if l == delivery.Control || l == delivery.Last {
			want = ControlCapacity
		}
		if got := sup.limits[l]; got != (Capacity{Max: want, Policy: Refuse}) {
			t.Errorf("lane %s: %+v, want %d, refused beyond", l, got, want)
		}
	}
}
