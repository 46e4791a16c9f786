package history_test

import (
	"slices"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// What the parent has outside ends with a fork, in the fork's own wave: tasks of tools and questions are cancelled and
// nobody plays an agent. What agents ask of each other goes on, since nothing outside carries it out.
func TestAForkEndsWhatIsOutside(t *testing.T) {
	set := scenestest.Settings{Snapshots: -1}
	s := town(t, "-- scenes/day.yaml --\n"+quietDay)
	long := &agenda.Stop{Ticks: 100_000} // on a busy machine the interrupt came after the last tick of a short run
	if r := s.Run(t, scenestest.Settings{Snapshots: -1, InterruptAt: 3, Stop: long}); r.Err != nil || r.Final {
		t.Fatal(r)
	}
	made := s.Made(t, set)
	till := world.Request{By: setup.ActorScene, Op: world.OpSet, Path: world.P("till"), Value: protocol.Encode(int64(7))}
	s.JournalIn(t, s.Dir, persistence.Options{}, func(j *persistence.Journal) {
		was, err := history.FoldTo(made, j, j.Durable().Number, history.Options{})
		if err != nil {
			t.Fatal(err)
		}
		number := was.Agenda.Wave + 1
		keep(t, j, was.Agenda.Now, machines.ActorTasks,
			&tooltask.Opened{Task: tooltask.Task{ID: "tool", Agent: "c_1", Kind: "tool", Tool: "T", Once: true}},
			&tooltask.Opened{Task: tooltask.Task{ID: "agent", Agent: "c_2", Kind: tooltask.KindAgent}},
			&tooltask.Opened{Task: tooltask.Task{ID: "person", Agent: "c_3", Kind: tooltask.KindPerson}},
			&tooltask.TakenOver{Player: tooltask.Player{Agent: "c_4", By: "ada", Wait: "hold", OnTimeout: "pass"}},
			&agenda.WaveClosed{Wave: number, World: was.World().Version()})
		wave, err := history.Fork(made, j, history.Options{}, &agenda.Forked{Parent: "day"}, []world.Request{till})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		if err := j.Scan(persistence.Query{From: wave.First, To: wave.Last}, func(r protocol.Record) error {
			kinds = append(kinds, r.Actor+" "+r.Kind)
			f, err := machines.NewCodec().ReadFact(r.Kind, r.Data)
			if x, ok := f.(*agenda.WaveClosed); ok && x.World != was.World().Version()+1 {
				t.Errorf("the wave ends with version %d of the world, which was at %d", x.World, was.World().Version())
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want := []string{"$scene scene.forked", "$world world.committed", "$tools agent.released", "$tools tool.task_cancelled", "$tools tool.task_cancelled", "$scene scene.wave_closed"}
		if !slices.Equal(kinds, want) {
			t.Errorf("the fork keeps %q, want %q", kinds, want)
		}
		is, err := history.FoldTo(made, j, wave.Number, history.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tasks := is.Tasks().State
		if len(tasks.Open()) != 1 || tasks.Open()[0].ID != "agent" || len(tasks.Players) > 0 {
			t.Errorf("open are %+v, played %+v", tasks.Open(), tasks.Players)
		}
		if is.Agenda.Wave != number+1 || is.World().Version() != was.World().Version()+1 {
			t.Errorf("it is at wave %d and version %d, and was at %d and %d", is.Agenda.Wave, is.World().Version(), number, was.World().Version())
		}
	})
}

// keep appends a wave of facts, the last of them of the scene itself.
func keep(t *testing.T, j *persistence.Journal, at protocol.Time, actor string, facts ...protocol.Fact) {
	t.Helper()
	for i, f := range facts {
		if i == len(facts)-1 {
			actor = setup.ActorScene
		}
		raw, err := machines.NewCodec().Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(at, actor, f.FactKind(), raw); err != nil {
			t.Fatal(err)
		}
	}
	kept := make(chan error, 1)
	if _, err := j.CloseWave(func(_ persistence.Wave, err error) { kept <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
}
