// Package criteria has the activation criteria of entries of knowledge bases (agent
// architecture §3.4): their fields in files, and whether they hold in a situation.
//
// An [Activation] is the criteria of one entry. [Compile] compiles them, and a [Set] searches
// for the keywords of many entries at once, so that a turn costs the text at hand and not
// the number of entries. [Compiled.Missed] names the other criterion that does not hold.
//
// # Promises
//
//  1. Equal criteria and situations give equal answers.
//  2. Every criterion that does not hold has a name and a reason.
//  3. If no entry sets what is scanned, a situation builds one text only.
//
// # Not here
//
// The choice among entries whose criteria hold: package choose. Bases: package
// knowledge.
package criteria

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// Activation says when an entry applies by itself, without being asked for. Every part that
// is given must hold; an empty Activation never activates.
type Activation struct {
	Always          bool     `json:"always,omitempty"`
	Keywords        []string `json:"keywords,omitempty"`         // any of them occurs in the text at hand
	AllKeywords     []string `json:"all_keywords,omitempty"`     // every one of them occurs
	AlsoKeywords    []string `json:"also_keywords,omitempty"`    // any of them occurs, too
	NotAllKeywords  []string `json:"not_all_keywords,omitempty"` // at least one of them does not occur
	ExcludeKeywords []string `json:"exclude_keywords,omitempty"` // none of them occurs
	Patterns        []string `json:"patterns,omitempty"`         // regular expressions (RE2), as good as keywords
	WholeWords      *bool    `json:"whole_words,omitempty"`      // keywords do not occur inside words; nil = true
	Similar         *Similar `json:"similar,omitempty"`
	Scan            *Scan    `json:"scan,omitempty"`           // the text at hand; nil = the base's
	Tags            []string `json:"tags,omitempty"`           // any of them is a tag of the situation
	EventTypes      []string `json:"event_types,omitempty"`    // any of them is perceived; ".*" at the end matches what follows
	Condition       string   `json:"condition,omitempty"`      // expression over world, self, goals, events, text
	CaseSensitive   bool     `json:"case_sensitive,omitempty"` // of keywords and patterns
	Scope           *Scope   `json:"scope,omitempty"`          // whose; nil = everybody's
	Purposes        []string `json:"purposes,omitempty"`       // of which workflows; nil = of all

	Delay    int64 `json:"delay,omitempty"`    // turns of the agent before it can be active
	Sticky   int64 `json:"sticky,omitempty"`   // turns for which it then stays active
	Cooldown int64 `json:"cooldown,omitempty"` // turns after these in which it cannot be active

	Chance        float64 `json:"chance,omitempty"`         // percent of the turns in which all of that holds; 0 = 100
	Group         string  `json:"group,omitempty"`          // one entry of a group is active
	Weight        int64   `json:"weight,omitempty"`         // of the entry in its group; 0 = 100
	Choose        string  `json:"choose,omitempty"`         // weight, priority, matches: how its group chooses; "" = weight
	OutsideLimit  bool    `json:"outside_limit,omitempty"`  // beside the number of entries that a base activates
	OutsideBudget bool    `json:"outside_budget,omitempty"` // beside their tokens
	Wakes         bool    `json:"wakes,omitempty"`          // its text activates others, too
	WokenBy       string  `json:"woken_by,omitempty"`       // text: not by the texts of entries; "" = by these, too
	Level         int64   `json:"level,omitempty"`          // steps of waking before it can be found

	Slot  string `json:"slot,omitempty"`  // section of the prompt; "" = as its other criteria say
	Order int64  `json:"order,omitempty"` // in its section: lower first
}

// Similar is likeness of texts by their terms, without regard to their order.
type Similar struct {
	To    string  `json:"to,omitempty"` // "" = the entry's own text
	Above float64 `json:"above"`        // cosine, above 0 to 1
}

// Scope says whose prompts an entry may stand in: each list that is given names the agent.
type Scope struct {
	Profiles []string `json:"profiles,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	Agents   []string `json:"agents,omitempty"` // instance ids, or names
	Places   []string `json:"places,omitempty"` // where it is
	Except   bool     `json:"except,omitempty"` // of all others
}

// Defaults hold for the entries of a base together.
type Defaults struct {
	Limit      int   `json:"limit,omitempty"`       // entries; 0 = 10
	Tokens     int   `json:"tokens,omitempty"`      // of their contents; 0 = any number
	MinEntries int   `json:"min_entries,omitempty"` // with fewer the history is searched further back
	MaxSteps   int   `json:"max_steps,omitempty"`   // how often texts wake others; 0 = 3
	Scan       *Scan `json:"scan,omitempty"`        // of entries that do not say it; nil = events and goals
}

// WokenByText is the one value of WokenBy.
const WokenByText = "text"

// Slots are the sections of a prompt in which an entry can stand.
func Slots() []string { return []string{"rules", "constant", "knowledge", "instruction"} }

// Compiled are criteria made ready. They are immutable.
type Compiled struct {
	*Activation
	when     *expr.Program
	patterns []*regexp.Regexp
	like     *words.Print // of Similar
	above    int64        // thousandths
}

// conditionRoots are what conditions read.
func conditionRoots() []string { return []string{"world", "self", "goals", "events", "text"} }

// Compile makes checked criteria ready; own is the text of their entry.
func Compile(a *Activation, own string) *Compiled {
	c := &Compiled{Activation: a}
	if a.Condition != "" {
		c.when, _ = expr.Compile(a.Condition, conditionRoots()...) // checked
	}
	for _, p := range a.Patterns {
		c.patterns = append(c.patterns, regexp.MustCompile(a.pattern(p)))
	}
	if s := a.Similar; s != nil {
		if s.To != "" {
			own = s.To
		}
		print := words.NewPrint(own, &words.Stemmer{})
		c.like, c.above = &print, int64(s.Above*1000+0.5)
	}
	return c
}

// pattern is the regular expression of a pattern.
func (a *Activation) pattern(p string) string {
	if a.CaseSensitive || strings.HasPrefix(p, "(?") {
		return p
	}
	return "(?i)" + p
}

// Empty reports criteria that never hold: without any, or with exclusions only.
func (a *Activation) Empty() bool {
	return !a.Always && a.Similar == nil && len(a.Keywords)+len(a.AlsoKeywords)+len(a.AllKeywords)+len(a.Patterns)+len(a.Tags)+len(a.EventTypes) == 0 && a.Condition == ""
}

// Imposes reports criteria that put an entry before others, keep it, or do without keywords.
func (a *Activation) Imposes() bool {
	return a.Always || a.Group != "" || a.OutsideLimit || a.OutsideBudget || len(a.Patterns) > 0 || a.inside() ||
		a.Similar != nil || a.Scan != nil || a.Sticky > 0 || a.Slot != "" || a.Order != 0 || len(a.Keywords)+len(a.AllKeywords) == 0
}

// Timed reports criteria that need to know when their entry was active.
func (a *Activation) Timed() bool { return a.Sticky+a.Cooldown > 0 }

// Matches reports whether a pattern matches, or whether there is no keyword and no pattern.
func (c *Compiled) Matches(text string) bool {
	if len(c.Keywords)+len(c.Patterns) == 0 {
		return true
	}
	return slices.ContainsFunc(c.patterns, func(p *regexp.Regexp) bool { return p.MatchString(text) })
}

// Situation is what criteria are held against.
type Situation struct {
	Text       string   // at hand: what is heard, and open goals
	Sources    *Sources // of scans; nil = there are none
	Tags       []string // of the place, the scene, the agent
	EventTypes []string // perceived
	World      any      // roots of conditions: world, self, goals, events, text
	Self       any
	Goals      []any
	Events     []any
	Draw       protocol.Draw // of the turn, for chance
	Now        protocol.Time // 0 = entries are valid at all times, and everything is as recent
	Limit      int           // 0 = the base's; more than its most is that
	Vector     vector.Vector // of Text, for a base with vectors

	// Near is the cosine of Vector with what an entry has to be like, in millionths; false = there is
	// none. nil = words decide what is similar.
	Near func(id string) (int64, bool)

	Who     Who
	Purpose string // of the workflow; "" = any
	Turn    uint64 // of the agent; 0 = delays do not count
	Kept    Kept   // of the base at hand
}

// Who is whose prompt it is.
type Who struct {
	Instance, Name, Profile string
	Roles, Places           []string
}

// Lookup resolves the roots of conditions.
func (s *Situation) Lookup(root string) (any, bool) {
	switch root {
	case "text":
		return s.Text, true
	case "world":
		return s.World, true
	case "self":
		return s.Self, true
	case "goals":
		return s.Goals, true
	case "events":
		return s.Events, true
	}
	return nil, false
}

// Missed says which criterion beyond keywords does not hold at a step of waking; "" = all
// do. A condition that fails does not hold, and err says why.
func (c *Compiled) Missed(s *Situation, id, text string, step int) (why string, err error) {
	if c.Empty() {
		return "no criterion that can hold", nil
	}
	if why = c.barred(s, id); why != "" {
		return why, nil
	}
	switch {
	case step < int(c.Level):
		return "level: only entries wake it, from step " + itoa(uint64(c.Level)) + " on", nil
	case len(c.Tags) > 0 && !slices.ContainsFunc(c.Tags, func(t string) bool { return slices.Contains(s.Tags, t) }):
		return "tags: none is one of the situation", nil
	case len(c.EventTypes) > 0 && !slices.ContainsFunc(c.EventTypes, s.perceived):
		return "event_types: none is perceived", nil
	}
	if why = c.unlike(s, id, text); why != "" {
		return why, nil
	}
	if c.when == nil {
		return "", nil
	}
	ok, err := c.when.EvalBool(s)
	if err != nil || !ok {
		why = "condition: false"
	}
	return why, err
}

// barred says what keeps an entry out whatever it is activated by.
func (c *Compiled) barred(s *Situation, id string) string {
	switch {
	case c.Scope != nil && !c.Scope.has(&s.Who):
		return "scope: not for this agent"
	case len(c.Purposes) > 0 && s.Purpose != "" && !slices.Contains(c.Purposes, s.Purpose):
		return "purposes: not for " + s.Purpose
	case s.Turn > 0 && s.Turn <= uint64(c.Delay):
		return "delay: from turn " + itoa(uint64(c.Delay)+1) + " on"
	}
	if k := s.Kept.of(id); k != nil && s.Turn > k.Stays && s.Turn <= k.Rests {
		return "cooldown: until turn " + itoa(k.Rests)
	}
	return ""
}

// Stays reports an entry that stays active, because it was before.
func (c *Compiled) Stays(s *Situation, id string) bool {
	k := s.Kept.of(id)
	return k != nil && s.Turn > k.Since && s.Turn <= k.Stays && c.barred(s, id) == ""
}

func (s *Situation) perceived(pattern string) bool {
	prefix, wild := strings.CutSuffix(pattern, ".*")
	return slices.ContainsFunc(s.EventTypes, func(t string) bool {
		return t == pattern || wild && strings.HasPrefix(t, prefix+".") && len(t) > len(prefix)+1
	})
}

// has reports whether a scope has an agent.
func (s *Scope) has(w *Who) bool {
	any := func(list []string, of ...string) bool {
		return len(list) == 0 || slices.ContainsFunc(of, func(x string) bool { return x != "" && slices.Contains(list, x) })
	}
	in := any(s.Profiles, w.Profile) && any(s.Agents, w.Instance, w.Name) && any(s.Roles, w.Roles...) && any(s.Places, w.Places...)
	return in != s.Except
}

// maxLines bounds how many lines of a text are compared.
const maxLines = 64

// unlike says why the text is not similar; "" = it is, or need not be. By vectors the text at hand is
// compared as a whole; without them each line of what the entry scans, by its words.
func (c *Compiled) unlike(s *Situation, id, text string) string {
	if c.like == nil {
		return ""
	}
	if s.Near != nil {
		if cosine, ok := s.Near(id); ok {
			if cosine >= c.above*1000 {
				return ""
			}
			return fmt.Sprintf("similar: the vectors have the cosine 0.%03d", max(cosine, 0)/1000)
		}
	}
	if !c.alike(text) {
		return "similar: no line is as like it"
	}
	return ""
}

// alike reports whether a line of the text is as like the entry as it wants.
func (c *Compiled) alike(text string) bool {
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > maxLines {
			return false
		}
		print := words.NewPrint(line, &words.Stemmer{})
		if c.like.Near(&print, c.above) {
			return true
		}
	}
	return false
}
