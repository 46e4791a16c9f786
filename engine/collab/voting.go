package collab

import (
	"fmt"
	"math"
	"slices"

	"tavernsim/protocol"
)

// Methods of counting.
const (
	Plurality = "plurality" // a ballot is one option
	Approval  = "approval"  // a list of options, each once
	Score     = "score"     // an object: a whole number for each option
	Borda     = "borda"     // a list, the best first: of n options the best gets n-1 points
	Condorcet = "condorcet" // a list, the best first: two points for each option beaten, one for a draw
)

// Methods lists them.
func Methods() []string { return []string{Plurality, Approval, Score, Borda, Condorcet} }

// What becomes of options with equally many points.
const (
	Seeded = "seeded" // the seed of the run draws one
	None   = "none"   // nobody wins
)

// Ties lists them.
func Ties() []string { return []string{Seeded, None} }

// Why nobody won.
const (
	NoQuorum   = "no_quorum"
	NoVotes    = "no_votes"
	NoMajority = "no_majority"
	Tied       = "tie"
)

// Voting says how ballots are counted.
type Voting struct {
	Method   string   `json:"method,omitempty"`
	Options  []string `json:"options,omitempty"`
	Quorum   float64  `json:"quorum,omitempty"`
	Majority float64  `json:"majority,omitempty"`
	Ties     string   `json:"ties,omitempty"`
}

// Fault is what is wrong with a field of rules.
type Fault struct{ Field, Message, Hint string }

// Faults lists what does not go together. That words and numbers are of their range is
// checked where the file is read.
func (v *Voting) Faults() (list []Fault) {
	if n := len(v.Options); n > MaxOptions {
		return []Fault{{"options", fmt.Sprintf("%d options; a voting takes at most %d", n, MaxOptions), ""}}
	}
	if v.ranked() && len(v.Options) == 0 {
		list = append(list, Fault{"options", fmt.Sprintf("the method %s needs the options, because what a ballot leaves out comes last", v.Method), "list them"})
	}
	if v.ranked() && len(v.Options) > MaxRanked {
		list = append(list, Fault{"options", fmt.Sprintf("%d options; the method %s takes at most %d", len(v.Options), v.Method, MaxRanked), ""})
	}
	if v.Majority != 0 && v.Method != "" && v.Method != Plurality && v.Method != Approval {
		list = append(list, Fault{"majority", fmt.Sprintf("the points of the method %s are no votes", v.Method), "take majority out, or count by plurality or approval"})
	}
	for i, o := range v.Options {
		if o == "" || slices.Contains(v.Options[:i], o) {
			list = append(list, Fault{"options", fmt.Sprintf("the option %q is empty or there twice", o), ""})
		}
	}
	return list
}

func (v *Voting) ranked() bool { return v.Method == Borda || v.Method == Condorcet }

// Tally is what ballots came to.
type Tally struct {
	Winner  string // "" = nobody
	Why     string // there is no winner
	Votes   int64  // ballots that count
	Spoiled int64
	Counts  map[string]int64 // points of each option
	Tied    []string         // options with the most points, by name; nil = one alone has them
}

// Value is the tally as expressions read it.
func (t *Tally) Value() map[string]any {
	counts := make(map[string]any, len(t.Counts))
	for name, n := range t.Counts {
		counts[name] = n
	}
	return map[string]any{"winner": orNull(t.Winner), "why": t.Why, "votes": t.Votes, "spoiled": t.Spoiled, "counts": counts, "tied": protocol.ListOf(t.Tied)}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Count counts ballots. asked is how many agents had a vote.
func (v *Voting) Count(ballots []any, asked int, draw protocol.Draw) *Tally {
	t := &Tally{Counts: map[string]int64{}}
	for _, o := range v.Options {
		t.Counts[o] = 0
	}
	var beats [][]int64 // by how many ballots a row is before a column
	if v.Method == Condorcet {
		beats = make([][]int64, len(v.Options))
		for i := range beats {
			beats[i] = make([]int64, len(v.Options))
		}
	}
	for _, b := range ballots {
		if v.one(t, b, beats) {
			t.Votes++
		} else {
			t.Spoiled++
		}
	}
	if v.Method == Condorcet && t.Votes > 0 {
		v.duels(t, beats)
	}
	v.decide(t, len(ballots), asked, draw)
	return t
}

// one counts a ballot; false = it is spoiled.
func (v *Voting) one(t *Tally, ballot any, beats [][]int64) bool {
	switch v.Method {
	case Score:
		return v.scores(t, ballot)
	case Approval, Borda, Condorcet:
		list, ok := ballot.([]any)
		names := make([]string, 0, len(list))
		for _, e := range list {
			name, is := e.(string)
			ok = ok && is && v.offers(name) && !slices.Contains(names, name)
			if !ok {
				return false
			}
			names = append(names, name)
		}
		if len(names) == 0 {
			return false
		}
		v.list(t, names, beats)
		return true
	}
	name, ok := ballot.(string)
	if ok = ok && v.offers(name); ok {
		t.Counts[name]++
	}
	return ok
}

func (v *Voting) offers(name string) bool {
	return name != "" && (len(v.Options) == 0 || slices.Contains(v.Options, name))
}

func (v *Voting) scores(t *Tally, ballot any) bool {
	fields, _ := ballot.(map[string]any)
	for name, e := range fields {
		if n, ok := Whole(e); !ok || n > MaxScore || !v.offers(name) {
			return false
		}
	}
	for name, e := range fields {
		n, _ := Whole(e)
		t.Counts[name] += n
	}
	return len(fields) > 0
}

func (v *Voting) list(t *Tally, names []string, beats [][]int64) {
	switch v.Method {
	case Approval:
		for _, name := range names {
			t.Counts[name]++
		}
	case Borda:
		for i, name := range names {
			t.Counts[name] += int64(len(v.Options) - 1 - i)
		}
	case Condorcet:
		place := make([]int, len(v.Options)) // what is left out shares the last place
		for i, o := range v.Options {
			if place[i] = slices.Index(names, o); place[i] < 0 {
				place[i] = len(v.Options)
			}
		}
		for i := range place {
			for j := range place {
				if place[i] < place[j] {
					beats[i][j]++
				}
			}
		}
	}
}

// duels gives two points for each option that more ballots place behind than before, and one
// for a draw.
func (v *Voting) duels(t *Tally, beats [][]int64) {
	for i, o := range v.Options {
		for j := range v.Options {
			switch {
			case i == j:
			case beats[i][j] > beats[j][i]:
				t.Counts[o] += 2
			case beats[i][j] == beats[j][i]:
				t.Counts[o]++
			}
		}
	}
}

func (v *Voting) decide(t *Tally, answers, asked int, draw protocol.Draw) {
	best := int64(-1)
	var first []string
	for _, name := range protocol.SortedKeys(t.Counts) {
		switch n := t.Counts[name]; {
		case t.Votes == 0:
		case n > best:
			best, first = n, []string{name}
		case n == best:
			first = append(first, name)
		}
	}
	if len(first) > 1 {
		t.Tied = first
	}
	switch {
	case float64(answers) < v.Quorum*float64(asked)-1e-9:
		t.Why = NoQuorum
	case len(first) == 0:
		t.Why = NoVotes
	case v.Majority != 0 && float64(best) <= v.Majority*float64(t.Votes)+1e-9:
		t.Why = NoMajority
	case len(first) > 1 && v.Ties == None:
		t.Why = Tied
	default:
		t.Winner = first[draw.IntN(len(first))]
	}
}

// Whole reads a whole number from 0 to MaxAmount.
func Whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, n >= 0 && n <= MaxAmount
	case float64:
		if n == math.Trunc(n) && n >= 0 && n <= MaxAmount {
			return int64(n), true
		}
	}
	return 0, false
}
