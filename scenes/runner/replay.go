package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
)

// Replayed is what folding a run's journal gave.
type Replayed struct {
	Scenes []ReplayedScene `json:"scenes"`
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
}

// told holds the journal to the summary of the process that wrote it last: the
// end of a log can be lost without a trace in what is left.
func told(dir, scene string, journal *persistence.Journal) error {
	data, err := os.ReadFile(filepath.Join(dir, summaryFile))
	if err != nil {
		return nil // the process was killed before it could write one
	}
	s := &Summary{}
	if err := json.Unmarshal(data, s); err != nil {
		return protocol.Errorf(protocol.KindCorrupt, "%s: %w", filepath.Join(dir, summaryFile), err)
	}
	for _, one := range s.all() {
		if one.Scene != scene || one.Journal.Waves == 0 {
			continue
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

// Replay folds the journals of a run directory from their first fact: no model,
// no tool, no snapshot, nothing written. It fails when a wave's digest is not
// that of its facts.
func Replay(ctx context.Context, dir string) (*Replayed, error) {
	return ReplayCounted(ctx, dir, metrics.New())
}

// ReplayCounted is Replay that counts what it folds, and a digest that is not
// the expected one.
func ReplayCounted(ctx context.Context, dir string, counts *metrics.Set) (*Replayed, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	p, err := Load(filepath.Join(dir, inputsDir), true)
	if err != nil {
		return nil, err
	}
	store, err := persistence.Open(filepath.Join(dir, JournalDir), persistence.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	out := &Replayed{}
	for _, id := range m.Scenes {
		def, err := p.Scene(id)
		if err != nil {
			return nil, err
		}
		journal, err := store.Journal(id)
		if err != nil {
			return nil, err
		}
		report, err := journal.Verify(ctx, nil)
		if err != nil {
			return nil, err
		}
		if report.Damage != nil {
			counts.Diverged()
			return nil, protocol.Errorf(protocol.KindCorrupt, "scene %s: %w", id, report.Damage)
		}
		if err := told(dir, id, journal); err != nil {
			return nil, err
		}
		state, err := scenes.Fold(p, def, journal, scenes.Options{Seed: m.Seeds[id], Clock: m.Clocks[id], Agents: m.Agents})
		if err != nil {
			return nil, err
		}
		counts.Replayed(int(state.Tally.Facts))
		hash, err := state.Hash()
		if err != nil {
			return nil, err
		}
		w := journal.Durable()
		out.Scenes = append(out.Scenes, ReplayedScene{
			Scene: id, Digest: w.Digest.String(), StateHash: hash, Facts: w.Last, Waves: w.Number,
			VirtualTime: state.Director.Now.Sub(state.Director.Begun()).String(), Ended: state.Director.Ended,
		})
	}
	return out, nil
}
