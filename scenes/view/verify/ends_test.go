package verify_test

import (
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// busy is a scene of two agents that write into the world at each tick, for ever.
func busy(t *testing.T) *scenestest.Scene {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`-- scenes/s.yaml --
id: s
name: Busy
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}, {instance_id: b, profile_id: person}]
initial_world_state: {n: 0}
-- models/voices.yaml --
otherwise:
  calls:
    - {tool: RequestWorldStateUpdateTool, params: {path: n, op: add, value: 1}}
    - {tool: PublishEventTool, params: {type: talk.tick}}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// ends decides a history again whose scene would have these stop conditions.
func ends(t *testing.T, s *scenestest.Scene, stop agenda.Stop, until string) *verify.Report {
	t.Helper()
	return run(t, s, scenestest.Settings{Stop: &stop, Until: until}, 1)
}

// On the virtual clock the end of a scene follows from its stop conditions: a history that ends too early, too late or
// for another reason is none that a scene leaves.
func TestEndsAreDecided(t *testing.T) {
	seconds := func(n int) protocol.Duration { return protocol.Duration(time.Duration(n) * time.Second) }
	for _, c := range []struct {
		reason               string
		stop, sooner, later  agenda.Stop
		until, soon, andLate string
	}{
		{reason: agenda.StoppedByTime, stop: agenda.Stop{After: seconds(6)}, sooner: agenda.Stop{After: seconds(4)}, later: agenda.Stop{After: seconds(9)}},
		{reason: agenda.StoppedByTicks, stop: agenda.Stop{Ticks: 6}, sooner: agenda.Stop{Ticks: 4}, later: agenda.Stop{Ticks: 9}},
		{reason: agenda.StoppedByDeliberations, stop: agenda.Stop{Deliberations: 6}, sooner: agenda.Stop{Deliberations: 3}, later: agenda.Stop{Deliberations: 9}},
		{reason: agenda.StoppedByEvents, stop: agenda.Stop{Events: 6}, sooner: agenda.Stop{Events: 3}, later: agenda.Stop{Events: 9}},
		{reason: agenda.StoppedByTokens, stop: agenda.Stop{Tokens: 2000}, sooner: agenda.Stop{Tokens: 1}, later: agenda.Stop{Tokens: 1 << 40, Ticks: 1 << 40}},
		{reason: agenda.StoppedByCondition, until: "world.n >= 6", soon: "world.n >= 2", andLate: "world.n >= 12"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := busy(t)
			if r := s.Run(t, scenestest.Settings{Stop: &c.stop, Until: c.until}); r.Err != nil || r.Reason != c.reason {
				t.Fatal(r)
			}
			if r := ends(t, s, c.stop, c.until); r.Difference != nil || len(r.Taken) > 0 {
				t.Errorf("%+v, %+v", r, r.Difference)
			}
			if r := ends(t, s, c.sooner, c.soon); r.Difference == nil {
				t.Error("a scene that ends too late is none that is decided")
			}
			if r := ends(t, s, c.later, c.andLate); r.Difference == nil || r.Difference.Reason != "the recorded run ended here, and no stop condition holds" || r.Difference.Recorded.Kind != agenda.FactEnded {
				t.Errorf("a scene that ends too early is none that is decided: %+v", r.Difference)
			}
			other := s.Rewrite(t, func(r *protocol.Record) { otherEnd(t, r, agenda.StoppedByQuiet) })
			if r := ends(t, other, c.stop, c.until); r.Difference == nil || r.Difference.Recorded.Kind != agenda.FactEnded {
				t.Errorf("the reason is another: %+v", r.Difference)
			}
		})
	}
}

// otherEnd gives the end of a scene another reason.
func otherEnd(t *testing.T, r *protocol.Record, reason string) {
	if r.Kind != agenda.FactEnded {
		return
	}
	var err error
	if r.Data, err = protocol.NewCodec(agenda.Facts()).Marshal(&agenda.Ended{Reason: reason}); err != nil {
		t.Error(err)
	}
}

// Whoever ends a scene from outside needs no reason.
func TestEndsFromOutsideAreTaken(t *testing.T) {
	s := busy(t)
	r, err := s.Start(scenestest.Settings{Stop: &agenda.Stop{Ticks: 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	r.Terminate()
	if r := r.Close(); r.Reason != agenda.StoppedByRequest {
		t.Fatal(r)
	}
	if r := ends(t, s, agenda.Stop{Ticks: 1 << 40}, ""); r.Difference != nil || r.Taken[verify.TakenOutside] != 1 {
		t.Errorf("%+v, %+v", r, r.Difference)
	}
}

// An order that waits for a time beyond the limit is in no fact, and the scene ends at its limit, though it has nothing
// else to do.
func TestAnOrderWaitsBeyondTheLimit(t *testing.T) {
	s, stop := busy(t), agenda.Stop{Ticks: 5}
	rest := &agenda.Intervened{ID: "o", Do: protocol.Encode([]any{map[string]any{"rest": map[string]any{"agents": "a"}}})}
	wake := &agenda.Intervened{ID: "p", Do: protocol.Encode([]any{map[string]any{"wake": map[string]any{"agents": "a"}}})}
	set := scenestest.Settings{Stop: &stop, Orders: []*machines.Order{{Intervened: rest, After: 2 * time.Second}, {Intervened: wake, After: time.Hour}}}
	if r := s.Run(t, set); r.Err != nil || r.Reason != agenda.StoppedByTicks {
		t.Fatal(r)
	}
	if r := ends(t, s, stop, ""); r.Difference != nil || r.Taken[verify.TakenOutside] != 2 {
		t.Errorf("%+v, %+v", r, r.Difference)
	}
}

// A scene that has nothing more to do ends by quiet: an end by a limit is at that limit, if the scene has one.
func TestQuietIsNoLimit(t *testing.T) {
	for _, c := range []struct {
		stop   agenda.Stop
		reason string
	}{
		{agenda.Stop{Deliberations: 1 << 40}, agenda.StoppedByTime},
		{agenda.Stop{Deliberations: 1 << 40}, agenda.StoppedByTicks},
		{agenda.Stop{Ticks: 50}, agenda.StoppedByTime},
		{agenda.Stop{Ticks: 50}, agenda.StoppedByTicks},
		{agenda.Stop{After: protocol.Duration(time.Minute)}, agenda.StoppedByTime},
		{agenda.Stop{After: protocol.Duration(time.Minute)}, agenda.StoppedByTicks},
	} {
		s := busy(t)
		rest := &agenda.Intervened{ID: "o", Do: protocol.Encode([]any{map[string]any{"rest": map[string]any{"agents": "a"}}})}
		if r := s.Run(t, scenestest.Settings{Stop: &c.stop, Orders: []*machines.Order{{Intervened: rest, After: 2 * time.Second}}}); r.Err != nil || r.Reason != agenda.StoppedByQuiet {
			t.Fatal(r)
		}
		if r := ends(t, s, c.stop, ""); r.Difference != nil {
			t.Errorf("%+v: %+v", c, r.Difference)
		}
		other := s.Rewrite(t, func(r *protocol.Record) { otherEnd(t, r, c.reason) })
		if r := ends(t, other, c.stop, ""); r.Difference == nil || r.Difference.Recorded.Kind != agenda.FactEnded {
			t.Errorf("%+v: the reason is another: %+v", c, r.Difference)
		}
	}
}

// What a fork has of its parent was decided under the parent's conditions.
func TestAForkHasItsOwnEnd(t *testing.T) {
	s, stop := busy(t), agenda.Stop{Ticks: 1 << 40}
	if r := s.Run(t, scenestest.Settings{Stop: &stop, InterruptAt: 5}); r.Err != nil || r.Final {
		t.Fatal(r)
	}
	s.JournalIn(t, s.Dir, persistence.Options{}, func(j *persistence.Journal) {
		if _, err := history.Fork(s.Made(t, scenestest.Settings{}), j, history.Options{}, &agenda.Forked{Parent: "s", Seed: 1}, nil); err != nil {
			t.Fatal(err)
		}
	})
	set := scenestest.Settings{Stop: &agenda.Stop{Ticks: 1 << 40, Deliberations: 2}, Until: "world.n > 1"}
	if r := s.Run(t, set); r.Err != nil || !r.Final || r.Reason != agenda.StoppedByDeliberations {
		t.Fatal(r)
	}
	if r := run(t, s, set, 1); r.Difference != nil {
		t.Errorf("%+v", r.Difference)
	}
	set.Stop = &agenda.Stop{Ticks: 1 << 40, Deliberations: 1}
	set.Until = ""
	other := s.Rewrite(t, func(r *protocol.Record) { otherEnd(t, r, agenda.StoppedByEvents) })
	if r := run(t, other, set, 1); r.Difference == nil || r.Difference.Recorded.Kind != agenda.FactEnded {
		t.Errorf("the reason is another: %+v", r.Difference)
	}
}

// A fork whose limit of time is over ends by it, also where nobody is due any more: a condition that holds comes before
// quiet. Verify decides which of the two it is.
func TestALimitThatIsOverComesBeforeQuiet(t *testing.T) {
	for _, c := range []struct {
		stop   agenda.Stop
		reason string
	}{
		{agenda.Stop{Ticks: 1}, agenda.StoppedByTicks},
		{agenda.Stop{After: protocol.Duration(time.Second)}, agenda.StoppedByTime},
	} {
		s := busy(t)
		if r := s.Run(t, scenestest.Settings{Stop: &agenda.Stop{Ticks: 1 << 40}, InterruptAt: 5}); r.Err != nil || r.Final {
			t.Fatal(r)
		}
		forkedAt(t, s, 4, 1)
		rest := &agenda.Intervened{ID: "o", Do: protocol.Encode([]any{map[string]any{"rest": map[string]any{"agents": []any{"a", "b"}}}})}
		set := scenestest.Settings{Stop: &c.stop, Orders: []*machines.Order{{Intervened: rest, Wave: 6}}}
		if r := s.Run(t, set); r.Err != nil || !r.Final || r.Reason != c.reason {
			t.Errorf("%+v, want %s", r, c.reason)
		}
		if r := ends(t, s, c.stop, ""); r.Difference != nil || r.Taken[verify.TakenOutside] != 3 { // the two facts of the fork, and the order
			t.Errorf("%s: %+v, %+v", c.reason, r, r.Difference)
		}
		other := s.Rewrite(t, func(r *protocol.Record) { otherEnd(t, r, agenda.StoppedByQuiet) })
		if r := ends(t, other, c.stop, ""); r.Difference == nil || r.Difference.Recorded.Kind != agenda.FactEnded {
			t.Errorf("%s: the reason is another: %+v", c.reason, r.Difference)
		}
	}
}
