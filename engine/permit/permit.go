// Package permit judges calls of tools by rules: those of a project's tool_policy, and
// those that answer questions about calls.
//
// A [Policy] is the content of a file; [New] compiles it, and [Judge.Judge] gives the [Verdict]
// about a [Call]. A nil Judge allows everything.
//
// # Promises
//
//  1. Deny has precedence over ask, and ask over allow; the order
//     of the rules changes no verdict.
//  2. A call without a matching rule gets the policy's verdict otherwise, which is deny by
//     default. A tool that comes with the program is allowed.
//  3. A parameter is compared as it is given and as it reads with .. resolved (see [Canonical]).
//     A rule that denies or asks fits if one of the two fits, and a rule that allows if both do.
//     A file that read or edit names is compared under each of its names, and to deny or to ask also as a folder. An address that
//     programs read in different ways, and the value behind a reference, match rules that deny
//     or ask, and none that allow.
//  4. In a script (the tool command) each simple command is judged, as its words with one
//     blank between; paths are resolved word by word. The script is allowed if all are allowed
//     and if nothing is in it that this package does not understand. This is advisory: only the
//     sandbox bounds what a script really does.
//  5. Time is bounded by the product of the lengths of patterns and values.
//
// # Not here
//
// Who asks, and who answers (engine/agent, scenes/tooling).
package permit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"tavernsim/engine/glob"
	"tavernsim/internal/wirejson"
	"tavernsim/protocol"
)

// Do is what becomes of a call.
type Do string

// Verdicts, from the weakest.
const (
	Allow Do = "allow"
	Ask   Do = "ask"
	Deny  Do = "deny"
)

// Policy is the field tool_policy.
type Policy struct {
	Otherwise Do     `json:"otherwise,omitempty"`
	Rules     []Rule `json:"rules"`
}

// Rule is about the calls that it fits.
type Rule struct {
	ID       string         `json:"id"`
	Tools    []string       `json:"tools"`
	Profiles []string       `json:"profiles,omitempty"`
	Agents   []string       `json:"agents,omitempty"`
	Params   map[string]any `json:"params,omitempty"`
	Do       Do             `json:"do"`
	Reason   string         `json:"reason,omitempty"`
}

const maxPattern = 1024 // bytes

// Call is what is judged.
type Call struct {
	Tool    string // as in an inventory
	Own     bool   // it comes with the program
	Profile string
	Agent   string // instance id
	Params  map[string]any
	// Hidden are parameters of whose content only a reference is known: a rule about one fits
	// to deny and to ask, and does not to allow.
	Hidden []string
	words  []string // of the simple command that is judged; nil = the call is judged as a whole
}

// Verdict is the one about a call.
type Verdict struct {
	Do     Do
	Rule   string // "" = none fits
	Reason string
}

// Judge is a compiled policy.
type Judge struct {
	rules     []rule
	otherwise Do
}

// Asks reports whether it may ask about a call at all.
func (j *Judge) Asks() bool {
	return j != nil && (j.otherwise == Ask || slices.ContainsFunc(j.rules, func(r rule) bool { return r.Do == Ask }))
}

type rule struct {
	Rule
	tools, profiles, agents glob.List
	params                  []param
}

type param struct {
	pointer  []string
	patterns glob.List
}

// Fault is something wrong, at a place of the policy.
type Fault struct {
	Steps   []string
	Message string
}

// New compiles a policy; nil for none.
func New(p *Policy) (*Judge, []Fault) {
	if p == nil {
		return nil, nil
	}
	j, seen := &Judge{otherwise: cmp.Or(p.Otherwise, Deny)}, map[string]bool{}
	var faults []Fault
	for i := range p.Rules {
		at := func(steps ...string) []string { return append([]string{"rules", fmt.Sprint(i)}, steps...) }
		r := rule{Rule: p.Rules[i]}
		r.tools, r.profiles, r.agents = glob.NewList(r.Tools), glob.NewList(r.Profiles), glob.NewList(r.Agents)
		if seen[r.ID] {
			faults = append(faults, Fault{at("id"), fmt.Sprintf("another rule has the id %q", protocol.Short(r.ID, 80))})
		}
		seen[r.ID] = true
		for field, list := range map[string][]string{"tools": r.Tools, "profiles": r.Profiles, "agents": r.Agents} {
			if list != nil && len(list) == 0 {
				faults = append(faults, Fault{at(field), "an empty list fits nothing; leave it out, or write a pattern"})
			}
		}
		for _, name := range protocol.SortedKeys(r.Params) {
			patterns := texts(r.Params[name])
			x := param{pointer: protocol.Pointer(name), patterns: glob.NewList(patterns)}
			if x.pointer == nil {
				faults = append(faults, Fault{at("params", name), "want a JSON pointer such as /name"})
			}
			if len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return len(p) > maxPattern }) {
				faults = append(faults, Fault{at("params", name), fmt.Sprintf("want a pattern, or a list of them, each of at most %d bytes", maxPattern)})
			}
			r.params = append(r.params, x)
		}
		j.rules = append(j.rules, r)
	}
	slices.SortStableFunc(j.rules, func(a, b rule) int { return cmp.Or(cmp.Compare(weight(b.Do), weight(a.Do)), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(faults, func(a, b Fault) int { return slices.Compare(a.Steps, b.Steps) })
	return j, faults
}

func weight(d Do) int { return slices.Index([]Do{Allow, Ask, Deny}, d) }

// texts are patterns as they may be written; numbers and truth values are texts.
func texts(v any) (list []string) {
	if l, ok := v.([]any); ok {
		for _, e := range l {
			one := texts(e)
			if len(one) != 1 {
				return nil
			}
			list = append(list, one...)
		}
		return list
	}
	if _, ok := v.(map[string]any); ok || v == nil {
		return nil
	}
	return []string{textOf(v)}
}

// Judge judges a call: the first rule that fits, since the strictest come first.
func (j *Judge) Judge(c *Call) Verdict {
	if j == nil {
		return Verdict{Do: Allow}
	}
	if script, is := c.Params[scriptParam].(string); is && c.Tool == scriptTool {
		return j.judgeScript(c, script)
	}
	return j.judge(c)
}

// judge judges a call as a whole.
func (j *Judge) judge(c *Call) Verdict {
	for i := range j.rules {
		if r := &j.rules[i]; r.fits(c) {
			return Verdict{r.Do, r.ID, r.Reason}
		}
	}
	if c.Own {
		return Verdict{Do: Allow}
	}
	return Verdict{Do: j.otherwise}
}

func (r *rule) fits(c *Call) bool {
	if len(r.tools) == 0 || !r.tools.Match(c.Tool) || !r.profiles.Match(c.Profile) || !r.agents.Match(c.Agent) {
		return false
	}
	for i := range r.params {
		if !r.params[i].fits(c, r.Do == Allow) {
			return false
		}
	}
	return true
}

// fits reports whether a parameter fits. Of several values, as of a list, one is enough to
// deny, and all are needed to allow.
func (p *param) fits(c *Call, allow bool) bool {
	if slices.Contains(c.Hidden, p.pointer[0]) {
		return !allow
	}
	found, all := walk(nil, c.Params, p.pointer)
	name := p.pointer[len(p.pointer)-1]
	if allow {
		return all && len(found) > 0 && !slices.ContainsFunc(found, func(v any) bool { return !p.fitsOne(c, name, v, true) })
	}
	return slices.ContainsFunc(found, func(v any) bool { return p.fitsOne(c, name, v, false) || p.fitsInside(c, v) })
}

// fitsOne reports whether the value of a field fits.
func (p *param) fitsOne(c *Call, field string, v any, allow bool) bool {
	x, match := c.read(field, textOf(v)), p.patterns.Match
	if !allow {
		return !x.sound || slices.ContainsFunc(x.others, match) || slices.ContainsFunc(x.readings, func(r reading) bool { return slices.ContainsFunc(r, match) })
	}
	return x.sound && !slices.ContainsFunc(x.readings, func(r reading) bool { return !slices.ContainsFunc(r, match) })
}

// fitsInside reports whether something within an object is what a rule denies or asks about.
func (p *param) fitsInside(c *Call, v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for field, e := range m {
		if found, _ := walk(nil, e, nil); slices.ContainsFunc(found, func(v any) bool { return p.fitsOne(c, field, v, false) || p.fitsInside(c, v) }) {
			return true
		}
	}
	return false
}

// walk appends what a pointer leads to: in a list the element of a number, or what all of
// them have; and of a list the elements. all is false if one of the places is not there.
func walk(found []any, v any, pointer []string) (list []any, all bool) {
	switch x := v.(type) {
	case []any:
		if len(pointer) > 0 {
			if i, err := strconv.Atoi(pointer[0]); err == nil {
				if i < 0 || i >= len(x) {
					return found, false
				}
				return walk(found, x[i], pointer[1:])
			}
		}
		all = true
		for _, e := range x {
			var there bool
			found, there = walk(found, e, pointer)
			all = all && there
		}
		return found, all
	case map[string]any:
		if len(pointer) > 0 {
			e, ok := x[pointer[0]]
			if !ok {
				return found, false
			}
			return walk(found, e, pointer[1:])
		}
	}
	if len(pointer) > 0 {
		return found, false
	}
	return append(found, v), true
}

func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := wirejson.AppendAny(nil, v) // keys of objects are sorted
	return string(b)
}
