// Package choose decides which of the entries whose criteria hold enter a prompt: by
// chance, by groups that give one entry, and by number (agent architecture §3.4).
//
// # Promises
//
//  1. Equal candidates and draws give equal choices, whatever the order of the candidates.
//  2. Every candidate that is left out has a reason.
package choose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Candidate is an entry whose criteria hold.
type Candidate struct {
	ID       string
	Priority float64
	Chance   float64 // percent; 0 = 100
	Group    string  // of which one stands, or several with commas between them; "" = none
	Weight   int64   // within the group, for [ByWeight]; 0 = 100
	By       string  // how its group chooses; "" = ByWeight
	Outside  bool    // stands beside the limit
	Matches  int     // keywords that occur, for [ByMatches]
	Stays    bool    // was active before: neither its chance nor its group puts it out
	Tokens   int     // of its text
	Exempt   bool    // stands beside the tokens

	Why string // it is out; "" = it is in
}

// How a group chooses.
const (
	ByWeight   = "weight"   // by chance
	ByPriority = "priority" // the highest, of these the first by id
	ByMatches  = "matches"  // by chance, of those of which the most keywords occur
)

// DefaultWeight and DefaultChance are those of a candidate that says nothing.
const (
	DefaultWeight = 100
	DefaultChance = 100
)

// Drawn reports whether the chance of a candidate comes true. The draw is that of the turn.
func (c *Candidate) Drawn(draw protocol.Draw) bool {
	chance := cmp.Or(c.Chance, DefaultChance)
	one := draw.Sub(protocol.HashString(c.ID))
	if c.Stays || chance >= DefaultChance || float64(one.Uint64()%1_000_000) < chance*10_000 {
		return true
	}
	c.Why = fmt.Sprintf("chance: %v %%", chance)
	return false
}

// Bounds are those of the candidates that stand.
type Bounds struct {
	Limit  int
	Tokens int // 0 = any number
}

// Choose sorts the candidates by priority (higher first) and id, and says of each that is
// out why. Of each group one stands, and who is in several has to stand in each: a group, by
// name, chooses among those that the groups before it left; of those that are left, the first limit. One that has
// more tokens than are left is out, and a smaller one behind it may stand.
func Choose(list []Candidate, b Bounds, draw protocol.Draw) {
	slices.SortFunc(list, compare)
	groups := map[string][]int{}
	for i := range list {
		for name := range strings.SplitSeq(list[i].Group, ",") {
			if name = strings.TrimSpace(name); name != "" {
				groups[name] = append(groups[name], i)
			}
		}
	}
	for _, name := range protocol.SortedKeys(groups) {
		members := slices.DeleteFunc(groups[name], func(i int) bool { return list[i].Why != "" })
		if len(members) == 0 {
			continue
		}
		won := winner(list, members, draw.Sub(protocol.HashString("group "+name)))
		for _, i := range members {
			if i != won {
				list[i].Why = fmt.Sprintf("group %s: %s stands", name, list[won].ID)
			}
		}
	}
	n, tokens := 0, 0
	for i := range list {
		c := &list[i]
		if c.Why != "" {
			continue
		}
		if !c.Outside && n == b.Limit {
			c.Why = fmt.Sprintf("limit: %d entries of this base", b.Limit)
			continue
		}
		if !c.Exempt && b.Tokens > 0 {
			if tokens+c.Tokens > b.Tokens {
				c.Why = fmt.Sprintf("tokens: %d, and %d of %d are left", c.Tokens, b.Tokens-tokens, b.Tokens)
				continue
			}
			tokens += c.Tokens
		}
		if !c.Outside {
			n++
		}
	}
}

func compare(x, y Candidate) int {
	return cmp.Or(cmp.Compare(y.Priority, x.Priority), strings.Compare(x.ID, y.ID))
}

// winner is the member of a group that stands. One that stays comes before all, and one
// that wants to be chosen by priority before those that do not.
func winner(list []Candidate, members []int, draw protocol.Draw) int {
	for _, i := range members {
		if list[i].Stays {
			return i
		}
	}
	members = most(list, members)
	total := uint64(0)
	for _, i := range members {
		if list[i].By == ByPriority {
			return i
		}
		total += uint64(cmp.Or(list[i].Weight, DefaultWeight))
	}
	at := draw.Uint64() % total
	for _, i := range members {
		w := uint64(cmp.Or(list[i].Weight, DefaultWeight))
		if at < w {
			return i
		}
		at -= w
	}
	return members[0] // cannot happen: at is below the sum
}

// most are the members that are left when one of them wants to be chosen by matches and none
// by priority.
func most(list []Candidate, members []int) []int {
	by, best := false, 0
	for _, i := range members {
		if list[i].By == ByPriority {
			return members
		}
		by, best = by || list[i].By == ByMatches, max(best, list[i].Matches)
	}
	if !by {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), func(i int) bool { return list[i].Matches < best })
}
