// Package memories shows the memory of an agent (docs/formats/memory.md), as a
// part of the view of that agent.
package memories

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/secret"
)

// View is what one agent remembers.
type View struct {
	Episodes  []Remembered    `json:"episodes"`                  // newest first
	Summary   string          `json:"summary,omitempty"`         // of what the history has lost
	Reflected *LastReflection `json:"last_reflection,omitempty"` // of an agent that reflects unasked
}

// Remembered is an episode.
type Remembered struct {
	Turn       uint64 `json:"turn"`
	Time       string `json:"time"`
	Importance int64  `json:"importance"`
	Text       string `json:"text"`
}

// LastReflection says when an agent reflected last, and what happened since.
type LastReflection struct {
	Turn       uint64 `json:"turn"`
	Today      int64  `json:"today"` // on the day of the scene of the last one
	Turns      int64  `json:"turns_since"`
	Failures   int64  `json:"failures_in_a_row"`
	Importance int64  `json:"importance_since"`
}

// Of is what an agent remembers; nil = its profile has no memory.
func Of(m *agent.Machine) *View {
	r := m.Def.Memory
	if r == nil {
		return nil
	}
	v := &View{Episodes: []Remembered{}, Summary: secret.Text(m.State.Mind().Summary())}
	for _, e := range slices.Backward(m.State.Mind().Episodes()) {
		v.Episodes = append(v.Episodes, Remembered{e.Turn, e.At.String(), e.Importance, secret.Text(e.Text)})
	}
	if x := m.State.Mind().Since(); r.Reflect != nil {
		v.Reflected = &LastReflection{x.Turn, x.Count, x.Turns, x.Failures, x.Importance}
	}
	return v
}

// Part is a section of the page of an agent.
type Part struct {
	Head  string
	Lines []string
}

// maxShown is how many episodes the page shows.
const maxShown = 20

// Parts are the sections of the page; since writes a time.
func (v *View) Parts(since func(at string) string) []Part {
	parts := []Part{{Head: "SUMMARY"}, {Head: "EPISODES"}, {Head: "REFLECTION"}}
	if v.Summary != "" {
		parts[0].Lines = strings.Split(strings.TrimSpace(v.Summary), "\n")
	}
	for _, e := range v.Episodes[:min(len(v.Episodes), maxShown)] {
		parts[1].Lines = append(parts[1].Lines, fmt.Sprintf("%10s  %d  %s", since(e.Time), e.Importance, e.Text))
	}
	if n := len(v.Episodes) - maxShown; n > 0 {
		parts[1].Lines = append(parts[1].Lines, fmt.Sprintf("and %d older; all with --json", n))
	}
	if r := v.Reflected; r != nil {
		last := "never"
		if r.Turn > 0 {
			last = fmt.Sprintf("last in turn %d", r.Turn)
		}
		parts[2].Lines = []string{fmt.Sprintf("%s; since then %d turns, importance %d, failures in a row %d", last, r.Turns, r.Importance, r.Failures)}
	}
	return parts
}
