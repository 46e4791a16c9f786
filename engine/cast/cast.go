// Package cast has the selectors of agents of a scene, the rights of agents over others,
// and the requests of directors to the scene.
//
// # Promises
//
//  1. [Selector.String] writes the text that [Parse] read.
//  2. Whether a selector matches an agent depends on the two alone, and on the place of the agent.
//
// Scenes/load/setup knows the agents of a scene; scenes/machines carries out the requests of
// directors.
package cast

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Member is an agent as selectors see it.
type Member struct {
	Instance, Profile string
	Roles             []string
	Place             string // where it is now; "" = in none
}

// Selector means some agents of a scene; see [Parse].
type Selector struct {
	by   string // "" = the instance; role, profile, place, everybody
	name string
}

const (
	byRole    = "role"
	byProfile = "profile"
	byPlace   = "place"
	everybody = "*"
)

// MaxSelectors bounds a list of selectors.
const MaxSelectors = 1000

// Grammar is what Parse takes, for messages and pages.
const Grammar = "an instance id, role:ROLE, profile:PROFILE, place:PLACE or *"

// Parse reads a selector: "role:" and a role, "profile:" and the id of a profile, "place:" and
// the name of a place, "*", which means every agent, or an instance id, which is everything else.
func Parse(text string) (Selector, error) {
	if text == everybody {
		return Selector{by: everybody}, nil
	}
	by, name, _ := strings.Cut(text, ":")
	switch by {
	case byRole, byProfile, byPlace:
		if name != "" {
			return Selector{by: by, name: name}, nil
		}
	}
	if text == "" || text == by+":" {
		return Selector{}, protocol.Errorf(protocol.KindInvalid, "the selector %q: want %s", text, Grammar)
	}
	return Selector{name: text}, nil
}

// Changes says why a selector cannot stand where it must mean the same agents all the time; "" =
// it can.
func Changes(text string) string {
	if s, err := Parse(text); err == nil && s.by == byPlace {
		return "the selector \"" + text + "\": who is in a place changes; want an instance id, role:ROLE, profile:PROFILE or *"
	}
	return ""
}

// Named are the selectors of one agent.
func Named(instance string) Selectors { return Selectors{{name: instance}} }

// All are the selectors of every agent.
func All() Selectors { return Selectors{{by: everybody}} }

// ParseAll reads a list of selectors.
func ParseAll(texts []string) (Selectors, error) {
	if len(texts) > MaxSelectors {
		return nil, protocol.Errorf(protocol.KindLimit, "%d selectors; want at most %d", len(texts), MaxSelectors)
	}
	list := make(Selectors, len(texts))
	for i, text := range texts {
		var err error
		if list[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// String is the text of a selector.
func (s Selector) String() string {
	switch s.by {
	case "":
		return s.name
	case everybody:
		return everybody
	}
	return s.by + ":" + s.name
}

// Instance is the id of the one agent that the selector means; false = it names none.
func (s Selector) Instance() (string, bool) { return s.name, s.by == "" }

// Place is the place whose agents the selector means; false = it means others.
func (s Selector) Place() (string, bool) { return s.name, s.by == byPlace }

// Matches reports whether the selector means an agent.
func (s Selector) Matches(m *Member) bool {
	switch s.by {
	case "":
		return s.name == m.Instance
	case byRole:
		return slices.Contains(m.Roles, s.name)
	case byProfile:
		return s.name == m.Profile
	case byPlace:
		return s.name == m.Place
	}
	return s.by == everybody
}

// Selectors mean every agent that one of them means.
type Selectors []Selector

// String lists the selectors.
func (list Selectors) String() string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = s.String()
	}
	return strings.Join(texts, ", ")
}

// ByPlace reports whether one of the selectors means the agents of a place.
func (list Selectors) ByPlace() bool {
	return slices.ContainsFunc(list, func(s Selector) bool { return s.by == byPlace })
}

// Match reports whether one of the selectors means an agent.
func (list Selectors) Match(m *Member) bool {
	return slices.ContainsFunc(list, func(s Selector) bool { return s.Matches(m) })
}

// maxRole bounds the name of a role, in bytes.
const maxRole = 200

// CheckRole says what is wrong with the name of a role; "" = nothing.
func CheckRole(name string) string {
	switch {
	case name == "" || len(name) > maxRole:
		return "has no letter or more than 200 bytes"
	case strings.ContainsAny(name, ":* \t\n,"):
		return "has a colon, a star, a comma or a space"
	}
	return ""
}
