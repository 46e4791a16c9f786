package refs

import (
	"slices"
	"strings"

	"tavernsim/engine/knowledge"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Bounds of resolving references.
const (
	MaxReferenceDepth = 10      // references inside references
	MaxReferences     = 10_000  // resolved for one text or value
	MaxResolvedBytes  = 1 << 20 // of text that references put in, for one text or value
	MaxWarnings       = 100     // of one text or value; markers stay
)

// Resolver replaces dynamic references, "{{{key}}}" (§3.4). A key is
//
//	entry                an id or reference key of the entry's own base
//	alias:entry          the same of another base
//	entry.path           a path into an entry whose content is an object
//	anything else        resolved by Lookup: "world.weather"
//
// A text of only one reference becomes the value that it names, also an object. In a
// longer text, an object is written as JSON.
type Resolver struct {
	Home   *knowledge.Base                    // the base at hand
	Base   func(alias string) *knowledge.Base // other bases; may be nil
	Lookup func(key string) (any, bool)       // what is not in a base; may be nil
}

// Entry resolves the references of an entry's content.
func (r Resolver) Entry(e *knowledge.Entry) (content any, warnings []knowledge.Warning) {
	run := resolving{Resolver: r, path: []string{r.path(r.Home, e.ID)}, home: r.Home, entry: e.ID}
	v := run.value(e.Content)
	return v, run.warnings
}

func (r Resolver) path(b *knowledge.Base, id string) string {
	if b == nil || b == r.Home {
		return id
	}
	return b.ID() + ":" + id
}

// resolving is one run of a Resolver.
type resolving struct {
	Resolver
	home     *knowledge.Base // that keys without alias are looked up in: the entry's own
	entry    string          // whose text is being resolved
	path     []string        // entries that led here
	count    int
	bytes    int
	warnings []knowledge.Warning
}

// value copies the parts with references and shares the others.
func (r *resolving) value(v any) any {
	switch x := v.(type) {
	case string:
		if !strings.Contains(x, "{{{") {
			return x
		}
		return r.text(x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = r.value(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, k := range protocol.SortedKeys(x) { // in order, for the warnings and bounds
			out[k] = r.value(x[k])
		}
		return out
	}
	return v
}

func (r *resolving) text(s string) any {
	if key, ok := wholeReference(s); ok {
		return r.resolve(key)
	}
	var b []byte
	for {
		before, rest, open := strings.Cut(s, "{{{")
		key, after, closed := strings.Cut(rest, "}}}")
		if !open || !closed {
			return string(append(b, s...))
		}
		b = append(b, before...)
		b = template.AppendText(b, r.resolve(strings.TrimSpace(key)))
		s = after
	}
}

func wholeReference(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{{{") || !strings.HasSuffix(s, "}}}") || len(s) < 6 {
		return "", false
	}
	key := s[3 : len(s)-3]
	return strings.TrimSpace(key), !strings.Contains(key, "{{{") && !strings.Contains(key, "}}}")
}

// fail leaves a marker and a warning.
func (r *resolving) fail(key, what string) any {
	if len(r.warnings) < MaxWarnings {
		r.warnings = append(r.warnings, knowledge.Warning{Entry: r.entry, Key: key, Message: "reference {{{" + key + "}}}: " + what})
	}
	return "[" + what + ": " + key + "]"
}

func (r *resolving) resolve(key string) any {
	if r.count++; r.count > MaxReferences || r.bytes > MaxResolvedBytes {
		return r.fail(key, "too many references")
	}
	base, entry, path := r.find(key)
	if entry == nil {
		if r.Lookup != nil {
			if v, ok := r.Lookup(key); ok {
				r.bytes += len(template.AppendText(nil, v))
				return v
			}
		}
		return r.fail(key, "missing reference")
	}
	step := r.Resolver.path(base, entry.ID)
	if slices.Contains(r.path, step) {
		return r.fail(strings.Join(append(slices.Clone(r.path), step), " -> "), "reference cycle")
	}
	if len(r.path) >= MaxReferenceDepth {
		return r.fail(key, "references deeper than 10")
	}
	return r.inside(base, entry, step, path, key)
}

// inside resolves the content of an entry with the entry on the path.
func (r *resolving) inside(base *knowledge.Base, entry *knowledge.Entry, step, path, key string) any {
	content := entry.Content
	if content == nil {
		content = entry.Description()
	}
	if path != "" {
		part, ok := knowledge.Descend(content, path)
		if !ok {
			return r.fail(key, "missing reference")
		}
		content = part
	}
	home, from := r.home, r.entry
	r.home, r.entry, r.path = base, entry.ID, append(r.path, step)
	before := r.bytes
	v := r.value(content)
	r.home, r.entry, r.path = home, from, r.path[:len(r.path)-1]
	r.bytes = max(r.bytes, before+len(template.AppendText(nil, v)))
	return v
}

// find splits a key into base, entry and path: the longest name that exists.
func (r *resolving) find(key string) (*knowledge.Base, *knowledge.Entry, string) {
	if b, e, path := lookIn(r.home, key); e != nil {
		return b, e, path
	}
	alias, rest, ok := strings.Cut(key, ":")
	if !ok || r.Base == nil {
		return nil, nil, ""
	}
	return lookIn(r.Base(alias), rest)
}

func lookIn(b *knowledge.Base, key string) (*knowledge.Base, *knowledge.Entry, string) {
	if b == nil {
		return nil, nil, ""
	}
	name, path := key, ""
	for {
		if e, ok := b.Reference(name); ok {
			return b, e, path
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return nil, nil, ""
		}
		name, path = name[:i], key[i+1:]
	}
}
