package worldinfo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/choose"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

// names are the fields of an entry in a format.
type names struct{ keys, secondary, order, caseless string }

func (f Format) names() names {
	if f == CharBook {
		return names{"keys", "secondary_keys", "insertion_order", "case_sensitive"}
	}
	return names{"key", "keysecondary", "order", "caseSensitive"}
}

// Logics of secondary keys.
const (
	andAny = iota
	notAll
	notAny
	andAll
)

// unbounded is the least cosine of an entry that is found by its vector: the files have one bound for
// all, in the settings of their program.
const unbounded = 0.5

// entry makes an entry of one of a file; top is the rest of the file.
func (n *notes) entry(f Format, key string, o, top map[string]any) (*knowledge.Entry, error) {
	r := reader{m: o, faults: nil}
	in := f.names()
	e := &knowledge.Entry{ID: key, EntryType: "lore", Title: strings.TrimSpace(r.text("comment"))}
	if name := strings.TrimSpace(r.text("name")); e.Title == "" {
		e.Title = name
	}
	if text := r.text("content"); text != "" {
		e.Content = text
	} else if e.Title == "" {
		e.Title = "Entry " + key
	}
	e.Priority = r.number(in.order)
	e.Disabled = r.flag("disable") || o["enabled"] == false
	a := &criteria.Activation{CaseSensitive: r.flag(in.caseless)}
	if v, ok := o["matchWholeWords"].(bool); ok {
		a.WholeWords = &v
	}
	if r.flag("constant") {
		a = &criteria.Activation{Always: true}
	} else {
		n.keys(&r, in, key, a)
	}
	keyed, vectorized := a.Always || len(a.Keywords)+len(a.Patterns) > 0, extended(o, "vectorized") == true
	switch {
	case keyed && vectorized:
		n.add("entry %s: vectorized: not applied: with keys of its own it would be active by either; write another entry with similar", key)
		fallthrough
	case keyed:
		e.ActivationCriteria = a
	case vectorized:
		a.Similar = &criteria.Similar{Above: unbounded}
		e.ActivationCriteria = a
		n.add("entry %s: vectorized: it has no bound; similar is above %v, which fits some models; the base needs embedding for vectors", key, unbounded)
	default:
		n.add("entry %s: no key; nothing activates it", key)
	}
	e.Disabled = chosen(o, a) || e.Disabled
	n.more(key, o, top, a)
	n.unapplied(key, o)
	if len(r.faults) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(r.faults, "; "))
	}
	return e, nil
}

// keys reads the keys. One between slashes is a regular expression.
func (n *notes) keys(r *reader, in names, key string, a *criteria.Activation) {
	for _, k := range r.list(in.keys) {
		p, ok := pattern(k)
		if !ok && r.flag("use_regex") {
			p, ok = k, true
		}
		if ok {
			if _, err := regexp.Compile(p); err != nil || len(p) > criteria.MaxPattern {
				n.add("entry %s: key %s: not applied: no regular expression of RE2 of at most %d bytes", key, k, criteria.MaxPattern)
				continue
			}
			a.Patterns = append(a.Patterns, p)
		} else {
			a.Keywords = append(a.Keywords, k)
		}
	}
	second := r.list(in.secondary)
	selective := r.flag("selective") && len(second) > 0
	if !selective {
		return
	}
	second = slices.DeleteFunc(second, func(k string) bool {
		_, is := pattern(k)
		if is {
			n.add("entry %s: secondary key %s: a pattern among secondary keys is not applied", key, k)
		}
		return is
	})
	switch int(r.number("selectiveLogic")) {
	case andAny:
		a.AlsoKeywords = second
	case notAll:
		a.NotAllKeywords = second
	case notAny:
		a.ExcludeKeywords = second
	case andAll:
		a.AllKeywords = second
	default:
		r.fault("selectiveLogic", "want 0 to 3")
	}
}

// pattern reads a key like /dragons?/i.
func pattern(key string) (string, bool) {
	if len(key) < 3 || key[0] != '/' {
		return "", false
	}
	end := strings.LastIndexByte(key, '/')
	flags := key[end+1:]
	if end < 2 || strings.Trim(flags, "dgimsuvy") != "" {
		return "", false
	}
	mode := strings.Map(func(f rune) rune {
		if strings.ContainsRune(flags, f) {
			return f
		}
		return -1
	}, "ims")
	p := strings.ReplaceAll(key[1:end], `\/`, `/`)
	if mode == "" {
		return "(?-i)" + p, true
	}
	return "(?" + mode + ")" + p, true
}

// chosen reads chance and groups. It reports whether the entry is never active.
func chosen(o map[string]any, a *criteria.Activation) (never bool) {
	if p, ok := protocol.Number(extended(o, "probability")); ok && p < choose.DefaultChance && extended(o, "useProbability") != false {
		a.Chance, never = max(p, 0), p <= 0
	}
	group, _ := extended(o, "group").(string)
	if a.Group = strings.TrimSpace(group); a.Group == "" {
		return never
	}
	if w, ok := protocol.Number(either(o, "groupWeight", "group_weight")); ok && w >= 1 && w <= knowledge.MaxUsed && w != choose.DefaultWeight {
		a.Weight = int64(w)
	}
	if either(o, "groupOverride", "group_override") == true {
		a.Choose = choose.ByPriority
	}
	return never
}

// snake is a name of a field as books write it.
func snake(camel string) string {
	var b strings.Builder
	for _, r := range camel {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// extended is a field of an entry, or of its extensions.
func extended(o map[string]any, field string) any {
	if v, ok := o[field]; ok {
		return v
	}
	ext, _ := o["extensions"].(map[string]any)
	return ext[field]
}

func either(o map[string]any, a, b string) any {
	if v := extended(o, a); v != nil {
		return v
	}
	return extended(o, b)
}

// more reads what needs turns, other texts, and who it is for.
func (n *notes) more(key string, o, top map[string]any, a *criteria.Activation) {
	count := func(to *int64, most int64, camel, snake string) {
		v, ok := protocol.Number(either(o, camel, snake))
		switch {
		case !ok || v == 0:
		case v < 0 || v > float64(most) || v != float64(int64(v)):
			n.add("entry %s: %s %v: not applied: want a whole number from 0 to %d", key, camel, v, most)
		default:
			*to = int64(v)
		}
	}
	on := func(camel, snake string) bool { return either(o, camel, snake) == true }
	count(&a.Sticky, criteria.MaxTurns, "sticky", "")
	count(&a.Cooldown, criteria.MaxTurns, "cooldown", "")
	count(&a.Delay, criteria.MaxTurns, "delay", "")
	depth := int64(0)
	if count(&depth, criteria.MaxHistory, "scanDepth", "scan_depth"); depth > 0 {
		a.Scan = scanOf(depth)
	}
	if on("useGroupScoring", "use_group_scoring") && a.Group != "" && a.Choose == "" {
		a.Choose = choose.ByMatches
	}
	a.OutsideBudget = on("ignoreBudget", "ignore_budget")
	a.Wakes = top["recursive_scanning"] == true && !on("preventRecursion", "prevent_recursion")
	switch v := either(o, "delayUntilRecursion", "delay_until_recursion"); {
	case v == true:
		a.Level = 1
	case v != nil && v != false:
		count(&a.Level, criteria.MaxSteps, "delayUntilRecursion", "delay_until_recursion")
	}
	if on("excludeRecursion", "exclude_recursion") {
		if a.WokenBy = criteria.WokenByText; a.Level > 0 {
			a.Level = 0
			n.add("entry %s: delayUntilRecursion: not applied beside excludeRecursion", key)
		}
	}
	if f, ok := extended(o, "characterFilter").(map[string]any); ok {
		a.Scope = n.scope(key, f)
	}
	n.place(key, o, a)
}

// Positions of world info by their numbers.
const (
	beforeCharacter = iota
	afterCharacter
	noteTop
	noteBottom
	atDepth
	examplesTop
	examplesBottom
	outlet
)

// place reads the position. What belongs near the end of what was said stands before the instruction.
func (n *notes) place(key string, o map[string]any, a *criteria.Activation) {
	p := extended(o, "position")
	if ext, _ := o["extensions"].(map[string]any); ext["position"] != nil {
		p = ext["position"] // of more kinds than the field of the book can say
	}
	x, numeric := protocol.Number(p)
	switch {
	case p == nil, p == "before_char", p == "", numeric && x == beforeCharacter:
	case p == "after_char", numeric && x == afterCharacter:
		if !a.Always {
			a.Slot = "constant"
		}
	case numeric && (x == noteTop || x == noteBottom):
		a.Slot = slotEnd
		n.add("entry %s: position %v (author's note): there is no such note; it stands before the instruction (slot: instruction)", key, p)
	case numeric && x == atDepth:
		a.Slot = slotEnd
		n.add("entry %s: position %v (depth %v, role %v): nothing stands among what was said; it stands before the instruction (slot: instruction)",
			key, p, orZero(extended(o, "depth")), orZero(extended(o, "role")))
	case numeric && (x == examplesTop || x == examplesBottom):
		n.add("entry %s: position %v (examples): not applied: a prompt has no examples of talk", key, p)
	case numeric && x == outlet:
		n.add("entry %s: position %v (outlet %v): not applied: no prompt names an outlet; it stands in the section of its criteria", key, p, either(o, "outletName", "outlet_name"))
	default:
		n.add("entry %s: position %v: not applied: want 0 to 7, before_char or after_char", key, p)
	}
}

// slotEnd is the section behind what was said.
const slotEnd = "instruction"

func orZero(v any) any {
	if v == nil {
		return 0
	}
	return v
}

// scanOf is a depth of messages: those of this turn, and so many of the history.
func scanOf(depth int64) *criteria.Scan {
	return &criteria.Scan{Events: true, Goals: true, History: int(depth)}
}

// scope reads whom an entry is for.
func (n *notes) scope(key string, f map[string]any) *criteria.Scope {
	s := &criteria.Scope{Except: f["isExclude"] == true}
	list, _ := f["names"].([]any)
	for _, v := range list {
		if name, _ := v.(string); strings.TrimSpace(name) != "" && len(s.Agents) < knowledge.MaxTags {
			s.Agents = append(s.Agents, name)
		}
	}
	if tags, _ := f["tags"].([]any); len(tags) > 0 {
		n.add("entry %s: characterFilter.tags: not applied", key)
	}
	if len(s.Agents) == 0 {
		return nil
	}
	return s
}

// macro is the first macro of a text, as {{char}}; "" = there is none. {{{…}}} is a reference.
func macro(text string) string {
	for {
		_, rest, open := strings.Cut(text, "{{")
		inner, after, closed := strings.Cut(rest, "}}")
		switch {
		case !open || !closed:
			return ""
		case !strings.HasPrefix(inner, "{") && !strings.ContainsAny(inner, "{\n"):
			return "{{" + inner + "}}"
		}
		text = after
	}
}

// unapplied notes fields that have an effect elsewhere and none here.
func (n *notes) unapplied(key string, o map[string]any) {
	for _, field := range []string{"PersonaDescription", "CharacterDescription", "CharacterPersonality", "CharacterDepthPrompt", "Scenario", "CreatorNotes"} {
		if either(o, "match"+field, snake("match"+field)) == true {
			n.add("entry %s: match%s: not applied: a scan names its sources", key, field)
		}
	}
	text, _ := o["content"].(string)
	if strings.HasPrefix(text, "@@") {
		line, _, _ := strings.Cut(text, "\n")
		n.add("entry %s: content: the decorator %s is text here", key, line[:min(len(line), 64)])
	}
	if m := macro(text); m != "" {
		n.add("entry %s: content: the macro %s is text here", key, m[:min(len(m), 64)])
	}
	for _, field := range []string{"automationId", "automation_id"} {
		if v, _ := extended(o, field).(string); v != "" {
			n.add("entry %s: %s: not applied", key, field)
		}
	}
	if list, _ := extended(o, "triggers").([]any); len(list) > 0 {
		n.add("entry %s: triggers: not applied", key)
	}
}

// reader takes typed fields out of an entry.
type reader struct {
	m      map[string]any
	faults []string
}

func (r *reader) fault(field, want string) { r.faults = append(r.faults, field+": "+want) }

func (r *reader) text(field string) string {
	s, ok := r.m[field].(string)
	if !ok && r.m[field] != nil {
		r.fault(field, "want text")
	}
	return s
}

func (r *reader) flag(field string) bool {
	b, ok := r.m[field].(bool)
	if !ok && r.m[field] != nil {
		r.fault(field, "want true or false")
	}
	return b
}

func (r *reader) number(field string) float64 {
	x, ok := protocol.Number(r.m[field])
	if !ok && r.m[field] != nil {
		r.fault(field, "want a number")
	}
	return x
}

// list reads texts, without empty ones; one text alone may have several, with commas.
func (r *reader) list(field string) (out []string) {
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	switch v := r.m[field].(type) {
	case nil:
	case string:
		for s := range strings.SplitSeq(v, ",") {
			add(s)
		}
	case []any:
		for _, one := range v {
			s, ok := one.(string)
			if !ok {
				r.fault(field, "want a list of texts")
			}
			add(s)
		}
	default:
		r.fault(field, "want a list of texts")
	}
	return out
}
