package scenes_test

import (
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/panel"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/asking"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// askers is the project of the script interactions, whose agent ada asks five times, one
// question after the end of the other.
func askers(t *testing.T) *scenestest.Scene {
	t.Helper()
	data, err := os.ReadFile("testdata/script/interactions.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// desk counts the questions that are open.
type desk struct {
	asking.Desk // nil: no turn asks
	mu          sync.Mutex
	open        []string
}

func (d *desk) Asked(q *panel.Asked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = append(d.open, q.ID)
}

func (d *desk) Settled(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = slices.DeleteFunc(d.open, func(x string) bool { return x == id })
}

func (d *desk) shows() string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) == 0 {
		return ""
	}
	return d.open[0]
}

func answer(id, by string, change map[string]any) *agenda.Intervened {
	return &agenda.Intervened{ID: id, By: by, Do: protocol.Encode([]any{change})}
}

// A person answers while the scene runs, is silent, and answers after a kill: the question is
// still open then. What the journal has makes the same history without a person.
func TestPeople(t *testing.T) {
	s := askers(t)
	set := scenestest.Settings{People: true, Stop: &agenda.Stop{After: protocol.Duration(time.Hour)}}
	d := &desk{}
	start := func(t *testing.T) *scenestest.Running {
		t.Helper()
		r, err := s.StartWith(set, func(o *scenes.Options) { o.Desk = d })
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		if d.shows() != "ada/1.1" {
			t.Fatal("nothing is asked")
		}
		<-time.After(4 * time.Minute)
		if got := r.Interactions(); len(got) != 1 || got[0].ID != "ada/1.1" || got[0].Panel != "main" || got[0].To != "player" || got[0].Wait != "hold" {
			t.Errorf("%+v", got)
		}
		if at := time.Duration(r.Progress.Now.Load() - r.Progress.Begun.Load()); at > time.Second {
			t.Error("scene time went on for", at)
		}
		for i, c := range []struct {
			value   any
			refused bool
		}{{"up", true}, {int64(3), true}, {"left", false}, {"right", true}} {
			got, err := r.Order(t.Context(), answer(string(rune('a'+i)), "player", map[string]any{"answer": map[string]any{"interaction": "ada/1.1", "value": c.value}}))
			if err != nil || (got.Refused != "") != c.refused || got.Wave == 0 {
				t.Errorf("%v: %+v, %v", c.value, got, err)
			}
		}
		r.Interrupt() // the question after the next one may be open
		if end := r.Close(); end.Err != nil || end.Final {
			t.Fatal(end.Reason, end.Err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d.open = nil
		r := start(t)
		for d.shows() != "ada/3.1" {
			<-time.After(time.Second)
		}
		r.Interrupt()
		if end := r.Close(); end.Err != nil || end.Final {
			t.Fatal(end.Reason, end.Err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d.open = nil
		r := start(t)
		if d.shows() != "ada/3.1" {
			t.Fatal("after a stop the question is gone:", d.open)
		}
		begun := time.Now()
		for d.shows() != "ada/4.1" { // it times out by the wall clock
			<-time.After(time.Second)
		}
		if took := time.Since(begun); took < 5*time.Minute || took > 5*time.Minute+3*time.Second {
			t.Error("it timed out after", took)
		}
		for _, id := range []string{"ada/4.1", "ada/5.1"} {
			for d.shows() != id {
				<-time.After(time.Second)
			}
			if got, err := r.Order(t.Context(), answer("cancel "+id, "gm", map[string]any{"cancel": map[string]any{"interaction": id}})); err != nil || got.Refused != "" {
				t.Error(got, err)
			}
		}
		if end := r.Close(); end.Err != nil || !end.Final {
			t.Error(end.Reason, end.Err)
		}
		if d.shows() != "" || len(r.Interactions()) != 0 {
			t.Error("still open:", d.open)
		}
	})
	var digest string
	s.Journal(t, func(j *persistence.Journal) { digest = j.Durable().Digest.String() })
	again := askers(t)
	for _, workers := range []int{1, 7} {
		set.Orders, set.Workers = given(t, s), workers
		again = again.Fresh(t)
		if end := again.Run(t, set); end.Err != nil || end.Digest() != digest {
			t.Errorf("without a person, %d workers: %v, digest %s, want %s", workers, end.Err, end.Digest(), digest)
		}
	}
}

// slowDesk is a desk on which a question takes until everybody waits.
type slowDesk struct {
	desk
	id    string
	asked chan struct{}
}

func (d *slowDesk) Asked(q *panel.Asked) {
	if q.ID == d.id {
		close(d.asked)
		synctest.Wait()
	}
	d.desk.Asked(q)
}

// A question that ends while the one before it, or it itself, is being shown is not open afterwards, and does not
// time out.
func TestQuestionsEndWhileTheyAreAsked(t *testing.T) {
	data, err := os.ReadFile("testdata/script/interactions.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse(data), txtar.Parse([]byte(`
-- models/voices.yaml --
rules:
  - match: {agent: ada, variables: {turn: 1}}
    answer:
      calls:
        - {tool: PanelInteractionTool, params: {action: confirm}}
        - {tool: PanelInteractionTool, params: {action: text}}
        - {tool: PanelInteractionTool, params: {action: confirm, timeout_seconds: 86400}}
otherwise: ""
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	const wave = 3 // behind the one in which ada asks
	cancel := func(id string) any { return map[string]any{"cancel": map[string]any{"interaction": id}} }
	gone := &agenda.Intervened{ID: "gone", By: "gm", Do: protocol.Encode([]any{cancel("ada/1.1"), cancel("ada/1.2")})}
	set := scenestest.Settings{People: true, Workers: 4, Orders: []*machines.Order{{Wave: wave, Intervened: gone}}}
	synctest.Test(t, func(t *testing.T) {
		d := &slowDesk{id: "ada/1.1", asked: make(chan struct{})}
		front := scenes.InFront(func(actor string, env *protocol.Envelope) {
			if actor == machines.ActorTasks && env.Kind == protocol.KindCommit && env.Wave == wave {
				<-d.asked
			}
		})
		r, err := s.StartWith(set, func(o *scenes.Options) { o.Desk = d; front(o) })
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if got := r.Interactions(); d.shows() != "ada/1.3" || len(got) != 1 || got[0].ID != "ada/1.3" {
			t.Errorf("open: %v, at the desk %q", got, d.open)
		}
		r.Interrupt()
		if end := r.Close(); end.Err != nil || end.Final {
			t.Error(end.Reason, end.Err)
		}
	})
	if n := len(given(t, s)); n != 1 {
		t.Errorf("%d orders, want the one that was given", n)
	}
}

// In realtime the clock goes on, and a question that nobody answers ends at its time.
func TestPeopleInRealtime(t *testing.T) {
	s := askers(t)
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, err := s.StartWith(scenestest.Settings{People: true, Clock: agenda.Realtime, Stop: &agenda.Stop{After: protocol.Duration(time.Hour)}}, func(o *scenes.Options) { o.Desk = d })
		if err != nil {
			t.Fatal(err)
		}
		if d.shows() != "ada/1.1" || r.Interactions()[0].Wait != "run" {
			t.Fatal(d.open, r.Interactions())
		}
		begun := time.Now()
		for d.shows() != "ada/2.1" {
			<-time.After(time.Second)
		}
		if took := time.Since(begun); took < 5*time.Minute || took > 5*time.Minute+3*time.Second {
			t.Error("it timed out after", took)
		}
		if got, err := r.Order(t.Context(), answer("x", "p", map[string]any{"answer": map[string]any{"interaction": "ada/2.1", "value": int64(4)}})); err != nil || got.Refused != "" {
			t.Error(got, err)
		}
		r.Interrupt()
		if end := r.Close(); end.Err != nil {
			t.Error(end.Err)
		}
	})
	mustRestore(t, s, scenestest.Settings{People: true, Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{People: true, Clock: agenda.Realtime})
}

// Without people the call is refused, or the panel's own answer counts.
func TestHeadless(t *testing.T) {
	alone := askers(t).Run(t, scenestest.Settings{})
	if alone.Err != nil || alone.Reason != agenda.StoppedByQuiet {
		t.Error(alone.Reason, alone.Err)
	}
}
