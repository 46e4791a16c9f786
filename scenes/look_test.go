package scenes_test

import (
	"bytes"
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/control"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// glances looks at every agent in turn until the scene has stopped.
func glances(r *scenestest.Running, s *scenestest.Scene, set scenestest.Settings, t *testing.T) (all []*glance.Seen, who []uint32) {
	made := s.Made(t, set)
	for i := 0; ; i++ {
		o := uint32(i % made.Size())
		seen, err := r.Look(context.Background(), made.Name(o))
		if protocol.KindOf(err) == protocol.KindConflict {
			return all, who
		}
		if err != nil {
			t.Error(err)
			return all, who
		}
		all, who = append(all, seen), append(who, o)
		if i%3 > 0 {
			<-time.After(time.Millisecond)
		}
	}
}

// On the virtual clock a glance is what the facts say of the end of its wave, whenever it was asked for; and
// whoever looks changes nothing.
func TestGlancesAreWhatTheFactsSay(t *testing.T) {
	want := scenestest.New(t, scenestest.Town(t), "").Run(t, scenestest.Settings{})
	for _, set := range []scenestest.Settings{{Workers: 1, Snapshots: 20}, {Workers: 4, Passivate: time.Second}} {
		s := scenestest.New(t, scenestest.Town(t), "")
		r, err := s.StartWith(set, func(o *scenes.Options) { o.Control = []control.Command{{Do: control.Pause}} })
		if err != nil {
			t.Fatal(err)
		}
		steer(t, r, control.Command{Do: control.Pause})
		var seen []*glance.Seen
		var who []uint32
		for o := range uint32(5) { // while it stands
			x, err := r.Look(t.Context(), s.Made(t, set).Name(o))
			if err != nil {
				t.Fatal(err)
			}
			seen, who = append(seen, x), append(who, o)
			if report := steer(t, r, control.Command{Do: control.Step}); report.Wave != x.Wave+1 {
				t.Fatalf("a look at wave %d, and a step later it is %d", x.Wave, report.Wave)
			}
		}
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			more, by := glances(r, s, set, t)
			seen, who = append(seen, more...), append(who, by...)
		}()
		steer(t, r, control.Command{Do: control.Resume})
		if end := r.Close(); end.Err != nil || end.Digest() != want.Digest() {
			t.Errorf("%v, digest %s, want %s", end.Err, end.Digest(), want.Digest())
		}
		<-looked
		t.Logf("%d looks", len(seen))
		mustBeFolded(t, s, set, seen, who)
	}
}

func mustBeFolded(t *testing.T, s *scenestest.Scene, set scenestest.Settings, seen []*glance.Seen, who []uint32) {
	t.Helper()
	made, codec, states := s.Made(t, set), machines.NewCodec(), map[uint64]*machines.State{}
	s.Journal(t, func(j *persistence.Journal) {
		for i, x := range seen {
			state, err := states[x.Wave], error(nil)
			if state == nil && x.Wave > 0 {
				if state, err = history.FoldTo(made, j, x.Wave, history.Options{}); err != nil {
					t.Fatal(err)
				}
				states[x.Wave] = state
			}
			raw, err := agent.Snapshot(codec, &state.Agents[who[i]].State)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(raw, x.Raw) || x.Now != state.Agenda.Now || !reflect.DeepEqual(x.Standing, state.Agenda.Standing(who[i])) || !reflect.DeepEqual(x.Subscriptions, state.Subscriptions(who[i])) {
				t.Fatalf("%s after wave %d: seen\n%+v\nthe facts say\n%+v\nstates equal: %t", made.Name(who[i]), x.Wave, x.Standing, state.Agenda.Standing(who[i]), bytes.Equal(raw, x.Raw))
			}
		}
	})
}

// On the realtime clock a look is answered also while an agent waits for a model; one at nobody is refused,
// and one at a scene that has stopped, too.
func TestGlanceInRealtime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scenestest.New(t, scenestest.Town(t), "")
		set := scenestest.Settings{Clock: agenda.Realtime, Stop: &agenda.Stop{After: protocol.Duration(20 * time.Second)}}
		r, err := s.Start(set)
		if err != nil {
			t.Fatal(err)
		}
		last, made := uint64(0), s.Made(t, set)
		for range 10 {
			<-time.After(time.Second)
			x, err := r.Look(t.Context(), made.Name(0))
			if err != nil || x.Wave < last {
				t.Fatal(x, err)
			}
			if _, err := agent.Restore(machines.NewCodec(), x.Raw); err != nil {
				t.Fatal(err)
			}
			last = x.Wave
		}
		if last == 0 {
			t.Error("no wave has ended: nothing is tested")
		}
		if _, err := r.Look(t.Context(), "nobody"); protocol.KindOf(err) != protocol.KindNotFound {
			t.Error(err)
		}
		if end := r.Close(); end.Err != nil {
			t.Error(end.Err)
		}
		if _, err := r.Look(t.Context(), made.Name(0)); protocol.KindOf(err) != protocol.KindConflict {
			t.Error(err)
		}
	})
}
