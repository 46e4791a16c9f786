package scenes_test

import (
	"crypto/sha256"
	"iter"
	"slices"
	"sync"
	"testing"

	"tavernsim/actors"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/timing"
)

// The suite for backends holds everything that scenes ask of a journal.
var (
	_ scenes.Journal  = persistencetest.Journal(nil)
	_ outside.Journal = persistencetest.Journal(nil)
	_ history.Writer  = persistencetest.Journal(nil)
)

// A scene runs, stops, goes on and is folded over a journal that is no
// persistence.Journal, with the same digest and state.
func TestAnotherJournal(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	want := s.Run(t, scenestest.Settings{})
	hash := s.FoldHash(t, scenestest.Settings{})
	j := newListed(s.Def.Definition.ID)
	half := want.Wave.Number / 2
	j.kept = func(w persistence.Wave, r *scenes.Run) {
		if w.Number == half {
			r.Interrupt()
		}
	}
	if o := j.run(t, s); o.Final || o.Err != nil {
		t.Fatalf("the interrupted run: %+v", o.Outcome)
	}
	j.kept = func(persistence.Wave, *scenes.Run) {}
	o := j.run(t, s)
	if !o.Final || o.Err != nil || o.Wave.Digest != want.Wave.Digest || o.Wave != j.Durable() {
		t.Fatalf("%+v of wave %+v; want wave %+v", o.Outcome, o.Wave, want.Wave)
	}
	for _, opt := range []history.Options{{}, {NoSnapshots: true}} {
		state, _, err := history.Fold(s.Made(t, scenestest.Settings{}), j, opt)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := state.Hash(); err != nil || got != hash {
			t.Errorf("state %s, %v; want %s", got, err, hash)
		}
	}
	if len(j.snaps) == 0 {
		t.Error("no snapshot was taken")
	}
}

// A kill leaves the waves up to any one of them: a run that goes on from there comes to
// the digest of the whole, and nothing that a scene does at its beginning and its end is
// done twice.
func TestResumedAfterEveryWave(t *testing.T) {
	if testing.Short() {
		t.Skip("every wave is an equal start")
	}
	for name, s := range map[string]*scenestest.Scene{
		"the town":             scenestest.New(t, scenestest.Town(t), ""),
		"lifecycle":            scriptScene(t, "lifecycle"),
		"lifecycle that fails": scriptScene(t, "lifecycle_fails"),
		"lifecycle of latency": scriptScene(t, "lifecycle_latency"),
	} {
		t.Run(name, func(t *testing.T) {
			whole := newListed(s.Def.Definition.ID)
			whole.kept = func(persistence.Wave, *scenes.Run) {}
			want := whole.run(t, s)
			step := max(1, want.Wave.Number/40)
			for n := uint64(1); n < want.Wave.Number; n += step {
				if n+3*step > want.Wave.Number {
					step = 1
				}
				if got := whole.upTo(n).run(t, s); got.Err != nil || got.Wave.Digest != want.Wave.Digest {
					t.Fatalf("from wave %d of %d: %v, digest %v, want %v", n, want.Wave.Number, got.Err, got.Wave.Digest, want.Wave.Digest)
				}
			}
		})
	}
}

// upTo is the journal that ends after a wave, without snapshots.
func (j *listed) upTo(wave uint64) *listed {
	return &listed{kept: j.kept, waves: slices.Clone(j.waves[:wave+1]), facts: slices.Clone(j.facts[:j.waves[wave].Last])}
}

// listed is a journal in a list. Its waves are durable when they are closed.
type listed struct {
	kept func(persistence.Wave, *scenes.Run)

	started chan struct{} // closed when live is set
	live    *scenes.Run

	mu    sync.Mutex // guards what follows
	open  []protocol.Record
	facts []protocol.Record
	waves []persistence.Wave // the beginning is the first
	snaps []*persistence.Snapshot
}

func newListed(scene string) *listed {
	return &listed{waves: []persistence.Wave{{First: 1, Digest: persistence.Digest(format.NewHead(scene).Digest)}}}
}

// run starts the scene on the journal and waits until it stops.
func (j *listed) run(t *testing.T, s *scenestest.Scene) scenes.Outcome {
	t.Helper()
	system := actors.NewSystem(actors.Options{})
	defer system.Close()
	model, err := scenestest.Model(s.Project, s.Def)
	if err != nil {
		t.Fatal(err)
	}
	made := s.Made(t, scenestest.Settings{})
	j.started = make(chan struct{})
	j.live, err = scenes.Start(made, j, scenes.Options{
		Model: model, System: system, Latency: timing.NewLatency(), Metrics: metrics.New().Scene(made.ID),
	})
	if err != nil {
		t.Fatal(err)
	}
	close(j.started)
	return j.live.Wait()
}

func (j *listed) Begin() persistence.Wave { return j.waves[0] }

func (j *listed) Durable() persistence.Wave {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.waves[len(j.waves)-1]
}

func (j *listed) Wave(number uint64) (persistence.Wave, error) {
	if end := j.Durable().Number; number > end {
		return persistence.Wave{}, protocol.Errorf(protocol.KindNotFound, "wave %d: the last one is %d", number, end)
	}
	return j.waves[number], nil
}

func (j *listed) Waves(from uint64, yield func(persistence.Wave) error) error {
	for n := max(from, 1); n <= j.Durable().Number; n++ {
		if err := yield(j.waves[n]); err != nil {
			return err
		}
	}
	return nil
}

// Scan reads facts by their seqs: nobody who folds asks for more.
func (j *listed) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	for seq := max(q.From, 1); seq <= j.Durable().Last && (q.To == 0 || seq <= q.To); seq++ {
		if err := yield(j.facts[seq-1]); err != nil {
			return err
		}
	}
	return nil
}

func (j *listed) Append(at protocol.Time, actor, kind string, data []byte) (uint64, error) {
	seq := uint64(len(j.facts) + len(j.open) + 1)
	j.open = append(j.open, protocol.Record{Seq: seq, Time: at, Actor: actor, Kind: kind, Data: slices.Clone(data)})
	return seq, nil
}

func (j *listed) AppendSheaf(s *format.Sheaf) error {
	return s.Each(func(f format.Fact) error {
		_, err := j.Append(f.Time, string(f.Actor), string(f.Kind), f.Data)
		return err
	})
}

func (j *listed) CloseWaveLater(done func(persistence.Wave, error)) (uint64, error) {
	j.mu.Lock()
	last := j.waves[len(j.waves)-1]
	w, chain := persistence.Wave{Number: last.Number + 1, First: last.Last + 1, Last: last.Last + uint64(len(j.open))}, last.Digest[:]
	for i, f := range j.open {
		chain = format.AppendFact(chain, f.Time, f.Actor, f.Kind, f.Data)
		if w.MaxTime = max(w.MaxTime, f.Time); i == 0 || f.Time < w.MinTime {
			w.MinTime = f.Time
		}
	}
	w.Total, w.Digest = last.Total+uint64(len(chain)-len(last.Digest)), sha256.Sum256(chain)
	j.facts, j.open = append(j.facts, j.open...), nil
	j.waves = append(j.waves, w)
	j.mu.Unlock()
	done(w, nil)
	<-j.started
	j.kept(w, j.live)
	return w.Number, nil
}

func (j *listed) SaveSnapshot(wave uint64, states iter.Seq2[string, []byte]) error {
	type state struct {
		name string
		raw  []byte
	}
	var all []state
	for name, raw := range states {
		all = append(all, state{name, slices.Clone(raw)})
	}
	j.snaps = append(j.snaps, &persistence.Snapshot{Wave: j.waves[wave], Entries: uint64(len(all)), Read: func(yield func(string, []byte) error) error {
		for _, s := range all {
			if err := yield(s.name, s.raw); err != nil {
				return err
			}
		}
		return nil
	}})
	return nil
}

func (j *listed) SnapshotAt(wave uint64) (*persistence.Snapshot, error) {
	for _, s := range slices.Backward(j.snaps) {
		if s.Wave.Number <= wave {
			return s, nil
		}
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "no snapshot")
}

func (j *listed) Pending() uint64 { return 0 }
func (j *listed) Note([]byte)     {}
func (j *listed) Err() error      { return nil }
