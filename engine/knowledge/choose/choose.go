// Package choose decides which of the entries whose criteria hold stand in a prompt: by
// chance, by groups of which one stands, and by number (agent architecture §3.4).
//
// # Promises
//
//  1. Equal candidates and draws give equal choices, in whatever order the candidates come.
//  2. Every candidate is in or has the reason why it is out.
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
	Group    string  // of which one stands; "" = none
	Weight   int64   // within the group, for [ByWeight]; 0 = 100
	By       string  // how its group chooses; "" = ByWeight
	Outside  bool    // stands beside the limit

	Why string // it is out; "" = it is in
}

// How a group chooses.
const (
	ByWeight   = "weight"   // by chance
	ByPriority = "priority" // the highest, of these the first by id
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
	if chance >= DefaultChance || float64(one.Uint64()%1_000_000) < chance*10_000 {
		return true
	}
	c.Why = fmt.Sprintf("chance: %v %%", chance)
	return false
}

// Choose sorts the candidates by priority (higher first) and id, and says of each that is
// out why. Of each group one stands; of those that are left, the first limit.
func Choose(list []Candidate, limit int, draw protocol.Draw) {
	slices.SortFunc(list, compare)
	groups := map[string][]int{}
	for i := range list {
		if g := list[i].Group; g != "" && list[i].Why == "" {
			groups[g] = append(groups[g], i)
		}
	}
	for _, name := range protocol.SortedKeys(groups) {
		members := groups[name]
		won := winner(list, members, draw.Sub(protocol.HashString("group "+name)))
		for _, i := range members {
			if i != won {
				list[i].Why = fmt.Sprintf("group %s: %s stands", name, list[won].ID)
			}
		}
	}
	n := 0
	for i := range list {
		if list[i].Why != "" || list[i].Outside {
			continue
		}
		if n++; n > limit {
			list[i].Why = fmt.Sprintf("limit: %d entries of this base", limit)
		}
	}
}

func compare(x, y Candidate) int {
	return cmp.Or(cmp.Compare(y.Priority, x.Priority), strings.Compare(x.ID, y.ID))
}

// winner is the member of a group that stands. One that wants to be chosen by priority
// comes before those that do not.
func winner(list []Candidate, members []int, draw protocol.Draw) int {
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
