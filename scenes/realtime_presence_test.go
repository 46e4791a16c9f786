package scenes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

const inn = `agent_instances:
  - {instance_id: host, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: "guest_{n}", profile_id: person, count: 6, spawnable: true, roles: [guest], custom_runtime_config: {deliberation_frequency_hz: 2}}
`

func doing(id string, change map[string]any) *agenda.Intervened {
	return &agenda.Intervened{ID: id, By: "gm", Do: protocol.Encode([]any{change})}
}

// On the realtime clock an agent is removed in the middle of a turn: its request is cancelled, the
// turn leaves no fact, and who comes in its place has other numbers of turns.
func TestRealtimeRemovedWhileItThinks(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, inn+"simulation: {clock: realtime, stop: {after: 20s}}"), "")
	var cancelled atomic.Int64
	m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		if req.Agent != "guest_1" {
			return after(10*time.Millisecond, "")(ctx, req)
		}
		a, err := after(4*time.Second, "")(ctx, req)
		if err != nil {
			cancelled.Add(1)
		}
		return a, err
	}}
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: m})
		give := func(at time.Duration, o *agenda.Intervened) {
			<-time.After(at)
			if got, err := r.Order(t.Context(), o); err != nil || got.Refused != "" {
				t.Error(got, err)
			}
		}
		come, leave := map[string]any{"spawn": map[string]any{"agent": "guest_1"}}, map[string]any{"remove": map[string]any{"agents": "guest_1"}}
		give(time.Second, doing("a", come))
		give(5*time.Second, doing("b", leave)) // in its second turn
		give(100*time.Millisecond, doing("c", come))
		give(100*time.Millisecond, doing("d", leave)) // in its first
		give(100*time.Millisecond, doing("e", come))
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByTime {
			t.Error(res)
		}
		if _, open := m.count(); open != 0 {
			t.Errorf("%d calls are still out", open)
		}
	})
	if cancelled.Load() != 2 {
		t.Errorf("%d calls were cancelled, want those of both turns", cancelled.Load())
	}
	numbers, ended := []uint64{}, []uint64{}
	s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
		switch x := fact.(type) {
		case *agenda.Spawned:
			numbers = append(numbers, x.Turns)
		case *agentfact.TurnEnded:
			if x.Agent == 1 {
				ended = append(ended, x.Turn)
			}
		}
	})
	if got, want := fmt.Sprint(numbers, ended), "[0 2 3] [1 4 5 6 7]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// On the realtime clock an actor may fail after its agent has left. That is not a failure of the agent that came in its place
// meanwhile, whether that one has been told something yet or not.
func TestRealtimeFailsAfterItWasRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		starts string
		waits  time.Duration
	}{"before the next is told something": {"false", 0}, "the next has had turns": {"true", 3 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			var release, entered chan struct{}
			var calls atomic.Int64
			text := strings.Replace(shaky, `{instance_id: "a_{n}", profile_id: shaky, count: 3}`, `{instance_id: host, profile_id: shaky}
  - {instance_id: "a_{n}", profile_id: shaky, count: 2, spawnable: true, custom_runtime_config: {wake_on_start: true}}`, 1)
			text = strings.Replace(text, "simulation: {stop: {ticks: 12}", "simulation: {clock: realtime, stop: {after: 20s}", 1)
			text = strings.Replace(text, "subscribed_event_types: [agent.failed, tick]", "subscribed_event_types: []", 1)
			text = strings.Replace(text, "{deliberation_frequency_hz: 1, max_restarts: 3}", "{deliberation_frequency_hz: 0.5, max_restarts: 3}", 1)
			text = strings.Replace(text, "wake_on_start: true", "wake_on_start: "+c.starts, 1)
			s := scenestest.New(t, shakyProject(t, text, func(in any) any {
				if instance(in) == "a_1" && calls.Add(1) == 1 {
					close(entered)
					<-release
					panic("late")
				}
				return "ok"
			}), "")
			synctest.Test(t, func(t *testing.T) {
				release, entered = make(chan struct{}), make(chan struct{})
				r := live(t, s, scenestest.Settings{})
				give := func(id string, do map[string]any) {
					if got, err := r.Order(t.Context(), doing(id, do)); err != nil || got.Refused != "" {
						t.Error(got, err)
					}
				}
				come, leave := map[string]any{"spawn": map[string]any{"agent": "a_1"}}, map[string]any{"remove": map[string]any{"agents": "a_1"}}
				give("a", come)
				<-entered
				give("b", leave)
				give("c", come)
				<-time.After(c.waits)
				close(release)
				if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByTime {
					t.Error(res)
				}
			})
			turns := 0
			s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
				switch x := fact.(type) {
				case *agenda.AgentFailed:
					t.Errorf("%+v", x)
				case *agentfact.TurnEnded:
					if x.Agent == 1 {
						turns++
					}
				}
			})
			if turns < 8 {
				t.Errorf("who came in its place had %d turns", turns)
			}
			mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
			mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
		})
	}
}

// A crowd comes and goes at random on the realtime clock, in the middle of turns and with urgent
// events, over interruptions: nobody who is away has a turn, numbers of turns grow, every fold of the
// facts agrees.
func TestRealtimeCrowd(t *testing.T) {
	seeds := uint64(1)
	if scenestest.Long() {
		seeds = 6
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := scenestest.New(t, realtimeScene(t, inn+"simulation: {clock: realtime, stop: {after: 40s}}"), "")
			m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
				n := rand.New(rand.NewPCG(seed, uint64(len(req.Messages[0].Text))*31+req.Turn*7+uint64(req.Agent[len(req.Agent)-1]))) //nolint:gosec // a test
				a, err := after(time.Duration(n.IntN(900))*time.Millisecond, "")(ctx, req)
				if n.IntN(3) == 0 {
					a.Calls = []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x", "priority": []string{"normal", "critical"}[n.IntN(2)]}}}
				}
				return a, err
			}}
			synctest.Test(t, func(t *testing.T) { crowd(t, s, m, seed) })
			mustBeThere(t, s)
			mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
			mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
		})
	}
}

// crowd gives random orders to a scene, and interrupts it now and then.
func crowd(t *testing.T, s *scenestest.Scene, m *slow, seed uint64) {
	n := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
	for life := 0; ; life++ {
		r := live(t, s, scenestest.Settings{Model: m, Snapshots: 40})
		for i := range 30 {
			<-time.After(time.Duration(n.IntN(400)) * time.Millisecond)
			do, guest := []string{"spawn", "remove"}[n.IntN(2)], fmt.Sprint("guest_", 1+n.IntN(6))
			fields := map[string]any{"spawn": map[string]any{"agent": guest}, "remove": map[string]any{"agents": guest}}[do]
			_, _ = r.Order(t.Context(), doing(fmt.Sprint(life, "/", i), map[string]any{do: fields})) // refused when it is there, or away
		}
		if life < 2 {
			r.Interrupt()
		}
		if res := r.Close(); res.Err != nil {
			t.Error(res)
			return
		} else if res.Final {
			return
		}
	}
}

// mustBeThere checks that turns are of agents that are there, with numbers that grow.
func mustBeThere(t *testing.T, s *scenestest.Scene) {
	t.Helper()
	there, last, removed, turns := map[uint32]bool{0: true, 7: true}, map[uint32]uint64{}, 0, 0
	s.Facts(t, func(r protocol.Record, fact protocol.Fact) {
		switch x := fact.(type) {
		case *agenda.Spawned:
			there[x.Agent], last[x.Agent] = true, max(last[x.Agent], x.Turns)
		case *agenda.Removed:
			there[x.Agent] = false
			removed++
		case *agentfact.TurnEnded:
			if turns++; !there[x.Agent] || x.Turn <= last[x.Agent] {
				t.Errorf("%d: turn %d of agent %d; it is there: %v, its last turn was %d", r.Seq, x.Turn, x.Agent, there[x.Agent], last[x.Agent])
			}
			last[x.Agent] = x.Turn
		}
	})
	if removed < 10 || turns < 50 {
		t.Errorf("%d were removed, %d turns", removed, turns)
	}
}
