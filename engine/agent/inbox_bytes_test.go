package agent

import (
	"strings"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/protocol"
)

// sized is an event whose payload takes n bytes.
func sized(id string, p protocol.Priority, n int, marks ...string) *protocol.Envelope {
	e := event(id, p)
	head := len(protocol.Encode(strings.Repeat("x", n))) - n
	e.Body = protocol.NewBody(protocol.Encode(strings.Repeat("x", n-head)))
	for _, m := range marks {
		e.RequiresAck, e.Ephemeral = e.RequiresAck || m == "ack", e.Ephemeral || m == "ephemeral"
	}
	return e
}

// Promise 6, custom_runtime_config.max_inbox_bytes: what max_inbox drops goes too when the payloads
// have too many bytes, and the next deliberation is told.
func TestInboxBytes(t *testing.T) {
	const low, normal, high = protocol.Low, protocol.Normal, protocol.High
	type events = []*protocol.Envelope
	for name, c := range map[string]struct {
		hear   events
		want   string
		drops  int64
		policy string
	}{
		"they fit":                         {events{sized("a", normal, 200), sized("b", normal, 200), sized("c", normal, 100)}, "a b c", 0, ""},
		"oldest of equals":                 {events{sized("a", normal, 200), sized("b", normal, 200), sized("c", normal, 200)}, "b c", 1, ""},
		"as many as there must":            {events{sized("a", normal, 100), sized("b", normal, 100), sized("c", normal, 200), sized("d", normal, 250)}, "c d", 2, ""},
		"lowest":                           {events{sized("a", high, 200), sized("b", low, 200), sized("c", normal, 200)}, "a c", 1, ""},
		"the new one is lowest":            {events{sized("a", high, 200), sized("b", normal, 200), sized("c", low, 200)}, "a b", 1, ""},
		"it would not help":                {events{sized("a", high, 400), sized("b", low, 50), sized("c", normal, 200)}, "a b", 1, ""},
		"larger than all":                  {events{sized("a", low, 50), sized("b", normal, 501)}, "a", 1, ""},
		"one that requires an answer":      {events{sized("a", low, 300, "ack"), sized("b", normal, 200), sized("c", normal, 200)}, "c a", 1, ""},
		"and is refused":                   {events{sized("a", low, 300, "ack"), sized("b", low, 300, "ack")}, "a", 0, ""},
		"ephemeral ones have no bytes":     {events{sized("a", normal, 400), sized("b", normal, 400, "ephemeral")}, "a b", 0, ""},
		"and do not go for others":         {events{sized("a", low, 400, "ephemeral"), sized("b", normal, 400), sized("c", normal, 200)}, "c a", 1, ""},
		"a lane that blocks keeps its own": {events{sized("a", normal, 300), sized("b", normal, 300)}, "a", 0, profile.LaneBlock},
	} {
		t.Run(name, func(t *testing.T) {
			limits := func(d *Definition) {
				if d.Limits.MaxInboxBytes = 500; c.policy != "" {
					d.Limits.Lanes = &profile.Lanes{1: {Max: 9, Policy: c.policy}}
				}
			}
			m, fold := machine(t, echo(), limits), machine(t, echo(), limits)
			for _, e := range c.hear {
				m.Hear(e)
				if e.Ephemeral {
					e = e.Bare()
				}
				fold.HearAgain(e)
			}
			same(t, bytesOf(t, fold), bytesOf(t, m), "the fold")
			if got := ids(m, moment(1)); got != c.want {
				t.Errorf("perceives %q, want %q", got, c.want)
			}
			d := decide(t, m, 1)
			if end := d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded); end.Dropped != c.drops || end.Through != uint64(len(c.hear)) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// With default limits no inbox and no history makes a state that no snapshot holds, also while a latency passes and
// after it was interrupted.
func TestStatesHaveRoom(t *testing.T) {
	m := machine(t, echo(), func(d *Definition) {
		d.Limits.Interrupt = profile.Interrupting{On: true, By: protocol.High, Then: profile.ThenRetry}
	})
	news := sized("", protocol.Normal, 1<<20)
	size := func(when string) {
		t.Helper()
		raw := bytesOf(t, m)
		if _, err := Restore(protocol.NewCodec(), raw); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	turn := uint64(0)
	fill := func() {
		for range m.Def.Limits.MaxInbox {
			m.Hear(news)
		}
	}
	for range 4 {
		fill()
		turn++
		m.Apply(&agentfact.TurnEnded{Turn: turn, Through: m.State.heard, Outcome: agentfact.OutcomeOK, Elapsed: 1}, moment(1))
		fill()
		size("in a latency")
		m.Interrupted()
		size("interrupted")
		if n := m.State.weigh(); n > m.Def.Limits.MaxInboxBytes {
			t.Errorf("an inbox of %d bytes", n)
		}
	}
	text := strings.Repeat("y", 1<<20)
	for range 40 {
		m.Def.Limits.MaxHistory = 40
		m.remember(Utterance{Text: text})
	}
	if n := len(m.State.history); n != maxHistoryBytes>>20 {
		t.Errorf("%d utterances of 1 MiB", n)
	}
	m.remember(Utterance{Text: strings.Repeat("y", maxHistoryBytes)})
	if n := len(m.State.history); n != 1 {
		t.Errorf("%d utterances beside a long one", n-1)
	}
}
