package secrets

import (
	"slices"
	"sync"

	"tavernsim/engine/secret/mask"
	"tavernsim/protocol"
)

// Held are the secrets of one scene: those of a Store, and those that persons gave to agents
// while it ran, which nothing keeps. It can be used by many goroutines.
type Held struct {
	scene string // "" = calls are made outside of scenes

	changing sync.Mutex // is held by who changes the values; a masker of many takes seconds, and nobody else waits for it

	mu    sync.Mutex // guards the following fields
	base  *Store
	given []given
	all   *Store          // masks the values of both
	quiet map[string]bool // names with Withheld, also those of stores of before
}

type given struct{ owner, name, value string }

// maxGiven bounds the values that persons give in a scene.
const maxGiven = 1000

// Hold holds the secrets of a store, which may be nil, for a scene.
func Hold(s *Store, scene string) *Held {
	h := &Held{scene: scene, base: s, all: s, quiet: map[string]bool{}}
	h.hush()
	return h
}

// hush notes the secrets whose calls are withheld. The lock is held, or nobody else has h.
func (h *Held) hush() {
	for name, g := range h.base.file() {
		if g.Show == Withheld {
			h.quiet[name] = true
		}
	}
}

// Withheld reports whether nobody is shown what a call answers that has these secrets. What holds
// for a secret once stays until the end of the scene: programs may still have it.
func (h *Held) Withheld(names ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(names, func(name string) bool { return h.quiet[name] })
}

// Granted gives a tool secrets as [Store.For] of the file does.
func (h *Held) Granted(tool string, names []string) (map[string]string, error) {
	h.mu.Lock()
	base := h.base
	h.mu.Unlock()
	return base.For(h.scene, tool, names)
}

// Check refuses a value that cannot be found in texts.
func Check(name, value string) error {
	_, err := mask.New([]mask.Secret{{Name: name, Value: value}})
	return err
}

// Give gives an agent a value.
func (h *Held) Give(owner, name, value string) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	base, values := h.now()
	g := given{owner, name, value}
	if slices.Contains(values, g) {
		return nil
	}
	if len(values) == maxGiven {
		return protocol.Errorf(protocol.KindLimit, "%d values were given in this scene, which is the limit", maxGiven)
	}
	return h.mask(base, append(values, g)) // also those of before: they may still be in outputs
}

// now are the store and a copy of the given values.
func (h *Held) now() (*Store, []given) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.base, slices.Clone(h.given)
}

// mask takes the values of a store and given ones from now on. Until it returns the ones before count.
func (h *Held) mask(base *Store, values []given) error {
	var list []mask.Secret
	for _, x := range values {
		list = append(list, mask.Secret{Name: x.name, Value: x.value})
	}
	all, err := base.masking(list)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base, h.given, h.all = base, values, all
	h.hush()
	return nil
}

// Renew takes another store in the place of the one before, whose values are taken out of texts
// as before.
func (h *Held) Renew(s *Store) error {
	h.changing.Lock()
	defer h.changing.Unlock()
	base, values := h.now()
	if base != nil {
		for _, x := range base.values {
			if g := (given{former, x.Name, x.Value}); !slices.Contains(values, g) && (s == nil || !slices.Contains(s.values, x)) {
				values = append(values, g)
			}
		}
	}
	if len(values) > maxGiven {
		return protocol.Errorf(protocol.KindLimit, "%d values were given in this scene, or had other values before, which is more than %d; interrupt the run and go on with it", len(values), maxGiven)
	}
	return h.mask(s, values)
}

// former owns the values of stores of before: no agent is called so.
const former = "\x00former"

// Store masks the values of all, and gives those of the file.
func (h *Held) Store() *Store {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}

// For gives a tool that an agent calls the secrets which the agent was given, or which the
// file grants to the tool.
func (h *Held) For(owner, tool string, names []string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		value, ok := h.Given(owner, name)
		if !ok {
			granted, err := h.Granted(tool, []string{name})
			if err != nil {
				return nil, protocol.Errorf(protocol.KindOf(err), "%w; or ask for it with get_value", err)
			}
			value = granted[name]
		}
		out[name] = value
	}
	return out, nil
}

// Given is the newest value that an agent was given under a name.
func (h *Held) Given(owner, name string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range slices.Backward(h.given) {
		if g.owner == owner && g.name == name {
			return g.value, true
		}
	}
	return "", false
}
