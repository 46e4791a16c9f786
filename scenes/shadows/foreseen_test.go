package shadows_test

import (
	"testing"

	"tavernsim/scenes"
)

// foreseen are scenes in which something beside the profiles decides what an agent does or is told next.
func foreseen() map[string]string {
	teller := party{"teller", 1, "0.25", "", publishes, tells}
	hears := party{"clerk", 2, "0.05", "incoming_events", keeps + "\nsubscribed_event_types: [job.do]", notes}
	works := party{"writer", 3, "0.2", "", writes, counts}
	at5 := func(does string) string {
		return "script: {states: [{id: up, transitions: [{to: down, after: 5s}]}, {id: down, on_enter: [" + does + "]}]}"
	}
	return map[string]string{
		"who rests is not woken": company("", at5("{rest: {agents: 'profile:clerk'}}"), teller, hears, works),
	}
}

// Promise 2: it is predicted, or whom it concerns waits for the fact.
func TestItIsForeseen(t *testing.T) {
	for name, text := range foreseen() {
		t.Run(name, func(t *testing.T) {
			want, _, barrier := played(t, text, scenes.Barrier)
			for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
				got, c, took := played(t, text, schedule)
				t.Logf("%s: %v of %v, %d calls, %+v", schedule, took, barrier, got.State.Tally.ModelCalls, *c)
				if got.Digest() != want.Digest() || c.Off != "" {
					t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
				}
				if schedule == scenes.Tracked && c.Calls.Wasted > 0 || wastes(c) {
					t.Errorf("%s: %+v", schedule, c)
				}
			}
		})
	}
}
