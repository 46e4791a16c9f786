package hidden

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tavernsim/protocol"
)

// harmless are names of headers and parameters whose values are no secrets, in small letters.
func harmless() []string {
	return []string{"accept", "accept-language", "anthropic-beta", "anthropic-version", "api-version", "content-type", "http-referer", "openai-beta", "referer", "user-agent", "x-openrouter-title", "x-title"}
}

// standIns are words of at least [Short] characters that servers of one's own are given in place of a key.
func standIns() []string {
	return []string{"anything", "changeme", "dummy-key", "lm-studio", "no-key-required", "not-needed", "password", "placeholder", "undefined", "whatever"}
}

// Given are what a user gives a server.
type Given struct {
	Key            string // "" = none
	Headers, Query map[string]string
	Public         []string // names of Headers and Query whose values are no secrets
}

// Words are the key, and those of headers and parameters whose names are neither [harmless] nor public; warnings
// are about what is not hidden, and about words that answers may have by chance.
func (given *Given) Words() (list, warnings []string) {
	switch {
	case given.Key == "":
	case len(given.Key) < Short, slices.Contains(standIns(), strings.ToLower(given.Key)):
		warnings = append(warnings, fmt.Sprintf("the key has fewer than %d characters, or is a usual word for none: it is taken for no secret, and hidden nowhere", Short))
	default:
		list = append(list, given.Key)
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
				warnings = append(warnings, fmt.Sprintf("the value of the %s %s has fewer than %d characters, and is hidden nowhere; use a longer secret, or name it in public", fields.what, name, Short))
			case slices.ContainsFunc(found, plainWord):
				warnings = append(warnings, fmt.Sprintf("the value of the %s %s is hidden, and answers may have it as a word; name it in public if it is no secret", fields.what, name))
			}
		}
	}
	return list, warnings
}

// secretWords are the words of a value, as in "Bearer abc", that can be hidden; the whole of it if no word can. They are what stands
// between blanks; the parts of each, as in "sid=abc; other=zz" or "a=abc,b=9", without the = at its end; and the value of each
// part. The name of a value is no secret.
func secretWords(value string) (words []string) {
	add := func(word string) {
		if len(word) >= Short && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for word := range strings.FieldsSeq(value) {
		parts := strings.FieldsFunc(word, func(r rune) bool { return r == ';' || r == ',' || r == '&' })
		if add(strings.TrimRight(word, ";,&")); len(parts) == 0 {
			add(word)
		}
		for _, part := range parts {
			name, of, named := strings.Cut(strings.TrimRight(part, "="), "=")
			if of = strings.Trim(of, `"'`); !named {
				of = strings.Trim(name, `"'`)
			} else if len(of) < Short {
				of = strings.TrimRight(part, "=")
			}
			add(of)
		}
	}
	if value = strings.TrimSpace(value); len(words) == 0 && len(value) >= Short {
		words = append(words, value)
	}
	return words
}

func plainWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}
