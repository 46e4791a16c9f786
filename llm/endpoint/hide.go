package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tavernsim/llm/endpoint/hidden"
	"tavernsim/protocol"
)

// harmless are names of headers and parameters whose values are no secrets, in small letters.
func harmless() []string {
	return []string{"accept", "accept-language", "anthropic-beta", "anthropic-version", "api-version", "content-type", "http-referer", "openai-beta", "referer", "user-agent", "x-openrouter-title", "x-title"}
}

// standIns are words of at least [hidden.Short] characters that servers of one's own are given in place of a key.
func standIns() []string {
	return []string{"anything", "changeme", "dummy-key", "lm-studio", "no-key-required", "not-needed", "password", "placeholder", "undefined", "whatever"}
}

// secretsOf are the key, and what the user gives in headers and parameters whose names are neither [harmless] nor in public;
// warnings are about what is not hidden, and about words that answers may have by chance.
func secretsOf(key string, given Definition) (list, warnings []string) {
	switch {
	case key == "":
	case len(key) < hidden.Short, slices.Contains(standIns(), strings.ToLower(key)):
		warnings = append(warnings, fmt.Sprintf("the key has fewer than %d characters, or is a usual word for none: it is taken for no secret, and hidden nowhere", hidden.Short))
	default:
		list = append(list, key)
	}
	for _, fields := range []struct {
		what   string
		values map[string]string
	}{{"header", given.Headers}, {"parameter", given.Query}} {
		for _, name := range protocol.SortedKeys(fields.values) {
			same := func(other string) bool { return strings.EqualFold(other, name) }
			if slices.ContainsFunc(harmless(), same) || slices.ContainsFunc(given.Public, same) {
				continue
			}
			found := secretWords(fields.values[name])
			switch list = append(list, found...); {
			case len(found) == 0:
				warnings = append(warnings, fmt.Sprintf("the value of the %s %s has fewer than %d characters, and is hidden nowhere; use a longer secret, or name it in public", fields.what, name, hidden.Short))
			case slices.ContainsFunc(found, plainWord):
				warnings = append(warnings, fmt.Sprintf("the value of the %s %s is hidden, and answers may have it as a word; name it in public if it is no secret", fields.what, name))
			}
		}
	}
	return list, warnings
}

// secretWords are the words of a value, as in "Bearer abc", that can be hidden; the whole of it if no word can.
func secretWords(value string) (words []string) {
	for word := range strings.FieldsSeq(value) {
		if len(word) >= hidden.Short {
			words = append(words, word)
		}
	}
	if value = strings.TrimSpace(value); len(words) == 0 && len(value) >= hidden.Short {
		words = append(words, value)
	}
	return words
}

func plainWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

// Warnings say what of the key, the headers and the parameters is hidden nowhere, or may be a word of an answer.
// They have no value of them.
func (e *Endpoint) Warnings() []string { return e.access.Load().warnings }

// secrets are none before New has ended.
func (e *Endpoint) secrets() hidden.Secrets {
	if a := e.access.Load(); a != nil {
		return a.secrets
	}
	return nil
}

// Hide takes the secrets out of a text.
func (e *Endpoint) Hide(s string) string { return e.secrets().Hide(s) }

// hide takes the secrets out of everything that a server can write.
func (e *Endpoint) hide(a *protocol.ModelAnswer) {
	if len(e.secrets()) == 0 {
		return
	}
	o := a.Origin
	for _, s := range []*string{&a.Model, &a.Text, &a.Reasoning, &o.ID, &o.Fingerprint, &o.Refused} {
		*s = e.Hide(*s)
	}
	for i := range a.Calls {
		c := &a.Calls[i]
		c.ID, c.Tool, c.Broken = e.Hide(c.ID), e.Hide(c.Tool), e.Hide(c.Broken)
		c.Params, _ = e.hidden(c.Params).(map[string]any)
	}
}

// hidden is a value without the secrets.
func (e *Endpoint) hidden(v any) any {
	switch v := v.(type) {
	case string:
		return e.Hide(v)
	case []any:
		for i := range v {
			v[i] = e.hidden(v[i])
		}
	case map[string]any:
		for _, name := range protocol.SortedKeys(v) {
			x := e.hidden(v[name])
			delete(v, name)
			v[e.Hide(name)] = x
		}
	}
	return v
}
