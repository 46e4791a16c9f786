// Package hidden removes secrets from the text of a model server: the key, and the user's other secrets. It finds them
// in plain text, in hex and base64, in both cases and alphabets, also within a longer encoded text, and as a server
// repeats what it was sent: with escapes of addresses, of JSON and of HTML.
//
// # Not here
//
// What engine/secret/mask does for outputs of tools. That package withholds a whole text in which it finds another
// spelling, takes parts of a secret for it, reads no stream, and decodes what looks encoded: an answer that was paid for
// would be lost by chance, no chunk could be shown before the end, and the search costs too much for each answer.
package hidden

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// Text stands where a secret stood.
const Text = "[key]"

// Short is the size below which a text is no secret: it is a common word or number, and answers have it by chance.
const Short = 8

// Secrets are texts that nobody may see, in each spelling, the longest first.
type Secrets []string

// Of are those of some texts that are not [Short].
func Of(secrets []string) (list Secrets) {
	for _, secret := range secrets {
		if len(secret) < Short {
			continue
		}
		list = append(append(list, secret), sent(secret)...)
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

// sent is a secret as servers write what they were sent: an address or a header with percent signs, JSON with escapes,
// HTML with some of its signs as entities. Most keys have no such signs, and are none of these.
func sent(secret string) (list []string) {
	low := func(s string) string { // %2f for %2F
		for i := range s {
			if s[i] == '%' {
				s = s[:i] + strings.ToLower(s[i:min(i+3, len(s))]) + s[min(i+3, len(s)):]
			}
		}
		return s
	}
	for _, s := range []string{url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")} {
		list = append(list, s, low(s))
	}
	inJSON := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(secret)
	list = append(list, inJSON, strings.ReplaceAll(inJSON, "/", `\/`))
	for _, form := range []string{`\u%04x`, `\u%04X`} {
		list = append(list, escaped(inJSON, "<>&", form), escaped(secret, "", form))
	}
	for _, form := range []string{"&#%d;", "&#x%x;", "&#x%X;"} {
		for _, signs := range []string{"=", "+", "/", "=+", "=/", "+/", "=+/"} {
			list = append(list, escaped(html.EscapeString(secret), signs, form))
		}
	}
	return append(list, html.EscapeString(secret))
}

// escaped writes some bytes of a text by their numbers; no signs = all.
func escaped(text, signs, form string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if signs == "" || strings.IndexByte(signs, c) >= 0 {
			fmt.Fprintf(&b, form, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
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
