package statecmd

import (
	"strings"
	"time"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// DefaultPrefix is the prefix of the specification.
const DefaultPrefix = "character.saveData."

// DefaultBin is the place of the recycle bin below a prefix.
const DefaultBin = "回收站"

// Mount leads keys with a prefix to a document.
type Mount struct {
	Prefix   string     // ends in a dot; "" takes every key
	Document string     // name of the document
	Root     world.Path // where in the document the keys begin; nil is its root
	Bin      string     // key of the recycle bin, with prefix; "" is Prefix + DefaultBin
	Guard    *Guard     // nil guards nothing
}

// Settings are the rules of an engine. A zero field takes the default.
type Settings struct {
	// Mounts: no two of the same prefix; the longest prefix that fits wins. None
	// is one mount of DefaultPrefix to the document "state".
	Mounts []Mount
	// MaxDocument bounds a document in bytes of msgpack; default 16 MiB.
	MaxDocument int
	// MaxKeys and KeyAge bound the memory of idempotency keys: beyond either the
	// oldest is forgotten. Defaults 10,000 and 7 days.
	MaxKeys int
	KeyAge  time.Duration
	// MaxTimers bounds what may be waiting to expire; a ttl beyond it is
	// rejected. Default 100,000.
	MaxTimers int
	// LintReason warns about entries that give no reason.
	LintReason bool
	// Permissions by profile, over paths of the documents.
	Permissions *world.Permissions
}

// Engine carries out commands under one set of rules. It holds no state and is
// safe for concurrent use.
type Engine struct {
	set    Settings
	mounts []mount
}

// mount is a Mount made ready.
type mount struct {
	Mount
	stem     string // the prefix without its last dot
	readOnly *world.Permissions
}

// New checks the settings and returns an engine.
func New(s Settings) (*Engine, error) {
	fillInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	fillInt(&s.MaxDocument, 16<<20)
	fillInt(&s.MaxKeys, 10_000)
	fillInt(&s.MaxTimers, 100_000)
	if s.KeyAge <= 0 {
		s.KeyAge = 7 * 24 * time.Hour
	}
	if len(s.Mounts) == 0 {
		s.Mounts = []Mount{{Prefix: DefaultPrefix, Document: "state"}}
	}
	e := &Engine{set: s}
	for i, m := range s.Mounts {
		if err := e.mount(m); err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "statecmd: mount %d: %w", i+1, err)
		}
	}
	return e, nil
}

func (e *Engine) mount(m Mount) error {
	if m.Prefix != "" && !strings.HasSuffix(m.Prefix, ".") {
		m.Prefix += "."
	}
	if m.Document == "" {
		return protocol.Errorf(protocol.KindInvalid, "prefix %q names no document", m.Prefix)
	}
	for _, other := range e.mounts {
		if other.Prefix == m.Prefix {
			return protocol.Errorf(protocol.KindInvalid, "prefix %q is mounted twice", m.Prefix)
		}
	}
	if m.Bin == "" {
		m.Bin = m.Prefix + DefaultBin
	}
	ready := mount{Mount: m, stem: strings.TrimSuffix(m.Prefix, ".")}
	if m.Guard != nil && len(m.Guard.ReadOnly) > 0 {
		ready.readOnly = &world.Permissions{}
		for _, p := range m.Guard.ReadOnly {
			full := append(append(world.Pattern{}, m.Root...), p...)
			ready.readOnly.Default.Deny = append(ready.readOnly.Default.Deny, full)
		}
	}
	e.mounts = append(e.mounts, ready)
	return nil
}

// place is where a key leads.
type place struct {
	mount *mount
	key   string     // trimmed, as written
	path  world.Path // in the document
}

// place judges a key (step 3).
func (e *Engine) place(key string) (place, *command.Fault) {
	key = strings.TrimSpace(key)
	if len(key) > command.MaxKey {
		return place{}, &command.Fault{Code: command.Limit, Message: textf("the key has %d bytes; the limit is %d", len(key), command.MaxKey)}
	}
	m, rest, ok := e.find(key)
	if !ok {
		return place{}, &command.Fault{Code: command.BadPrefix, Message: e.prefixMessage(key)}
	}
	rel, err := world.ParsePath(rest)
	if err != nil {
		return place{}, &command.Fault{Code: command.InvalidPath, Message: err.Error()}
	}
	for _, s := range rel {
		if s.Kind == world.Name && world.Reserved(s.Key) {
			return place{}, &command.Fault{Code: command.Reserved, Message: textf("key %q: the segment %q is reserved", key, s.Key)}
		}
	}
	p := place{mount: m, key: key, path: rel}
	if len(m.Root) > 0 {
		p.path = append(append(make(world.Path, 0, len(m.Root)+len(rel)), m.Root...), rel...)
	}
	if len(p.path) > world.MaxPathDepth {
		return place{}, &command.Fault{Code: command.Limit, Message: textf("key %q has %d segments; the limit is %d", key, len(p.path), world.MaxPathDepth)}
	}
	return p, nil
}

// find picks the mount with the longest prefix that the key has, with something
// behind it.
func (e *Engine) find(key string) (*mount, string, bool) {
	var best *mount
	rest := ""
	for i := range e.mounts {
		m := &e.mounts[i]
		if best != nil && len(m.Prefix) <= len(best.Prefix) {
			continue
		}
		after, ok := strings.CutPrefix(key, m.stem)
		switch {
		case m.Prefix == "":
			best, rest = m, key
		case ok && strings.HasPrefix(after, ".") && len(after) > 1:
			best, rest = m, after[1:]
		case ok && strings.HasPrefix(after, "["):
			best, rest = m, after
		}
	}
	return best, rest, best != nil
}

// prefixMessage explains a wrong prefix and says which key may have been meant.
// Nothing is repaired: a guess that is wrong would write somewhere else.
func (e *Engine) prefixMessage(key string) string {
	prefixes := make([]string, len(e.mounts))
	for i := range e.mounts {
		prefixes[i] = `"` + e.mounts[i].Prefix + `"`
		if key == e.mounts[i].stem || key == e.mounts[i].Prefix {
			return textf("key %q names the whole document; add what is meant below %q", key, e.mounts[i].Prefix)
		}
	}
	msg := textf("key %.200q must start with %s", key, strings.Join(prefixes, " or "))
	if meant := e.meant(key); meant != "" {
		msg += textf("; did you mean %q?", meant)
	}
	return msg
}

func (e *Engine) meant(key string) string {
	parts := strings.Split(key, ".")
	for i := range e.mounts {
		m := &e.mounts[i]
		want := strings.Split(m.stem, ".")
		// A misspelt prefix of the same length.
		if len(parts) > len(want) {
			head := strings.Join(parts[:len(want)], ".")
			if command.Nearest(head, []string{m.stem}) != "" {
				return m.Prefix + strings.Join(parts[len(want):], ".")
			}
		}
		// A prefix of which the beginning or the end is missing.
		for cut := 1; cut < len(want); cut++ {
			tail, head := want[cut:], want[:len(want)-cut]
			if len(parts) > len(tail) && strings.EqualFold(strings.Join(parts[:len(tail)], "."), strings.Join(tail, ".")) {
				return m.Prefix + strings.Join(parts[len(tail):], ".")
			}
			if len(parts) > len(head) && strings.EqualFold(strings.Join(parts[:len(head)], "."), strings.Join(head, ".")) {
				return m.Prefix + strings.Join(parts[len(head):], ".")
			}
		}
	}
	if key != "" {
		return e.mounts[0].Prefix + key
	}
	return ""
}
