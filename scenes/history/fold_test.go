package history_test

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/agent"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// Promise 3: a snapshot plus its tail is the whole, at every wave; so one that is bad costs nothing but time.
func TestFoldToEveryWave(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	set := scenestest.Settings{Snapshots: 200}
	s.Run(t, set)
	s.Journal(t, func(j *persistence.Journal) {
		snap, err := j.LatestSnapshot()
		if err != nil || snap.Wave.Number >= j.Durable().Number {
			t.Fatal("no snapshot with a tail: nothing is tested", err)
		}
		seen := map[string]uint64{}
		for wave := range j.Durable().Number + 1 {
			var hashes [4]string
			for i := range hashes {
				opt := history.Options{NoSnapshots: i%2 == 1}
				if i > 1 { // agents rest but one
					opt.Rest, opt.Awake = &bed{states: map[uint32][]byte{}}, 1
				}
				state, err := history.FoldTo(s.Made(t, set), j, wave, opt)
				if err != nil {
					t.Fatal(err)
				}
				if state.Agenda.Wave != wave {
					t.Fatalf("folded to wave %d, want %d", state.Agenda.Wave, wave)
				}
				if hashes[i], err = state.Hash(); err != nil {
					t.Fatal(err)
				}
			}
			if hashes[0] != hashes[1] || hashes[0] != hashes[2] || hashes[0] != hashes[3] {
				t.Errorf("wave %d: %s by way of a snapshot, %s from the facts; with agents at rest %s and %s", wave, hashes[0], hashes[1], hashes[2], hashes[3])
			}
			if other, ok := seen[hashes[0]]; ok {
				t.Errorf("waves %d and %d have the same state", other, wave)
			}
			seen[hashes[0]] = wave
		}
	})
}

// A fold of a part gives that part of the whole state, from a snapshot or the beginning.
func TestFoldOfAPart(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	set := scenestest.Settings{Snapshots: 700}
	s.Run(t, set)
	made, codec := s.Made(t, set), machines.NewCodec()
	encoded := func(raw protocol.Raw, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	s.Journal(t, func(j *persistence.Journal) {
		for wave := range j.Durable().Number + 1 {
			fold := func(only string) *machines.State {
				state, err := history.FoldTo(made, j, wave, history.Options{Only: only})
				if err != nil {
					t.Fatal(err)
				}
				return state
			}
			whole := fold("")
			agenda := encoded(whole.Agenda.Snapshot(codec))
			for i, k := range machines.Services() {
				if encoded(fold(k.Actor()).Services[i].Snapshot(codec)) != encoded(whole.Services[i].Snapshot(codec)) {
					t.Errorf("wave %d: %s alone is another", wave, k.Actor())
				}
			}
			all := fold(machines.Agenda)
			if encoded(all.Agenda.Snapshot(codec)) != agenda {
				t.Errorf("wave %d: the agenda alone is another", wave)
			}
			for o, m := range whole.Agents {
				if all.Agents[o].State.Waiting() != m.State.Waiting() {
					t.Errorf("wave %d: %d events wait for %s with the agenda, %d in the whole", wave, all.Agents[o].State.Waiting(), m.ID.Instance, m.State.Waiting())
				}
				if wave%7 != 0 {
					continue
				}
				one := fold(m.ID.Instance)
				if encoded(agent.Snapshot(codec, &one.Agents[o].State)) != encoded(agent.Snapshot(codec, &m.State)) || encoded(one.Agenda.Snapshot(codec)) != agenda {
					t.Errorf("wave %d: %s alone is another", wave, m.ID.Instance)
				}
				for i := range one.Services {
					if encoded(one.Services[i].Snapshot(codec)) != encoded(whole.Services[i].Snapshot(codec)) {
						t.Errorf("wave %d: with %s alone, %s is another", wave, m.ID.Instance, machines.Services()[i].Actor())
					}
				}
			}
		}
	})
}

func TestViewsOfState(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Run(t, scenestest.Settings{})
	state := s.Fold(t, scenestest.Settings{})
	for o := range uint32(state.Size()) {
		if got, ok := state.Ordinal(state.Name(o)); !ok || got != o || state.Profile(o) == "" || state.Agents[o].ID.Instance != state.Name(o) {
			t.Errorf("agent %d: name %q, profile %q, back %d %v", o, state.Name(o), state.Profile(o), got, ok)
		}
	}
	if state.ID() != s.Def.Definition.ID {
		t.Error(state.ID())
	}
}

func TestFindCut(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Run(t, scenestest.Settings{})
	s.Journal(t, func(j *persistence.Journal) {
		var waves []persistence.Wave
		if err := j.Waves(1, func(w persistence.Wave) error { waves = append(waves, w); return nil }); err != nil {
			t.Fatal(err)
		}
		start, err := history.Start(j)
		if err != nil || start != waves[0].MinTime {
			t.Fatal(start, err)
		}
		third, end := waves[2], j.Durable()
		last := third // several waves may have one time
		for _, w := range waves {
			if w.MaxTime == third.MaxTime {
				last = w
			}
		}
		for text, want := range map[string]uint64{
			"wave:3":                               3,
			"wave:0":                               0,
			"end":                                  end.Number,
			fmt.Sprintf("seq:%d", third.Last):      3,
			fmt.Sprintf("seq:%d", third.Last-1):    2,
			"seq:0":                                0,
			third.MaxTime.String():                 last.Number,
			third.MaxTime.Sub(start).String():      last.Number,
			(last.MaxTime.Sub(start) + 1).String(): last.Number,
		} {
			if got, err := history.Find(j, text); err != nil || got.Number != want {
				t.Errorf("%s: wave %d, want %d; %v", text, got.Number, want, err)
			}
		}
		for text, want := range map[string]string{
			"soon": "not a place in a run", "": "not a place in a run", "wave:x": "not a whole number", "wave:-1": "not a whole number",
			"wave:99999": "the last wave is", "seq:99999999": "the journal has facts", "9000h": "after the last wave", "-1s": "before the first wave",
			"1970-01-01T00:00:00Z": "before the first wave",
		} {
			_, err := history.Find(j, text)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", text, err, want)
			}
			if k := protocol.KindOf(err); k != protocol.KindInvalid && k != protocol.KindNotFound {
				t.Errorf("%q: kind %s", text, k)
			}
		}
	})
}

// bed is where agents rest, until it fails.
type bed struct {
	states map[uint32][]byte
	failed error
}

func (b *bed) Put(o uint32, state []byte)     { b.states[o] = state }
func (b *bed) Takes(state []byte) bool        { return len(state) < 2000 }
func (b *bed) State(o uint32) ([]byte, error) { return b.states[o], b.failed }

// A state at rest that cannot be read is an error of the fold, which names the agent.
func TestStateAtRestCannotBeRead(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	set := scenestest.Settings{Snapshots: 1}
	s.Run(t, set)
	s.Journal(t, func(j *persistence.Journal) {
		_, _, err := history.Fold(s.Made(t, set), j, history.Options{NoSnapshots: true, Awake: 1, Rest: &bed{map[uint32][]byte{}, protocol.Errorf(protocol.KindTransient, "input/output error")}})
		if protocol.KindOf(err) != protocol.KindTransient || !strings.Contains(err.Error(), "its state at rest: input/output error") {
			t.Error(err)
		}
	})
}
