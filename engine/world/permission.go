package world

// Rules say where somebody may write. A write is permitted when it lies at or
// below a place that Allow names and neither lies at or below a place that Deny
// names nor replaces, removes or creates one with what it writes. {self} in a name
// stands for the instance id of who writes.
type Rules struct {
	Allow []Pattern // none allows every path
	Deny  []Pattern
}

// Permissions is a table of write rules by profile. A profile without rules of
// its own has those of Default; the zero Default permits everything.
type Permissions struct {
	Default  Rules
	Profiles map[string]Rules
}

// Check refuses a write that the profile may not make, with a *Fault of
// CodeDenied that names the rule. A merge writes its fields and nothing else, so
// each field is asked for by itself.
func (p *Permissions) Check(doc *Document, profile, by string, op Op, path Path, value any) error {
	return p.check(doc.root, profile, by, op, path, value)
}

func (p *Permissions) check(root *object, profile, by string, op Op, path Path, value any) error {
	rules := p.of(profile)
	if len(rules.Allow)+len(rules.Deny) == 0 {
		return nil
	}
	if op == OpDelete {
		value = nil
	}
	node, err := builder{own: &owner{}}.value(value, len(path))
	if err != nil {
		return err
	}
	if fields, ok := node.(*object); ok && op == OpMerge && fields.len() > 0 {
		fields.each(func(k string, s slot) bool {
			field := path.Key(k)
			err = rules.check(root, profile, by, field, field, s.val)
			return err == nil
		})
		return err
	}
	at := path
	if op == OpPush {
		at = appended(root, path)
	}
	return rules.check(root, profile, by, path, at, node)
}

// CheckAll refuses a profile that may not write everything that can be at or below a path, or not replace it: each
// place that Deny can name there counts, whether something is there or not. nil permits everything.
func (p *Permissions) CheckAll(profile, by string, path Path) error {
	if p == nil {
		return nil
	}
	rules := p.of(profile)
	for _, deny := range rules.Deny {
		if deny = deny.For(by); deny.Touches(path) {
			return rules.denied(profile, path, deny)
		}
	}
	return rules.allowed(profile, by, path)
}

// of are the rules of a profile.
func (p *Permissions) of(profile string) Rules {
	if rules, ok := p.Profiles[profile]; ok {
		return rules
	}
	return p.Default
}

// appended is the place of an element that is pushed onto the list at a path.
func appended(root *object, path Path) Path {
	node, _ := walk(root, path)
	if l, ok := node.(*list); ok {
		return path.At(l.n)
	}
	return path.At(0)
}

// check refuses a write of what Allow does not name, or whose value would stand at a place that Deny names.
func (r Rules) check(root *object, profile, by string, path, at Path, value any) error {
	for _, deny := range r.Deny {
		deny = deny.For(by)
		if deny.Covers(at) || deny.Touches(at) && deny.below(root, at, value) {
			return r.denied(profile, at, deny)
		}
	}
	return r.allowed(profile, by, path)
}

func (r Rules) denied(profile string, at Path, deny Pattern) error {
	return faultf(CodeDenied, "path %q: profile %q must not write %q", at.String(), profile, deny.String())
}

// allowed refuses a write of what Allow does not name.
func (r Rules) allowed(profile, by string, path Path) error {
	for _, allow := range r.Allow {
		if allow.For(by).Covers(path) {
			return nil
		}
	}
	if len(r.Allow) == 0 {
		return nil
	}
	return faultf(CodeDenied, "path %q: profile %q may write %s only", path.String(), profile, patternList(r.Allow))
}

// below reports whether what the pattern names is in what a write at a path
// replaces, or in the value that it brings.
func (p Pattern) below(root *object, path Path, value any) bool {
	old, had := walk(root, path)
	for _, rest := range p.after(path) {
		q := query{limit: 1}
		if had {
			q.run(old, rest)
		}
		q.run(value, rest)
		if len(q.found) > 0 {
			return true
		}
	}
	return false
}

// after lists what can be left of the pattern when the path has been matched, or lies below what it names.
func (p Pattern) after(path Path) (rest []Pattern) {
	at := p.from()
	for i := range path {
		if p.names(at) {
			return []Pattern{{}}
		}
		at = p.next(at, func(s Segment) bool { return sameSegment(s, path[i], true) })
	}
	for k, i := range at {
		if k == 0 || at[k-1] != i-1 || p[i-1].Kind != AnyDeep { // else it is left of that `**`
			rest = append(rest, p[i:])
		}
	}
	return rest
}

func patternList(ps []Pattern) string {
	var b []byte
	for i, p := range ps {
		if i > 0 {
			b = append(b, ", "...)
		}
		if i == 5 {
			return string(append(b, "..."...))
		}
		b = append(append(append(b, '"'), p.String()...), '"')
	}
	return string(b)
}
