package shadows_test

import (
	"strings"
	"testing"

	"tavernsim/scenes"
)

// refusals are scenes in which changes of the world that could be made when they were asked for are refused. Those of
// "sees" are asked for by agents that read what they write.
func refusals() map[string]string {
	slow := party{"slow", 2, "0.05", "", writes, writing(`{path: l, op: push, value: 1}`)}
	locker := party{"locker", 1, "0.05", "", writes, writing(`{lock: {paths: [n], seconds: 4}}`)}
	push, add, plain := `{path: l, op: push, value: 1, reads: [l]}`, `{path: n, op: add, value: 1, reads: [l]}`, `{path: n, op: add, value: 1}`
	fast := func(hz, inputs, params string) party { return party{"fast", 4, hz, inputs, writes, writing(params)} }
	idle := party{"idle", 6, "0.5", "private_state", keeps, notes}
	return map[string]string{
		"sees: at the same moment":          company("", "", fast("0.25", "world_state", push)),
		"sees: at the same moment, others":  company("", "", fast("0.25", "world_state", push), idle),
		"sees: by who is behind":            company("", "", slow, fast("0.25", "world_state", add)),
		"sees: while a turn takes its time": company("latency: {fixed: 3s}", "", slow, fast("0.15", "world_state", add)),
		"sees: for a lease":                 company("", "", locker, fast("0.25", "world_state", plain)),
		"at the same moment":                company("", "", fast("0.25", "", push)),
		"by who is behind":                  company("", "", slow, fast("0.25", "", add)),
		"for a lease":                       company("", "", locker, fast("0.25", "", plain)),
	}
}

// Promise 2. Whoever reads what it writes waits for all that could refuse its changes, and no call is made in vain. Others
// waste what a bound allows.
func TestWhoReadsIsNotRefusedInVain(t *testing.T) {
	for name, text := range refusals() {
		if testing.Short() && name != "sees: at the same moment" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want, _, barrier := played(t, text, scenes.Barrier)
			for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
				got, c, took := played(t, text, schedule)
				t.Logf("%s: %v of %v, %d calls, %d ahead, %d used, %d wasted, missed %d", schedule, took, barrier, got.State.Tally.ModelCalls, c.Calls.Asked, c.Calls.Used, c.Calls.Wasted, c.Missed)
				if got.Digest() != want.Digest() || failed(c) || c.Calls.Used < 50 {
					t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
				}
				sees := schedule == scenes.Tracked && strings.HasPrefix(name, "sees")
				if sees && c.Calls.Wasted > 0 || float64(c.Calls.Wasted) > 51+0.1*float64(max(got.State.Tally.ModelCalls, c.Calls.Asked)) {
					t.Errorf("%s: %+v", schedule, c)
				}
			}
		})
	}
}
