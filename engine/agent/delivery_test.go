package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/goal"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// deliveries drives one machine at random, beside one that folds its facts and
// one that goes on from snapshots, and keeps the simplest book of what happened
// to every acknowledged event.
type deliveries struct {
	live, fold, cut *Machine
	now             protocol.Time
	made            int
	heard           []*protocol.Envelope
	handled         map[string]int // acknowledged: turns that ended ok with it
	ended           map[string]int // acknowledged: dead letters, of either fact
}

func newDeliveries(t *rapid.T, tb testing.TB) *deliveries {
	then := rapid.SampledFrom([]string{profile.ThenRetry, profile.ThenDrop, profile.ThenQueue}).Draw(t, "then")
	limits := func(d *Definition) {
		d.Limits.MaxInbox, d.Limits.MaxRedeliveries = 4, 2
		d.Limits.MaxInboxBytes = rapid.SampledFrom([]int{0, 100}).Draw(t, "bytes")
		d.Limits.Interrupt = profile.Interrupting{On: true, By: protocol.High, Then: then}
		d.Limits.Lanes = &profile.Lanes{1: profile.Lane{Max: 2, Policy: rapid.SampledFrom([]string{profile.LaneRefuse, profile.LaneDropOldest, profile.LaneBlock}).Draw(t, "policy")}}
	}
	d := &deliveries{handled: map[string]int{}, ended: map[string]int{}, now: moment(0)}
	d.live = machine(tb, asks(1), limits)
	d.fold = &Machine{Def: d.live.Def, ID: d.live.ID, State: State{own: own{Private: map[string]any{}}}}
	d.cut = &Machine{Def: d.live.Def, ID: d.live.ID, State: State{own: own{Private: map[string]any{}}}}
	return d
}

func (d *deliveries) hear(t *rapid.T) {
	e := event(fmt.Sprint("e", d.made), rapid.SampledFrom(protocol.Priorities()).Draw(t, "priority"))
	e.Body = protocol.NewBody(protocol.Encode(strings.Repeat("x", rapid.IntRange(0, 80).Draw(t, "payload"))))
	e.Ephemeral = rapid.IntRange(0, 3).Draw(t, "ephemeral") == 0
	e.RequiresAck = !e.Ephemeral && rapid.Bool().Draw(t, "ack")
	if rapid.IntRange(0, 9).Draw(t, "expires") == 0 {
		e.Expires = d.now.Add(3 * time.Second)
	}
	d.made++
	if n := len(d.heard); n > 0 && rapid.IntRange(0, 4).Draw(t, "again") == 0 {
		e = d.heard[rapid.IntRange(0, n-1).Draw(t, "which")]
	}
	d.heard = append(d.heard, e)
	d.live.Hear(e)
	if e.Ephemeral {
		e = e.Bare() // as it stands in the journal
	}
	d.fold.HearAgain(e)
	d.cut.HearAgain(e)
}

// turn deliberates: it ends ok, fails, or is interrupted.
func (d *deliveries) turn(t *rapid.T, tb testing.TB, wave uint64) {
	d.now = d.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause")) * time.Second)
	w := wake(tb, wave)
	w.Now = d.now
	if _, err := d.live.Decide(w); err != nil {
		t.Fatal(err)
	}
	perceived := slices.Clone(d.live.turn.events)
	in := []any{
		&effect.Answered{Kind: effect.KindModel, Number: 1, Model: protocol.ModelAnswer{Text: "x", Finish: protocol.FinishStop, Latency: time.Duration(rapid.IntRange(0, 1).Draw(t, "latency"))}},
		&effect.Answered{Kind: effect.KindModel, Number: 1, Err: protocol.Errorf(protocol.KindTransient, "no")},
		&Cancel{Reason: "urgent", Interrupt: true},
	}[rapid.IntRange(0, 2).Draw(t, "end")]
	dec, err := d.live.Decide(in)
	if err != nil || len(dec.Facts) == 0 {
		t.Fatal(err, dec)
	}
	d.keep(t, dec.Facts, perceived)
	if end := dec.Facts[len(dec.Facts)-1].(*agentfact.TurnEnded); end.Elapsed > 0 && rapid.Bool().Draw(t, "interrupted latency") {
		for _, e := range perceived {
			if e.RequiresAck {
				d.handled[e.ID]--
			}
		}
		for _, m := range []*Machine{d.live, d.fold, d.cut} {
			m.Interrupted()
		}
	}
	d.live.Release()
}

// keep applies the facts to all three, by way of their bytes, and notes them.
func (d *deliveries) keep(t *rapid.T, facts []protocol.Fact, perceived []*protocol.Envelope) {
	codec := protocol.NewCodec(agentfact.Facts())
	for _, f := range facts {
		raw, err := codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*Machine{d.live, d.fold, d.cut} {
			back, err := codec.ReadFact(f.FactKind(), raw)
			if err == nil {
				err = m.Apply(back, d.now)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		d.note(f, perceived)
	}
}

func (d *deliveries) note(f protocol.Fact, perceived []*protocol.Envelope) {
	switch x := f.(type) {
	case *agentfact.TurnEnded:
		for _, e := range perceived {
			if e.RequiresAck && x.Outcome == agentfact.OutcomeOK {
				d.handled[e.ID]++
			}
		}
	case *agentfact.Unacknowledged:
		d.ended[x.Event]++
	case *agentfact.Dropped:
		for _, drop := range x.Events {
			d.ended[drop.Event]++
		}
	}
}

// check holds the book: no acknowledged event is handled twice, none is lost
// without a word, and all three states are the same bytes.
func (d *deliveries) check(t *rapid.T, tb testing.TB) {
	if got, want := string(bytesOf(tb, d.fold)), string(bytesOf(tb, d.live)); got != want {
		t.Fatalf("folded\n%q\nlive\n%q", got, want)
	}
	if got, want := string(bytesOf(tb, d.cut)), string(bytesOf(tb, d.live)); got != want {
		t.Fatalf("from a snapshot\n%q\nlive\n%q", got, want)
	}
	if n := d.live.State.Waiting(); n > 2*d.live.Def.Limits.MaxInbox {
		t.Fatalf("%d wait", n)
	}
	for _, e := range d.heard {
		if !e.RequiresAck {
			continue
		}
		if d.handled[e.ID] > 1 {
			t.Fatalf("%s was handled %d times", e.ID, d.handled[e.ID])
		}
		waits := slices.ContainsFunc(d.live.State.inbox, func(h Heard) bool { return h.Event.ID == e.ID })
		dropped := d.live.State.more != nil && slices.ContainsFunc(d.live.State.more.drops, func(x agentfact.Drop) bool { return x.Event == e.ID })
		if d.handled[e.ID]+d.ended[e.ID] == 0 && !waits && !dropped {
			t.Fatalf("%s is lost", e.ID)
		}
	}
}

// At least once, and never handled twice: acknowledged events under deliberations
// that fail, are interrupted, or end ok, beside events that may be lost. The fold
// and a restored machine come to the same state at every step.
func TestDeliveries(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newDeliveries(r, t)
		for n := range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 5).Draw(r, "step") {
			case 0, 1, 2:
				d.hear(r)
			case 3:
				raw := bytesOf(t, d.cut)
				state, err := Restore(protocol.NewCodec(), raw)
				if err != nil {
					r.Fatal(err)
				}
				d.cut.State = state
			case 4:
				if rapid.IntRange(0, 3).Draw(r, "failed") == 0 {
					for _, m := range []*Machine{d.live, d.fold, d.cut} {
						m.Failed(Observation{Kind: "restart", Value: map[string]any{}})
					}
				}
			default:
				d.turn(r, t, uint64(n+1))
			}
			d.check(r, t)
		}
	})
}

// A snapshot from before deliveries reads on.
func TestOldSnapshot(t *testing.T) {
	m := machine(t, echo())
	m.Hear(event("a", 0))
	raw := bytesOf(t, m)
	old := slices.Clone(raw[:len(raw)-1]) // nothing about deliveries
	old[0]--
	s, err := Restore(protocol.NewCodec(), old)
	if err != nil || s.Waiting() != 1 {
		t.Errorf("%v, %d wait", err, s.Waiting())
	}
}

// An agent of an older program may have two goals of one id. It goes on with the first.
func TestRestoreHoldsGoalsOnce(t *testing.T) {
	codec := protocol.NewCodec()
	old := &State{Goals: []goal.Goal{{ID: "g", KB: "a", Status: goal.Active}, {ID: "g", KB: "b", Status: goal.Pending}, {ID: "h"}}}
	raw, err := Snapshot(codec, old)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Restore(codec, raw)
	if err != nil || len(s.Goals) != 2 || s.Goals[0].KB != "a" || s.Goals[1].ID != "h" {
		t.Errorf("%v, %v", s.Goals, err)
	}
}

func FuzzRestore(f *testing.F) {
	codec := protocol.NewCodec(agentfact.Facts())
	s := State{own: own{Private: map[string]any{"a": int64(1)}}, Goals: []goal.Goal{{ID: "g"}}}
	s.hear(&protocol.Envelope{EventHeader: protocol.EventHeader{ID: "e"}, Kind: protocol.KindEvent, Body: protocol.NewBody(protocol.Encode("x"))}, &profile.Limits{MaxInbox: 9}, false)
	s.observations = []Observation{{Kind: "k", Value: "v"}}
	raw, err := Snapshot(codec, &s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(raw))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Restore(codec, b)
		if err != nil {
			return
		}
		if _, err := Snapshot(codec, &s); err != nil {
			t.Fatal(err)
		}
	})
}

// An event that a full inbox loses while the turn that perceived it waits is no part of what
// the turn remembers.
func TestPerceivedEventIsLostBeforeTheEnd(t *testing.T) {
	m := machine(t, asks(1), func(d *Definition) {
		d.Realtime, d.Limits.MaxInbox = true, 1
		d.Memory = &memory.Rules{Keep: 10, Reflect: &memory.Triggers{Every: 1}}
		d.Workflows = map[string]*workflow.Plan{"reflect": compile(t, asks(1))}
		d.Reflection = "reflect"
	})
	m.Hear(event("one", protocol.Normal))
	d, err := m.Decide(wake(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	m.Hear(event("two", protocol.Normal))
	if _, err = m.Decide(&effect.Answered{Kind: effect.KindModel, Number: d.Effects[0].(*effect.Ask).Number, Model: protocol.ModelAnswer{Text: "hi"}}); err != nil {
		t.Fatal(err)
	}
}
