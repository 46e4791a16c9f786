package throttle

import (
	"maps"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Table counts events against rules. It has one owner.
type Table struct {
	rules []*counted // those of the definition, then those set later, by key
	fixed int        // number of rules of the definition
	keys  int        // most counters of a rule
}

// counted is a rule with its counters.
type counted struct {
	rule   Rule
	counts map[string]window
	swept  protocol.Time // when expired counters were last removed
}

// window is one counter. With delays it may lie in the future.
type window struct {
	opened protocol.Time
	count  int64
}

// others is the key of the counter that is shared when there are too many. No type and
// no instance id equals it.
const others = "\x00"

// New makes a table for the given number of sources; the rules must be valid.
func New(rules []Rule, sources int) *Table {
	t := &Table{fixed: len(rules), keys: max(Keys, sources+1)}
	for _, r := range rules {
		t.rules = append(t.rules, &counted{rule: r.Normal(), counts: map[string]window{}})
	}
	return t
}

// Verdict is what happens to an event.
type Verdict struct {
	Action Action        // "" = let through
	Until  protocol.Time // of Delay
	Rule   Rule          // that the event broke
}

// Judge returns the verdict about an event that is published now.
func (t *Table) Judge(eventType, source string, now protocol.Time) (v Verdict) {
	for _, c := range t.rules {
		if c.rule.covers(eventType, source, now) {
			v = worse(v, c.judge(t, c.rule.key(eventType, source), now))
		}
	}
	return v
}

// worse returns the verdict that has precedence.
func worse(a, b Verdict) Verdict {
	weight := func(v Verdict) int { return slices.Index([]Action{"", Deprioritize, Delay, Drop}, v.Action) }
	if weight(b) > weight(a) || a.Action == Delay && b.Action == Delay && b.Until > a.Until {
		return b
	}
	return a
}

func (c *counted) judge(t *Table, key string, now protocol.Time) Verdict {
	if c.rule.Max == 0 {
		return Verdict{Action: c.rule.Action, Rule: c.rule}
	}
	w := c.next(t, key, now)
	if w.count > 0 { // the window of the event, including it
		switch wait := w.opened.Sub(now); {
		case wait <= 0:
			return Verdict{}
		case wait > MaxWindows*c.rule.Window:
			return Verdict{Action: Drop, Rule: c.rule}
		}
		return Verdict{Action: Delay, Until: w.opened, Rule: c.rule}
	}
	return Verdict{Action: c.rule.Action, Rule: c.rule}
}

// next is the counter after one more event; its count is 0 if there is no room and the
// rule does not delay.
func (c *counted) next(t *Table, key string, now protocol.Time) window {
	w, known := c.counts[c.slot(t, key)]
	switch {
	case !known || now >= w.opened.Add(c.rule.Window):
		return window{opened: now, count: 1}
	case w.count < c.rule.Max:
		return window{opened: w.opened, count: w.count + 1}
	case c.rule.Action == Delay:
		return window{opened: w.opened.Add(c.rule.Window), count: 1}
	}
	return window{}
}

// slot is the key of the counter for an event.
func (c *counted) slot(t *Table, key string) string {
	if _, known := c.counts[key]; !known && len(c.counts) >= t.keys {
		return others
	}
	return key
}

// Take counts an event that was let through or delayed.
func (t *Table) Take(eventType, source string, now protocol.Time) {
	for _, c := range t.rules {
		if c.rule.Max > 0 && c.rule.covers(eventType, source, now) {
			c.take(t, c.rule.key(eventType, source), now)
		}
	}
}

func (c *counted) take(t *Table, key string, now protocol.Time) {
	if len(c.counts) >= t.keys && now >= c.swept.Add(c.rule.Window) {
		c.swept = now
		maps.DeleteFunc(c.counts, func(_ string, w window) bool { return now >= w.opened.Add(c.rule.Window) })
	}
	if w := c.next(t, key, now); w.count > 0 {
		c.counts[c.slot(t, key)] = w
	}
}

// Idle reports whether there are no rules.
func (t *Table) Idle() bool { return len(t.rules) == 0 }

// Rules lists the rules that were set later.
func (t *Table) Rules() []Rule {
	out := make([]Rule, 0, len(t.rules)-t.fixed)
	for _, c := range t.rules[t.fixed:] {
		out = append(out, c.rule)
	}
	return out
}

// Has reports whether a rule of this key was set later.
func (t *Table) Has(r Rule) bool {
	_, found := t.find(r)
	return found
}

// Full reports whether no further rule may be set. Ended rules do not count, because
// the next Set removes them.
func (t *Table) Full(now protocol.Time) bool {
	n := 0
	for _, c := range t.rules[t.fixed:] {
		if !c.ended(now) {
			n++
		}
	}
	return n >= MaxRules
}

func (c *counted) ended(now protocol.Time) bool { return c.rule.Until != 0 && now >= c.rule.Until }

func (t *Table) find(r Rule) (at int, found bool) {
	i, found := slices.BinarySearchFunc(t.rules[t.fixed:], r.Normal().Key(), func(c *counted, key string) int {
		return strings.Compare(c.rule.Key(), key)
	})
	return t.fixed + i, found
}

// Set adds a rule, or replaces the one with its key; counting begins anew.
func (t *Table) Set(r Rule, now protocol.Time) {
	later := slices.DeleteFunc(t.rules[t.fixed:], func(c *counted) bool { return c.ended(now) })
	t.rules = t.rules[:t.fixed+len(later)]
	at, found := t.find(r)
	c := &counted{rule: r.Normal(), counts: map[string]window{}}
	if found {
		t.rules[at] = c
		return
	}
	t.rules = slices.Insert(t.rules, at, c)
}

// Remove removes a rule that was set later.
func (t *Table) Remove(r Rule) {
	if at, found := t.find(r); found {
		t.rules = slices.Delete(t.rules, at, at+1)
	}
}

// Stored is the stored form of a table, without the rules of the definition.
type Stored struct {
	Later  []Rule
	Counts []Counts // in the order of the rules: the definition's, then Later
}

// Counts are the counters of one rule.
type Counts struct {
	Swept   protocol.Time
	Windows []Window // in the order of their keys
}

// Window is one stored counter.
type Window struct {
	Key    string
	Opened protocol.Time
	Count  int64
}

// Store returns the stored form; the zero value if there is nothing to store.
func (t *Table) Store() (s Stored) {
	if t.Idle() {
		return s
	}
	s.Later = t.Rules()
	for _, c := range t.rules {
		counts := Counts{Swept: c.swept}
		for _, key := range slices.Sorted(maps.Keys(c.counts)) {
			counts.Windows = append(counts.Windows, Window{Key: key, Opened: c.counts[key].opened, Count: c.counts[key].count})
		}
		s.Counts = append(s.Counts, counts)
	}
	return s
}

// Restore makes a table from its stored form and the same definition.
func Restore(rules []Rule, sources int, s Stored) (*Table, error) {
	t := New(rules, sources)
	for _, r := range s.Later {
		if field, fault := r.Check(); fault != "" {
			return nil, protocol.Errorf(protocol.KindCorrupt, "throttle: restore: %s %s", field, fault)
		}
		t.Set(r, 0)
	}
	if len(s.Counts) != 0 && len(s.Counts) != len(t.rules) {
		return nil, protocol.Errorf(protocol.KindCorrupt, "throttle: restore: counters of %d rules, there are %d", len(s.Counts), len(t.rules))
	}
	for i, counts := range s.Counts {
		c := t.rules[i]
		c.swept = counts.Swept
		for _, w := range counts.Windows {
			c.counts[w.Key] = window{opened: w.Opened, count: w.Count}
		}
	}
	return t, nil
}
