package inspect

import (
	"archive/zip"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/script"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
)

// An agent that fails deliberates, the scene's own does not; its failures and those of the script are problems all the same. The timeline has them all,
// an agent's row those that reached their end and all failures.
func TestSummaryCountsEachDeliberationOnce(t *testing.T) {
	s := opened(t, ran(t, runner.Options{}, false))
	begun, err := s.begun()
	if err != nil {
		t.Fatal(err)
	}
	b, own := s.summing(begun), uint32(s.agents.Len())
	b.timeline(s.journal.Durable().MaxTime)
	for i, f := range []protocol.Fact{
		&agentfact.TurnEnded{Agent: 0, Outcome: agentfact.OutcomeOK}, &agentfact.TurnEnded{Agent: 0, Outcome: agentfact.OutcomeFailed}, &agentfact.TurnEnded{Agent: own, Outcome: agentfact.OutcomeFailed},
		&agenda.AgentFailed{Agent: 0, WakeAt: 1}, &agenda.AgentFailed{Agent: 0}, &agenda.AgentFailed{Agent: own, WakeAt: 1}, &agenda.AgentFailed{Agent: own},
		&script.Failed{Where: "states[0].on_enter[0]", Error: "there is no agent ghost"},
	} {
		raw, err := s.codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.fact(protocol.Record{Seq: uint64(i + 1), Time: begun, Actor: s.name(own), Kind: f.FactKind(), Data: raw}); err != nil {
			t.Fatal(err)
		}
	}
	sum := b.finish()
	var timeline, work, failed int64
	for _, x := range sum.Timeline {
		timeline += x.Deliberations
	}
	for _, x := range sum.TopAgents {
		work, failed = work+x.Deliberations, failed+x.Failed
	}
	if sum.Deliberations != 4 || timeline != 4 || work != 2 || sum.Failed != 3 || failed != 3 || sum.ProblemCount != 7 {
		t.Errorf("%d deliberations, %d in the timeline, %d of agents; %d failed, %d of agents; %d problems", sum.Deliberations, timeline, work, sum.Failed, failed, sum.ProblemCount)
	}
}

// reading counts the facts that a journal hands over, and may have notes of its own.
type reading struct {
	journal
	facts uint64
	noted uint64
	note  []byte
}

func (j *reading) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	return j.journal.Scan(q, func(r protocol.Record) error {
		j.facts++
		return yield(r)
	})
}

func (j *reading) NoteAt(seq uint64) (uint64, []byte, error) {
	if j.note == nil || seq < j.noted {
		return j.journal.NoteAt(seq)
	}
	return j.noted, j.note, nil
}

// totals are the fields of a summary that do not depend on how many facts were read.
func totals(s *Summary) Summary {
	t := *s
	t.Kinds, t.TopAgents, t.Problems, t.Timeline, t.Next, t.ProblemCount, t.Newest = nil, nil, nil, nil, nil, 0, 0
	t.Refusals = nil
	for _, r := range s.Refusals {
		r.Example = ""
		t.Refusals = append(t.Refusals, r)
	}
	return t
}

// The summary of a scene that runs reads a bounded number of facts, however long the
// run is, and has the totals of all.
func TestSummaryOfTheNewest(t *testing.T) {
	s := opened(t, ranProject(t, "../../../internal/bench/project", runner.Options{Agents: 1000, Ticks: 20}, nil))
	all, err := s.Summary(0)
	if err != nil {
		t.Fatal(err)
	}
	count := &reading{journal: s.journal}
	s.journal = count
	few, err := s.Summary(Newest)
	if err != nil {
		t.Fatal(err)
	}
	if all.Facts < 3*Newest || few.Newest == 0 || count.facts > all.Facts-few.Newest+3 || count.facts > Newest+3 {
		t.Errorf("read %d facts of %d, from %d on", count.facts, all.Facts, few.Newest)
	}
	if a, b := totals(all), totals(few); !reflect.DeepEqual(a, b) {
		t.Errorf("the totals of all facts\n%+v\nof the newest\n%+v", a, b)
	}
	kinds := int64(0)
	for _, k := range few.Kinds {
		kinds += k.Count
	}
	if want := int64(all.Facts - few.Newest + 1); kinds != want {
		t.Errorf("%d facts by kind, want the newest %d", kinds, want)
	}
}

// A note that cannot be read is passed over: the one before it, or the first fact, takes its place.
func TestSummaryWithoutItsNote(t *testing.T) {
	s := opened(t, ran(t, runner.Options{}, false))
	all, err := s.Summary(0)
	if err != nil {
		t.Fatal(err)
	}
	s.journal = &reading{journal: s.journal, noted: s.journal.Durable().Last, note: []byte{0xc1}}
	few, err := s.Summary(1)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := totals(all), totals(few); !reflect.DeepEqual(a, b) {
		t.Errorf("the totals of all facts\n%+v\nwithout a note\n%+v", a, b)
	}
}

// With the tally of any wave and the facts after it, a summary has the totals of all
// facts: in every recorded run.
func TestSummaryFromATally(t *testing.T) {
	runs := 0
	for dir, s := range recordedScenes(t) {
		runs++
		all, err := s.Summary(0)
		if err != nil || all.Dropped > 0 {
			t.Fatal(dir, err, all)
		}
		for n := uint64(1); n <= all.Waves; n += 1 + all.Waves/4 {
			folded, err := s.Fold(n)
			if err != nil {
				t.Fatal(dir, err)
			}
			w, err := s.journal.Wave(n)
			if err != nil {
				t.Fatal(dir, err)
			}
			j := &reading{journal: s.journal, noted: w.Last}
			if j.note, err = s.codec.Marshal(&folded.Tally); err != nil {
				t.Fatal(err)
			}
			from := *s
			from.journal = j
			few, err := from.Summary(3)
			if err != nil {
				t.Fatal(dir, err)
			}
			if a, b := totals(all), totals(few); !reflect.DeepEqual(a, b) || few.Newest == 0 && all.Facts > 3 {
				t.Errorf("%s: the totals of all facts\n%+v\nfrom the tally of wave %d\n%+v", dir, a, n, b)
			}
		}
	}
	if runs < 15 {
		t.Errorf("%d recorded runs", runs)
	}
}

// recordedScenes opens the scenes of those run directories that need no tools of a test.
func recordedScenes(t *testing.T) iter.Seq2[string, *Scene] {
	return func(yield func(string, *Scene) bool) {
		for _, dir := range recordedRuns(t) {
			run, err := Open(dir)
			if err != nil {
				continue // its tools are those of a test
			}
			t.Cleanup(func() { _ = run.Close() })
			for _, id := range run.Manifest.Scenes {
				s, err := run.Scene(id)
				if err != nil {
					t.Fatal(err)
				}
				if !yield(filepath.Join(dir, id), s) {
					return
				}
			}
		}
	}
}

// recordedRuns unpacks the run directories that releases left.
func recordedRuns(t *testing.T) (dirs []string) {
	t.Helper()
	archives, err := filepath.Glob("../../testdata/histories/good/*.zip")
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		r, err := zip.OpenReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, r); err != nil {
			t.Fatal(err)
		}
		runs, err := filepath.Glob(dir + "/*")
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, runs...)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}
