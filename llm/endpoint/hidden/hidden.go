// Package hidden removes secrets from the text of a model server: the key, and the user's other secrets. It finds them
// in plain text, and in hex and base64, in both cases and alphabets, also within a longer encoded text.
//
// # Not here
//
// Other encodings, which engine/secret/mask finds in outputs of tools: searching for them would cost too much for each
// answer of a model.
package hidden

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// Text stands where a secret stood.
const Text = "[key]"

// Short is the size below which a text is a common word or number: its spellings could be parts of words.
const Short = 8

// Secrets are texts that nobody may see, in each spelling, the longest first.
type Secrets []string

// Of are some secrets, none of them empty.
func Of(secrets []string) Secrets {
	list := slices.Clone(secrets)
	for _, secret := range secrets {
		if len(secret) < Short {
			continue
		}
		low := hex.EncodeToString([]byte(secret))
		list = append(list, low, strings.ToUpper(low))
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			list = append(list, alphabet.EncodeToString([]byte(secret)))
			for before := range 3 { // bytes in front of it, up to a multiple of three
				text := alphabet.EncodeToString([]byte("\x00\x00"[:before] + secret))
				text = text[(before*8+5)/6:] // without the characters that have bits of what is in front
				if (before+len(secret))%3 != 0 {
					text = text[:len(text)-1] // and of what is behind
				}
				list = append(list, text)
			}
		}
	}
	return longestFirst(list)
}

// With are these and others.
func (s Secrets) With(others Secrets) Secrets { return longestFirst(slices.Concat(s, others)) }

func longestFirst(list []string) Secrets {
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(list)
}

// Hide takes the secrets out of a text.
func (s Secrets) Hide(text string) string {
	if !slices.ContainsFunc(s, func(secret string) bool { return strings.Contains(text, secret) }) {
		return text
	}
	text, _ = s.scan(text, true)
	return text
}

// HideBytes is Hide of bytes, which may come back as they are.
func (s Secrets) HideBytes(b []byte) []byte {
	if slices.ContainsFunc(s, func(secret string) bool { return bytes.Contains(b, []byte(secret)) }) {
		return []byte(s.Hide(string(b)))
	}
	return b
}

// scan takes the secrets out of a text. rest is its end that may be the beginning of a
// secret; nothing, if the text is the last.
func (s Secrets) scan(whole string, last bool) (text, rest string) {
	var b strings.Builder
	from, at := 0, 0
	for at < len(whole) {
		size := 0
		for _, secret := range s {
			if secret[0] != whole[at] {
				continue
			}
			if strings.HasPrefix(whole[at:], secret) {
				size = len(secret)
				break
			}
			if !last && strings.HasPrefix(secret, whole[at:]) {
				return b.String() + whole[from:at], whole[at:]
			}
		}
		if size == 0 {
			at++
			continue
		}
		b.WriteString(whole[from:at])
		b.WriteString(Text)
		at += size
		from = at
	}
	return b.String() + whole[from:], ""
}

// Parts takes the secrets out of a text that comes in parts. It holds back what may be
// the beginning of one.
type Parts struct {
	Secrets Secrets
	held    string
}

// Next is what may be shown after a part.
func (p *Parts) Next(part string) (text string) {
	if len(p.Secrets) == 0 {
		return part
	}
	text, p.held = p.Secrets.scan(p.held+part, false)
	return text
}

// End is what was held back.
func (p *Parts) End() string {
	text, _ := p.Secrets.scan(p.held, true)
	p.held = ""
	return text
}
