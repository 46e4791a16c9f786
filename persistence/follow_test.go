package persistence

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/protocol"
)

func followable(t *testing.T, o Options) (*Store, *Journal) {
	t.Helper()
	o.Durability = Memory
	s, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Journal("tavern")
	if err != nil {
		t.Fatal(err)
	}
	return s, j
}

func appendWave(t *testing.T, j *Journal) {
	t.Helper()
	if _, err := j.Append(1, "a", "k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Promise 9: a follower that does not take what it is given keeps Close for 2 s and no
// longer, and is told that it has not had all.
func TestSlowFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j := followable(t, Options{})
		appendWave(t, j)
		taken, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- j.Follow(t.Context(), 1, func(protocol.Record) error { <-taken; return nil })
		}()
		synctest.Wait()
		appendWave(t, j)
		begun := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != followGrace {
			t.Errorf("Close took %s", took)
		}
		close(taken)
		if err := <-ended; protocol.KindOf(err) != protocol.KindCancelled {
			t.Errorf("it ends with %v", err)
		}
	})
}

// One that has all of it wakes with the journal's growth alone, and reads at most
// once in followRest.
func TestFollowersShareReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j := followable(t, Options{})
		var times []time.Time
		ended := make(chan error, 1)
		go func() {
			ended <- j.Follow(t.Context(), 1, func(protocol.Record) error {
				times = append(times, time.Now())
				return nil
			})
		}()
		begun := time.Now()
		<-time.After(time.Hour) // nothing comes
		for range 3 {
			appendWave(t, j)
			synctest.Wait()
		}
		<-time.After(time.Hour)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		first := begun.Add(time.Hour)
		if len(times) != 3 || !times[0].Equal(first) || !times[1].Equal(first.Add(followRest)) || !times[2].Equal(times[1]) {
			t.Errorf("facts came at %v, the first wave at %v", times, first)
		}
	})
}

// Facts that were dropped before they were read are an error, not a gap.
func TestFollowDroppedFacts(t *testing.T) {
	s, j := followable(t, Options{})
	defer s.Close()
	for range 3 {
		appendWave(t, j)
	}
	err := j.Follow(t.Context(), 1, func(r protocol.Record) error {
		if r.Seq == 3 {
			for range 3 {
				appendWave(t, j)
			}
			return j.Forget(5)
		}
		return nil
	})
	if protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("it ends with %v", err)
	}
	enough := errors.New("enough")
	var got uint64
	if err := j.Follow(t.Context(), 0, func(r protocol.Record) error { got = r.Seq; return enough }); !errors.Is(err, enough) || got != 6 {
		t.Errorf("from the beginning: %d, %v", got, err)
	}
}
