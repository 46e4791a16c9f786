package endpoint

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// hiddenText stands where a secret stood.
const hiddenText = "[key]"

// shortSecret is the size below which the value of a header or a parameter is a common
// word or number, not a secret.
const shortSecret = 8

// secretsOf are the key and what the user gives in headers and parameters, the longest
// first. What says a version or a name is none.
func secretsOf(key string, given Definition) []string {
	var list []string
	add := func(name, value string) {
		name = strings.ToLower(name)
		for _, word := range []string{"version", "beta", "content-type", "accept", "user-agent", "referer", "title"} {
			if strings.Contains(name, word) {
				return
			}
		}
		for word := range strings.FieldsSeq(value) { // "Bearer abc"
			if len(word) >= shortSecret {
				list = append(list, word)
			}
		}
	}
	for _, fields := range []map[string]string{given.Headers, given.Query} {
		for name, value := range fields {
			add(name, value)
		}
	}
	if key != "" {
		list = append(list, key)
	}
	return longestFirst(list)
}

// spelled are secrets as they may come back: as they are, and in hex and base64, in both cases and alphabets, also
// within a longer text. A short one is left as it is: its spellings could be parts of words.
func spelled(secrets []string) []string {
	list := slices.Clone(secrets)
	for _, secret := range secrets {
		if len(secret) < shortSecret {
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

func longestFirst(list []string) []string {
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(list)
}

// secrets are none before New has ended.
func (e *Endpoint) secrets() []string {
	if a := e.access.Load(); a != nil {
		return a.secrets
	}
	return nil
}

// Hide takes the secrets out of a text.
func (e *Endpoint) Hide(s string) string {
	if !slices.ContainsFunc(e.secrets(), func(secret string) bool { return strings.Contains(s, secret) }) {
		return s
	}
	text, _ := e.scan(s, true)
	return text
}

// hideBytes takes the secrets out of a body.
func (e *Endpoint) hideBytes(b []byte) []byte {
	for _, secret := range e.secrets() {
		if bytes.Contains(b, []byte(secret)) {
			return []byte(e.Hide(string(b)))
		}
	}
	return b
}

// scan takes the secrets out of a text. rest is its end that may be the beginning of a
// secret; nothing, if the text is the last.
func (e *Endpoint) scan(s string, last bool) (text, rest string) {
	var b strings.Builder
	from, at := 0, 0
	for at < len(s) {
		size := 0
		for _, secret := range e.secrets() {
			if secret[0] != s[at] {
				continue
			}
			if strings.HasPrefix(s[at:], secret) {
				size = len(secret)
				break
			}
			if !last && strings.HasPrefix(secret, s[at:]) {
				return b.String() + s[from:at], s[at:]
			}
		}
		if size == 0 {
			at++
			continue
		}
		b.WriteString(s[from:at])
		b.WriteString(hiddenText)
		at += size
		from = at
	}
	return b.String() + s[from:], ""
}

// hiding takes the secrets out of a text that comes in parts. It holds back what may be
// the beginning of one.
type hiding struct {
	*Endpoint
	held string
}

// next is what may be shown after a part.
func (h *hiding) next(part string) (text string) {
	if len(h.secrets()) == 0 {
		return part
	}
	text, h.held = h.scan(h.held+part, false)
	return text
}

// end is what was held back.
func (h *hiding) end() string {
	text, _ := h.scan(h.held, true)
	h.held = ""
	return text
}

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
