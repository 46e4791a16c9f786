package mask

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

type coding struct {
	name string
	of   func(string) string
}

// codings are what programs of every machine write.
func codings() []coding {
	every := func(format string) func(string) string {
		return func(s string) string { return each(s, format) }
	}
	return []coding{
		{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
		{"base64 within", func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "\n")) }},
		{"base64 in lines", func(s string) string {
			return lines(base64.StdEncoding.EncodeToString([]byte("The key of the town, which nobody reads, is " + s + " and more words, so that there are lines")))
		}},
		{"base64 of URLs", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
		{"base32", func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) }},
		{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"HEX", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
		{"bytes", func(s string) string { return fmt.Sprintf("% x", s) }},
		{"bytes with 0x", every("0x%02x, ")},
		{"od", func(s string) string {
			var b strings.Builder
			for at := 0; at < len(s); at += 16 {
				fmt.Fprintf(&b, "\n%07o % x", at, s[at:min(at+16, len(s))])
			}
			return b.String()
		}},
		{`\x`, every(`\x%02x`)},
		{`\u`, every(`\u%04x`)},
		{"octal", every(`\%03o`)},
		{"percent", every("%%%02X")},
		{"a query", url.QueryEscape},
		{"HTML", every("&#%d;")},
		{"HTML in hex", every("&#x%x;")},
		{"decimal", every("%d,")},
		{"binary", every("%08b ")},
		{"reversed", backwards},
		{"UTF-16", func(s string) string {
			var b []byte
			for _, u := range utf16.Encode([]rune(s)) {
				b = append(b, byte(u), byte(u>>8))
			}
			return string(b)
		}},
	}
}

func lines(s string) string {
	var b strings.Builder
	for part := range slices.Chunk([]byte(s), 60) {
		b.Write(part)
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// Promise 2, of two in each other.
func TestSpellingsOfSpellings(t *testing.T) {
	for _, v := range []string{"tok-A1b2C3d4E5f6G7h8", "s3cr3t/With+Sym=bols&9", "correct horse battery staple"} {
		m := masker(t, v)
		for _, outer := range codings() {
			for _, inner := range codings() {
				if _, f := m.Text("it says: " + outer.of(inner.of(v)) + " .\n"); !f.Any() {
					t.Errorf("%s: %s of %s passes", v, outer.name, inner.name)
				}
			}
		}
		if _, f := m.Text(strings.Map(rot13, base64.StdEncoding.EncodeToString([]byte(v)))); !f.Any() {
			t.Errorf("%s: rot13 of base64 passes", v)
		}
	}
}
