package scenes_test

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent"
	"tavernsim/internal/doctest"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/verify"
)

// unrecorded are kinds of facts that no scene can leave yet, with the reason.
var unrecorded = map[string]string{
	"agent.turn_abandoned": "it is of the realtime clock, whose runs differ each time; TestRealtimeRemovedUnderABudget reads one in every way",
	"agent.calls_charged":  "a turn has one whose actor has failed, or that a kill or an event has cut off: TestCallsOfFailedTurnsAreCharged reads one in every way",
	"tool.plugins_changed": "a recorded run has one project; scenes/run/editions makes a run with two, and reads it in every way",
}

// Each archive of testdata/histories holds run directories as a release wrote them.
// Those of good fold for ever to the digest and the state in the text beside them,
// from the first fact and from the newest snapshot, and are decided again as they
// were. Those of bad are damaged, or tell what never was: they are refused with the
// words in the text. A release adds its own archives, and writes no other:
//
//	go test ./scenes -run RecordedRuns -record NAME [-scripts "SCRIPT ..."]
//
// With scripts, which a new kind of fact needs, it records these alone.
// -update rewrites the texts alone. A digest there never changes, a state only when a
// snapshot gets a field.
func TestRecordedRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it folds what was recorded")
	}
	if *record != "" {
		recordRuns(t, *record)
	}
	kinds := map[string]int{}
	for _, quality := range []string{"good", "bad"} {
		archives, err := filepath.Glob("testdata/histories/" + quality + "/*.zip")
		if err != nil || len(archives) == 0 {
			t.Fatal("no recorded runs", err)
		}
		for _, archive := range archives {
			t.Run(quality+"/"+filepath.Base(archive), func(t *testing.T) {
				counted := kinds
				if quality == "bad" {
					counted = nil
				}
				mustReadAsBefore(t, archive, counted)
			})
		}
	}
	for _, kind := range machines.NewCodec().FactKinds() {
		if _, never := unrecorded[kind]; never == (kinds[kind] > 0) {
			t.Errorf("the recorded runs have %d facts of kind %s (%s): a new kind needs a run that has it: write a script in testdata/script, then go test ./scenes -run RecordedRuns -record NAME -scripts SCRIPT -update; or unrecorded says why not, and not both", kinds[kind], kind, cmp.Or(unrecorded[kind], "no exception"))
		}
	}
}

// mustReadAsBefore reads the runs of an archive; good ones have their facts counted.
func mustReadAsBefore(t *testing.T, archive string, kinds map[string]int) {
	var b strings.Builder
	for _, dir := range unpacked(t, archive) {
		text := (&recorded{t: t, dir: dir, kinds: kinds}).read()
		if refused := strings.Contains(text, ": refused, "); refused == (kinds != nil) {
			t.Errorf("%s: %s", dir, text)
		}
		fmt.Fprintf(&b, "%s\n%s", filepath.Base(dir), strings.ReplaceAll(text, filepath.Dir(dir)+"/", ""))
	}
	golden := strings.TrimSuffix(archive, ".zip") + ".txt"
	if *update || filepath.Base(archive) == *record+".zip" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s is read otherwise than before %s\n(-update rewrites the text)", archive, doctest.Parting(b.String(), string(want)))
	}
}

// unpacked are the run directories of an archive.
func unpacked(t *testing.T, archive string) (dirs []string) {
	t.Helper()
	r, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, r); err != nil {
		t.Fatal(err)
	}
	dirs, err = filepath.Glob(dir + "/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no runs", err)
	}
	return dirs
}

// recorded is a run directory that is read in every way that there is.
type recorded struct {
	t     *testing.T
	dir   string
	kinds map[string]int // of facts, counted; nil = they do not count
	b     strings.Builder
}

func (r *recorded) say(format string, args ...any) { fmt.Fprintf(&r.b, "\t"+format+"\n", args...) }

// refused says with which words a reader refuses the run.
func (r *recorded) refused(reader string, err error) bool {
	if err != nil {
		r.say("%s: refused, %s: %v", reader, protocol.KindOf(err), err)
	}
	return err != nil
}

// loadBegun loads the project of a recorded run as the files of a run are read.
func loadBegun(inputs string) (*project.Project, error) {
	kinds := setup.NodeKinds()
	maps.Copy(kinds, shakyKinds())
	return project.Load(os.DirFS(inputs), project.Options{Name: "test", Tools: append(agent.ProfileTools(), oracleTool), Kinds: kinds, Stops: true, Begun: true})
}

func (r *recorded) read() string {
	m, err := rundir.ReadManifest(r.dir)
	if r.refused("manifest", err) {
		return r.b.String()
	}
	inputs := filepath.Join(r.dir, "inputs")
	p, err := loadBegun(inputs)
	if err == nil && p.Hash() != m.ProjectHash {
		_, _, err = rundir.Read(r.dir)
	}
	if r.refused("inputs", err) {
		return r.b.String()
	}
	store, err := rundir.OpenStore(r.dir, persistence.Options{ReadOnly: true})
	if r.refused("store", err) {
		return r.b.String()
	}
	defer store.Close()
	run := &rundir.Opened{Dir: r.dir, Manifest: m, Project: p, Store: store}
	for _, id := range m.Scenes {
		made, err := made(m, p, id, recordedTicks[filepath.Base(r.dir)])
		journal, bad := store.Journal(id)
		if !r.refused("journal", errors.Join(err, bad)) {
			r.scene(run, made, journal)
		}
	}
	return r.b.String()
}

// recordedTicks are stop conditions of recorded runs, by their folders: the manifests of older ones do not say them.
var recordedTicks = map[string]int64{"fork": 12, "redelivered": 12, "tasks": 12, "given_up": 40}

// made is what the run was made of: a manifest does not say what its host brought.
func made(m *rundir.Manifest, p *project.Project, id string, ticks int64) (*setup.Scene, error) {
	def, err := p.Scene(id)
	if err != nil {
		return nil, err
	}
	return setup.New(p, def, setup.Options{Interactive: m.Interactive, Seed: m.Seeds[id], Clock: m.Clocks[id], ProjectHash: m.ProjectHash, External: oracleTools(), Numbered: m.Numbered(), Before3: m.Version < 3, For: m.For.Std(), Ticks: cmp.Or(m.Ticks, ticks), Until: m.Until})
}

func (r *recorded) scene(run *rundir.Opened, made *setup.Scene, j *persistence.Journal) {
	end := j.Durable()
	r.say("scene %s: waves %d, facts %d, digest %s", made.ID, end.Number, end.Last, end.Digest)
	r.refused("check", run.Check(context.Background(), made.ID, j, func(uint64, uint64) {}))
	var log strings.Builder
	quiet := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	hashes := map[string]bool{}
	for _, from := range []string{"the facts", "the snapshot"} {
		state, facts, err := history.Fold(made, j, history.Options{NoSnapshots: from == "the facts", Log: slog.New(slog.NewTextHandler(&log, quiet))})
		hash := ""
		if err == nil {
			hash, err = state.Hash()
		}
		if !r.refused("fold from "+from, err) {
			r.say("from %s: state %s after %d facts, ended %q", from, hash, facts, state.Agenda.Ended)
			hashes[hash] = err == nil
		}
	}
	if len(hashes) > 1 {
		r.t.Errorf("%s: the snapshot and its tail give another state than the facts alone", r.dir)
	}
	for line := range strings.Lines(log.String()) {
		r.say("log: refused, %s", strings.TrimSpace(line))
	}
	r.verify(made, j)
	if r.kinds != nil {
		r.count(j)
	}
}

func (r *recorded) verify(made *setup.Scene, j *persistence.Journal) {
	report, _, err := verify.Run(context.Background(), made, j, verify.Options{})
	switch {
	case r.refused("verify", err):
	case report.Difference != nil:
		d := report.Difference
		r.say("verify: refused, wave %d, fact %d of %s: %s: recorded %v, decided %v", d.Wave, d.Seq, d.Actor, d.Reason, side(d.Recorded), side(d.Decided))
	default:
		r.say("verified %d, taken %v", report.Verified, report.Taken)
	}
}

func side(s *verify.Side) string {
	if s == nil {
		return "nothing"
	}
	if text, ok := s.Fact.(string); ok { // it cannot be read
		return fmt.Sprintf("%s of %s, %s", s.Kind, s.Actor, text)
	}
	return s.Kind + " of " + s.Actor
}

// count tells which kinds the history has.
func (r *recorded) count(j *persistence.Journal) {
	kinds := map[string]int{}
	if err := j.Read(1, func(f protocol.Record) error { kinds[f.Kind]++; return nil }); r.refused("read", err) {
		return
	}
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		r.kinds[kind] += kinds[kind]
		list = append(list, fmt.Sprintf("%s %d", kind, kinds[kind]))
	}
	r.say("%s", strings.Join(list, ", "))
}
