package asking_test

import (
	"context"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/panel"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
)

// desk shows what is asked. What is said goes to the turn that waits.
type desk struct {
	said map[string]chan *panel.Reply // by question

	mu   sync.Mutex
	open []string
	bad  []string // why replies were none
}

func (d *desk) Asked(*panel.Asked) {}
func (d *desk) Settled(string)     {}

func (d *desk) Ask(ctx context.Context, q *panel.Asked, fits func(*panel.Reply) error) (*panel.Reply, error) {
	d.note(func() { d.open = append(d.open, q.ID) })
	defer d.note(func() { d.open = slices.DeleteFunc(d.open, func(id string) bool { return id == q.ID }) })
	for {
		select {
		case r := <-d.said[q.ID]:
			err := fits(r)
			if err == nil {
				return r, nil
			}
			d.note(func() { d.bad = append(d.bad, err.Error()) })
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (d *desk) note(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// waits is the project of the script of this name.
func waits(t *testing.T) *project.Project {
	t.Helper()
	data, err := os.ReadFile("../testdata/script/waits.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Promises 1 and 2: a turn waits for a person: who answers, wrongly and rightly, who cancels, who is silent, and who
// answers while the scene stops. Nothing is asked again.
func TestPeopleInATurn(t *testing.T) {
	p := waits(t)
	s := scenestest.New(t, p, "")
	s.Dir = t.TempDir()
	var d *desk
	start := func(t *testing.T) *scenestest.Running {
		t.Helper()
		d = &desk{said: map[string]chan *panel.Reply{}}
		for _, id := range []string{"ada/1.q1", "bo/1.q1", "bo/1.q2", "bo/1.q4"} {
			d.said[id] = make(chan *panel.Reply)
		}
		r, err := s.StartWith(scenestest.Settings{People: true}, func(o *scenes.Options) { o.Desk = d })
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		synctest.Wait()
		list := r.Interactions()
		if len(list) != 2 || list[0].ID != "ada/1.q1" || list[0].Wait != panel.WaitTurn || list[0].To != "player" || list[0].Timeout.Std() != 2*time.Minute || list[1].ID != "bo/1.q1" || list[1].Timeout.Std() != 5*time.Minute {
			t.Fatalf("%+v", list)
		}
		<-time.After(time.Minute)
		d.said["ada/1.q1"] <- &panel.Reply{By: "anna", Value: "up"}
		d.said["ada/1.q1"] <- &panel.Reply{By: "anna", Value: "left"}
		d.said["bo/1.q1"] <- &panel.Reply{By: "gm", Cancel: true}
		<-time.After(5*time.Minute + time.Second) // nobody says anything about the second
		synctest.Wait()
		if list := r.Interactions(); len(list) != 1 || list[0].ID != "bo/1.q4" || len(d.bad) != 1 {
			t.Fatalf("%+v, refused %q", list, d.bad)
		}
		r.Interrupt() // the wave ends first
		d.said["bo/1.q4"] <- &panel.Reply{By: "anna", Value: "so be it"}
		if end := r.Close(); end.Err != nil || end.Final || len(d.open) > 0 || len(r.Interactions()) != 0 {
			t.Fatal(end.Reason, end.Err, "still open:", d.open)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		if end := r.Close(); end.Err != nil || !end.Final {
			t.Error(end.Reason, end.Err)
		}
	})
	got := map[string]any{}
	s.Facts(t, func(r protocol.Record, f protocol.Fact) {
		x := f.(*agentfact.CallAnswered)
		if v, err := x.Output.Value(); x.Kind == effect.KindPerson && err == nil {
			m, _ := v.(map[string]any)
			got[r.Actor+" "+string(rune('0'+x.Request))] = []any{m["value"], m["by"], x.Error, x.Latency}
		}
	}, agentfact.FactCallAnswered)
	want := map[string]any{
		"ada 1": []any{"left", "anna", "", time.Duration(0)},
		"bo 1":  []any{nil, nil, "cancelled by gm", time.Duration(0)},
		"bo 2":  []any{nil, nil, "nobody answered within 5m0s", 5 * time.Minute},
		"bo 3":  []any{nil, nil, `the panel dialogue has no action "dance"; it has text, choice, confirm, form, show`, time.Duration(0)},
		"bo 4":  []any{"so be it", "anna", "", time.Duration(0)},
		"bo 5":  []any{nil, nil, "timeout_seconds -1: want more than 0, at most 2592000", time.Duration(0)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Promise 3: without people, on either clock.
func TestAlone(t *testing.T) {
	p := waits(t)
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		s := scenestest.New(t, p, "")
		s.Dir = t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			if end := s.Run(t, scenestest.Settings{Clock: clock, Stop: &agenda.Stop{After: protocol.Duration(time.Minute)}}); end.Err != nil {
				t.Fatal(end.Err)
			}
		})
		var by []any
		s.Facts(t, func(_ protocol.Record, f protocol.Fact) {
			if v, err := f.(*agentfact.CallAnswered).Output.Value(); err == nil && v != nil {
				m, _ := v.(map[string]any)
				by = append(by, m["by"], m["value"])
			}
		}, agentfact.FactCallAnswered)
		if !reflect.DeepEqual(by, []any{"headless", "left", "headless", "left"}) {
			t.Errorf("clock %s: %v", clock, by)
		}
	}
}

// A scene that is told to stop while it waits for nothing but people gives the open wave up. The same questions are asked
// again when it goes on.
func TestPeopleDoNotHoldAStop(t *testing.T) {
	p := waits(t)
	s := scenestest.New(t, p, "")
	s.Dir = t.TempDir()
	var asked [2][]string
	for i := range asked {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{}
			r, err := s.StartWith(scenestest.Settings{People: true}, func(o *scenes.Options) { o.Desk = d })
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for _, q := range r.Interactions() {
				asked[i] = append(asked[i], q.ID)
			}
			begun := time.Now()
			r.Interrupt()
			if end := r.Close(); end.Err != nil || end.Final || time.Since(begun) > 20*time.Second {
				t.Fatal(end.Reason, end.Err, time.Since(begun))
			}
		})
	}
	if len(asked[0]) != 2 || !reflect.DeepEqual(asked[0], asked[1]) {
		t.Errorf("asked %q", asked)
	}
}
