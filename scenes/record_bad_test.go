package scenes_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/llm/llmtest"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// unknown is killed while it waits for a model that may be asked once only.
func (r *recorder) unknown() {
	s := r.begin("outcome_unknown", `-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {stop: {ticks: 5}}
-- models/voices.yaml --
otherwise: {text: ""}
`)
	dir, disk := s.Dir, persistencetest.NewCrashDisk()
	once := func(asked func(n int)) *llmtest.Fake {
		return &llmtest.Fake{Once: true, Reply: func(_ context.Context, n int, _ *protocol.ModelRequest) (string, error) {
			asked(n)
			return "Hm.", nil
		}}
	}
	left := make(chan error, 1)
	s.Dir = "run"
	s.Run(r.t, scenestest.Settings{FS: disk, Model: once(func(n int) {
		if n == 3 {
			left <- persistencetest.CopyDisk(disk.Kill(), "run", persistencetest.OSDisk(), dir)
		}
	})})
	if err := <-left; err != nil {
		r.t.Fatal(err)
	}
	s.Dir = dir
	s.Run(r.t, scenestest.Settings{Model: once(func(int) {})})
}

// bad are runs that nobody wrote: damaged, or changed by one who knew the digests.
func (r *recorder) bad() {
	data, err := os.ReadFile("testdata/script/calls.txtar")
	if err != nil {
		r.t.Fatal(err)
	}
	from := r.begin("from", string(data))
	for turn := range int64(2) {
		from.RunUntil(r.t, scenestest.Settings{Snapshots: 1}, func(q *protocol.ModelRequest) bool { return q.Variables["turn"] == turn+1 })
	}
	res := from.Run(r.t, scenestest.Settings{})
	summary := &rundir.Summary{SceneSummary: &rundir.SceneSummary{Scene: "s", Digest: res.Digest(), Journal: rundir.Journal{Waves: res.Wave.Number}}}
	changes := map[string]func([]protocol.Record) []protocol.Record{
		"unknown_kind":    func(w []protocol.Record) []protocol.Record { w[1].Kind = "agent.dreamt"; return w },
		"no_fact":         func(w []protocol.Record) []protocol.Record { w[1].Data = w[1].Data[:len(w[1].Data)/2]; return w },
		"another_actor":   func(w []protocol.Record) []protocol.Record { w[1].Actor = "nobody"; return w },
		"another_time":    func(w []protocol.Record) []protocol.Record { w[1].Time++; return w },
		"another_order":   func(w []protocol.Record) []protocol.Record { w[0], w[1] = w[1], w[0]; return w },
		"a_fact_is_gone":  func(w []protocol.Record) []protocol.Record { return slices.Delete(w, 1, 2) },
		"a_fact_is_twice": func(w []protocol.Record) []protocol.Record { return slices.Insert(w, 1, w[1]) },
		"a_wave_is_open":  func(w []protocol.Record) []protocol.Record { return w[:len(w)-1] },
		"of_another_agent": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agentfact.TurnEnded); ok {
				x.Agent = 99
			}
		}),
		"of_another_wave": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agenda.WaveClosed); ok {
				x.Wave += 3
			}
		}),
		"of_a_later_turn": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agentfact.TurnEnded); ok {
				x.Turn++
			}
		}),
		"other_words": r.each(func(f protocol.Fact) {
			if x, ok := f.(*agentfact.CallMade); ok {
				x.Tool = "SleepTool"
			}
		}),
	}
	for name, change := range changes {
		r.changed(name, from, change)
	}
	dir := filepath.Join(r.root, "from")
	if err := summary.Write(dir); err != nil {
		r.t.Fatal(err)
	}
	r.damaged("manifest", dir, "manifest.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"s": 1`), []byte(`"s": 2`), 1) })
	r.damaged("inputs", dir, "inputs/models/voices.yaml", func(b []byte) []byte { return append(b, "# later\n"...) })
	r.damaged("snapshot", dir, "journal/snapshots/*/*.snap", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	r.damaged("log", dir, "journal/db/*.log", func(b []byte) []byte { b[len(b)/4] ^= 1; return b })
	if err := os.RemoveAll(dir); err != nil {
		r.t.Fatal(err)
	}
}

// each changes every fact of a wave by what it says.
func (r *recorder) each(change func(protocol.Fact)) func([]protocol.Record) []protocol.Record {
	codec := machines.NewCodec()
	return func(wave []protocol.Record) []protocol.Record {
		for i := range wave {
			f, err := codec.ReadFact(wave[i].Kind, wave[i].Data)
			if err == nil {
				change(f)
				wave[i].Data, err = codec.Marshal(f)
			}
			if wave[i].Data = bytes.Clone(wave[i].Data); err != nil {
				r.t.Fatal(err)
			}
		}
		return wave
	}
}

// changed is the run with its second wave changed, and with digests that hold.
func (r *recorder) changed(name string, from *scenestest.Scene, change func([]protocol.Record) []protocol.Record) {
	s := &scenestest.Scene{Project: from.Project, Def: from.Def, Dir: filepath.Join(r.root, name, rundir.JournalDir)}
	r.manifest(name, s, "")
	s.JournalIn(r.t, s.Dir, persistence.Options{}, func(to *persistence.Journal) {
		from.Journal(r.t, func(j *persistence.Journal) {
			err := j.Waves(1, func(w persistence.Wave) error {
				var wave []protocol.Record
				err := j.Scan(persistence.Query{From: w.First, To: w.Last}, func(f protocol.Record) error {
					f.Data = bytes.Clone(f.Data)
					wave = append(wave, f)
					return nil
				})
				if w.Number == 2 {
					wave = change(wave)
				}
				for _, f := range wave {
					_, failed := to.Append(f.Time, f.Actor, f.Kind, f.Data)
					err = errors.Join(err, failed)
				}
				_, failed := to.CloseWave(nil)
				return errors.Join(err, failed)
			})
			if err != nil {
				r.t.Fatal(err)
			}
		})
	})
}

// damaged is a copy of a run with other bytes in the last of its files of a pattern.
func (r *recorder) damaged(name, from, pattern string, damage func([]byte) []byte) {
	to := filepath.Join(r.root, name)
	err := os.CopyFS(to, os.DirFS(from))
	files, bad := filepath.Glob(filepath.Join(to, pattern))
	if errors.Join(err, bad) != nil || len(files) == 0 {
		r.t.Fatal(name, err, bad, files)
	}
	last := files[len(files)-1]
	data, err := os.ReadFile(last)
	if err == nil {
		err = os.WriteFile(last, damage(data), 0o644)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
