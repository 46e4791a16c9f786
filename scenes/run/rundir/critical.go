package rundir

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"tavernsim/engine/schedule/chain"
)

// CriticalPath says which calls of models made a scene as long as it was. Times are seconds.
type CriticalPath struct {
	Model    float64 `json:"model_seconds"`              // of all calls
	Critical float64 `json:"seconds"`                    // of the slowest turn of each wave, with its waits
	Waited   float64 `json:"waited_seconds,omitempty"`   // of these, at the gates of endpoints: for a place, or for the next attempt
	Waves    int64   `json:"waves"`                      // that waited for a call
	Declared float64 `json:"declared_seconds,omitempty"` // of the longest chain of turns that wait for one another by what the profiles declare; 0 = it was not looked for
	Longest  float64 `json:"longest_seconds"`            // of the own calls of one agent
	Of       string  `json:"longest_agent"`

	Gates    []PathWait  `json:"gates,omitempty"` // at most 50, the longest first: where it waited
	Agents   []PathPart  `json:"agents"`          // at most 50, those without which the run would be shortest first
	Profiles []PathPart  `json:"profiles"`        // at most 50
	Chain    []ChainPart `json:"chain,omitempty"` // the declared one, at most 50 parts, the longest
}

// PathPart is what an agent or a profile has of it.
type PathPart struct {
	Name     string  `json:"name"`
	Profile  string  `json:"profile,omitempty"`       // of an agent
	Critical float64 `json:"seconds"`                 // by turns that were the slowest of their waves
	Model    float64 `json:"model_seconds"`           // by all
	Saves    float64 `json:"saves_seconds,omitempty"` // of an agent: as much less without it, at the barrier
}

// PathWait is how long turns on the path waited at the gate of an endpoint.
type PathWait struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// ChainPart is a part of a chain in which one agent acts.
type ChainPart struct {
	Agent   string  `json:"agent"`
	Seconds float64 `json:"seconds"`
	Place   int     `json:"place"` // in the chain, from 1
}

const mostParts = 50

// Summary reads what the last process of the run has left; nil = there is none.
func (o *Opened) Summary() (*Summary, error) {
	s, err := readSummary(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, err
}

// Critical says it with the names of agents and profiles; nil = no call was waited for.
func Critical(s *chain.Shown, name, profile func(ordinal uint32) string) *CriticalPath {
	if s == nil || s.Model <= 0 && s.Barrier <= 0 {
		return nil
	}
	c := &CriticalPath{Model: s.Model.Seconds(), Critical: s.Barrier.Seconds(), Waves: s.Waves, Declared: s.Declared.Seconds(), Longest: s.Longest.Seconds(), Of: name(s.LongestOf)}
	for i, w := range s.Waits {
		c.Waited += w.For.Seconds()
		if i < mostParts {
			c.Gates = append(c.Gates, PathWait{w.Gate, w.For.Seconds()})
		}
	}
	type sums struct{ critical, model time.Duration }
	by := map[string]sums{}
	for i, a := range s.Agents {
		p := by[profile(a.Agent)]
		by[profile(a.Agent)] = sums{p.critical + a.Barrier, p.model + a.Took}
		if i < mostParts {
			c.Agents = append(c.Agents, PathPart{name(a.Agent), profile(a.Agent), a.Barrier.Seconds(), a.Took.Seconds(), a.Saves.Seconds()})
		}
	}
	for id, p := range by {
		c.Profiles = append(c.Profiles, PathPart{Name: id, Critical: p.critical.Seconds(), Model: p.model.Seconds()})
	}
	slices.SortFunc(c.Profiles, func(a, b PathPart) int {
		return cmp.Or(cmp.Compare(b.Critical, a.Critical), cmp.Compare(b.Model, a.Model), cmp.Compare(a.Name, b.Name))
	})
	c.Profiles = c.Profiles[:min(len(c.Profiles), mostParts)]
	for i, p := range s.Chain {
		c.Chain = append(c.Chain, ChainPart{name(p.Agent), p.Took.Seconds(), i + 1})
	}
	if len(c.Chain) > mostParts {
		slices.SortStableFunc(c.Chain, func(a, b ChainPart) int { return cmp.Compare(b.Seconds, a.Seconds) })
		c.Chain = c.Chain[:mostParts]
		slices.SortFunc(c.Chain, func(a, b ChainPart) int { return cmp.Compare(a.Place, b.Place) })
	}
	return c
}
