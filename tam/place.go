package tam

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/finding"
)

// put gives field i to a step. own: the field names the step, so it wins over
// one that was meant for every step.
func (a *assembly) put(i int, r role, name string, st *step, own bool) {
	f := &a.w.fields[i]
	switch r {
	case roleOnError:
		if !st.hasError || own {
			st.OnError, st.hasError = a.onError(i, st), own
		}
	case roleRetry:
		if !st.hasRetry || own {
			st.Retry, st.hasRetry = a.retry(i, st), own
		}
	case roleHint:
		if st.hints[name] != nil {
			a.duplicate(i, f.name)
		}
		if st.hints == nil {
			st.hints = map[string]*field{}
		}
		st.hints[name] = f
	case roleURI:
		a.set(i, &st.URIs, name, "uri_"+name, st)
	default:
		a.set(i, &st.Params, name, name, st)
	}
}

func (a *assembly) set(i int, into *Texts, name, label string, st *step) {
	if _, ok := (*into)[name]; ok {
		a.duplicate(i, label)
	}
	if *into == nil {
		*into = Texts{}
	}
	if st.Fields == nil {
		st.Fields = Table[FieldSource]{}
	}
	(*into)[name] = a.w.fields[i].text
	st.Fields[label] = a.w.fields[i].source
}

func (a *assembly) onError(i int, st *step) protocol.OnError {
	v := strings.ToLower(strings.TrimSpace(a.w.fields[i].text))
	switch protocol.OnError(v) {
	case protocol.OnErrorStop, protocol.OnErrorContinue:
		return protocol.OnError(v)
	}
	a.control(i, "received on_error %q for step %d; expected stop or continue: taken as stop", cut(v), st.Index)
	return protocol.OnErrorStop
}

func (a *assembly) retry(i int, st *step) int {
	v := strings.TrimSpace(a.w.fields[i].text)
	n, err := strconv.Atoi(v)
	limit := a.w.limits.Retry
	if err == nil && n >= 0 && n <= limit {
		return n
	}
	taken := 0
	if v != "" && strings.Trim(v, "0123456789") == "" {
		taken = limit
	}
	a.control(i, "received retry %q for step %d; expected a whole number from 0 to %d: taken as %d", cut(v), st.Index, limit, taken)
	return taken
}

// control reports a value once, also when it went to every step.
func (a *assembly) control(i int, format string, args ...any) {
	at := a.w.fields[i].source.KeySpan[0]
	for _, d := range a.w.diags {
		if d.Code == InvalidControlValue && d.Offset == at {
			return
		}
	}
	a.warn(InvalidControlValue, finding.Warning, i, format, args...)
}

// finish settles URIs, shared parameters and hints of every step, and whether
// the block runs.
func (a *assembly) finish() {
	for _, st := range a.steps {
		a.settleURIs(st)
		a.inherit(st)
		a.settleHints(st)
		a.block.Commands = append(a.block.Commands, st.Command)
	}
	slices.SortStableFunc(a.w.notes, func(x, y placedNote) int { return x.at - y.at })
	for _, n := range a.w.notes {
		a.block.Notes = append(a.block.Notes, n.text)
	}
	if len(a.steps) == 0 && !a.lost {
		a.w.note(NoCommand, finding.Error, a.w.start, a.w.body, "",
			"received a block with the fields %s but no command; expected command:»»»tool id«««", cut(a.names()))
	}
	a.block.Executable = a.block.Complete && len(a.steps) > 0
	for _, d := range a.w.diags {
		if d.Severity == finding.Error {
			a.block.Executable = false
		}
	}
}

func (a *assembly) names() string {
	var names []string
	for i := range a.w.fields {
		names = append(names, a.w.fields[i].name)
	}
	return strings.Join(names, ", ")
}

// settleURIs: where both x and uri_x are given, the reference counts only if x
// is empty.
func (a *assembly) settleURIs(st *step) {
	for _, name := range slices.Sorted(maps.Keys(st.URIs)) {
		text, both := st.Params[name]
		if !both {
			continue
		}
		loser, label := st.URIs, "uri_"+name
		if text == "" {
			loser, label = st.Params, name
		}
		src := st.Fields[label]
		a.w.note(URIConflict, finding.Warning, src.KeySpan[0], src.KeySpan[1], label,
			"received both %s and uri_%s for step %d; expected one of them: %s is dropped", name, name, st.Index, label)
		delete(loser, name)
		delete(st.Fields, label)
	}
	if len(st.URIs) == 0 {
		st.URIs = nil // none is always nil, so that equal steps are equal values
	}
}

// inherit makes the parameters effective: shared ones where the step has none.
func (a *assembly) inherit(st *step) {
	for _, name := range slices.Sorted(maps.Keys(a.block.Common)) {
		_, own := st.Params[name]
		_, ref := st.URIs[name]
		if own || ref {
			continue
		}
		if st.Params == nil {
			st.Params = Texts{}
		}
		if st.Fields == nil {
			st.Fields = Table[FieldSource]{}
		}
		st.Params[name], st.Fields[name] = a.block.Common[name], a.common[name]
		st.Inherited = append(st.Inherited, name)
	}
}

// knownHints are the type hints that have a meaning; "escaped" is an extension
// of this project.
func knownHints() []string { return []string{"base64", "escaped", "json", "text"} }

func (a *assembly) settleHints(st *step) {
	for _, name := range slices.Sorted(maps.Keys(st.hints)) {
		f := st.hints[name]
		_, param := st.Params[name]
		_, ref := st.URIs[name]
		if !param && !ref {
			a.w.note(OrphanHint, finding.Warning, f.source.KeySpan[0], f.source.KeySpan[1], f.name,
				"received type_hint_%s for step %d but no parameter %s; expected a parameter of that name", name, st.Index, name)
			continue
		}
		hint := strings.ToLower(strings.TrimSpace(f.text))
		if !slices.Contains(knownHints(), hint) {
			a.w.note(UnknownTypeHint, finding.Warning, f.source.KeySpan[0], f.source.KeySpan[1], f.name,
				"received type hint %q for %s; expected one of %s: taken as text", cut(hint), name, strings.Join(knownHints(), ", "))
			hint = "text"
		}
		if st.TypeHints == nil {
			st.TypeHints = Texts{}
		}
		st.TypeHints[name] = hint
	}
}

// delimiters reports families that are not the standard one: a mixture once, or
// a single other family once.
func (w *walker) delimiters() {
	var families [famBare + 1]bool
	first, odd := -1, famNone
	for i := range w.fields {
		f := &w.fields[i]
		if w.cut && i == len(w.fields)-1 {
			break // its delimiter may be cut too
		}
		for _, c := range [...]class{f.cls, f.closed} {
			if c.fam == famNone || c.neutral() {
				continue
			}
			families[c.fam] = true
			if first < 0 && c.fam != famStd {
				first, odd = i, c.fam
			}
		}
	}
	n := 0
	for _, used := range families {
		if used {
			n++
		}
	}
	if first < 0 {
		return
	}
	f := &w.fields[first]
	from := f.source.ValueSpan[0]
	code, text := AlternateDelimiters, "received values between delimiters of the family %s; expected »»» and «««"
	if n > 1 {
		code, text = MixedDelimiters, "received delimiters of several families (here %s); expected »»» and ««« throughout"
	}
	w.note(code, finding.Warning, f.source.KeySpan[0], from, f.name, text, odd)
}
