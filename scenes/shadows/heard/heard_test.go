package heard

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/schedule"
	"tavernsim/protocol"
)

const (
	ada = iota
	bo
	cy
)

type scene struct {
	*Events
	channel *bus.State // as the committed run has it
	far     map[uint32]bool
	ran     map[uint32]schedule.Tick
}

// people are agents of whom all but the last hear what is said; ada may hear it later, or by a filter.
type people struct {
	names  []string
	later  protocol.Duration
	filter string
}

func (p people) Len() int              { return len(p.names) }
func (p people) Name(o uint32) string  { return p.names[o] }
func (p people) Profile(uint32) string { return "p" }
func (p people) Ordinal(id string) (uint32, bool) {
	i := slices.Index(p.names, id)
	return uint32(i), i >= 0
}

func (p people) Subscriptions(o uint32) []bus.Subscription {
	switch {
	case int(o) == len(p.names)-1:
		return nil
	case o == ada:
		return []bus.Subscription{{Type: "said", Quiet: p.later.Std(), FilterCondition: p.filter}}
	}
	return []bus.Subscription{{Type: "said"}}
}

func made(t *testing.T, nothing bool) *scene {
	return madeOf(t, nothing, bus.Config{}, people{})
}

func madeOf(t *testing.T, nothing bool, config bus.Config, names people) *scene {
	t.Helper()
	names.names = []string{"ada", "bo", "cy"}
	channel, err := bus.New(config, names)
	if err != nil {
		t.Fatal(err)
	}
	codec := protocol.NewCodec(bus.Facts())
	s := &scene{channel: channel, far: map[uint32]bool{}, ran: map[uint32]schedule.Tick{}}
	s.Events, err = New(Options{Codec: codec, Config: config, Names: names, Channel: channel, Nothing: nothing,
		Near: func(o uint32, _ *Publication) bool { return !s.far[o] },
		Ran:  func(o uint32, after schedule.Tick) bool { return s.ran[o] > after },
		May:  func(o uint32, _ *Publication) bool { return o != cy }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at is the moment of a tick.
func at(n schedule.Tick) protocol.Time { return protocol.Time(n) + 1 }

func draft(by string, turn uint64, text string) *protocol.Draft {
	return &protocol.Draft{EventHeader: protocol.EventHeader{Type: "said", Source: by, Turn: turn}, Body: protocol.Encode(text)}
}

// say publishes an event of a turn at a moment ahead.
func (s *scene) say(by uint32, n schedule.Tick, change ...func(*Publication, *protocol.Draft)) {
	p, d := Publication{By: by, Of: n, At: n, Kind: "said"}, draft(s.Names.Name(by), uint64(n), "hi")
	for _, f := range change {
		f(&p, d)
	}
	s.Publish(p, d, 1, at(n))
}

// fact is the event in the committed run.
func (s *scene) fact(d *protocol.Draft, n schedule.Tick) protocol.Fact {
	f := s.channel.Decide(at(n), d, nil).Facts[0]
	s.channel.Apply(f)
	return f
}

// told are the ids of the events that a turn of tick 9 gets.
func (s *scene) told(o uint32) (out []string) {
	for _, p := range s.Told(o, 0, 9) {
		out = append(out, s.Give(p, o, "s").ID)
	}
	return out
}

// Promise 1: who hears what is foretold, and whose hearing is not.
func TestUnsure(t *testing.T) {
	bounded := func(p *Publication, _ *protocol.Draft) { p.Bounded = true }
	for _, c := range []struct {
		name    string
		nothing bool
		do      func(*scene)
		deaf    bool
		unsure  string // of ada, bo, cy, before tick 9
		told    string
	}{
		{"nothing", false, func(*scene) {}, true, "no no no", "[] [] []"},
		{"two in turn", false, func(s *scene) { s.say(bo, 3); s.say(ada, 2) }, false, "no no no", "[ada/2.e1 bo/3.e1] [ada/2.e1 bo/3.e1] []"},
		{"bets", true, func(s *scene) { s.say(bo, 3) }, false, "yes yes no", "[] [] []"},
		{"two at one moment", false, func(s *scene) { s.say(ada, 3); s.say(bo, 3) }, false, "yes yes no", "[ada/3.e1 bo/3.e1] [ada/3.e1 bo/3.e1] []"},
		{"later", false, func(s *scene) { s.say(bo, 9); s.say(ada, 9) }, false, "no no no", "[] [] []"},
		{"asleep", false, func(s *scene) { s.say(cy, 3) }, true, "yes yes no", "[cy/3.e1] [cy/3.e1] []"},
		{"two turns of one at one moment", false, func(s *scene) {
			s.say(ada, 3)
			s.say(ada, 3, func(p *Publication, d *protocol.Draft) { p.Of, d.Turn = 2, 2 })
		}, false, "yes yes no", "[ada/3.e1 ada/2.e1] [ada/3.e1 ada/2.e1] []"},
		{"near", false, func(s *scene) { s.far[ada], s.far[bo] = true, true; s.say(bo, 3, bounded) }, false, "no no no", "[] [bo/3.e1] []"},
		{"heard anywhere", false, func(s *scene) { s.far[ada], s.far[bo] = true, true; s.say(bo, 3) }, false, "no no no", "[bo/3.e1] [bo/3.e1] []"},
		{"two of one turn", false, func(s *scene) { s.say(bo, 3); s.say(bo, 3) }, false, "no no no", "[bo/3.e1 bo/3.e1] [bo/3.e1 bo/3.e1] []"},
		{"at the first moment", false, func(s *scene) { s.say(bo, 0, func(_ *Publication, d *protocol.Draft) { d.Turn = 1 }) }, false, "no no no", "[bo/1.e1] [bo/1.e1] []"},
		{"withdrawn", false, func(s *scene) { s.say(bo, 3); s.Forget(bo, 3) }, true, "no no no", "[] [] []"},
		{"withdrawn from later on", false, func(s *scene) { s.say(bo, 3); s.Forget(bo, 4) }, false, "no no no", "[bo/3.e1] [bo/3.e1] []"},
		{"withdrawn by another", false, func(s *scene) { s.say(bo, 3); s.Forget(ada, 0) }, false, "no no no", "[bo/3.e1] [bo/3.e1] []"},
		{"ephemeral", false, func(s *scene) { s.say(bo, 3, func(_ *Publication, d *protocol.Draft) { d.Ephemeral = true }) }, false, "yes yes no", "[] [] []"},
		{"urgent", false, func(s *scene) { s.say(bo, 3, func(_ *Publication, d *protocol.Draft) { d.Priority = protocol.High }) }, false, "yes yes no", "[] [] []"},
		{"of no turn", false, func(s *scene) { s.say(bo, 3, func(_ *Publication, d *protocol.Draft) { d.Turn = 0 }) }, false, "yes yes no", "[] [] []"},
		{"sent again", false, func(s *scene) { s.say(bo, 3, func(_ *Publication, d *protocol.Draft) { d.ID = "e7" }) }, false, "yes yes no", "[] [] []"},
		{"directed", false, func(s *scene) { s.say(bo, 3, func(_ *Publication, d *protocol.Draft) { d.Targets = []string{"cy"} }) }, false, "no no no", "[] [] [bo/3.e1]"},
	} {
		s := made(t, c.nothing)
		c.do(s)
		yes := func(o uint32) string { return map[bool]string{true: "yes", false: "no"}[s.Unsure(o, 9, c.deaf)] }
		if got := fmt.Sprint(yes(ada), " ", yes(bo), " ", yes(cy)); got != c.unsure {
			t.Errorf("%s: unsure %s, want %s", c.name, got, c.unsure)
		}
		if got := fmt.Sprint(s.told(ada), s.told(bo), s.told(cy)); got != c.told {
			t.Errorf("%s: told %s, want %s", c.name, got, c.told)
		}
	}
}

// Promise 1: nobody is sure of an event about which more than the event and the subscriptions decides.
func TestMoreDecides(t *testing.T) {
	reach := func(_ *Publication, d *protocol.Draft) { d.Reach = "scene" }
	for name, c := range map[string]struct {
		config bus.Config
		people people
		change func(*Publication, *protocol.Draft)
	}{
		"its own reach":       {change: reach},
		"numbered ids":        {config: bus.Config{Numbered: true}},
		"debounced":           {people: people{later: protocol.Duration(time.Second)}},
		"a filter that fails": {people: people{filter: "payload.a.b > 1"}},
	} {
		s := madeOf(t, false, c.config, c.people)
		var change []func(*Publication, *protocol.Draft)
		if c.change != nil {
			change = append(change, c.change)
		}
		s.say(bo, 3, change...)
		if !s.Unsure(ada, 9, false) || !s.Unsure(bo, 9, false) || len(s.told(ada)) > 0 {
			t.Errorf("%s: ada is told of it in advance", name)
		}
	}
}

// Promise 1: who waits for an event that is held does not know what it is told until it is released, and an event of an
// earlier turn is late.
func TestHeld(t *testing.T) {
	s := madeOf(t, false, bus.Config{}, people{later: protocol.Duration(2 * time.Second)})
	release := at(3).Add(2 * time.Second)
	s.Committed(3, []protocol.Fact{s.fact(draft("bo", 3, "hi"), 3)})
	for o, want := range []bool{ada: true, bo: false, cy: false} {
		if s.Held(uint32(o), release-1) || s.Held(uint32(o), release) != want {
			t.Errorf("held for %d: %t, want %t, and not before", o, s.Held(uint32(o), release), want)
		}
	}
	s.say(bo, 9, func(p *Publication, _ *protocol.Draft) { p.Of = 7 })
	any := func(*Publication) bool { return true }
	if s.Late(8, any) || !s.Late(9, any) || s.Late(9, func(*Publication) bool { return false }) {
		t.Error("what takes effect at 9 is late at another moment, or not then")
	}
}

// Promise 1: a filter of a scene that has no space, and which the event passes, decides nothing that is not known. Who is
// near is known to the scene alone.
func TestFilters(t *testing.T) {
	for _, inSpace := range []bool{false, true} {
		s := madeOf(t, false, bus.Config{}, people{filter: "payload == 'hi'"})
		s.InSpace = inSpace
		if s.say(bo, 3); s.Unsure(ada, 9, false) != inSpace || len(s.told(ada)) > 0 == inSpace {
			t.Errorf("in space %t: ada is told %v", inSpace, s.told(ada))
		}
	}
}

// Promise 1: an event that may be part of a loop has the priority of its receiver.
func TestPriorities(t *testing.T) {
	s := made(t, false)
	s.say(bo, 3)
	p := s.list[0]
	p.fact.Marks = []bus.Mark{{Agent: "ada", Action: bus.LoopDeprioritize}}
	if got, other := s.Give(p, ada, "s").Priority, s.Give(p, bo, "s").Priority; got != protocol.Low || other != protocol.Normal {
		t.Errorf("ada hears it at %v, bo at %v", got, other)
	}
}

// Promise 2: whoever was told something else than what the facts say is wrong, and is not known.
func TestCommitted(t *testing.T) {
	for _, c := range []struct {
		name         string
		facts        func(*scene) []protocol.Fact
		known, wrong string
	}{
		{"as foretold", func(s *scene) []protocol.Fact { return []protocol.Fact{s.fact(draft("bo", 3, "hi"), 3)} }, "[0 1]", "[]"},
		{"another text", func(s *scene) []protocol.Fact { return []protocol.Fact{s.fact(draft("bo", 3, "ho"), 3)} }, "[]", "[0]"},
		{"another moment", func(s *scene) []protocol.Fact { return []protocol.Fact{s.fact(draft("bo", 3, "hi"), 2)} }, "[]", "[0]"},
		{"one more", func(s *scene) []protocol.Fact {
			return []protocol.Fact{s.fact(draft("bo", 3, "hi"), 3), s.fact(draft("bo", 3, "hi"), 3)}
		}, "[]", "[]"},
		{"none", func(*scene) []protocol.Fact { return nil }, "[]", "[0]"},
		{"ada was too far", func(s *scene) []protocol.Fact {
			f := s.fact(draft("bo", 3, "hi"), 3).(*bus.Routed)
			f.Receivers = bus.Ranges{{From: bo, Count: 1}}
			return []protocol.Fact{f}
		}, "[1]", "[0]"},
		{"ada ran on without it", func(s *scene) []protocol.Fact {
			delete(s.list[0].given, ada)
			s.ran[ada] = 4
			return []protocol.Fact{s.fact(draft("bo", 3, "hi"), 3)}
		}, "[1]", "[]"},
		{"ada has had no turn since", func(s *scene) []protocol.Fact {
			delete(s.list[0].given, ada)
			return []protocol.Fact{s.fact(draft("bo", 3, "hi"), 3)}
		}, "[0 1]", "[]"},
		{"cy hears it, too", func(s *scene) []protocol.Fact {
			f := s.fact(draft("bo", 3, "hi"), 3).(*bus.Routed)
			f.Receivers = bus.Ranges{{From: ada, Count: 3}}
			return []protocol.Fact{f}
		}, "[0 1]", "[]"},
		{"less urgent for ada", func(s *scene) []protocol.Fact {
			f := s.fact(draft("bo", 3, "hi"), 3).(*bus.Routed)
			f.Marks = []bus.Mark{{Agent: "ada", Action: bus.LoopDeprioritize}}
			return []protocol.Fact{f}
		}, "[1]", "[]"},
		{"and one that nobody acknowledged", func(s *scene) []protocol.Fact {
			return []protocol.Fact{s.fact(draft("bo", 3, "hi"), 3), &agentfact.Unacknowledged{Source: "bo"}}
		}, "[]", "[]"},
		{"with a dead letter", func(s *scene) []protocol.Fact {
			return []protocol.Fact{s.fact(draft("bo", 3, "hi"), 3), &agenda.DeadLettered{}}
		}, "[]", "[]"},
		{"it was withdrawn", func(s *scene) []protocol.Fact {
			s.Forget(bo, 3)
			return nil
		}, "[]", "[0]"},
	} {
		s := made(t, false)
		s.say(bo, 3)
		s.told(ada)
		s.told(bo)
		known := []uint32{}
		for o := range s.Committed(3, c.facts(s)) {
			known = append(known, o)
		}
		slices.Sort(known)
		wrong := s.Wrong()
		if fmt.Sprint(known) != c.known || fmt.Sprint(wrong) != c.wrong || len(s.Wrong()) > 0 || len(s.list) > 0 {
			t.Errorf("%s: known %v, want %s; wrong %v, want %s", c.name, known, c.known, wrong, c.wrong)
		}
	}
	s := made(t, false)
	s.say(bo, 3)
	if fact := (&protocol.Envelope{Wave: 1_000, Place: 7}); s.Give(s.list[0], ada, "s").RoutedBefore(fact) {
		t.Error("an event that is no fact yet is heard before one that is a fact")
	}
	s.told(ada)
	if s.Committed(2, nil); len(s.Wrong()) > 0 || s.Unsure(ada, 9, false) {
		t.Error("a wave before an event says that there is none")
	}
	// cy listens from now on
	f, err := s.channel.Change(bus.Change{Agent: "cy", Add: []bus.Subscription{{Type: "said"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Committed(2, []protocol.Fact{f})
	if wrong := s.Wrong(); !slices.Equal(wrong, []uint32{ada}) || !s.Unsure(ada, 9, false) {
		t.Errorf("after other subscriptions %v are wrong", wrong)
	}
}
