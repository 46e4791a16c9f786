package rundir

import (
	"context"

	"tavernsim/engine/agent"
	"tavernsim/engine/bus/delivery"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/view/verify"
)

// Replayed is the result of a replay.
type Replayed struct {
	Scenes []ReplayedScene `json:"scenes"`
	// Missing are artifacts with which calls ended and that are not there. Nothing here
	// needs them.
	Missing []string `json:"missing_artifacts,omitempty"`
}

// ReplayedScene is one scene of it.
type ReplayedScene struct {
	Scene       string `json:"scene"`
	Digest      string `json:"digest"`
	StateHash   string `json:"state_hash"` // SHA-256 over the state of every machine
	Facts       uint64 `json:"facts"`
	Waves       uint64 `json:"waves"`
	VirtualTime string `json:"virtual_time"`
	Ended       string `json:"ended"` // reason; "" = it can be resumed

	// From is the wave after which the kept history begins; 0 = from the start.
	From uint64 `json:"from"`
	// Begun is the wave after which the walk began: later than From where the
	// snapshot there is damaged.
	Begun  uint64         `json:"begun"`
	Verify *verify.Report `json:"verify,omitempty"` // of --verify
}

// Differs reports whether a decision differs from the recorded one.
func (r *ReplayedScene) Differs() bool { return r.Verify != nil && r.Verify.Difference != nil }

// Told compares a scene's journal with the summary of the process that wrote it last.
func (o *Opened) Told(scene string, journal history.Journal) error {
	return told(o.Dir, scene, journal)
}

// told compares the journal with the summary of the process that wrote it last, because
// the rest of a log does not show that its end was lost.
func told(dir, scene string, journal history.Journal) error {
	s, err := readSummary(dir)
	if protocol.KindOf(err) == protocol.KindCorrupt {
		return err
	}
	if err != nil {
		return nil // the process was killed before it could write one
	}
	for _, one := range s.All() {
		if one.Scene != scene || one.Journal.Waves == 0 {
			continue
		}
		if one.Journal.Waves < journal.Begin().Number {
			continue // of a process before the last; what it told of was dropped since
		}
		w, err := journal.Wave(one.Journal.Waves)
		if err != nil {
			return protocol.Errorf(protocol.KindCorrupt, "scene %s: the summary tells of wave %d, the journal ends with %d", scene, one.Journal.Waves, journal.Durable().Number)
		}
		if got := w.Digest.String(); got != one.Digest {
			return protocol.Errorf(protocol.KindCorrupt, "scene %s: wave %d has the digest %s, the summary says %s", scene, w.Number, got, one.Digest)
		}
	}
	return nil
}

// lost tells of a journal that is not there although the summary knows its waves.
func lost(dir, scene string, err error) error {
	if protocol.KindOf(err) != protocol.KindNotFound {
		return err
	}
	if s, unread := readSummary(dir); unread == nil && s.WavesOf(scene) > 0 {
		return protocol.Errorf(protocol.KindCorrupt, "scene %s: the summary tells of wave %d, and there is no journal", scene, s.WavesOf(scene))
	}
	return err
}

// ReplayOptions set the end and the kind of a replay. The zero value folds every scene
// to its end.
type ReplayOptions struct {
	Scene  string // "" = every scene
	Until  string // a place as history.Find reads it; "" = the end
	Verify bool   // decide everything again
	// Middleware of the run's host, which Verify asks. Without it the decisions of
	// a channel that had some are taken as they are.
	Middleware delivery.Chain
	External   []agent.External // tools of the run's host
	Metrics    *metrics.Set
	Progress   Progress // may be nil
}

// Progress gets the progress of the work on a scene.
type Progress func(scene, doing string, done, total uint64)

// Of is the progress of one scene.
func (p Progress) Of(scene, doing string) func(done, total uint64) {
	if p == nil {
		return func(uint64, uint64) {}
	}
	return func(done, total uint64) { p(scene, doing, done, total) }
}

// Replay folds the journals of a run directory from their first fact that is
// kept: no model, no tool, nothing written. It fails when a wave's digest is not
// that of its facts. With Verify every decision is made again; a difference is
// in the result, and no error. A middleware that panics is one.
func Replay(ctx context.Context, dir string, opt ReplayOptions) (*Replayed, error) {
	if opt.Metrics == nil {
		opt.Metrics = metrics.New()
	}
	run, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	run.Middleware, run.External = opt.Middleware, opt.External
	ids, err := run.Scenes(opt.Scene)
	if err == nil && opt.Verify {
		err = setup.SameTools(run.Manifest.External, opt.External)
	}
	if err != nil {
		return nil, err
	}
	out := &Replayed{}
	for _, id := range ids {
		one, missing, err := replayScene(ctx, run, id, opt)
		if err != nil {
			return nil, err
		}
		out.Scenes, out.Missing = append(out.Scenes, *one), append(out.Missing, missing...)
	}
	return out, nil
}

func replayScene(ctx context.Context, run *Opened, id string, opt ReplayOptions) (one *ReplayedScene, missing []string, err error) {
	made, journal, err := run.Scene(id)
	if err != nil {
		return nil, nil, err
	}
	if err := run.Check(ctx, id, journal, opt.Progress.Of(id, "checking digests")); err != nil {
		if protocol.KindOf(err) == protocol.KindCorrupt {
			opt.Metrics.Diverged()
		}
		return nil, nil, err
	}
	cut, err := cutOf(journal, opt.Until)
	if err != nil {
		return nil, nil, err
	}
	one = &ReplayedScene{Scene: id, Digest: cut.Digest.String(), Facts: cut.Last, Waves: cut.Number, From: journal.Begin().Number}
	var state *machines.State
	if opt.Verify {
		one.Verify, state, err = verify.Run(ctx, made, journal, verify.Options{
			Through: &cut, Progress: opt.Progress.Of(id, "deciding again"), NoMiddleware: run.Manifest.Middleware && len(opt.Middleware) == 0,
		})
	} else {
		state, err = history.FoldTo(made, journal, cut.Number, history.Options{NoSnapshots: true, Folding: opt.Progress.Of(id, "folding")})
	}
	if err != nil {
		return nil, nil, err
	}
	if one.Begun, err = history.Base(journal, cut.Number); err != nil {
		return nil, nil, err
	}
	if missing, err = run.missingArtifacts(journal); err != nil {
		return nil, nil, err
	}
	opt.Metrics.Replayed(int(cut.Last - journal.Begin().Last))
	if one.Differs() {
		opt.Metrics.Diverged()
		return one, missing, nil
	}
	one.VirtualTime, one.Ended = "0s", state.Agenda.Ended
	if cut.Number > 0 { // before the first wave there is no time
		one.VirtualTime = state.Agenda.Now.Sub(state.Agenda.Begun()).String()
	}
	one.StateHash, err = state.Hash()
	return one, missing, err
}

func cutOf(journal history.Journal, text string) (persistence.Wave, error) {
	if text == "" {
		return journal.Durable(), nil
	}
	return history.Find(journal, text)
}

// Checked is a journal whose stored bytes can be held to their digests.
type Checked interface {
	history.Journal
	Verify(ctx context.Context, tell func(persistence.Wave)) (persistence.Report, error)
}

// Check holds all facts of a journal to their digests, and those to the summary
// of the process that wrote it last.
func (o *Opened) Check(ctx context.Context, scene string, journal Checked, say func(done, total uint64)) error {
	total := journal.Durable().Last
	report, err := journal.Verify(ctx, func(w persistence.Wave) { say(w.Last, total) })
	if err == nil && report.Damage != nil {
		err = protocol.Errorf(protocol.KindCorrupt, "scene %s: %w", scene, report.Damage)
	}
	if err != nil {
		return err
	}
	return told(o.Dir, scene, journal)
}
