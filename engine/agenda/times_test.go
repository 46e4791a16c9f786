package agenda

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agenda/pause"
	"tavernsim/protocol"
)

// Promise 1, whatever masks the reasons of an agent to be woken and whatever ends the mask: latencies and their
// interruptions, ceilings, rests, gates, turns of an order, waits for readers, failures, who leaves and comes again, sleep.
// The next moment is after the last one. An agent that has heard something that it may be woken for is woken a tick later, or
// when its latency and its ceiling let it. A fold, which takes nobody off the agenda, and a restored state agree.
func TestTimesAfterMasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.Bool().Draw(t, "blocks")                            // such scenes have no seats and no order of turns (scenes/load/setup)
		timings := make([]Timing, rapid.IntRange(2, 4).Draw(t, "agents")+1) // the last one is the scene's own
		for o := range timings[:len(timings)-1] {
			timings[o] = Timing{
				WakeOnStart: rapid.Bool().Draw(t, "start"), WakeOnChange: rapid.Bool().Draw(t, "on change"), MaxRestarts: rapid.IntRange(0, 2).Draw(t, "restarts"),
				Period: seconds(t, "period", 4), Least: seconds(t, "least", 5), Interrupt: rapid.Bool().Draw(t, "interrupt"), InterruptBy: protocol.Normal,
			}
			if blocks {
				timings[o].Blocks = &Bounds{1, 1, 2, 1}
			}
		}
		cfg := config(timings...)
		away := rapid.SliceOfN(rapid.Bool(), len(timings)-1, len(timings)-1).Draw(t, "away")
		cfg.Away = func(o uint32) bool { return !blocks && int(o) < len(away) && away[o] }
		m := &masks{t: t, blocks: blocks, codec: protocol.NewCodec(Facts()), live: New(cfg), fold: New(cfg), owed: make([]bool, len(timings)), alerts: make([]bool, len(timings))}
		m.both(func(s *State) { s.Start(at(0)) })
		for range rapid.IntRange(1, 30).Draw(t, "waves") {
			m.wave()
		}
	})
}

func seconds(t *rapid.T, what string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * 700 * time.Millisecond
}

type masks struct {
	t          *rapid.T
	blocks     bool
	codec      *protocol.Codec
	live, fold *State
	now        protocol.Time
	release    protocol.Time // when a service decides without a request; 0 = never
	owed       []bool        // it has heard something that may wake it, and no turn of it has perceived that
	alerts     []bool        // likewise, and critical
	story      []string
}

// both folds the same facts into the live state and into that of a fold.
func (m *masks) both(f func(s *State)) { f(m.live); f(m.fold) }

func (m *masks) draw(what string, most int) int { return rapid.IntRange(0, most).Draw(m.t, what) }

func (m *masks) note(format string, args ...any) {
	m.story = append(m.story, fmt.Sprintf("%v ", m.now.Sub(at(0)))+fmt.Sprintf(format, args...))
}

// wave plays one wave: of the next moment of the agenda, or, as an order or an expiry has one, before it.
func (m *masks) wave() {
	next, some := m.live.NextTime()
	if other, same := m.fold.NextTime(); other != next || same != some {
		m.t.Fatalf("the next moment is %v, and in a fold %v\n%v", next, other, m.story)
	}
	if some && (next < m.live.Now || m.live.Wave > 0 && next == m.live.Now || next != m.live.Grid(next)) {
		m.t.Fatalf("time goes from %v to %v\n%v", m.live.Now, next, m.story)
	}
	m.now = m.live.Now.Add(time.Duration(m.draw("until the next wave", 3)) * time.Second)
	if some && (m.now >= next || m.draw("on the agenda", 3) > 0) {
		m.now = next
		for _, o := range m.live.Take(m.now) {
			m.turn(o)
		}
	}
	for range m.draw("changes", 6) {
		m.change(uint32(m.draw("who", len(m.owed)-2)))
	}
	if m.release <= m.now {
		m.release = 0
	}
	m.both(func(s *State) { s.Releases(m.release); s.CloseWave(WaveClosed{Wave: s.Wave + 1}, m.now) })
	m.agree()
	for o := range m.owed[:len(m.owed)-1] {
		m.due(uint32(o))
	}
}

// turn ends the turn of an agent that was woken, or lets it fail.
func (m *masks) turn(o uint32) {
	if sl := &m.live.slots[o]; sl.blocked || sl.resting || sl.gates != 0 || sl.givenUp || sl.busyUntil > m.now || m.live.pauses.Until(o) > m.now {
		m.t.Fatalf("%d is woken: %+v\n%v", o, *sl, m.story)
	}
	m.owed[o], m.alerts[o] = false, false
	if m.draw("fails", 5) == 0 {
		m.fails(o)
		return
	}
	turn := Turn{Wave: m.live.Wave + 1, Changed: m.draw("changed", 1) == 1, WakeAbove: protocol.Priority(m.draw("wake above", 2)), Urgency: protocol.Low}
	switch m.draw("then", 5) {
	case 0:
		turn.Asleep = true
	case 1:
		turn.SleepUntil = m.now.Add(seconds(m.t, "sleeps", 9) + 1)
	case 2:
		turn.WakeAt = m.now.Add(seconds(m.t, "wake at", 5) - time.Second)
	}
	var rest pause.Rest
	if m.draw("rests", 3) == 0 {
		rest.Until = m.now.Add(seconds(m.t, "rest", 9))
	}
	if m.draw("takes time", 2) == 0 {
		turn.BusyUntil = m.now.Add(seconds(m.t, "latency", 9) + 1)
	}
	m.note("%d ends %+v, rests %v", o, turn, rest.Until)
	m.both(func(s *State) {
		if rest.Until != 0 {
			s.Rests(o, rest)
		}
		s.TurnEnded(o, turn, m.now)
		if turn.BusyUntil != 0 {
			s.Defer(Deferred{Due: turn.BusyUntil, Agent: o, Effects: make([]protocol.Sequenced, 1)})
		}
	})
}

func (m *masks) fails(o uint32) {
	f := m.live.Failure(o, "oh", nil, m.now)
	m.note("%d fails %v", o, f.WakeAt)
	m.both(func(s *State) { s.AgentFailed(f, m.now) })
	m.owed[o], m.alerts[o] = false, false
}

// change folds a fact that concerns an agent and is not the end of its turn.
func (m *masks) change(o uint32) {
	who, wave := []uint32{o}, m.live.Wave+1
	sl := &m.live.slots[o]
	what := m.draw("change", 14)
	switch gone := m.live.Away(o); {
	case gone && what > 2: // nothing but its place is there
		m.note("%d comes", o)
		m.both(func(s *State) { s.Spawned(Spawned{Agent: o}, m.now) })
		m.owed[o], m.alerts[o] = false, false
		return
	case gone && what != 2:
		what = 7 + what
	case m.blocks && (what == 5 || what > 8 && what < 14):
		what = 0
	}
	m.note("%d: change %d", o, what)
	switch what {
	case 0, 1:
		m.hear(o, wave)
	case 2:
		m.release = m.now.Add(seconds(m.t, "release", 3) + 1)
	case 3:
		always := m.draw("always", 1) == 1
		m.owes(o, protocol.Normal, always)
		m.both(func(s *State) { s.Told(o, wave, m.now, always) })
	case 4:
		if !sl.resting {
			m.both(func(s *State) { s.Rested(Rested{Agents: who}, m.now) })
			break
		}
		m.both(func(s *State) { s.RestEnded(RestEnded{Agents: who}, m.now) })
	case 5:
		m.both(func(s *State) { s.Removed(Removed{Agent: o}, m.now) })
		m.owed[o], m.alerts[o] = false, false
	case 6:
		m.fails(o) // between two turns
	case 7:
		m.both(func(s *State) { s.Close(ByScript, o, m.now) })
	case 8:
		m.both(func(s *State) { s.Open(ByScript, o, m.now) })
	case 9, 10:
		alert := m.draw("alert", 1) == 1
		m.both(func(s *State) { s.HoldBack(o, alert) })
	case 11, 12:
		m.both(func(s *State) { s.LetGo(o, m.now) })
	case 13:
		m.both(func(s *State) { s.Call(o, m.now.Add(time.Second)) })
		m.owed[o] = m.alerts[o] && m.owed[o]
	case 14:
		letters := m.live.Redelivery(nil)
		if letters.Due = m.live.Grid(m.now.Add(time.Second)); m.draw("again", 1) == 1 {
			m.both(func(s *State) { s.Redelivered(letters) })
		}
	}
}

// hear routes an event of one agent to another, which may interrupt that one, and block the publisher.
func (m *masks) hear(o uint32, wave uint64) {
	p, stirs := protocol.Low+protocol.Priority(m.draw("priority", 3)), m.draw("stirs", 3) == 0
	from := uint32(m.draw("from", len(m.owed)-2))
	m.owes(o, p, stirs)
	m.both(func(s *State) {
		if s.Reached(o); stirs {
			s.Stirred(o, p, wave, m.now)
		} else {
			s.Heard(o, p, wave, m.now)
		}
		s.Received(o, p, wave)
	})
	f, interrupts := m.live.Interruption(o, p, "e", m.now)
	if g := gated(m.live, o); interrupts && (!g || m.live.slots[o].held&heldAlert != 0 && p == protocol.Critical) {
		m.note("%d is interrupted", o)
		m.both(func(s *State) { s.Interrupted(f, m.now) })
		m.owed[o], m.alerts[o] = true, m.alerts[o] || p == protocol.Critical
	}
	blocks := m.live.Blocks(from, o, p)
	if m.fold.Blocks(from, o, p) != blocks {
		m.t.Fatalf("%d waits for %d: %v, and in a fold not\n%v", from, o, blocks, m.story)
	}
	if blocks && !m.live.Away(from) {
		m.note("%d waits for %d", from, o)
		m.both(func(s *State) { s.Blocked(Blocked{Agent: from, Event: "e", Receivers: []uint32{o}}, wave) })
	}
}

// owes notes that an event wakes an agent as soon as nothing masks it.
func (m *masks) owes(o uint32, p protocol.Priority, always bool) {
	sl := &m.live.slots[o]
	if sl.asleep && p < sl.wakeAbove && !always {
		return
	}
	m.owed[o] = true
	m.alerts[o] = m.alerts[o] || p == protocol.Critical
}

// agree holds that the live state, the fold and what a snapshot restores are one; the walk goes on with any of them.
func (m *masks) agree() {
	a, err := m.live.Snapshot(m.codec)
	if err != nil {
		m.t.Fatal(err)
	}
	b, err := m.fold.Snapshot(m.codec)
	if err != nil || !bytes.Equal(a, b) {
		m.t.Fatalf("the scene is %+v\na fold is     %+v (%v)\n%v", m.live.slots, m.fold.slots, err, m.story)
	}
	if m.draw("restored", 3) == 0 {
		m.live = restored(m.t, m.codec, m.live)
		m.live.Releases(m.release)
	}
}

// due holds that an agent that is owed a turn and that nothing holds back has it at the next moment that its latency and
// its ceiling allow.
func (m *masks) due(o uint32) {
	sl, got := &m.live.slots[o], m.live.wake(o)
	masked := sl.givenUp || sl.blocked || sl.resting || sl.gates != 0
	switch {
	case masked && got == 0:
	case masked || got != 0 && got <= m.now:
		m.t.Fatalf("%d is due at %v, it is %v: %+v\n%v", o, got, m.now, *sl, m.story)
	case sl.held&heldBack != 0 && sl.held&heldAlert == 0:
		if got != 0 {
			m.t.Fatalf("%d is gated, and due at %v: %+v\n%v", o, got, *sl, m.story)
		}
	case sl.held&heldBack != 0 || !m.owed[o]:
	case got == 0 || got > max(m.now+second, sl.busyUntil, m.live.pauses.Until(o)):
		m.t.Fatalf("%d is owed a turn and due at %v, it is %v: %+v\n%v", o, got, m.now, *sl, m.story)
	}
}
