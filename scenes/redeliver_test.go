package scenes_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// Dead letters of an interrupted scene are sent again: the scene publishes them
// when it goes on, and however it goes on, it has one digest and folds to it. It
// stops where the author of a letter publishes more of the same trace and type
// at the moment at which the letter is sent again.
func TestRedelivered(t *testing.T) {
	first := scenestest.New(t, scenestest.Town(t), "day")
	stop := func(q *protocol.ModelRequest) bool { return q.Agent == "c_11" && q.Variables["turn"] == int64(7) }
	if r := first.RunUntil(t, scenestest.Settings{}, stop); r.Final {
		t.Fatal("it ended before it was interrupted")
	}
	letters := refused(t, first)
	if len(letters) == 0 {
		t.Fatal("nothing was refused")
	}
	redeliver(t, first, letters)
	digests := map[string]bool{}
	for _, set := range []scenestest.Settings{{Workers: 1, BatchFacts: 1}, {Workers: 3, Snapshots: 5}, {InterruptAt: 13}} {
		s := first.Fresh(t)
		if err := os.CopyFS(s.Dir, os.DirFS(first.Dir)); err != nil {
			t.Fatal(err)
		}
		res := s.Run(t, set)
		for !res.Final {
			res = s.Run(t, scenestest.Settings{})
		}
		digests[res.Digest()] = true
		if diff := cmp.Diff(namesOf(t, letters), sentAgain(t, s, letters)); diff != "" {
			t.Errorf("letters, and what was published again (-/+):\n%s", diff)
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
	err := tryRedeliver(t, s, []agenda.Letter{{Seq: 1, Draft: (&protocol.Draft{EventHeader: protocol.EventHeader{Type: "x"}}).AppendMsg(nil)}})
	if protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("%v", err)
	}
}

func refused(t *testing.T, s *scenestest.Scene) (letters []agenda.Letter) {
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Scan(persistence.Query{Kinds: []string{bus.FactRefused}}, func(r protocol.Record) error {
			f, err := machines.NewCodec().ReadFact(r.Kind, r.Data)
			if x, ok := f.(*bus.Refused); ok {
				letters = append(letters, agenda.Letter{Seq: r.Seq, Draft: x.Draft().AppendMsg(nil)})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return letters
}

// sentAgain lists what was published at the moment of the redelivery by the
// deliberations that the letters are of. Nothing else of them is published then:
// their other requests went out with the refused ones, so a letter that is lost
// or sent twice shows, and what the same agents publish of their own does not.
func sentAgain(t *testing.T, s *scenestest.Scene, letters []agenda.Letter) (sent []string) {
	turns := map[string]bool{}
	for _, l := range letters {
		turns[turnOf(draftOf(t, l))] = true
	}
	due := protocol.Time(0)
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			f, err := machines.NewCodec().ReadFact(r.Kind, r.Data)
			switch x := f.(type) {
			case *agenda.Redelivered:
				due = x.Due
			case *bus.Refused, *bus.Routed:
				if d := draftOfFact(x); r.Time == due && turns[turnOf(d)] {
					sent = append(sent, nameOf(d))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return sent
}

func draftOf(t *testing.T, l agenda.Letter) *protocol.Draft {
	d, err := protocol.ReadDraft(l.Draft)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func draftOfFact(f any) *protocol.Draft {
	switch x := f.(type) {
	case *bus.Refused:
		return x.Draft()
	case *bus.Routed:
		return &protocol.Draft{EventHeader: protocol.EventHeader{Type: x.Type, Source: x.Source, TraceID: x.TraceID, Cause: x.Cause, Turn: x.Turn}, Body: x.Body}
	}
	return nil
}

func turnOf(d *protocol.Draft) string { return fmt.Sprintf("turn %d of %s", d.Turn, d.Source) }

func nameOf(d *protocol.Draft) string {
	return fmt.Sprintf("%s: %s %x, trace %s, cause %s", turnOf(d), d.Type, d.Body, d.TraceID, d.Cause)
}

func namesOf(t *testing.T, letters []agenda.Letter) (names []string) {
	for _, l := range letters {
		names = append(names, nameOf(draftOf(t, l)))
	}
	return names
}

func redeliver(t *testing.T, s *scenestest.Scene, letters []agenda.Letter) {
	t.Helper()
	if err := tryRedeliver(t, s, letters); err != nil {
		t.Fatal(err)
	}
}

func tryRedeliver(t *testing.T, s *scenestest.Scene, letters []agenda.Letter) (err error) {
	t.Helper()
	s.JournalIn(t, s.Dir, persistence.Options{}, func(j *persistence.Journal) {
		_, err = history.Redeliver(s.Made(t, scenestest.Settings{}), j, history.Options{}, letters)
	})
	return err
}
