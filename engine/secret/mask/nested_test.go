package mask

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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

// Promise 2: what is compressed is found wherever it begins, in escapes as programs write them, in files and in archives.
func TestCompressedWithin(t *testing.T) {
	python := func(packed string) string { // as repr writes bytes
		var b strings.Builder
		for i := range len(packed) {
			switch c := packed[i]; {
			case strings.IndexByte("\\'\n\r\t", c) >= 0:
				b.WriteString(strings.Trim(strconv.Quote(string(rune(c))), `"`))
			case c < ' ' || c > '~':
				fmt.Fprintf(&b, `\x%02x`, c)
			default:
				b.WriteByte(c)
			}
		}
		return "b'" + strings.ReplaceAll(b.String(), `\\'`, `\'`) + "'"
	}
	quoted := func(s string) string { b, _ := json.Marshal(wide(s)); return string(b) }
	for i := range 60 {
		value := fmt.Sprintf("Zq7!kP2w%dX9-vR4tL/m8&%d\\Qs", i*7919, i*104729)
		m := masker(t, value)
		text := "key: " + value + "\n"
		for name, packed := range map[string]string{"gzip": zipped(text), "zlib": deflated(text), "zip": inZip(text)} {
			for within, whole := range map[string]string{
				"repr": "The answer is " + python(packed) + ".", "JSON": inASCII(quoted(packed)), "shell": "printf $'" + each(packed, `\x%02x`) + "'",
				"JSON of repr":  quoted("The answer is " + each(packed, `\x%02x`)),
				"a line before": "log line\n" + packed, "a file of an archive": strings.Repeat("\x00", 100) + packed + strings.Repeat("\x00", 100), "base64": base64.StdEncoding.EncodeToString([]byte("log line\n" + packed)),
				"itself": zipped("x\n" + packed), "two": zipped("hello, all is well") + packed, "assigned": "TOKEN=" + base64.StdEncoding.EncodeToString([]byte(packed)),
			} {
				if _, f := m.Text(whole); f.Withhold != "S0" {
					t.Errorf("%s in %s passes: %q", name, within, whole)
				}
			}
		}
	}
	raw, err := hex.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	if _, f := masker(t, token).Text("log line\n" + string(raw)); f.Form != "bzip2 of plain" {
		t.Errorf("bzip2: %+v", f)
	}
}

// Heads of what is compressed do not take longer than their share of time, however many a text has.
func TestManyHeads(t *testing.T) {
	m := masker(t, token)
	member := zipped("short")
	for _, head := range []string{"\x1f\x8b\x08", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x05\xc0", "x\x9c\x05\xc0\x81\xff\xff\xff\xff\xff", "x\x9c\x4b\xff\xfe\xff\xff\xff\xff", "BZh91AY&SY", zipHead, member} {
		text := strings.Repeat(head, 1<<20/len(head))
		begun := used()
		if _, f := m.Text(text); f.Any() {
			t.Errorf("%q: %+v", head, f)
		}
		if took := used() - begun; took > time.Minute {
			t.Errorf("%q: %v", head, took)
		}
	}
}

// Promise 2: codes of codes are found behind what may stand before them without a sign between, and before what may follow.
func TestCodesWithinWords(t *testing.T) {
	in64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	in32 := func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) }
	for i := range 20 {
		value := fmt.Sprintf("Zq7kP2w%dX9vR4tLm8%dQs", i*7919, i*104729)
		m := masker(t, value)
		for name, code := range map[string]string{
			"base64 twice": in64(in64(value)), "base64 of reversed": in64(backwards(value)), "base64 of hex": in64(hex.EncodeToString([]byte(value))), "hex of base64": hex.EncodeToString([]byte(in64(value))),
			"base64 of gzip": in64(zipped(value)), "base64 of zlib": in64(deflated(value)), "base64 of zip": in64(inZip(value)), "hex of gzip": hex.EncodeToString([]byte(zipped(value))),
			"base32 of base64": in32(in64(value)), "base32 of gzip": strings.ToLower(in32(zipped(value))), "base64 of UTF-16": in64(codings()[len(codings())-1].of(value)),
		} {
			for _, before := range []string{"", "https://h.example/d/", "/v1/x/", "token_", "a+", "x", "xy", "xyz", "state=", `\n`, `\/`, "0x", "%2F", `\u003d`, "&#x3D;", "&amp;q=", "data:;base64,"} {
				for _, behind := range []string{"", "/edit", "_1", "?x=1"} {
					if _, f := m.Text("it says " + before + code + behind + " ."); f.Withhold != "S0" {
						t.Errorf("%s of %s passes: %s", name, value, before+code+behind)
					}
				}
			}
		}
	}
}
