package history_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// Dead letters of an interrupted scene are sent again: the scene publishes them
// when it goes on, and however it goes on, it has one digest and folds to it.
func TestRedelivered(t *testing.T) {
	first := scenestest.New(t, scenestest.Town(t), "day")
	r := first.Run(t, scenestest.Settings{InterruptAt: 8})
	if r.Final {
		t.Fatal("it ended before it was interrupted")
	}
	letters := refused(t, first)
	if len(letters) == 0 {
		t.Fatal("nothing was refused")
	}
	redeliver(t, first, letters)
	digests := map[string]bool{}
	for _, set := range []scenestest.Settings{{Workers: 1, BatchFacts: 1}, {Workers: 3, Snapshots: 5}, {InterruptAt: 10}} {
		s := first.Fresh(t)
		if err := os.CopyFS(s.Dir, os.DirFS(first.Dir)); err != nil {
			t.Fatal(err)
		}
		res := s.Run(t, set)
		for !res.Final {
			res = s.Run(t, scenestest.Settings{})
		}
		digests[res.Digest()] = true
		if again := published(t, s, letters); again != len(letters) {
			t.Errorf("%d of %d letters were published again", again, len(letters))
		}
		if one, other := s.FoldHash(t, set), s.FoldHash(t, scenestest.Settings{}); one != other {
			t.Errorf("folds to %s and %s", one, other)
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", slices.Sorted(maps.Keys(digests)))
	}
}

// A scene that has ended hears nothing any more.
func TestRedeliveredTooLate(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "day")
	s.Run(t, scenestest.Settings{})
	err := tryRedeliver(t, s, []director.Letter{{Seq: 1, Draft: (&protocol.Draft{Type: "x"}).AppendMsg(nil)}})
	if protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("%v", err)
	}
}

func refused(t *testing.T, s *scenestest.Scene) (letters []director.Letter) {
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Scan(persistence.Query{Kinds: []string{bus.FactRefused}}, func(r protocol.Record) error {
			f, err := machines.ReadFact(protocol.NewCodec(), r.Kind, r.Data)
			if x, ok := f.(*bus.Refused); ok {
				letters = append(letters, director.Letter{Seq: r.Seq, Draft: x.Draft().AppendMsg(nil)})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return letters
}

// published counts what was published of the letters in the wave after the one
// that sent them again: the channel numbers every attempt.
func published(t *testing.T, s *scenestest.Scene, letters []director.Letter) (n int) {
	ids := map[string]bool{}
	for _, l := range letters {
		d, err := protocol.ReadDraft(l.Draft)
		if err != nil {
			t.Fatal(err)
		}
		ids[d.TraceID+d.Type+d.Source] = true
	}
	due := protocol.Time(0)
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			f, err := machines.ReadFact(protocol.NewCodec(), r.Kind, r.Data)
			switch x := f.(type) {
			case *director.Redelivered:
				due = x.Due
			case *bus.Refused:
				if r.Time == due && ids[x.TraceID+x.Type+x.Source] {
					n++
				}
			case *bus.Routed:
				if r.Time == due && ids[x.TraceID+x.Type+x.Source] {
					n++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return n
}

func redeliver(t *testing.T, s *scenestest.Scene, letters []director.Letter) {
	t.Helper()
	if err := tryRedeliver(t, s, letters); err != nil {
		t.Fatal(err)
	}
}

func tryRedeliver(t *testing.T, s *scenestest.Scene, letters []director.Letter) error {
	t.Helper()
	store, err := persistence.Open(s.Dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j, err := store.Journal(s.Def.Definition.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = history.Redeliver(s.Made(t, scenestest.Settings{}), j, history.Options{}, letters)
	return err
}
