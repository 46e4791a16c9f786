package machines

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/roster"
	"tavernsim/scenes/machines/tally"
)

// still is a stage of a scene on a clock, with a tick of a second, in which nobody is due.
func still(clock agenda.ClockKind) *Stage {
	def := &agenda.Scene{Simulation: agenda.Simulation{Tick: protocol.Duration(time.Second)}, Links: []travel.Link{{To: "inn", Travel: protocol.Duration(time.Second)}, {To: "bar", Travel: protocol.Duration(2 * time.Second)}}}
	sc := &setup.Scene{Options: setup.Options{Clock: clock}, ID: "s", Def: &project.Scene{Definition: def}, Class: make([]uint16, 1)}
	st := &StageState{scene: sc, View: &View{}, Tally: tally.NewTally(), codec: NewCodec(), Agenda: agenda.New(agenda.Config{Clock: clock, Start: 1, Tick: time.Second, Timing: func(uint32) agenda.Timing { return agenda.Timing{} }})}
	st.Agenda.Start(1)
	return &Stage{shared: shared{StageState: st, phase: phaseIdle}}
}

// The stage finds every end itself but those that it is asked for, and that by its limit of time if an order took it there before
// anything else was due.
func TestEndsThatTheStageFinds(t *testing.T) {
	limit := protocol.Time(1).Add(10 * time.Second)
	for name, c := range map[string]struct {
		reason string
		at     protocol.Time
		stop   agenda.Stop
		now    protocol.Time // of the last wave
		due    bool          // an order has a time
		want   bool
	}{
		"by request":           {reason: agenda.StoppedByRequest, due: true},
		"by a budget":          {reason: agenda.StoppedByBudget, due: true},
		"by quiet":             {reason: agenda.StoppedByQuiet, want: true},
		"at its limit":         {reason: agenda.StoppedByTime, at: limit, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: 1},
		"something is due":     {reason: agenda.StoppedByTime, at: limit, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: 1, due: true, want: true},
		"by its ticks":         {reason: agenda.StoppedByTicks, at: limit, stop: agenda.Stop{Ticks: 10}, now: 1},
		"by the other limit":   {reason: agenda.StoppedByTicks, at: limit, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: 1, want: true},
		"before its limit":     {reason: agenda.StoppedByTime, at: limit - 1, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: 1, want: true},
		"behind its limit":     {reason: agenda.StoppedByTime, at: limit + 1, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: 1, want: true},
		"the wave was there":   {reason: agenda.StoppedByTime, at: limit, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: limit, want: true},
		"and behind, in forks": {reason: agenda.StoppedByTime, at: limit, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: limit + 1, want: true},
		"just before it":       {reason: agenda.StoppedByTime, at: limit, stop: agenda.Stop{After: protocol.Duration(10 * time.Second)}, now: limit - 1},
	} {
		s := still(agenda.Virtual)
		s.config.Stop, s.Agenda.Now = c.stop, c.now
		if c.due {
			s.Waiting.add(&Order{Intervened: &agenda.Intervened{ID: "o"}, After: time.Second})
		}
		if got := s.EndsBy(c.reason, c.at); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The next turn of an agent is in the open wave as long as it is not merged there, whether it was woken or not; else when the agenda says.
func TestUpcomingTurns(t *testing.T) {
	for name, c := range map[string]struct {
		phase phase
		agent uint32
		none  bool // no wave is open
		want  protocol.Time
	}{
		"not merged": {phase: phaseTurns, agent: 2, want: 9}, "the next to be merged": {phase: phaseTurns, agent: 0, want: 9}, "merged": {phase: phaseTurns, agent: 1, want: 5},
		"not in it": {phase: phaseTurns, agent: 3, want: 5}, "services decide": {phase: phaseService, agent: 2, want: 5}, "no wave": {phase: phaseTurns, agent: 2, none: true, want: 5},
		"far behind it": {phase: phaseTurns, agent: 4, want: 5}, "at its end": {phase: phaseTurns, agent: 5, want: 5},
	} {
		d := agenda.New(agenda.Config{Start: 1, Tick: 1, Agents: 6, Timing: func(uint32) agenda.Timing { return agenda.Timing{WakeOnStart: true} }})
		d.Start(5)
		s := &Stage{shared: shared{StageState: &StageState{Agenda: d}, phase: c.phase}, places: []uint32{1, 0, 2, 0, 9, 3}, wave: &wave{record: record{time: 9}, order: []uint32{1, 0, 2}, merged: 1}}
		if c.none {
			s.wave = nil
		}
		if got := s.Upcoming(c.agent).Next; got != c.want {
			t.Errorf("%s: at %d, want %d", name, got, c.want)
		}
	}
}

// What a wave has to tell other scenes goes to each in the order of their ids, in parcels that are not too large; a fact that is too large
// has one of its own.
func TestParcelsOfAWave(t *testing.T) {
	items := func(sizes ...int) (list []travel.Item) {
		for i, n := range sizes {
			list = append(list, travel.Item{Kind: fmt.Sprint("k", i), Data: make(protocol.Raw, n)})
		}
		return list
	}
	s := still(agenda.Virtual)
	s.openWave(1)
	s.wave.mail = []mail{{"inn", items(1)}, {"bar", items(parcelBytes-1, 1, 1, parcelBytes+1, parcelBytes, 2, 3)}}
	if err := s.wave.post(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range s.effects {
		f := e.Fact.(*travel.Posted) //nolint:forcetypeassert // nothing else is posted
		var kinds []string
		for _, x := range f.Parcel {
			kinds = append(kinds, x.Kind)
		}
		got = append(got, fmt.Sprintf("%s %d closed %d after %s and %s: %s", f.To, f.Number, f.Closed, f.Arrives.Sub(1), f.Answer.Sub(1), strings.Join(kinds, " ")))
	}
	if want := []string{"bar 1 closed 0 after 2s and 4s: k0 k1", "bar 2 closed 0 after 2s and 4s: k2", "bar 3 closed 0 after 2s and 4s: k3", "bar 4 closed 0 after 2s and 4s: k4", "bar 5 closed 0 after 2s and 4s: k5 k6", "inn 1 closed 0 after 1s and 2s: k0"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	s.wave.mail = []mail{{"nowhere", items(1)}}
	if s.wave.post() == nil {
		t.Error("no link leads there")
	}
}

// A note has what is due: with a scene on the virtual clock its state, unless it cannot be encoded; and the document. What has neither is the
// tally alone, and nothing is due sooner than NoteEvery facts behind the last note.
func TestNotesOfAStage(t *testing.T) {
	for name, c := range map[string]struct {
		clock        agenda.ClockKind
		agents       int
		none         bool  // the agents are not counted
		scene, world int64 // facts at the last notes of these
		parts        string
	}{
		"both": {agents: 3, parts: "scene world"}, "realtime": {clock: agenda.Realtime, agents: 3, parts: "world"}, "not counted": {none: true, parts: "world"},
		"the scene is noted": {agents: 3, scene: NoteEvery, parts: "world"}, "the world is noted": {agents: 3, world: NoteEvery, parts: "scene"}, "both are": {agents: 3, scene: NoteEvery, world: NoteEvery},
		"the scene is too large": {agents: protocol.MaxBytes/roster.Bytes + 1, parts: "world"},
	} {
		s := still(c.clock)
		s.Roster = make(roster.Roster, c.agents)
		if c.none {
			s.Roster = nil
		}
		s.noted.scene, s.noted.world = c.scene, c.world
		s.Tally.Facts = NoteEvery - 1
		if raw, err := s.note(); raw != nil || err != nil {
			t.Errorf("%s: a fact too soon %d bytes, %v", name, len(raw), err)
		}
		s.Tally.Facts = 1 << 40 // large parts are due, too
		s.noted.scene, s.noted.world = c.scene<<25, c.world<<25
		raw, err := s.note()
		if err != nil {
			t.Fatal(err)
		}
		n, err := ReadNote(NewCodec(), raw)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		if n.Scene != nil {
			parts = append(parts, "scene")
		}
		doc, err := n.Document()
		if doc != nil {
			parts = append(parts, "world")
		}
		if got := strings.Join(parts, " "); got != c.parts || n.Tally.Facts != 1<<40 || err != nil {
			t.Errorf("%s: %q of %d facts, %v; want %q", name, got, n.Tally.Facts, err, c.parts)
		}
		if raw, err := s.note(); raw != nil || err != nil {
			t.Errorf("%s: once more %d bytes, %v", name, len(raw), err)
		}
	}
}

// editions has the second one of a project.
type editions struct{ *setup.Scene }

func (e editions) Edition(n uint64) *setup.Scene {
	if n != 2 {
		return nil
	}
	return e.Scene
}

// A scene goes on with a newer edition of its plugins if it is there, on the realtime clock, and unless a task of a tool is open that is another one now.
func TestReloads(t *testing.T) {
	for name, c := range map[string]struct {
		clock agenda.ClockKind
		has   uint64 // edition that the scene has
		f     agenda.PluginsChanged
		want  string
	}{
		"it goes on":        {agenda.Realtime, 1, agenda.PluginsChanged{Edition: 2, Project: "p", Tools: []string{"Other"}}, ""},
		"the virtual clock": {agenda.Virtual, 1, agenda.PluginsChanged{Edition: 2, Project: "p"}, "virtual clock"},
		"it has that":       {agenda.Realtime, 2, agenda.PluginsChanged{Edition: 2, Project: "p"}, "the edition 2 of its plugins already"},
		"it has a newer":    {agenda.Realtime, 3, agenda.PluginsChanged{Edition: 2, Project: "p"}, "the edition 3 of its plugins already"},
		"it is not there":   {agenda.Realtime, 1, agenda.PluginsChanged{Edition: 9, Project: "p"}, "edition 9"},
		"it is another":     {agenda.Realtime, 1, agenda.PluginsChanged{Edition: 2, Project: "q"}, "edition 2"},
		"a task is open":    {agenda.Realtime, 1, agenda.PluginsChanged{Edition: 2, Project: "p", Tools: []string{"Dig"}}, "the task 1 of the tool Dig"},
	} {
		s := still(c.clock)
		s.scene.Editions = editions{&setup.Scene{Options: setup.Options{ProjectHash: "p"}}}
		s.View = s.View.With(tooltask.Service, Part{Shown: tooltask.New([]*tooltask.Task{{ID: "1", Agent: "ada", Tool: "Dig"}}, nil, nil)})
		if c.has > 1 {
			s.edition = &edition{number: c.has}
		}
		if got := s.mayReload(&c.f); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.want != "" {
			continue
		}
		s.View.Budget = nil
		if err := s.reloaded(&c.f); err != nil || s.Edition() != 2 || s.View.edition != s.edition {
			t.Errorf("%s: edition %d, %v", name, s.Edition(), err)
		}
		raw, err := s.keepEdition()
		again := still(c.clock)
		again.scene.Editions = s.scene.Editions
		if err != nil || again.loadEdition(raw) != nil || again.Edition() != 2 {
			t.Errorf("%s: restored, edition %d, %v", name, again.Edition(), err)
		}
		if err := again.loadEdition(nil); err != nil || again.Edition() != 1 {
			t.Errorf("%s: of a snapshot without one, edition %d, %v", name, again.Edition(), err)
		}
	}
}
