package criteria

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/engine/knowledge/choose"
	"tavernsim/engine/knowledge/fields"
	"tavernsim/protocol"
)

// Bounds of criteria.
const (
	MaxPattern = 1024 // bytes of a pattern
	MaxTurns   = 1_000_000
	MaxSteps   = 10
	MaxEntries = 100 // that a base activates
	MaxTokens  = 10_000_000
	MaxList    = 256 // items of a list, as of every list of an entry
)

// Purposes are those of workflows that are shown knowledge.
func Purposes() []string {
	return []string{string(protocol.PurposeDeliberate), string(protocol.PurposeReflect), string(protocol.PurposeSkill)}
}

func join(list []string) string { return strings.Join(list, ", ") }

// Value is the criteria as an object, with the names of files.
func (a *Activation) Value() map[string]any {
	m := map[string]any{}
	fields.PutFlag(m, "always", a.Always)
	fields.PutFlag(m, "case_sensitive", a.CaseSensitive)
	fields.PutFlag(m, "outside_limit", a.OutsideLimit)
	fields.PutFlag(m, "outside_budget", a.OutsideBudget)
	fields.PutFlag(m, "wakes", a.Wakes)
	fields.PutNumber(m, "chance", a.Chance)
	for name, n := range map[string]int64{"weight": a.Weight, "delay": a.Delay, "sticky": a.Sticky, "cooldown": a.Cooldown, "level": a.Level, "order": a.Order} {
		fields.PutCount(m, name, n)
	}
	for name, s := range map[string]string{"group": a.Group, "choose": a.Choose, "condition": a.Condition, "woken_by": a.WokenBy, "slot": a.Slot} {
		fields.PutText(m, name, s)
	}
	for name, list := range a.texts() {
		fields.PutList(m, name, *list)
	}
	if a.WholeWords != nil {
		m["whole_words"] = *a.WholeWords
	}
	if s := a.Similar; s != nil {
		v := map[string]any{"above": s.Above}
		fields.PutText(v, "to", s.To)
		m["similar"] = v
	}
	if a.Scan != nil {
		m["scan"] = a.Scan.value()
	}
	if s := a.Scope; s != nil {
		v := map[string]any{}
		fields.PutList(v, "profiles", s.Profiles)
		fields.PutList(v, "roles", s.Roles)
		fields.PutList(v, "agents", s.Agents)
		fields.PutList(v, "places", s.Places)
		fields.PutFlag(v, "except", s.Except)
		m["scope"] = v
	}
	return m
}

func (s *Scan) value() map[string]any {
	v := map[string]any{}
	fields.PutFlag(v, "events", s.Events)
	fields.PutCount(v, "history", int64(s.History))
	fields.PutFlag(v, "goals", s.Goals)
	fields.PutFlag(v, "observations", s.Observations)
	fields.PutList(v, "self", s.Self)
	fields.PutList(v, "world", s.World)
	return v
}

// texts are the fields that are lists of texts.
func (a *Activation) texts() map[string]*[]string {
	return map[string]*[]string{
		"keywords": &a.Keywords, "all_keywords": &a.AllKeywords, "exclude_keywords": &a.ExcludeKeywords, "also_keywords": &a.AlsoKeywords,
		"not_all_keywords": &a.NotAllKeywords, "patterns": &a.Patterns, "tags": &a.Tags, "event_types": &a.EventTypes, "purposes": &a.Purposes,
	}
}

// Read reads an object; faults go to the reader.
func Read(r *fields.Reader, v map[string]any) *Activation {
	path := r.Path
	defer func() { r.Path = path }()
	r.Path += "activation_criteria."
	a := &Activation{
		Always: r.Flag(v, "always"), Condition: r.Text(v, "condition"), CaseSensitive: r.Flag(v, "case_sensitive"),
		Chance: r.Number(v, "chance"), Group: r.Text(v, "group"), Weight: r.Count(v, "weight"), Choose: r.Text(v, "choose"),
		OutsideLimit: r.Flag(v, "outside_limit"), OutsideBudget: r.Flag(v, "outside_budget"), Wakes: r.Flag(v, "wakes"),
		WokenBy: r.Text(v, "woken_by"), Level: r.Count(v, "level"), Delay: r.Count(v, "delay"), Sticky: r.Count(v, "sticky"), Cooldown: r.Count(v, "cooldown"),
		Slot: r.Text(v, "slot"), Order: r.Count(v, "order"),
	}
	known := []string{"always", "condition", "case_sensitive", "chance", "group", "weight", "choose", "outside_limit", "outside_budget", "wakes",
		"woken_by", "level", "delay", "sticky", "cooldown", "slot", "order", "whole_words", "similar", "scan", "scope"}
	lists := a.texts()
	for _, name := range protocol.SortedKeys(lists) {
		*lists[name] = r.List(v, name)
		known = append(known, name)
	}
	if v["whole_words"] != nil {
		on := r.Flag(v, "whole_words")
		a.WholeWords = &on
	}
	if v["chance"] != nil && a.Chance == 0 {
		r.Fault("chance", "0 is out of range; want more than 0, at most %d; an entry with disabled: true is never active", choose.DefaultChance)
	}
	r.Only(v, known...)
	a.parts(r, v)
	return a
}

// parts reads the fields that are objects.
func (a *Activation) parts(r *fields.Reader, v map[string]any) {
	path := r.Path
	if m := r.Object(v, "similar"); m != nil {
		r.Path = path + "similar."
		r.Only(m, "to", "above")
		a.Similar = &Similar{To: r.Text(m, "to"), Above: r.Number(m, "above")}
	}
	r.Path = path
	if m := r.Object(v, "scan"); m != nil {
		r.Path = path + "scan."
		r.Only(m, "events", "history", "goals", "observations", "self", "world")
		a.Scan = &Scan{Events: r.Flag(m, "events"), History: int(r.Count(m, "history")), Goals: r.Flag(m, "goals"), Observations: r.Flag(m, "observations"), Self: r.List(m, "self"), World: r.List(m, "world")}
	}
	r.Path = path
	if m := r.Object(v, "scope"); m != nil {
		r.Path = path + "scope."
		r.Only(m, "profiles", "roles", "agents", "places", "except")
		a.Scope = &Scope{Profiles: r.List(m, "profiles"), Roles: r.List(m, "roles"), Agents: r.List(m, "agents"), Places: r.List(m, "places"), Except: r.Flag(m, "except")}
	}
	r.Path = path
}

// Checker is told what is wrong: a JSON pointer below the criteria, and a sentence.
type Checker func(path, message string)

func (c Checker) at(path, format string, args ...any) { c(path, fmt.Sprintf(format, args...)) }

// List wants at most [MaxList] texts, none of them blank.
func (c Checker) List(path string, list []string) {
	if len(list) > MaxList {
		c.at(path, "%d items; the limit is %d", len(list), MaxList)
		return
	}
	for i, w := range list {
		if strings.TrimSpace(w) == "" {
			c.at(path+"/"+strconv.Itoa(i), "is empty")
		}
	}
}

func (c Checker) count(path string, n int64) {
	if n < 0 || n > MaxTurns {
		c.at(path, "%d; want 0 to %d", n, MaxTurns)
	}
}

func (c Checker) oneOf(path, have string, want ...string) {
	if have != "" && !slices.Contains(want, have) {
		c.at(path, "%q is not known; want %s", have, strings.Join(want[:len(want)-1], ", ")+orLast(want))
	}
}

func orLast(want []string) string {
	if len(want) == 1 {
		return want[0]
	}
	return " or " + want[len(want)-1]
}

// Check finds every fault.
func (a *Activation) Check(c Checker) {
	lists := a.texts()
	for _, name := range protocol.SortedKeys(lists) {
		c.List("/"+name, *lists[name])
	}
	for i, p := range a.Patterns {
		if len(p) > MaxPattern {
			c.at("/patterns/"+strconv.Itoa(i), "%d bytes; the limit is %d", len(p), MaxPattern)
		} else if _, err := regexp.Compile(a.pattern(p)); err != nil {
			c.at("/patterns/"+strconv.Itoa(i), "%v", err)
		}
	}
	if !(a.Chance >= 0 && a.Chance <= choose.DefaultChance) {
		c.at("/chance", "%v; want 0 to %d percent", a.Chance, choose.DefaultChance)
	}
	c.count("/weight", a.Weight)
	c.count("/delay", a.Delay)
	c.count("/sticky", a.Sticky)
	c.count("/cooldown", a.Cooldown)
	if a.Order < -MaxTurns || a.Order > MaxTurns {
		c.at("/order", "%d; want -%d to %d", a.Order, MaxTurns, MaxTurns)
	}
	if a.Level < 0 || a.Level > MaxSteps {
		c.at("/level", "%d; want 0 to %d", a.Level, MaxSteps)
	}
	c.oneOf("/choose", a.Choose, choose.ByWeight, choose.ByPriority, choose.ByMatches)
	c.oneOf("/woken_by", a.WokenBy, WokenByText)
	c.oneOf("/slot", a.Slot, Slots()...)
	if a.WokenBy == WokenByText && a.Level > 0 {
		c.at("/level", "an entry that is not woken by entries has no level; remove level or woken_by")
	}
	for i, p := range a.Purposes {
		c.oneOf("/purposes/"+strconv.Itoa(i), p, Purposes()...)
	}
	if s := a.Similar; s != nil && !(s.Above > 0 && s.Above <= 1) {
		c.at("/similar/above", "%v; want more than 0 to 1, such as 0.5", s.Above)
	}
	a.Scan.check(c, "/scan")
	if s := a.Scope; s != nil {
		c.List("/scope/profiles", s.Profiles)
		c.List("/scope/roles", s.Roles)
		c.List("/scope/agents", s.Agents)
		c.List("/scope/places", s.Places)
		if len(s.Profiles)+len(s.Roles)+len(s.Agents)+len(s.Places) == 0 {
			c.at("/scope", "names nobody; want profiles, roles, agents or places")
		}
	}
	if a.Condition != "" {
		if _, err := expr.Compile(a.Condition, conditionRoots()...); err != nil {
			c.at("/condition", "%v", err)
		}
	}
}

func (s *Scan) check(c Checker, path string) {
	if s == nil {
		return
	}
	if s.History < 0 || s.History > MaxHistory {
		c.at(path+"/history", "%d; want 0 to %d", s.History, MaxHistory)
	}
	c.List(path+"/self", s.Self)
	c.List(path+"/world", s.World)
	if len(s.Self) > MaxPaths || len(s.World) > MaxPaths {
		c.at(path, "%d paths; the limit is %d of self and of world", max(len(s.Self), len(s.World)), MaxPaths)
	}
	if !s.Events && !s.Goals && !s.Observations && s.History == 0 && len(s.Self)+len(s.World) == 0 {
		c.at(path, "scans nothing; want some of events, history, goals, observations, self, world")
	}
}

// Check finds every fault.
func (d *Defaults) Check(c Checker) {
	if d == nil {
		return
	}
	for _, x := range []struct {
		path   string
		n, max int
	}{{"/limit", d.Limit, MaxEntries}, {"/tokens", d.Tokens, MaxTokens}, {"/min_entries", d.MinEntries, MaxEntries}, {"/max_steps", d.MaxSteps, MaxSteps}} {
		if x.n < 0 || x.n > x.max {
			c.at(x.path, "%d; want 0 to %d", x.n, x.max)
		}
	}
	d.Scan.check(c, "/scan")
}
