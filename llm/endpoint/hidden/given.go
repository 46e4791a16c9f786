package hidden

import (
	"cmp"
	"fmt"
	"regexp"
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
			case len(found) == 0 && hasMediaType(fields.values[name]):
			case len(found) == 0:
				warnings = append(warnings, fmt.Sprintf("the value of the %s %s has fewer than %d characters, and is hidden nowhere; use a longer secret, or name it in public", fields.what, name, Short))
			case slices.ContainsFunc(found, plainWord):
				warnings = append(warnings, fmt.Sprintf("the value of the %s %s is hidden, and answers may have it as a word; name it in public if it is no secret", fields.what, name))
			}
		}
	}
	return list, warnings
}

// secretWords are the words of a value, as in "Bearer abc", that can be hidden; the whole of it if no word can, unless it has a
// media type. They are what stands between blanks, and is no media type; of the parts of each, as in "sid=abc1;other=zz", "a=abc1,b=9" or
// "user:abc1", what looks [chosen], without the = at its end. Of a part with a name, that is its value. The name is no secret.
func secretWords(value string) (words []string) {
	add := func(word string) {
		if len(word) >= Short && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for word := range strings.FieldsSeq(value) {
		parts := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(";,&:", r) })
		if !slices.ContainsFunc(parts, mediaType) {
			add(cmp.Or(strings.TrimRight(word, ";,&"), word))
		}
		for _, part := range parts {
			name, of, named := strings.Cut(strings.TrimRight(part, "="), "=")
			if !named {
				of = name
			}
			if of = strings.Trim(of, `"'`); len(parts) == 1 && !named && !mediaType(of) || chosen(of) {
				add(of)
			}
		}
	}
	if value = strings.TrimSpace(value); len(words) == 0 && len(value) >= Short && !hasMediaType(value) {
		words = append(words, value)
	}
	return words
}

// chosen reports whether a part of a word may be a secret, and not an ordinary word or the server of an address: it has a digit, or a
// capital behind a small letter, or is longer than usual words.
func chosen(part string) bool {
	if mediaType(part) || strings.HasPrefix(part, "//") {
		return false
	}
	return len(part) >= longWord || strings.ContainsAny(part, "0123456789") || regexp.MustCompile(`[a-z][A-Z]`).MatchString(part)
}

// longWord is a size in bytes that few words have: "authentication" has 14.
const longWord = 15

func mediaType(s string) bool {
	return regexp.MustCompile(`^(application|audio|image|multipart|text|video)/[A-Za-z0-9.+*-]+$`).MatchString(s)
}

func hasMediaType(value string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("; ,", r) }), mediaType)
}

func plainWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}
