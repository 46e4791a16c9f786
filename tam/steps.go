package tam

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/finding"
)

// role is what a key stands for.
type role uint8

const (
	roleParam role = iota
	roleCommand
	roleOnError
	roleRetry
	roleHint
	roleURI
	roleCommon
	roleRequestID
	roleComment
)

// slot is a key taken apart: its role, the name of its parameter and its step.
type slot struct {
	role role
	name string // without prefix and suffix
	full string // without prefix, with the suffix as written
	n    int
	how  suffix
}

// slotOf reads a normalised key by the table of section 4 of the
// specification. A prefix needs a name behind it, so common_1 is the parameter
// common of step 1; the last number is the step.
func slotOf(key string, limit int) slot {
	switch key {
	case "request_id":
		return slot{role: roleRequestID}
	case "comment":
		return slot{role: roleComment}
	}
	if rest, ok := prefixed(key, "common_"); ok {
		return slot{role: roleCommon, name: rest, full: rest}
	}
	base, n, how := splitSuffix(key, limit)
	switch base {
	case "command":
		return slot{role: roleCommand, n: n, how: how}
	case "on_error":
		return slot{role: roleOnError, n: n, how: how, name: base, full: key}
	case "retry":
		return slot{role: roleRetry, n: n, how: how, name: base, full: key}
	}
	s := slot{role: roleParam, name: base, full: key, n: n, how: how}
	if rest, ok := prefixed(base, "type_hint_"); ok {
		s.role, s.name, s.full = roleHint, rest, strings.TrimPrefix(key, "type_hint_")
	} else if rest, ok := prefixed(base, "uri_"); ok {
		s.role, s.name, s.full = roleURI, rest, strings.TrimPrefix(key, "uri_")
	}
	return s
}

// prefixed takes a prefix off when a name follows; a number is none.
func prefixed(key, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	return rest, ok && strings.Trim(rest, "0123456789_") != ""
}

// step is one command while its fields are gathered.
type step struct {
	Command
	pos      int // ordinal of its field
	bare     bool
	hints    map[string]*field
	hasError bool // an on_error of its own
	hasRetry bool
}

// assembly makes a block of fields.
type assembly struct {
	w          *walker
	block      *Block
	steps      []*step
	slots      []slot
	plain      bool            // exactly one command, without a number
	numberless bool            // every command is without a number
	kept       map[string]bool // names whose number is part of the name
	common     map[string]FieldSource
	lost       bool // a command was refused
}

// assemble gives the block its steps. Fields arrive in the order of the text.
func (w *walker) assemble(span Span, complete bool) Block {
	b := Block{Span: span, Complete: complete}
	a := assembly{w: w, block: &b}
	a.slots = make([]slot, len(w.fields))
	for i := range w.fields {
		a.slots[i] = slotOf(w.fields[i].name, w.limits.Index)
	}
	a.commands()
	a.keepNumbers()
	for i := range w.fields {
		a.place(i)
	}
	a.finish()
	w.delimiters()
	return b
}

// commands decides the steps and their numbers.
func (a *assembly) commands() {
	var bare []int
	for i := range a.slots {
		s := &a.slots[i]
		if s.role == roleParam && isCommandKey(a.w.fields[i].name) {
			a.refuse(i) // command_1000 and beyond
		}
		if s.role != roleCommand || !a.toolGiven(i) {
			continue
		}
		if s.how == unsuffixed {
			bare = append(bare, i)
		} else {
			a.numbered(i, s.n)
		}
	}
	a.numberless = len(a.steps) == 0
	a.plain = a.numberless && len(bare) == 1
	for k, i := range bare {
		a.unnumbered(k, i)
	}
	slices.SortStableFunc(a.steps, func(x, y *step) int { return cmp.Compare(x.Index, y.Index) })
	if len(a.steps) > a.w.limits.Steps {
		extra := a.steps[a.w.limits.Steps]
		a.warn(LimitExceeded, finding.Error, extra.pos, "received %d steps; expected at most %d: split the block", len(a.steps), a.w.limits.Steps)
		a.steps = a.steps[:a.w.limits.Steps]
	}
}

func (a *assembly) refuse(i int) {
	a.slots[i].role, a.lost = roleComment, true
	a.warn(LimitExceeded, finding.Error, i, "received the step of %s; expected a number below %d", a.w.fields[i].name, a.w.limits.Index)
}

func (a *assembly) toolGiven(i int) bool {
	if a.w.fields[i].text != "" {
		return true
	}
	a.lost = true
	a.warn(NoCommand, finding.Error, i, "received an empty %s; expected the id of a tool", a.w.fields[i].name)
	return false
}

func (a *assembly) numbered(i, n int) {
	f := &a.w.fields[i]
	if old := a.step(n); old != nil {
		if old.ToolID == f.text {
			a.warn(DuplicateKey, finding.Warning, i, "received %s twice with the same tool; expected it once", f.name)
			return
		}
		a.warn(DuplicateCommand, finding.Error, i, "received %s twice, as %q and %q; expected one tool per number", f.name, cut(old.ToolID), cut(f.text))
		return
	}
	a.addStep(i, n, false)
}

// unnumbered places the k-th command without a number: the first is step 1, or
// step 0 when another tool is step 1; each further one is a new step behind
// those that stand before it.
func (a *assembly) unnumbered(k, i int) {
	f := &a.w.fields[i]
	if k > 0 {
		a.warn(RepeatedCommand, finding.Warning, i, "received command again (%q); expected command_1, command_2, …: read as a new step", cut(f.text))
		n := 0
		for _, s := range a.steps {
			if s.pos < i {
				n = max(n, s.Index)
			}
		}
		for n++; a.step(n) != nil; n++ {
		}
		a.addStep(i, n, true)
		return
	}
	one := a.step(1)
	switch {
	case one == nil:
		a.addStep(i, 1, true)
	case one.ToolID == f.text: // the same command, written twice
	case a.step(0) != nil:
		a.warn(DuplicateCommand, finding.Error, i, "received command, command_0 and command_1; expected numbers for all of them")
	default:
		a.warn(MixedCommandIndexing, finding.Warning, i, "received command beside command_1; expected numbers for both: command runs first")
		a.addStep(i, 0, true)
	}
}

func (a *assembly) addStep(i, n int, bare bool) {
	f := &a.w.fields[i]
	a.steps = append(a.steps, &step{
		Command: Command{Index: n, ToolID: f.text, OnError: protocol.OnErrorStop, ToolSource: f.source},
		pos:     i, bare: bare,
	})
}

func (a *assembly) step(n int) *step {
	for _, s := range a.steps {
		if s.Index == n {
			return s
		}
	}
	return nil
}

// keepNumbers finds names like image_1 and image_2 under a single command
// without a number: there the number belongs to the name.
func (a *assembly) keepNumbers() {
	if !a.plain {
		return
	}
	seen := map[string]string{}
	for _, s := range a.slots {
		if s.role != roleParam && s.role != roleURI {
			continue
		}
		first, ok := seen[s.name]
		if !ok {
			seen[s.name] = s.full
		} else if first != s.full {
			if a.kept == nil {
				a.kept = map[string]bool{}
			}
			a.kept[s.name] = true
		}
	}
}

// place binds field i to its steps.
func (a *assembly) place(i int) {
	s, f := a.slots[i], &a.w.fields[i]
	switch s.role {
	case roleCommand:
	case roleComment:
		if f.text != "" && f.name == "comment" {
			a.w.notes = append(a.w.notes, placedNote{f.source.KeySpan[0], f.text})
		}
	case roleRequestID:
		if a.block.RequestID != "" {
			a.duplicate(i, f.name)
		}
		a.block.RequestID = Optional(f.text)
	case roleCommon:
		a.placeCommon(i, s.name)
	default:
		name, st, every := a.stepOf(i, s)
		switch {
		case every:
			for _, st := range a.steps {
				a.put(i, s.role, name, st, false)
			}
		case st != nil:
			a.put(i, s.role, name, st, s.how != unsuffixed)
		}
	}
}

func (a *assembly) placeCommon(i int, name string) {
	if a.block.Common == nil {
		a.block.Common, a.common = Texts{}, map[string]FieldSource{}
	}
	if _, ok := a.common[name]; ok {
		a.duplicate(i, "common_"+name)
	}
	a.block.Common[name], a.common[name] = a.w.fields[i].text, a.w.fields[i].source
}

func (a *assembly) duplicate(i int, key string) {
	a.warn(DuplicateKey, finding.Warning, i, "received %s more than once; expected it once: the last one counts", key)
}

// stepOf finds the step of a field and the name that it has there.
func (a *assembly) stepOf(i int, s slot) (name string, st *step, every bool) {
	if len(a.steps) == 0 {
		return s.name, nil, false
	}
	if s.how != unsuffixed {
		if a.kept[s.name] {
			return s.full, a.steps[0], false
		}
		if st := a.step(s.n); st != nil {
			return s.name, st, false
		}
		if s.how == underscored {
			a.orphan(i, s.n)
			return s.name, nil, false
		}
	}
	name = s.full
	if len(a.steps) == 1 {
		return name, a.steps[0], false
	}
	if s.role == roleOnError || s.role == roleRetry {
		if !a.numberless {
			return name, a.onlyBare(), a.onlyBare() == nil
		}
		return name, a.preceding(i), false
	}
	if _, shared := a.block.Common[name]; s.role == roleHint && shared {
		return name, nil, true
	}
	st = a.preceding(i)
	if !a.numberless {
		a.warn(UnindexedParam, finding.Warning, i, "received %s without a step number; expected %s_N: bound to step %d (%s)", s.full, s.full, st.Index, cut(st.ToolID))
	}
	return name, st, false
}

func (a *assembly) onlyBare() *step {
	for _, s := range a.steps {
		if s.bare {
			return s
		}
	}
	return nil
}

// preceding is the step whose command stands last before field i, or the first
// of the text.
func (a *assembly) preceding(i int) *step {
	best := a.steps[0]
	for _, s := range a.steps[1:] {
		if later := s.pos > best.pos; s.pos < i && (later || best.pos > i) || s.pos > i && best.pos > i && !later {
			best = s
		}
	}
	return best
}

func (a *assembly) orphan(i, n int) {
	f := &a.w.fields[i]
	a.warn(OrphanParam, finding.Warning, i, "received %s but no command_%d; expected the number of one of the steps %s: not passed to any tool", f.name, n, a.indices())
	a.block.Orphans = append(a.block.Orphans, Orphan{Key: f.name, Value: f.text, Source: f.source})
}

func (a *assembly) indices() string {
	var b strings.Builder
	for k, s := range a.steps {
		if k > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(s.Index))
	}
	return b.String()
}

func (a *assembly) warn(code Code, sev finding.Severity, i int, format string, args ...any) {
	f := &a.w.fields[i]
	a.w.note(code, sev, f.source.KeySpan[0], f.source.KeySpan[1], f.name, format, args...)
}
