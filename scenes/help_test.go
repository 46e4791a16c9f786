package scenes_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/internal/doctest"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// mustRestore holds that the newest snapshot, which the live actors gave, and
// its tail are what the facts alone give.
func mustRestore(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	var restored *machines.State
	var from uint64
	s.Journal(t, func(j *persistence.Journal) {
		var err error
		if snap, err := j.LatestSnapshot(); err == nil {
			from = snap.Wave.Number
		}
		if restored, _, err = history.Fold(s.Made(t, set), j, history.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	folded := s.Fold(t, set)
	got, want := parts(t, restored), parts(t, folded)
	if set.Clock == agenda.Realtime {
		for name := range overflowed(t, s, restored, folded) {
			delete(want, name)
		}
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: the snapshot of wave %d and its tail give\n%s\nthe facts alone give\n%s\nthe snapshot lacks a field, or Decide gave facts that the state has not folded", name, from, got[name], want[name])
		}
	}
}

// overflowed are the agents whose inbox was full at some time. On the realtime clock a fold may read an
// event before the end of a turn that the agent had ended by then, and so may find another event in the
// full lane than the agent did (agent.Machine.Overflowed).
func overflowed(t testing.TB, s *scenestest.Scene, states ...*machines.State) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	s.Facts(t, func(r protocol.Record, f protocol.Fact) {
		if _, is := f.(*agentfact.Dropped); is {
			names[r.Actor] = true
		}
	})
	for _, state := range states {
		for _, m := range state.Agents {
			if m.Overflowed() {
				names[m.ID.Instance] = true
			}
		}
	}
	return names
}

// parts are what the hash of a state is made of, for messages about a difference.
func parts(t testing.TB, s *machines.State) map[string]string {
	t.Helper()
	parts := map[string]string{}
	if err := s.Parts(func(name string, raw []byte) { parts[name] = fmt.Sprintf("%q", raw) }); err != nil {
		t.Fatal(err)
	}
	return parts
}

// mustFoldAt holds that a snapshot plus its tail is the whole where the journal
// is cut after a wave.
func mustFoldAt(t testing.TB, s *scenestest.Scene, set scenestest.Settings, wave uint64) {
	t.Helper()
	var hashes [2]string
	s.Journal(t, func(j *persistence.Journal) {
		for i := range hashes {
			state, err := history.FoldTo(s.Made(t, set), j, wave, history.Options{NoSnapshots: i == 1})
			if err == nil {
				hashes[i], err = state.Hash()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if hashes[0] != hashes[1] {
		t.Errorf("cut after wave %d: %s by way of a snapshot, %s from the facts", wave, hashes[0], hashes[1])
	}
}

// mostCuts bounds the places where mustReload cuts a history.
const mostCuts = 6

// mustReload holds that whatever a state keeps is in a snapshot of it: cut after some of the waves, the snapshot is of the
// same state, and the facts behind it lead to the same end.
func mustReload(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	made := s.Made(t, set)
	whole := newState(t, made)
	cuts := map[uint64]*machines.State{} // by wave
	var last uint64
	s.Journal(t, func(j *persistence.Journal) { last = j.Durable().Number })
	s.Facts(t, func(r protocol.Record, _ protocol.Fact) {
		for wave, cut := range cuts {
			if err := cut.Apply(r); err != nil {
				t.Fatalf("cut after wave %d: %v", wave, err)
			}
		}
		if err := whole.Apply(r); err != nil {
			t.Fatal(err)
		}
		if wave := whole.Agenda.Wave; r.Kind == agenda.FactWaveClosed && wave%(last/mostCuts+1) == 0 {
			cuts[wave] = reloaded(t, made, whole)
			sameParts(t, wave, cuts[wave], whole)
		}
	})
	for wave, cut := range cuts {
		sameParts(t, wave, cut, whole)
	}
}

func newState(t testing.TB, made *setup.Scene) *machines.State {
	t.Helper()
	s, err := machines.New(made)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reloaded is a state made of what a snapshot of another one holds.
func reloaded(t testing.TB, made *setup.Scene, s *machines.State) *machines.State {
	t.Helper()
	other := newState(t, made)
	for name, raw := range stored(t, s) {
		if err := other.Load(name, raw); err != nil {
			t.Fatal(err)
		}
	}
	return other
}

// stored are the parts of a snapshot, with all that the stage keeps.
func stored(t testing.TB, s *machines.State) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := s.Parts(func(name string, raw []byte) { all[name] = bytes.Clone(raw) })
	if err == nil {
		all[machines.Agenda], err = s.EncodeScene()
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameParts(t testing.TB, wave uint64, got, want *machines.State) {
	t.Helper()
	have := stored(t, got)
	for name, raw := range stored(t, want) {
		if !bytes.Equal(have[name], raw) {
			t.Errorf("%s: by way of a snapshot of wave %d it is after wave %d\n%q\nand by the facts alone\n%q", name, wave, want.Agenda.Wave, have[name], raw)
		}
	}
}

// mustVerify holds what a scene wrote to what its machines decide, a few deliberations at once.
func mustVerify(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		r, _, err := verify.Run(context.Background(), s.Made(t, set), j, verify.Options{Chunk: 3})
		switch {
		case err != nil:
			t.Error(err)
		case r.Difference != nil:
			t.Errorf("%+v\nrecorded %+v\ndecided  %+v", r.Difference, r.Difference.Recorded, r.Difference.Decided)
		case r.Facts != j.Durable().Last-j.Begin().Last:
			t.Errorf("%d of %d facts were gone over", r.Facts, j.Durable().Last-j.Begin().Last)
		}
	})
}

// mustVerifyLost holds that verify takes turns of which not enough was recorded, and what came of them, and finds no
// difference: the answers of all turns that lost names have no number, as in runs of an older program.
func mustVerifyLost(t testing.TB, s *scenestest.Scene, set scenestest.Settings, lost func(agent string, answer int) bool) {
	t.Helper()
	codec, n, without := machines.NewCodec(), map[string]int{}, 0
	old := s.Rewrite(t, func(r *protocol.Record) {
		if r.Kind != agentfact.FactModelAnswered {
			return
		}
		if n[r.Actor]++; !lost(r.Actor, n[r.Actor]) {
			return
		}
		f, err := codec.ReadFact(r.Kind, r.Data)
		if err != nil {
			t.Fatal(err)
		}
		f.(*agentfact.ModelAnswered).Request = 0
		if r.Data, err = codec.Marshal(f); err != nil {
			t.Fatal(err)
		}
		without++
	})
	if without > 0 {
		mustVerify(t, old, set)
	}
}

// difference shows where the stories of two scenes part.
func difference(t testing.TB, got, want *scenestest.Scene) string {
	t.Helper()
	a, _ := trace(t, got, 0)
	b, _ := trace(t, want, 0)
	return doctest.Parting(a, b)
}

// mustCountTurns holds that the turns of every agent are kept in their order.
func mustCountTurns(t testing.TB, s *scenestest.Scene) {
	t.Helper()
	last := map[string]uint64{}
	s.Facts(t, func(r protocol.Record, f protocol.Fact) {
		if last[r.Actor]++; f.(*agentfact.TurnEnded).Turn != last[r.Actor] {
			t.Errorf("turn %d of %s is kept as its turn %d", f.(*agentfact.TurnEnded).Turn, r.Actor, last[r.Actor])
		}
	}, agentfact.FactTurnEnded)
}

// mustGoOn runs the scene s of a project on 7 workers, interrupted at some waves: it has the
// digest of the run that nobody interrupted.
func mustGoOn(t testing.TB, p *project.Project, want scenestest.Result, snapshots int64, at ...uint64) *scenestest.Scene {
	t.Helper()
	set := scenestest.Settings{Workers: 7, Snapshots: snapshots}
	s := scenestest.New(t, p, "s")
	for _, set.InterruptAt = range at {
		s.Run(t, set)
	}
	set.InterruptAt = 0
	if r := s.Run(t, set); r.Digest() != want.Digest() {
		t.Errorf("digest %s, want %s", r.Digest(), want.Digest())
	}
	mustRestore(t, s, set)
	mustVerify(t, s, set)
	return s
}

// mustObey runs a scene again from the orders of its journal, interrupted at a wave or not: it
// has the digest of the run that was given them.
func mustObey(t testing.TB, s *scenestest.Scene, was scenestest.Settings, want scenestest.Result, at uint64) {
	t.Helper()
	for _, workers := range []int{1, 7} {
		for _, interrupt := range []uint64{0, at} {
			if (workers == 1) == (interrupt > 0) && !scenestest.Long() {
				continue
			}
			again, set := s.Fresh(t), scenestest.Settings{People: was.People, Workers: workers, Stop: was.Stop, Orders: given(t, s), InterruptAt: interrupt}
			got := again.Run(t, set)
			if interrupt > 0 && got.Reason == agenda.StoppedByInterrupt {
				set.InterruptAt = 0
				got = again.Run(t, set)
			}
			if got.Digest() != want.Digest() {
				t.Errorf("%d workers, interrupted at %d: %v, digest %s, want %s", workers, interrupt, got, got.Digest(), want.Digest())
			}
		}
	}
}
