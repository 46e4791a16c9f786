package scenes_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// A person takes an agent over, is silent, dies with the process while a question is open, and
// comes back: the question is still there, and nothing is lost that the agent heard. What the
// journal has makes the same history without the person.
func TestPlayedByAPerson(t *testing.T) {
	data, err := os.ReadFile("testdata/script/takeover.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		t.Run(string(clock), func(t *testing.T) { playAPerson(t, scenestest.New(t, p, ""), clock) })
	}
}

func playAPerson(t *testing.T, s *scenestest.Scene, clock agenda.ClockKind) {
	set := scenestest.Settings{People: true, Clock: clock, Stop: &agenda.Stop{After: protocol.Duration(time.Hour)}}
	d := &desk{}
	start := func(t *testing.T) *scenestest.Running {
		t.Helper()
		d.open = nil
		r, err := s.StartWith(set, func(o *scenes.Options) { o.Desk = d })
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	order := func(t *testing.T, r *scenestest.Running, id string, change map[string]any, refused bool) {
		t.Helper()
		got, err := r.Order(t.Context(), answer(id, "anna", change))
		if err != nil || (got.Refused != "") != refused {
			t.Fatalf("%s: %+v, %v", id, got, err)
		}
	}
	asked := func(t *testing.T, other string) string {
		t.Helper()
		for d.shows() == "" || d.shows() == other {
			<-time.After(time.Second)
		}
		return d.shows()
	}
	act := func(id string, value any) map[string]any {
		return map[string]any{"answer": map[string]any{"interaction": id, "value": value}}
	}
	take := map[string]any{"take_over": map[string]any{"agent": "ada", "timeout_seconds": 60}}
	first := ""
	synctest.Test(t, func(t *testing.T) {
		set.Orders = []*machines.Order{{Intervened: answer("take", "anna", take), Wave: 2}} // before the scene is quiet
		r := start(t)
		set.Orders = nil
		if _, err := r.Order(t.Context(), answer("nobody", "", take)); protocol.KindOf(err) != protocol.KindInvalid {
			t.Error("nobody plays it:", err)
		}
		first = asked(t, "")
		<-time.After(30 * time.Second)
		r.Interrupt()
		if end := r.Close(); end.Err != nil || end.Final {
			t.Fatal(end.Reason, end.Err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		if got := asked(t, ""); got != first {
			t.Fatalf("%s is asked after a stop, before it %s", got, first)
		}
		order(t, r, "hear", map[string]any{"say": map[string]any{"text": "Good day.", "to": []any{"ada"}}}, false)
		order(t, r, "speak", act(first, "Good day to you."), false)
		order(t, r, "again", act(first, "Good day!"), true)
		<-time.After(10 * time.Second)
		order(t, r, "ask", take, false) // nothing happens: the player wants to act
		second := asked(t, first)
		for d.shows() == second { // nobody answers within a minute: the turn passes
			<-time.After(time.Second)
		}
		order(t, r, "ask again", take, false)
		asked(t, second)
		order(t, r, "release", map[string]any{"release": map[string]any{"agent": "ada"}}, false)
		if end := r.Close(); end.Err != nil || !end.Final {
			t.Error(end.Reason, end.Err)
		}
	})
	mustVerify(t, s, set)
	mustRestore(t, s, set)
	state := s.Fold(t, set)
	if tasks := state.Tasks().State; len(tasks.Open())+len(tasks.Players) != 0 {
		t.Errorf("%+v", tasks)
	}
	said := 0
	s.Journal(t, func(j *persistence.Journal) {
		_ = j.Scan(persistence.Query{Kinds: []string{"agent.said"}}, func(r protocol.Record) error { said++; return nil })
	})
	if said != 3 { // bo, the player of ada, and ada after the release
		t.Errorf("agents spoke %d times", said)
	}
	if clock == agenda.Realtime {
		return
	}
	var digest string
	s.Journal(t, func(j *persistence.Journal) { digest = j.Durable().Digest.String() })
	again := s
	for _, workers := range []int{1, 2, 7} {
		set.Orders, set.Workers = given(t, s), workers
		again = again.Fresh(t)
		if end := again.Run(t, set); end.Err != nil || end.Digest() != digest {
			t.Errorf("without a person, %d workers: %v, digest %s, want %s", workers, end.Err, end.Digest(), digest)
		}
	}
}
