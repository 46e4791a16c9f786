package mask

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Promise 1: the place of a value is all of it, also what is no letter and no digit.
func TestEnds(t *testing.T) {
	const password = "!#%&hunter2Horse?=+*@^~-_.:;"
	m := masker(t, password, `n87b1PZqZrmk"\'$`+"`{}<>&", "-----BEGIN KEY-----\nDynYtyoWF29z\n-----END KEY-----\n", "\"quoted\\Words77\\")
	for text, want := range map[string]string{
		password + "\n": "$KARYI{S0}\n",
		"a " + password + ", " + password + "…":                             "a $KARYI{S0}, $KARYI{S0}…",
		`{"k":"n87b1PZqZrmk\"\\'$` + "`{}<>&\"}":                            `{"k":"$KARYI{S1}"}`,
		`["` + password + `"]`:                                              `["$KARYI{S0}"]`,
		"-----BEGIN KEY-----\r\nDynYtyoWF29z\r\n-----END KEY-----\r\nend":   "$KARYI{S2}end",
		"  -----BEGIN KEY-----\n  DynYtyoWF29z\n  -----END KEY-----\n  end": "  $KARYI{S2}  end",
		"!#%&\x1b[1;31m\x1b[Khunter2\x1b[m\x1b[KHorse\x1b[0m?=+*@^~-_.:;.":  "$KARYI{S0}.",
		"!#%&hunter2Horse?=\r\n+*@^~-_.:;":                                  "$KARYI{S0}",
		"unter2Horse?=+*@^~-_.:;;":                                          "$KARYI{S0};",
		"!!#%&hunter2Hors!":                                                 "!$KARYI{S0}!",
		"Is it hunter2Horse? Yes.":                                          "Is it $KARYI{S0}? Yes.", // less than four characters of an end
		"(hunter2Horse?=+*@!":                                               "($KARYI{S0}!",
		"hunter2Horse?=":                                                    "$KARYI{S0}",
		"\"\\\"quoted\\\\Words77\\\\\"":                                     "\"$KARYI{S3}\"",
	} {
		if got, f := m.Text(text); got != want || f.Withhold != "" {
			t.Errorf("%q: %q %+v, want %q", text, got, f, want)
		}
	}
	for first := range password { // in two pieces
		before, _ := m.Text("x " + password[:first])
		after, _ := m.After("x "+password[:first], password[first:]+" y")
		if first > len("!#%&hunter2") {
			before = strings.TrimSuffix(before, "$KARYI{S0}")
		}
		if !strings.HasSuffix(after, "$KARYI{S0} y") || first > len("!#%&hunter2") && before != "x " {
			t.Errorf("%d: %q %q", first, before, after)
		}
	}
}

// inPlace are spellings of values that are replaced where they stand.
func inPlace() map[string]func(string) string {
	quoted := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	}
	replaced := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	signs := func(format string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				if strings.IndexByte(signs, c) >= 0 {
					fmt.Fprintf(&b, format, c)
				} else {
					b.WriteByte(c)
				}
			}
			return b.String()
		}
	}
	return map[string]func(string) string{
		"as it is":          func(s string) string { return s },
		"other case":        strings.ToUpper,
		"JSON":              quoted,
		"JSON of others":    replaced(`"`, `\"`, `\`, `\\`),
		"JSON, slashes":     replaced(`"`, `\"`, `\`, `\\`, `/`, `\/`),
		"JSON twice":        func(s string) string { return quoted(quoted(s)) },
		"JSON, every sign":  signs(`\u%04x`),
		"query":             url.QueryEscape,
		"path":              url.PathEscape,
		"query, every sign": signs("%%%02x"),
		"query twice":       func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
		"encodeURIComponent": func(s string) string {
			return replaced("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")(url.PathEscape(s))
		},
		"HTML":                 html.EscapeString,
		"HTML of others":       replaced("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),
		"HTML twice":           func(s string) string { return html.EscapeString(html.EscapeString(s)) },
		"HTML, every sign":     signs("&#%d;"),
		"mail":                 signs("=%02X"),
		"in quotes of a shell": replaced("'", `'\''`),
		"in quotes, by Python": replaced("'", `'"'"'`),
		"in double quotes":     replaced(`"`, `\"`, "$", `\$`, "`", "\\`", `\`, `\\`),
		"behind backslashes":   signs(`\%c`),
		"in dollar quotes":     replaced("'", `\'`, `\`, `\\`),
		"octal of a shell":     signs(`\%03o`),
		"of a shell in JSON":   func(s string) string { return quoted(signs(`\%c`)(s)) },
	}
}

const signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ "

// No part of a value's ends stays beside the mark of the value, in whichever spelling it is replaced, and what is around it stays.
// Other spellings are withheld as a whole.
func TestNothingOfTheEndsStays(t *testing.T) {
	const mark = "$KARYI{S0}"
	spellings, codes, tricks := inPlace(), []string{"base64", "hex", "base32", "octal", "decimal", `\u`, `\x`, "percent", "entities", "reversed", "ROT13"}, tricks()
	rapid.Check(t, func(r *rapid.T) {
		value, tail := anyValue(r)
		before, after := anyText(r, "before"), anyText(r, "after")
		share := rapid.IntRange(0, 100).Draw(r, "percent of the first piece")
		m := masker(t, value)
		for name, spell := range spellings {
			spelled := spell(value)
			text := before + spelled + after
			got, f := m.Text(text)
			if want := before + mark + after; f.Withhold == "" && got != want {
				r.Fatalf("%s of %q: %q became %q, want %q", name, value, text, got, want)
			}
			cut := len(spelled) * share / 100
			first, f := m.Text(before + spelled[:cut])
			second, g := m.After(before+spelled[:cut], spelled[cut:]+after)
			if f.Withhold != "" || g.Withhold != "" {
				continue
			}
			rest, masked := strings.CutPrefix(first, before+mark)
			if cut >= len(spelled)-len(spell(tail)) && (!masked || len(rest) >= maxSpelled) { // a part of an escape
				r.Fatalf("%s of %q: %q became %q", name, value, before+spelled[:cut], first)
			}
			if want := mark + after; cut < len(spelled) && cut > 0 && second != want {
				r.Fatalf("%s of %q: %q behind %q became %q, want %q", name, value, spelled[cut:]+after, spelled[:cut], second, want)
			}
		}
		for _, name := range codes {
			text := before + " " + tricks[name](value) + " " + after
			if got, f := m.Text(text); f.Withhold == "" && got != before+" "+mark+" "+after {
				r.Fatalf("%s of %q in %q: %q", name, value, text, got)
			}
		}
	})
}

func anyValue(r *rapid.T) (value, tail string) {
	end := rapid.StringOfN(rapid.SampledFrom([]rune(signs)), 0, 12, -1)
	core := rapid.StringMatching(`[a-fijl-z][A-FIJL-Za-fijl-z]{4,8}[-_.:/ ]?[0-9]{2}[A-FIJL-Z][a-fijl-z]{2,9}`).Draw(r, "core")
	if distinct(core) < minDistinct {
		core += "Qxz7"
	}
	tail = end.Draw(r, "tail")
	return end.Draw(r, "head") + core + tail, tail
}

// anyText is a text beside a value that nobody can take for a part of it: it has no letter of one, with which escapes
// that the value has, too, would be a part.
func anyText(r *rapid.T, label string) string {
	return rapid.StringOfN(rapid.SampledFrom([]rune("ghk ,.;:(){}<>\n\t\"'é")), 0, 20, -1).Draw(r, label)
}
