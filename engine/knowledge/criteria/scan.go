package criteria

import (
	"fmt"
	"strings"
)

// Scan says which texts are at hand for the keywords of an entry, each as "who: text".
type Scan struct {
	Events       bool     `json:"events,omitempty"`       // what is heard in this turn
	History      int      `json:"history,omitempty"`      // so many entries of the interaction history, the newest
	Goals        bool     `json:"goals,omitempty"`        // descriptions of open goals
	Observations bool     `json:"observations,omitempty"` // what the agent observes
	Self         []string `json:"self,omitempty"`         // texts at paths of the private state
	World        []string `json:"world,omitempty"`        // texts at paths of the world
}

// Bounds of scans.
const (
	MaxHistory = 100
	MaxPaths   = 16
	maxAt      = 64 << 10 // bytes of the texts at a path
	MostBack   = 64       // entries of the history that min_entries looks back
)

// Line is what somebody said, or what a place holds.
type Line struct{ Who, Text string }

// Sources are the texts that scans name.
type Sources struct {
	Events, History, Goals, Observations []Line // history: oldest first
	Self, World                          func(path string) string
}

// Text is the text of a scan. A nil scan has the text at hand, to which further back entries
// of the history are added.
func (s *Situation) ScanText(scan *Scan, back int) string {
	if scan == nil && back == 0 || s.Sources == nil {
		return s.Text
	}
	var b strings.Builder
	src := s.Sources
	from := 0
	if scan == nil {
		b.WriteString(s.Text)
	} else {
		from = scan.History
		add(&b, scan.Events, src.Events)
	}
	from = min(from+back, len(src.History))
	add(&b, true, src.History[len(src.History)-from:])
	if scan == nil {
		return b.String()
	}
	add(&b, scan.Goals, src.Goals)
	add(&b, scan.Observations, src.Observations)
	paths(&b, scan.Self, src.Self)
	paths(&b, scan.World, src.World)
	return b.String()
}

func add(b *strings.Builder, on bool, list []Line) {
	if !on {
		return
	}
	for _, l := range list {
		if l.Who != "" {
			b.WriteString(l.Who + ": ")
		}
		b.WriteString(l.Text + "\n")
	}
}

func paths(b *strings.Builder, list []string, at func(string) string) {
	if at == nil {
		return
	}
	for _, p := range list {
		text := at(p)
		b.WriteString(p + ": " + text[:min(len(text), maxAt)] + "\n")
	}
}

// key tells scans apart.
func (s *Scan) key() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%v %d %v %v %q %q", s.Events, s.History, s.Goals, s.Observations, s.Self, s.World)
}
