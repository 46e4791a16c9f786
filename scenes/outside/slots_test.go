package outside

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
)

// Slots are given in the order of arrival, urgent calls first, also those that
// became urgent while they waited; who gave up waiting gets none.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Runner{}
		s := newSlots(&r.mu, 1)
		if s.enter(&Urgency{}) != nil {
			t.Fatal("no free slot")
		}
		var got []string
		wait := func(ctx context.Context, name string, h *Urgency) {
			go func() {
				if p := s.enter(h); p == nil || p.take(ctx, h) {
					got = append(got, name)
				}
			}()
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		late := &Urgency{}
		for i := range 3 {
			wait(t.Context(), strconv.Itoa(i), &Urgency{})
		}
		wait(gone, "gone", &Urgency{urgent: true})
		wait(t.Context(), "late", late)
		wait(t.Context(), "urgent", &Urgency{urgent: true})
		r.MakeUrgent(late)
		leave()
		synctest.Wait()
		if out, queued := s.load(); out != 1 || queued != 5 {
			t.Errorf("%d out, %d wait", out, queued)
		}
		for range 6 {
			s.give()
			synctest.Wait()
		}
		if want := []string{"urgent", "late", "0", "1", "2"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if out, queued := s.load(); out != 0 || queued != 0 {
			t.Errorf("%d out, %d wait", out, queued)
		}
	})
}
