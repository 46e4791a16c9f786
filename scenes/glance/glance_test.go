package glance

import (
	"context"
	"testing"

	"tavernsim/protocol"
)

// The answer comes with the last part, an error with the first; a scene that has stopped, and a caller that
// gives up, end the wait. One look more than the bound is refused.
func TestLook(t *testing.T) {
	over := make(chan struct{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	wait := func(l *Look, ctx context.Context) protocol.ErrorKind {
		seen, err := l.Wait(ctx, over)
		if (seen == nil) == (err == nil) {
			t.Error(seen, err)
		}
		return protocol.KindOf(err)
	}
	l := New(3)
	for range parts - 1 {
		l.Fill(func(s *Seen) error { s.Wave++; return nil })
	}
	if kind := wait(l, gone); kind != protocol.KindCancelled {
		t.Error(kind)
	}
	l.Fill(func(s *Seen) error { s.Wave++; return nil })
	if seen, err := l.Wait(t.Context(), over); err != nil || seen.Wave != parts {
		t.Error(seen, err)
	}
	failed := New(3)
	failed.Fill(func(*Seen) error { return protocol.Errorf(protocol.KindCorrupt, "damaged") })
	if kind := wait(failed, t.Context()); kind != protocol.KindCorrupt {
		t.Error(kind)
	}
	var q Queue
	for range MaxWaiting {
		q.Add(New(1))
	}
	more := New(2)
	q.Add(more)
	if kind := wait(more, t.Context()); kind != protocol.KindLimit {
		t.Error(kind)
	}
	if q.Take(false) != nil {
		t.Error("one was taken that may not be")
	}
	for n := 0; ; n++ {
		if x := q.Take(true); x == nil {
			if n != MaxWaiting {
				t.Error(n)
			}
			break
		}
	}
	close(over)
	if kind := wait(New(1), t.Context()); kind != protocol.KindConflict {
		t.Error(kind)
	}
	if Asks(&protocol.Envelope{}) != nil || Asks(more.Message(protocol.KindSnapshot)) != more {
		t.Error("a message is taken for another one")
	}
}
