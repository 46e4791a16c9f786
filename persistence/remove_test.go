package persistence_test

import (
	"slices"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

// A removed journal is gone, whatever it was; its neighbours are not.
func TestRemoveJournal(t *testing.T) {
	s, err := persistence.Open(t.TempDir(), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range []string{"a", "ab", "ab!effects", "b"} {
		j, err := s.Journal(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(1, "x", "k", nil); err != nil {
			t.Fatal(err)
		}
		w, err := j.Sync(t.Context())
		if err == nil {
			err = j.SaveSnapshot(w.Number, func(yield func(string, []byte) bool) { yield("x", nil) })
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(id); protocol.KindOf(err) != protocol.KindConflict {
			t.Errorf("an open journal was removed: %v", err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove("ab"); err != nil {
		t.Fatal(err)
	}
	if ids, err := s.Scenes(); err != nil || !slices.Equal(ids, []string{"a", "b", "ab!effects"}) {
		t.Error(ids, err)
	}
	j, err := s.Journal("ab")
	if err != nil || j.Durable().Number != 0 {
		t.Errorf("%+v, %v", j.Durable(), err)
	}
}
