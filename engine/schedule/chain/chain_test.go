package chain_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tavernsim/engine/schedule"
	"tavernsim/engine/schedule/chain"
)

// classes: 0 writes what 1 reads; 2 has nothing to do with anybody.
func classes() []schedule.Class {
	none := func() schedule.Class {
		return schedule.Class{Perceives: []string{}, Writes: []string{}, Hears: []string{}, Publishes: []schedule.Publish{}, Consults: []string{}, Edits: []string{}}
	}
	list := []schedule.Class{none(), none(), none()}
	list[0].Writes = []string{"a.*"}
	list[1].Perceives = []string{"a.b"}
	return list
}

func took(n int) chain.Times { return chain.Times{Took: time.Duration(n)} }

// A wave waits for the turn that took longest with its waits at gates, which are no model time.
func TestWaits(t *testing.T) {
	p, err := chain.New(classes())
	if err != nil {
		t.Fatal(err)
	}
	waits := func(n int, w ...chain.Wait) (t chain.Times) {
		one := chain.Call{Took: time.Duration(n)}
		for _, w := range w {
			one.Passed(w.Gate, 1, w.For)
		}
		t.Add(one)
		return t
	}
	for _, x := range []chain.Turn{
		{Agent: 0, Class: 0, Wave: 1, At: 10, Times: took(3)},
		{Agent: 1, Class: 1, Wave: 1, At: 10, Times: waits(1, chain.Wait{Gate: "local", For: 5}, chain.Wait{Gate: "cloud", For: 1})},
		{Agent: 2, Class: 2, Wave: 2, At: 20, Times: waits(2, chain.Wait{Gate: "cloud", For: 9})},
		{Agent: 0, Class: 0, Wave: 3, At: 30, Times: waits(0, chain.Wait{Gate: "local", For: 4})}, // it failed at the gate
	} {
		p.Add(x)
	}
	s := p.Show()
	if s.Model != 6 || s.Barrier != 7+11+4 || s.Waves != 3 || s.Declared != 3 || s.Longest != 3 {
		t.Errorf("%+v", s)
	}
	if want := []chain.Wait{{"cloud", 10}, {"local", 9}}; !slices.Equal(s.Waits, want) {
		t.Errorf("waits %v, want %v", s.Waits, want)
	}
	if want := []chain.Part{{2, 2, 11, 11}, {0, 3, 4, 4 + 3}, {1, 1, 7, 4}}; !slices.Equal(s.Agents, want) {
		t.Errorf("agents %v, want %v", s.Agents, want)
	}
}

func TestPaths(t *testing.T) {
	p, err := chain.New(classes())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []chain.Turn{
		{Agent: 0, Class: 0, Wave: 1, At: 10, Times: took(3)},
		{Agent: 1, Class: 1, Wave: 1, At: 10, Times: took(1)}, // beside it
		{Agent: 2, Class: 2, Wave: 1, At: 10, Times: took(2)},
		{Agent: 1, Class: 1, Wave: 2, At: 20, Times: took(4)}, // behind 0
		{Agent: 2, Class: 2, Wave: 2, At: 20, Times: took(1)},
		{Agent: 0, Class: 0, Wave: 3, At: 30},                 // asks nobody
		{Agent: 2, Class: 2, Wave: 3, At: 30, Times: took(5)}, // behind itself
	} {
		p.Add(x)
	}
	s := p.Show()
	if s.Model != 16 || s.Barrier != 3+4+5 || s.Waves != 3 || s.Declared != 8 || s.Longest != 8 || s.LongestOf != 2 {
		t.Errorf("%+v", s)
	}
	if want := []chain.Part{{2, 8, 5, 5}, {1, 5, 4, 3}, {0, 3, 3, 1}}; len(s.Agents) != 3 || s.Agents[0] != want[0] || s.Agents[1] != want[1] || s.Agents[2] != want[2] {
		t.Errorf("%+v", s.Agents)
	}
	p.Add(chain.Turn{Agent: 1, Class: 1, Wave: 4, At: 40, Times: took(2)})
	if s = p.Show(); s.Declared != 9 || len(s.Chain) != 2 || s.Chain[0].Agent != 0 || s.Chain[1] != (chain.Part{Agent: 1, Took: 6}) {
		t.Errorf("%+v", s)
	}
}

// The chain as declared is that of the plain definition: the longest path over all pairs of turns.
func TestPathsAgainstAllPairs(t *testing.T) {
	of := classes()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		p, _ := chain.New(of)
		type done struct {
			chain.Turn
			until time.Duration
		}
		var all []done
		var longest, barrier, slowest time.Duration
		for wave := range uint64(12) {
			at := int64(wave) * int64(1+rng.IntN(2)) // some waves have the time of the one before
			if len(all) > 0 {
				at = all[len(all)-1].At + int64(rng.IntN(2))
			}
			slowest = 0
			for o := range uint32(6) {
				if rng.IntN(3) == 0 {
					continue
				}
				x := done{Turn: chain.Turn{Agent: o, Class: int(o) % 3, Wave: wave + 1, At: at, Times: took(rng.IntN(9))}}
				for _, b := range all {
					touch := b.At < at && x.Class == 1 && b.Class == 0
					if b.Agent == o || touch {
						x.until = max(x.until, b.until)
					}
				}
				x.until += x.Took
				longest, slowest = max(longest, x.until), max(slowest, x.Took)
				all = append(all, x)
				p.Add(x.Turn)
			}
			barrier += slowest
		}
		s := p.Show()
		var sum time.Duration
		for _, l := range s.Chain {
			sum += l.Took
		}
		if s.Declared != longest || s.Barrier != barrier || sum != longest {
			t.Fatalf("seed %d: declared %d of %d by %d, barrier %d of %d", seed, s.Declared, longest, sum, s.Barrier, barrier)
		}
	}
}
