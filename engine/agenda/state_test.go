package agenda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/budget"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

const second = protocol.Time(time.Second)

// at is a moment after the start of the scenes of these tests, which is 1000 s.
func at(seconds float64) protocol.Time { return protocol.Time((1000 + seconds) * float64(second)) }

// config is a scene with one Timing per agent.
func config(timings ...Timing) Config {
	return Config{
		Start: at(0), Tick: time.Second, Clock: Virtual, Agents: len(timings), RestartBackoff: 2 * time.Second,
		Timing: func(o uint32) Timing { return timings[o] },
	}
}

// wakes runs the agenda: at every moment f says what the agents that were woken
// do, until nobody wakes or the limit.
func wakes(s *State, limit protocol.Time, f func(now protocol.Time, woken []uint32)) []string {
	var story []string
	for {
		now, ok := s.NextTime()
		if !ok || now > limit {
			return story
		}
		s.Now = now
		woken := s.Take(now)
		story = append(story, fmt.Sprintf("%v%v", now.Sub(at(0)), woken))
		f(now, woken)
		s.CloseWave(WaveClosed{Wave: s.Wave + 1}, now)
	}
}

// ends lets a turn end well.
func ends(s *State, now protocol.Time, woken []uint32) {
	for _, o := range woken {
		s.TurnEnded(o, Turn{Wave: s.Wave + 1}, now)
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// §2.3.2: who is woken at the start, who at its own pace, who never.
func TestStart(t *testing.T) {
	s := New(config(Timing{WakeOnStart: true}, Timing{Period: 2 * time.Second}, Timing{}, Timing{WakeOnStart: true, Period: 1500 * time.Millisecond}))
	s.Start(at(0))
	got := wakes(s, at(6), func(now protocol.Time, woken []uint32) { ends(s, now, woken) })
	// A pace of 1.5 s falls on the next tick: every 2 s.
	expect(t, got, "0s[0 3]", "2s[1 3]", "4s[1 3]", "6s[1 3]")
}

// Promise 2: a wave is in the order of priority, then of ordinals.
func TestOrderOfWave(t *testing.T) {
	s := New(config(Timing{}, Timing{}, Timing{}, Timing{}))
	s.Start(at(0))
	for o, p := range []protocol.Priority{protocol.Low, protocol.High, protocol.Normal, protocol.Critical} {
		s.Heard(uint32(o), p, 1, at(0))
	}
	s.Heard(0, protocol.Normal, 1, at(0)) // the most urgent event of a wave counts
	expect(t, wakes(s, at(9), func(now protocol.Time, woken []uint32) { ends(s, now, woken) }), "1s[3 1 0 2]")
}

// Promise 1: what an event causes happens one tick later.
func TestEventWakesOneTickLater(t *testing.T) {
	s := New(config(Timing{WakeOnStart: true}))
	s.Start(at(0))
	n := 0
	got := wakes(s, at(9), func(now protocol.Time, woken []uint32) {
		ends(s, now, woken)
		if n++; n < 4 {
			s.Heard(0, protocol.Normal, s.Wave+1, now)
		}
	})
	expect(t, got, "0s[0]", "1s[0]", "2s[0]", "3s[0]")
}

// Promise 3: many causes, one wake.
func TestWokenOnce(t *testing.T) {
	s := New(config(Timing{WakeOnStart: true, Period: time.Second}))
	s.Start(at(0))
	got := wakes(s, at(2), func(now protocol.Time, woken []uint32) {
		ends(s, now, woken)
		for range 3 {
			s.Heard(0, protocol.High, s.Wave+1, now)
		}
	})
	expect(t, got, "0s[0]", "1s[0]", "2s[0]")
}

func TestSleep(t *testing.T) {
	hear := func(p protocol.Priority) func(*State) {
		return func(s *State) { s.Heard(0, p, s.Wave+1, at(0)) }
	}
	for name, c := range map[string]struct {
		turn Turn
		then func(*State)
		want []string
	}{
		"for a time":                {Turn{SleepUntil: at(5), WakeAbove: protocol.High}, func(*State) {}, []string{"0s[0]", "5s[0]"}},
		"off the grid":              {Turn{SleepUntil: at(4.2), WakeAbove: protocol.High}, func(*State) {}, []string{"0s[0]", "5s[0]"}},
		"below what wakes":          {Turn{SleepUntil: at(5), WakeAbove: protocol.High}, hear(protocol.Normal), []string{"0s[0]", "5s[0]"}},
		"woken":                     {Turn{SleepUntil: at(5), WakeAbove: protocol.High}, hear(protocol.High), []string{"0s[0]", "1s[0]"}},
		"until an event":            {Turn{Asleep: true, WakeAbove: protocol.Low}, func(*State) {}, []string{"0s[0]"}},
		"until an event that comes": {Turn{Asleep: true, WakeAbove: protocol.Low}, hear(protocol.Low), []string{"0s[0]", "1s[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(config(Timing{WakeOnStart: true}))
			s.Start(at(0))
			first := true
			expect(t, wakes(s, at(20), func(now protocol.Time, woken []uint32) {
				if !first {
					ends(s, now, woken)
					return
				}
				first = false
				turn := c.turn
				turn.Wave = s.Wave + 1
				s.TurnEnded(0, turn, now)
				c.then(s)
			}), c.want...)
		})
	}
}

// A model that takes long keeps its agent busy, also for what it hears.
func TestBusy(t *testing.T) {
	s := New(config(Timing{WakeOnStart: true, Period: time.Second}))
	s.Start(at(0))
	first := true
	got := wakes(s, at(6), func(now protocol.Time, woken []uint32) {
		turn := Turn{Wave: s.Wave + 1}
		if first {
			turn.BusyUntil = now.Add(3500 * time.Millisecond)
		}
		s.TurnEnded(0, turn, now)
		if first {
			s.Heard(0, protocol.Critical, s.Wave+1, now)
		}
		first = false
	})
	expect(t, got, "0s[0]", "4s[0]", "5s[0]", "6s[0]")
}

func TestDeferredEffects(t *testing.T) {
	s := New(config(Timing{}))
	s.Start(at(0))
	s.Defer(Deferred{Due: at(2.5), Agent: 1})
	s.Defer(Deferred{Due: at(1), Agent: 2})
	s.Defer(Deferred{Due: at(2.2), Agent: 3}) // the same tick as the first: after it
	var got []string
	for {
		now, ok := s.NextTime()
		if !ok {
			break
		}
		for _, d := range s.DeferredBy(now) {
			got = append(got, fmt.Sprintf("%v of %d", now.Sub(at(0)), d.Agent))
		}
		s.CloseWave(WaveClosed{Wave: s.Wave + 1}, now)
	}
	expect(t, got, "1s of 2", "3s of 1", "3s of 3")
}

// Promise 4: restarts wait longer and longer, events cannot shorten the wait,
// and after too many in a row the agent is given up for ever.
func TestFailures(t *testing.T) {
	s := New(config(Timing{WakeOnStart: true, Period: time.Second, MaxRestarts: 3}))
	s.Start(at(0))
	got := wakes(s, at(99), func(now protocol.Time, woken []uint32) {
		s.AgentFailed(s.Failure(0, "x", nil, now), now)
		s.Heard(0, protocol.Critical, s.Wave+1, now)
	})
	expect(t, got, "0s[0]", "2s[0]", "6s[0]", "14s[0]")
	if !s.GaveUp(0) {
		t.Errorf("%+v", s)
	}
}

func TestBackoffIsBounded(t *testing.T) {
	s := New(config(Timing{MaxRestarts: 1 << 30}))
	s.Start(at(0))
	var last time.Duration
	for range 300 {
		f := s.Failure(0, "x", nil, at(0))
		last = f.WakeAt.Sub(at(0))
		s.AgentFailed(f, at(0))
	}
	if last != 128*time.Second {
		t.Errorf("wait %v", last)
	}
}

// On the realtime clock an event wakes at once and nothing falls on a grid; who
// is busy is passed over and comes back when its turn ends.
func TestRealtime(t *testing.T) {
	c := config(Timing{WakeOnStart: true, Period: 1500 * time.Millisecond}, Timing{})
	c.Clock = Realtime
	s := New(c)
	s.Start(at(0))
	if got := takeAll(s, at(0), nobody); !slices.Equal(got, []uint32{0}) {
		t.Fatal(got)
	}
	s.Heard(0, protocol.High, 2, at(0.3))
	s.Heard(1, protocol.Normal, 2, at(0.3))
	next, ok := s.NextTime()
	if !ok || next != at(0.3) {
		t.Fatal(next)
	}
	busy := func(o uint32) bool { return o == 0 }
	if got := takeAll(s, next, busy); !slices.Equal(got, []uint32{1}) {
		t.Fatal(got)
	}
	if _, ok := s.NextTime(); ok {
		t.Fatal("a busy agent stays on the agenda")
	}
	s.TurnEnded(0, Turn{Wave: 1}, at(0))
	if next, ok = s.NextTime(); !ok || next != at(0.3) {
		t.Fatalf("what it heard meanwhile is lost: %v %v", next, ok)
	}
	takeAll(s, next, nobody)
	s.TurnEnded(0, Turn{Wave: 3}, at(0.4))
	if next, ok = s.NextTime(); !ok || next != at(1.9) {
		t.Errorf("next at %v", next.Sub(at(0)))
	}
}

func nobody(uint32) bool { return false }

// takeAll takes everybody who is due, in the order in which they are woken.
func takeAll(s *State, now protocol.Time, busy func(uint32) bool) (woken []uint32) {
	for {
		o, ok := s.TakeNext(now, false, busy)
		if !ok {
			return woken
		}
		woken = append(woken, o)
	}
}

// Who waits on the realtime clock until there is room keeps its place, however
// much it hears meanwhile; only who heard something critical goes before others,
// once, and what is due later comes later.
func TestPlacesOfThoseWhoWait(t *testing.T) {
	c := config(Timing{}, Timing{}, Timing{}, Timing{Period: time.Second, WakeOnStart: true})
	c.Clock = Realtime
	s := New(c)
	s.Start(at(0))
	take := func(now float64, urgent bool, want ...uint32) {
		t.Helper()
		o, ok := s.TakeNext(at(now), urgent, nobody)
		if ok != (len(want) == 1) || ok && o != want[0] {
			t.Fatalf("at %v: %d %t, want %v", now, o, ok, want)
		}
	}
	take(0, false, 3)
	s.TurnEnded(3, Turn{Wave: 1}, at(0)) // due at 1
	s.Heard(2, protocol.Normal, 2, at(0.1))
	s.Heard(1, protocol.Normal, 3, at(0.2))
	s.Heard(2, protocol.Normal, 4, at(0.3))
	s.Heard(0, protocol.High, 5, at(0.4))
	take(0.5, true)
	s.Heard(1, protocol.Critical, 6, at(0.5))
	s.Heard(3, protocol.Critical, 6, at(0.5))
	s.Heard(1, protocol.Critical, 7, at(0.6))
	take(0.4, true, 1)
	take(0.7, true, 3)
	take(0.7, true)
	take(0.7, false, 2)
	s.TurnEnded(2, Turn{Wave: 8}, at(0.8)) // has perceived all that it heard
	s.Heard(2, protocol.Normal, 9, at(0.9))
	take(0.9, false, 0)
	take(0.9, false, 2)
	take(9, false)
}

// A fold takes nobody off the agenda, which holds no more than who stands on it.
func TestAgendaOfAFold(t *testing.T) {
	for _, clock := range []ClockKind{Virtual, Realtime} {
		c := config(Timing{WakeOnStart: true}, Timing{Period: time.Second})
		c.Clock = clock
		s := New(c)
		s.Start(at(0))
		for i := range 1000 {
			now := at(float64(i))
			for o := range uint32(2) {
				s.Heard(o, protocol.Critical, uint64(i), now)
				s.TurnEnded(o, Turn{Wave: uint64(i) + 1}, now)
			}
			s.CloseWave(WaveClosed{Wave: uint64(i)}, now)
		}
		if n := s.agenda.Moments() + s.urgent.Moments(); n > 8 {
			t.Errorf("%s: %d moments", clock, n)
		}
	}
}

// Promises 1 to 4 against a twin that looks at every agent, and a snapshot taken
// at any moment goes on like the state that it was taken of.
func TestSnapshotGoesOnAlike(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	rapid.Check(t, func(t *rapid.T) {
		var timings []Timing
		for range rapid.IntRange(1, 5).Draw(t, "agents") {
			timings = append(timings, Timing{
				WakeOnStart: rapid.Bool().Draw(t, "start"), MaxRestarts: rapid.IntRange(1, 3).Draw(t, "restarts"),
				Period:    time.Duration(rapid.IntRange(0, 4).Draw(t, "period")) * 700 * time.Millisecond,
				Interrupt: rapid.Bool().Draw(t, "interrupt"), InterruptBy: protocol.Normal,
			})
		}
		c := config(timings...)
		c.Counts = true
		s := New(c)
		s.Start(at(0))
		for range rapid.IntRange(0, 15).Draw(t, "waves") {
			now, ok := s.NextTime()
			if !ok {
				break
			}
			if soonest := earliest(s); now != soonest {
				t.Fatalf("next at %v; the earliest wake is %v", now.Sub(at(0)), soonest.Sub(at(0)))
			}
			if now < s.Now || (now-at(0))%second != 0 {
				t.Fatalf("time went from %v to %v", s.Now, now)
			}
			s.Now = now
			step(t, s, s.Take(now), now)
			s.CloseWave(WaveClosed{Wave: s.Wave + 1}, now)
		}
		raw, err := s.Snapshot(codec)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Restore(c, codec, raw)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := back.Snapshot(codec); !bytes.Equal(raw, again) {
			t.Fatalf("%x became %x", raw, again)
		}
		end := func(s *State) func(protocol.Time, []uint32) {
			return func(now protocol.Time, woken []uint32) { ends(s, now, woken) }
		}
		limit := s.Now + 20*second
		if a, b := wakes(s, limit, end(s)), wakes(back, limit, end(back)); !slices.Equal(a, b) {
			t.Fatalf("went on %v\nrestored %v", a, b)
		}
	})
}

// earliest is the twin of NextTime.
func earliest(s *State) protocol.Time {
	var least protocol.Time
	look := func(t protocol.Time) {
		if t != 0 && (least == 0 || t < least) {
			least = t
		}
	}
	for i := range s.slots {
		look(s.wake(uint32(i)))
	}
	for _, d := range s.deferred {
		look(d.Due)
	}
	return least
}

// step draws what becomes of the agents of a wave.
func step(t *rapid.T, s *State, woken []uint32, now protocol.Time) {
	if len(slices.Compact(slices.Sorted(slices.Values(woken)))) != len(woken) {
		t.Fatalf("woken twice: %v", woken)
	}
	for _, o := range woken {
		if s.GaveUp(o) {
			t.Fatalf("%d was given up and woken", o)
		}
		switch rapid.IntRange(0, 4).Draw(t, "end") {
		case 0:
			s.AgentFailed(s.Failure(o, "x", nil, now), now)
		case 1:
			s.TurnEnded(o, Turn{Wave: s.Wave + 1, SleepUntil: now.Add(time.Duration(rapid.IntRange(1, 9000).Draw(t, "sleep")) * time.Millisecond), WakeAbove: protocol.High}, now)
		case 2:
			busy := now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(t, "busy")) * time.Millisecond)
			urgency := protocol.Priority(rapid.IntRange(-1, 2).Draw(t, "urgency"))
			s.TurnEnded(o, Turn{Wave: s.Wave + 1, BusyUntil: busy, Urgency: urgency}, now)
			s.Defer(Deferred{Due: busy, Agent: o, Effects: []protocol.Sequenced{{To: worldstate.Service, Data: protocol.Encode("x")}}})
		default:
			s.TurnEnded(o, Turn{Wave: s.Wave + 1, Asleep: rapid.Bool().Draw(t, "asleep"), WakeAbove: protocol.Normal}, now)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		o := uint32(rapid.IntRange(0, len(s.slots)-1).Draw(t, "who"))
		p := protocol.Priority(rapid.IntRange(-1, 2).Draw(t, "priority"))
		s.Heard(o, p, s.Wave+1, now)
		s.Reached(o)
		if f, ok := s.Interruption(o, p, "e", now); ok {
			s.Interrupted(f, now)
		}
	}
}

// Stored bytes of another scene, or damaged ones, are refused.
func TestRestoreRefuses(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	s := New(config(Timing{}, Timing{}))
	s.Start(at(0))
	raw, err := s.Snapshot(codec)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg Config
		raw protocol.Raw
	}{
		"fewer agents": {config(Timing{}), raw},
		"more agents":  {config(Timing{}, Timing{}, Timing{}), raw},
		"cut":          {config(Timing{}, Timing{}), raw[:len(raw)-3]},
		"empty":        {config(Timing{}, Timing{}), nil},
	} {
		if _, err := Restore(c.cfg, codec, c.raw); err == nil || protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every fact comes back as it was; unknown kinds are somebody else's.
func TestFacts(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	for _, f := range []protocol.Fact{
		&Started{Scene: "s", Seed: 1, Clock: Virtual, Start: at(0), Tick: time.Second, Agents: 3, Project: "h"},
		&WaveClosed{Wave: 1, Turns: 2, Events: 3, World: 4},
		&EffectsDeferred{Agent: 1, Due: at(1), Effects: []protocol.Sequenced{{To: "world", Data: protocol.Encode("x")}}},
		&AgentFailed{Agent: 1, Error: "e", Stack: []string{"a b.go:1"}, Failures: 2, WakeAt: at(2)},
		&ActorFailed{Actor: "$world", Error: "e", Stack: []string{"a"}, Failures: 1, GivenUp: true},
		&Interrupted{Agent: 1, Event: "e1", Effects: 2}, &Blocked{Agent: 1, Event: "e1", Receivers: []uint32{0, 2}},
		&TurnAbandoned{Agent: 1, Took: []budget.Loss{{Ledger: "run", Tokens: 1, Calls: 2, Nano: 3, Micro: 4, Bytes: 5}}},
		&Paused{Reason: "request"}, &Resumed{}, &Ended{Reason: "time"},
		&DeadLettered{Event: "e1", Type: "t", Reason: "r", Chain: []protocol.Link{{Agent: "a", Type: "b"}}, Receiver: "c", Kind: "event", TraceID: "t1", Count: 1},
	} {
		raw, err := codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.ReadFact(f.FactKind(), raw)
		if err != nil {
			t.Fatal(f.FactKind(), err)
		}
		if again, _ := codec.Marshal(back); !bytes.Equal(raw, again) {
			t.Errorf("%s: %x became %x", f.FactKind(), raw, again)
		}
		if _, err := codec.ReadFact(f.FactKind(), raw[:len(raw)-1]); err == nil && len(raw) > 1 {
			t.Errorf("%s: cut bytes were read", f.FactKind())
		}
	}
	if f, err := codec.ReadFact("agent.said", nil); f != nil || protocol.KindOf(err) != protocol.KindUnknown {
		t.Error(f, err)
	}
}

func TestDuration(t *testing.T) {
	var d protocol.Duration
	if err := json.Unmarshal([]byte(`"1h30m"`), &d); err != nil || d.Std() != 90*time.Minute {
		t.Error(d, err)
	}
	if b, err := json.Marshal(d); err != nil || string(b) != `"1h30m0s"` {
		t.Errorf("%s %v", b, err)
	}
	if err := json.Unmarshal([]byte(`"soon"`), &d); err == nil {
		t.Error("no error")
	}
}
