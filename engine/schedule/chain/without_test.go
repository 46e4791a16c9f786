package chain_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tavernsim/engine/schedule"
	"tavernsim/engine/schedule/chain"
)

// asked is a call of the plain model: it waits for a place of its gate, and then takes some ticks.
type asked struct{ gate, took int }

// play is how long each call of a wave waits, and when the wave is over. All turns begin at 0 and ask one thing
// after the other; whoever comes first in the list gets a free place. It goes from tick to tick.
func play(turns [][]asked, places []int, without int) (waits [][]int, over int) {
	at, out, left := make([]int, len(turns)), make([]int, len(turns)), len(turns)
	waits = make([][]int, len(turns))
	for i, t := range turns {
		waits[i] = make([]int, len(t))
		if i == without || len(t) == 0 {
			at[i], left = len(t), left-1
		}
	}
	free := append([]int(nil), places...)
	for tick := 0; left > 0; tick++ {
		for i, t := range turns {
			if out[i] > 0 {
				if out[i]--; out[i] == 0 {
					free[t[at[i]].gate]++
					if at[i]++; at[i] == len(t) {
						left--
						over = tick
					}
				}
			}
		}
		for i, t := range turns {
			switch {
			case at[i] == len(t) || out[i] > 0:
			case free[t[at[i]].gate] > 0:
				free[t[at[i]].gate]--
				out[i] = t[at[i]].took
			default:
				waits[i][at[i]]++
			}
		}
	}
	return waits, over
}

func none(t testing.TB) *chain.Paths {
	p, err := chain.New([]schedule.Class{{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// add gives a wave of the plain model to the paths.
func add(p *chain.Paths, wave uint64, turns [][]asked, places []int) (over int) {
	waits, over := play(turns, places, -1)
	for i, t := range turns {
		x := chain.Turn{Agent: uint32(i), Wave: wave, At: int64(wave)}
		for n, c := range t {
			one := chain.Call{Took: time.Duration(c.took)}
			one.Passed(fmt.Sprint("g", c.gate), places[c.gate], time.Duration(waits[i][n]))
			x.Add(one)
		}
		p.Add(x)
	}
	return over
}

// What a run would be shorter without an agent is what it is in a run without its calls, as long as a turn asks
// once: calls leave in the order of the list, whatever they wait for.
func TestWithoutAnAgent(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := none(t)
		saves := make([]int, 1+rng.IntN(20))
		for wave := range uint64(1 + rng.IntN(3)) {
			places := []int{1 + rng.IntN(5), 1 + rng.IntN(2)}
			turns := make([][]asked, len(saves))
			for i := range turns {
				if rng.IntN(8) > 0 {
					turns[i] = []asked{{rng.IntN(8) / 7, 1 + rng.IntN(1+rng.IntN(40))}}
				}
			}
			over := add(p, wave+1, turns, places)
			for i := range saves {
				_, less := play(turns, places, i)
				saves[i] += over - less
			}
		}
		for _, a := range p.Show().Agents {
			if want := max(0, saves[a.Agent]); a.Saves != time.Duration(want) {
				t.Fatalf("seed %d: without %d it would be %d shorter, want %d of %v", seed, a.Agent, a.Saves, want, saves)
			}
		}
	}
}

// With several calls a turn it is near: calls leave in the order in which they did.
func TestWithoutAnAgentOfManyCalls(t *testing.T) {
	var said, want, far float64
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p, places := none(t), []int{1 + rng.IntN(4)}
		turns := make([][]asked, 6+rng.IntN(10))
		for i := range turns {
			for range 1 + rng.IntN(5) {
				turns[i] = append(turns[i], asked{0, 1 + rng.IntN(30)})
			}
		}
		over := add(p, 1, turns, places)
		for _, a := range p.Show().Agents {
			_, less := play(turns, places, int(a.Agent))
			said, want = said+float64(a.Saves), want+float64(over-less)
			far += max(float64(a.Saves)-float64(over-less), float64(over-less)-float64(a.Saves))
		}
	}
	t.Logf("%.0f of %.0f ticks, %.0f of them elsewhere", said, want, far)
	if said < 0.9*want || said > 1.1*want {
		t.Errorf("together %.0f ticks, want about %.0f", said, want)
	}
}

// What a wave without an agent costs grows with its turns, too: most of them may have passed no gate.
func TestWithoutAnAgentOfManyTurns(t *testing.T) {
	const n = 3000
	p := none(t)
	for i := range n {
		one := chain.Call{Took: time.Duration(1 + i)}
		if i < 2 { // the second waits for the first
			one = chain.Call{Took: n}
			one.Passed("g", 1, time.Duration(n*i))
		}
		x := chain.Turn{Agent: uint32(i), Wave: 1, At: 1}
		x.Add(one)
		p.Add(x)
	}
	if s := p.Show(); s.Agents[0].Saves <= 0 || chain.Turns(p) > 9*n {
		t.Errorf("%d turns: %d looked at, and %s less without the first", n, chain.Turns(p), s.Agents[0].Saves)
	}
}

// A wave of many turns is played again for few of its agents, and a wave of very many for none: all that
// costs is in proportion to the calls.
func TestWithoutAnAgentIsBounded(t *testing.T) {
	for _, n := range []int{3000, chain.MaxCalls + 1} {
		p := none(t)
		places, rng := 50, rand.New(rand.NewPCG(uint64(n), 3))
		free := make([]int, places) // when
		for i := range n {
			first := 0
			for k := range free {
				if free[k] < free[first] {
					first = k
				}
			}
			one := chain.Call{Took: time.Duration(1 + rng.IntN(1000))}
			one.Passed("g", places, time.Duration(free[first]))
			free[first] += int(one.Took)
			x := chain.Turn{Agent: uint32(i), Wave: 1, At: 1}
			x.Add(one)
			p.Add(x)
		}
		s := p.Show()
		if least, calls := s.Agents[0].Saves, chain.Calls(p); least <= 0 || calls > 9*n {
			t.Errorf("%d calls: %d played again, and %s less without the first", n, calls, least)
		}
	}
}
