package verify_test

import (
	"context"
	"io/fs"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

func run(t testing.TB, s *scenestest.Scene, set scenestest.Settings, workers int) *verify.Report {
	r, _ := runTo(t, s, set, workers)
	return r
}

func runTo(t testing.TB, s *scenestest.Scene, set scenestest.Settings, workers int) (r *verify.Report, state *machines.State) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		var err error
		r, state, err = verify.Run(context.Background(), s.Made(t, set), j, verify.Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
	})
	return r, state
}

// readOnly is a journal that refuses to be written, and counts what is read of it.
type readOnly struct {
	*persistence.Journal
	t    *testing.T
	read uint64
}

func (j *readOnly) Append(protocol.Time, string, string, []byte) (uint64, error) {
	j.t.Error("a fact was appended")
	return 0, nil
}

func (j *readOnly) SaveSnapshot(uint64, iter.Seq2[string, []byte]) error {
	j.t.Error("a snapshot was saved")
	return nil
}

func (j *readOnly) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	return j.Journal.Scan(q, func(r protocol.Record) error {
		if len(q.Kinds) == 0 {
			j.read++
		}
		return yield(r)
	})
}

// Promises 1 and 4: a walk writes nothing, and at the end of a wave it has read no more
// than a wave ahead. TestViewsRunNothing of the root holds that no model and no actor
// can be reached from here.
func TestTheWalkReadsAWaveAtATime(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Run(t, scenestest.Settings{})
	s.Journal(t, func(stored *persistence.Journal) {
		j, largest := &readOnly{Journal: stored, t: t}, uint64(0)
		if err := stored.Waves(1, func(w persistence.Wave) error {
			largest = max(largest, w.Last-w.First+1)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		before := stored.Durable()
		if before.Last < 5*largest {
			t.Fatalf("%d facts in waves of up to %d: nothing is tested", before.Last, largest)
		}
		r, _, err := verify.Run(context.Background(), s.Made(t, scenestest.Settings{}), j, verify.Options{Progress: func(done, _ uint64) {
			if j.read-done > largest {
				t.Errorf("%d facts were read when %d were decided; a wave has at most %d", j.read, done, largest)
			}
		}})
		if err != nil || r.Difference != nil || r.Facts != before.Last {
			t.Errorf("%+v, %v", r, err)
		}
		if after := stored.Durable(); after != before {
			t.Errorf("the journal ends with %+v, before with %+v", after, before)
		}
	})
}

// A history that the scene wrote is what the machines decide.
func TestTheTownVerifies(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	set := scenestest.Settings{}
	live := s.Run(t, set)
	want := s.FoldHash(t, set)
	for _, workers := range []int{1, 2, 5} {
		r, state := runTo(t, s, set, workers)
		if r.Difference != nil {
			t.Fatalf("%+v\nrecorded %+v\ndecided  %+v", r.Difference, r.Difference.Recorded, r.Difference.Decided)
		}
		if got, _ := state.Hash(); got != want {
			t.Error("the walk ends in another state than the fold")
		}
		if r.Facts != live.Wave.Last || r.Waves != live.Wave.Number || r.Verified != r.Facts || len(r.Taken) > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// roomyTown is the town with inboxes that do not overflow, and whose people say how the
// world was when they were woken.
func roomyTown(t *testing.T) *scenestest.Scene {
	changes := strings.NewReplacer("max_inbox: 6", "max_inbox: 600", "max_observations: 5", "max_observations: 500",
		"  - {id: out,", "  - {id: say, type: TextTemplate, configValues: {template: \"{{if .text}}{{.text}} {{.world_state.till}}{{end}}\"}}\n  - {id: out,",
		"{source: model, sourceHandle: text, target: out,", "{source: in, sourceHandle: \"*\", target: say, targetHandle: \"*\"}\n  - {source: model, sourceHandle: text, target: say, targetHandle: text}\n  - {source: say, sourceHandle: text, target: out,")
	over := ""
	for _, name := range []string{"agent_profiles/citizen.yaml", "workflows/think.yaml"} {
		text, err := fs.ReadFile(scenestest.TownFS(), name)
		if err != nil {
			t.Fatal(err)
		}
		over += "-- " + name + " --\n" + changes.Replace(string(text))
	}
	return scenestest.New(t, scenestest.Town(t, over), "")
}

// inRealtime runs a scene on the realtime clock, in a bubble whose time passes at once.
func inRealtime(t *testing.T, s *scenestest.Scene) scenestest.Settings {
	set := scenestest.Settings{Clock: agenda.Realtime, Workers: 3, Stop: &agenda.Stop{After: protocol.Duration(20 * time.Second)}}
	synctest.Test(t, func(t *testing.T) {
		if r := s.Run(t, set); r.Err != nil {
			t.Fatal(r.Err)
		}
	})
	return set
}

// On the realtime clock the history says when a wave began and what had arrived; what
// came of it is decided again.
func TestTheTownVerifiesInRealtime(t *testing.T) {
	s := roomyTown(t)
	set := inRealtime(t, s)
	want := s.FoldHash(t, set)
	for _, workers := range []int{1, 2, 5} {
		r, state := runTo(t, s, set, workers)
		if r.Difference != nil {
			t.Fatalf("%+v\nrecorded %+v\ndecided  %+v", r.Difference, r.Difference.Recorded, r.Difference.Decided)
		}
		if got, _ := state.Hash(); got != want {
			t.Error("the walk ends in another state than the fold")
		}
		if r.Deliberations < 20 || r.Verified+r.Taken[verify.TakenOutside] != r.Facts || r.Taken[verify.TakenOutside] != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// Where an inbox had no room on the realtime clock, its agent's turns are taken, and what came of them;
// the rest is decided again, and the walk goes on from the same state.
func TestAFullInboxInRealtime(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	set := inRealtime(t, s)
	for _, workers := range []int{1, 5} {
		r, state := runTo(t, s, set, workers)
		if r.Difference != nil {
			t.Fatalf("%+v\nrecorded %+v\ndecided  %+v", r.Difference, r.Difference.Recorded, r.Difference.Decided)
		}
		if got, _ := state.Hash(); got != s.FoldHash(t, set) {
			t.Error("the walk ends in another state than the fold")
		}
		if r.Taken[verify.TakenLost] == 0 || r.Verified < r.Facts/10 {
			t.Errorf("%+v", r)
		}
	}
}

// Promises 2 and 3: every kind of fact that machines decide is held to them. One byte
// of meaning changed, in a journal whose digests hold, is found, at its place, by one
// worker as by two.
func TestAChangedFactIsFound(t *testing.T) {
	t.Run("virtual", func(t *testing.T) {
		s := scenestest.New(t, scenestest.Town(t), "")
		s.Run(t, scenestest.Settings{})
		changedFacts(t, s, scenestest.Settings{})
	})
	t.Run("realtime", func(t *testing.T) {
		if testing.Short() {
			t.Skip("verify reads both clocks by the same code")
		}
		s := roomyTown(t)
		changedFacts(t, s, inRealtime(t, s))
	})
}

func changedFacts(t *testing.T, s *scenestest.Scene, set scenestest.Settings) {
	last := map[string]uint64{} // the last fact of each kind: what follows would give it away
	s.Journal(t, func(j *persistence.Journal) {
		answered := map[string]uint64{} // of an agent: what its model answered last
		if err := j.Read(1, func(r protocol.Record) error {
			switch r.Kind {
			case agentfact.FactModelAnswered:
				answered[r.Actor] = r.Seq
				return nil
			case agentfact.FactSaid: // else the answer may have come to nothing
				last[agentfact.FactModelAnswered] = answered[r.Actor]
			}
			last[r.Kind] = r.Seq
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	changes := map[string]func(f protocol.Fact){
		agentfact.FactSaid:          func(f protocol.Fact) { f.(*agentfact.Said).Text += "!" },
		agentfact.FactTurnEnded:     func(f protocol.Fact) { f.(*agentfact.TurnEnded).Perceived++ },
		agentfact.FactCallMade:      func(f protocol.Fact) { f.(*agentfact.CallMade).Error += "x" },
		agentfact.FactModelAnswered: func(f protocol.Fact) { f.(*agentfact.ModelAnswered).Text = "I never said this." },
		agentfact.FactStateUpdated:  func(f protocol.Fact) { f.(*agentfact.StateUpdated).Value = protocol.Encode("another") },
		agenda.FactWaveClosed:       func(f protocol.Fact) { f.(*agenda.WaveClosed).Turns++ },
		agenda.FactDeferred:         func(f protocol.Fact) { f.(*agenda.EffectsDeferred).Due++ },
		"world.committed":           func(f protocol.Fact) { f.(*world.Committed).After++ },
		bus.FactRouted:              func(f protocol.Fact) { f.(*bus.Routed).Priority++ },
	}
	if set.Clock == agenda.Realtime {
		delete(changes, agenda.FactDeferred) // latency passes by itself
	}
	for kind, change := range changes {
		t.Run(kind, func(t *testing.T) {
			at := last[kind]
			if at == 0 {
				t.Fatal("the town has no such fact")
			}
			changed := rewritten(t, s, func(r *protocol.Record) bool { return r.Seq == at }, change)
			r := run(t, changed, set, 2)
			d := r.Difference
			if d == nil {
				t.Fatal("nobody noticed")
			}
			if d.Recorded == nil || d.Decided == nil {
				t.Fatalf("a side is missing: %+v", d)
			}
			// What a model said is an input: it shows in what was made of it.
			if d.Seq != at && (kind != agentfact.FactModelAnswered || d.Seq < at) {
				t.Errorf("found at seq %d, changed at %d: %+v, recorded %+v, decided %+v", d.Seq, at, d, d.Recorded, d.Decided)
			}
			if one := run(t, changed, set, 1); !reflect.DeepEqual(one.Difference, d) {
				t.Errorf("with one worker the difference is %+v", one.Difference)
			}
		})
	}
}

// crowd is two callers who flood a clerk whose lane blocks, beside one whose model
// fails at its first turn.
const crowd = `-- scenes/s.yaml --
id: s
name: Crowd
schema_version: "1.0"
agent_instances:
  - {instance_id: "caller_{n}", profile_id: person, count: 2, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: sick, profile_id: person}
  - {instance_id: clerk, profile_id: person, custom_runtime_config: {wake_on_start: false, inbox: {normal: {max: 1, policy: block}}}}
simulation: {stop: {ticks: 8}}
-- models/voices.yaml --
rules:
  - match: {agent: sick, variables: {turn: 1}}
    answer: {fail: timeout}
  - match: {agent: [caller_1, caller_2]}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.a, target_agent_instance_id: clerk}}]}
otherwise: {text: ""}
`

// Promise 2: a wave with a turn that cannot be decided again, and with publishers that were
// blocked: the channel's facts and the scene's between them are taken as they are,
// in that wave alone, and the walk goes on from the same state.
func TestALostTurnAmongTheBlocked(t *testing.T) {
	s := scenestest.New(t, crowded(t), "")
	set := scenestest.Settings{}
	if r := s.Run(t, set); r.Err != nil {
		t.Fatal(r)
	}
	if r := run(t, s, set, 2); r.Difference != nil || r.Taken[verify.TakenLost] > 0 {
		t.Fatalf("before the change: %+v", r)
	}
	codec := machines.NewCodec()
	var kinds, lost []string // of the wave at hand; of the one with the failure
	failed := false
	old := s.Rewrite(t, func(r *protocol.Record) {
		kinds = append(kinds, r.Kind)
		if f, err := codec.ReadFact(r.Kind, r.Data); err != nil {
			t.Fatal(err)
		} else if m, ok := f.(*agentfact.ModelAnswered); ok && m.Error != "" {
			failed, m.Request, m.ErrorKind = true, 0, "" // as runs of an older version kept it
			if r.Data, err = codec.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
		if r.Kind == agenda.FactWaveClosed {
			if failed {
				lost = kinds
			}
			kinds, failed = nil, false
		}
	})
	if !slices.Contains(lost, agenda.FactBlocked) || !slices.Contains(lost, bus.FactRouted) {
		t.Fatalf("the wave of the failure has %v: nothing is tested", lost)
	}
	for _, workers := range []int{1, 3} {
		r, state := runTo(t, old, set, workers)
		if r.Difference != nil || r.Taken[verify.TakenLost] == 0 || r.Taken[verify.TakenLost] > uint64(len(lost)) || r.Verified < r.Facts-uint64(len(lost))-1 {
			t.Errorf("%+v, difference %+v; the wave has %v", r, r.Difference, lost)
		}
		if got, _ := state.Hash(); got != old.FoldHash(t, set) {
			t.Error("the walk ends in another state than the fold")
		}
	}
}

// rewritten is a copy of a scene in which some facts are others.
func rewritten(t *testing.T, s *scenestest.Scene, which func(*protocol.Record) bool, change func(protocol.Fact)) *scenestest.Scene {
	t.Helper()
	codec := machines.NewCodec()
	return s.Rewrite(t, func(r *protocol.Record) {
		if !which(r) {
			return
		}
		f, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			t.Fatal(err)
		}
		change(f)
		if r.Data, err = codec.Marshal(f); err != nil {
			t.Fatal(err)
		}
	})
}

// Answers of an older program have no number. Which questions they answer is not known: their turns are taken.
func TestAnswersWithoutNumbersAreTaken(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Run(t, scenestest.Settings{})
	old := rewritten(t, s, func(r *protocol.Record) bool { return r.Kind == agentfact.FactModelAnswered }, func(f protocol.Fact) { f.(*agentfact.ModelAnswered).Request = 0 })
	r, state := runTo(t, old, scenestest.Settings{}, 2)
	if r.Difference != nil || r.Taken[verify.TakenLost] == 0 || r.Verified == 0 {
		t.Errorf("%+v, difference %+v", r, r.Difference)
	}
	if got, _ := state.Hash(); got != old.FoldHash(t, scenestest.Settings{}) {
		t.Error("the walk ends in another state than the fold")
	}
}

// A journal that ends within a wave tells less than the machines decide.
func TestAJournalThatEndsWithinAWave(t *testing.T) {
	town := scenestest.New(t, scenestest.Town(t), "")
	town.Run(t, scenestest.Settings{})
	roomy := roomyTown(t)
	for _, c := range []struct {
		scene *scenestest.Scene
		set   scenestest.Settings
	}{{town, scenestest.Settings{}}, {roomy, inRealtime(t, roomy)}} {
		c.scene.Journal(t, func(j *persistence.Journal) {
			for _, missing := range []uint64{0, 1} { // of the facts of the last wave, or none of the next one
				through, err := j.Wave(5)
				if err != nil {
					t.Fatal(err)
				}
				through.Last -= missing
				through.Number += 1 - missing
				r, _, err := verify.Run(context.Background(), c.scene.Made(t, c.set), j, verify.Options{Through: &through})
				if err != nil || r.Difference == nil || r.Difference.Reason != "the journal ends within a wave" || r.Difference.Wave != 5 {
					t.Errorf("%s clock, %d facts missing: %+v, %v", c.set.Clock, missing, r.Difference, err)
				}
			}
		})
	}
}

// That the life before crashed is taken, on either clock.
func TestACrashVerifies(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		s, set := roomyTown(t), scenestest.Settings{Clock: clock, Stop: &agenda.Stop{After: protocol.Duration(5 * time.Second)}}
		synctest.Test(t, func(t *testing.T) {
			running, err := s.StartWith(set, func(o *scenes.Options) { o.Crashes = []*scenes.Crash{{Text: "out of memory"}} })
			if err != nil {
				t.Fatal(err)
			}
			if r := running.Close(); r.Err != nil {
				t.Fatal(r.Err)
			}
		})
		if r := run(t, s, set, 2); r.Difference != nil || r.Taken[verify.TakenFailure] != 1 {
			t.Errorf("%s clock: %+v, difference %+v", clock, r, r.Difference)
		}
	}
}

// A history of other rules is not this project's.
func TestOtherRulesAreFound(t *testing.T) {
	p := scenestest.Town(t)
	s := scenestest.New(t, p, "")
	s.Run(t, scenestest.Settings{})
	t.Run("seed", func(t *testing.T) { // the history tells its own seed
		changed := rewritten(t, s, func(r *protocol.Record) bool { return r.Kind == agenda.FactStarted }, func(f protocol.Fact) { f.(*agenda.Started).Seed++ })
		if r := run(t, changed, scenestest.Settings{}, 2); r.Difference == nil {
			t.Error("another seed gives the same story")
		}
	})
	t.Run("limits", func(t *testing.T) {
		def := *s.Def
		definition := *def.Definition
		definition.Simulation.Limits.MaxEventsInWave = 1
		def.Definition = &definition
		other := *s
		other.Def = &def
		if r := run(t, &other, scenestest.Settings{}, 2); r.Difference == nil {
			t.Error("another rule of the channel gives the same story")
		}
	})
}

func TestThrough(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Run(t, scenestest.Settings{})
	s.Journal(t, func(j *persistence.Journal) {
		fifth, err := j.Wave(5)
		if err != nil {
			t.Fatal(err)
		}
		made, opt := s.Made(t, scenestest.Settings{}), verify.Options{Through: &fifth}
		r, state, err := verify.Run(context.Background(), made, j, opt)
		if err != nil || r.Waves != 5 || r.Difference != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		want, err := history.FoldTo(made, j, 5, history.Options{NoSnapshots: true})
		if err != nil {
			t.Fatal(err)
		}
		a, _ := want.Hash()
		if b, _ := state.Hash(); a != b {
			t.Error("the walk and the fold come to different states")
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if _, _, err := verify.Run(ctx, made, j, opt); protocol.KindOf(err) != protocol.KindCancelled {
			t.Error(err)
		}
	})
}
