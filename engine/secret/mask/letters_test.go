package mask

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Promise 1 for values with letters beyond ASCII: what stands as it is is replaced, in parts too; in other letters it is withheld.
func TestPlainLettersBeyondASCII(t *testing.T) {
	for _, value := range []string{"Mot-de-passé_9fQ2xZ7b", "élève-Geheim_9fQ2xZ7", "Schlüssel_für_Bürgen9", "Zürich2019Geheimnisé", "пароль_9fQ2xZ7b", "密码abcdefgh1234", "ａbcdefgh1234xyz", "geheim①②③④geheimnis"} {
		m := masker(t, value)
		for _, text := range []string{value, "key=" + value + ";", "two: " + value + ", " + value, strings.ToUpper(value[:1]) + value[1:], `{"a":"` + value + `"}`} {
			got, f := m.Text(text)
			if f.Withhold != "" || !strings.Contains(got, "$KARYI{S0}") || strings.Contains(got, value) {
				t.Errorf("%q: %q %+v", text, got, f)
			}
		}
		for _, text := range []string{reversed(value), backwards(value), hex.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(value)), value + hex.EncodeToString([]byte(value))} {
			if got, f := m.Text(text); f.Withhold == "" {
				t.Errorf("%q: %q %+v", text, got, f)
			}
		}
	}
	m := masker(t, "Mot-de-passé_9fQ2xZ7b")
	for _, text := range []string{"Mot-de-passe_9fQ2xZ7b", "Mot-de-passé_9fQ2xZ7b Mot-de-passe_9fQ2xZ7b"} {
		if got, f := m.Text(text); f.Withhold == "" {
			t.Errorf("%q: %q %+v", text, got, f)
		}
	}
	many := strings.Repeat("Mot-de-passé_9fQ2xZ7b\n", 5000)
	if got, f := m.Text(many); f.Withhold != "" || strings.Contains(got, "pass") {
		t.Errorf("%+v", f)
	}
}

// Characters are made plain one by one; the same comes of a text as a whole, in which marks change their places.
func TestFlatByCharacter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := search{Masker: &Masker{fold: fold(), longest: 100}}
	for range 3000 {
		var b strings.Builder
		b.WriteString("é")
		for b.Len() < 2*maxWord {
			switch random.IntN(4) {
			case 0:
				b.WriteByte(byte(random.IntN(256)))
			case 1:
				b.WriteRune(rune(0x300 + random.IntN(0x70))) // marks
			case 2:
				b.WriteRune(rune(0xAC00 + random.IntN(0x2BA4))) // syllables of Hangul
			case 3:
				b.WriteRune(rune(random.IntN(0x20000)))
			}
		}
		var want strings.Builder
		for _, r := range norm.NFKD.String(b.String()) {
			if r < utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r) {
				want.WriteRune(r)
			}
		}
		if got := s.flat(b.String()); got != want.String() {
			t.Fatalf("%q: %q, want %q", b.String(), got, want.String())
		}
	}
}

// Letters beyond ASCII that no secret has part what stands around them, however many they are.
func TestFlatLeavesOutForeignLetters(t *testing.T) {
	m := masker(t, "пароль-Zebra77x")
	s := search{Masker: m}
	if got, want := s.flat("ＡＢ ещё же пароль, 天地 ab"), "AB "+foreign+" "+foreign+" пароль, "+foreign+" ab"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{"ｐ ＺＥＢＲＡ７７ｘ 天", "п\u0301а\u0301роль Ｚebra77x", "天Ｚebra77x地", "天x77arbeＺ地"} {
		if _, f := m.Text(text); !f.Any() {
			t.Errorf("%q is not found", text)
		}
	}
}

// Promise 1 for values with letters beyond ASCII, in another case, in parts, and as programs escape them: nothing of a value is left.
func TestLettersBeyondASCIIInPlace(t *testing.T) {
	latin := func(format string) func(string) string { return escapedBeyond(format, 0xFF) }
	swapped := func(s string) string {
		return strings.Map(func(r rune) rune {
			if up := unicode.ToUpper(r); up != r {
				return up
			}
			return unicode.ToLower(r)
		}, s)
	}
	for _, value := range []string{"pässwörd-日本語-1234abcd", "Müller-Straße-Größe-Äpfel", "пароль-Секрет-Ключ42", "Ναυτία-Θάλασσα77", "mot-de-passé-œuvre-Ÿ9"} {
		m := masker(t, value)
		for name, spell := range map[string]func(string) string{
			"upper": strings.ToUpper, "lower": strings.ToLower, "swapped": swapped,
			"capitals of German": func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "ß", "ss")) },
			"JSON":               inASCII, "JSON, capitals": func(s string) string { return escapedBeyond(`\u%04X`, utf8.MaxRune)(s) },
			"JSON twice": func(s string) string { return strings.ReplaceAll(inASCII(s), `\`, `\\`) },
			"parts":      func(s string) string { return s[strings.IndexByte(s, '-')+1:] },
			"NFD":        norm.NFD.String, "read as Latin-1": wide,
		} {
			got, f := m.Text("key=" + spell(value) + "; done")
			if got = strings.TrimSuffix(strings.TrimPrefix(got, "key="), "; done"); got != "$KARYI{S0}" || f.Withhold != "" {
				t.Errorf("%s of %s: %q %+v", name, value, got, f)
			}
		}
		for name, spell := range map[string]func(string) string{
			"JSON of capitals": func(s string) string { return inASCII(strings.ToUpper(s)) },
			"Python":           func(s string) string { return escapedBeyond(`\u%04x`, utf8.MaxRune)(latin(`\x%02x`)(s)) },
			"JavaScript":       func(s string) string { return escapedBeyond("%%u%04X", utf8.MaxRune)(latin("%%%02X")(s)) },
			"XML":              escapedBeyond("&#%d;", utf8.MaxRune),
			"XML in hex":       escapedBeyond("&#x%x;", utf8.MaxRune),
			"a query":          url.QueryEscape,
			"hex of UTF-16":    func(s string) string { return hex.EncodeToString([]byte(utf16BE(s))) },
			"base64 of UTF-16": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(utf16LE(s))) },
			"JSON of UTF-16":   func(s string) string { b, _ := json.Marshal(wide(utf16LE(s))); return inASCII(string(b)) },
			"UTF-16":           utf16LE, "UTF-16, high first": utf16BE,
			"UTF-16 at an odd place": func(s string) string { return "\xff" + utf16LE(strings.ToUpper(s)) },
			"base64 of capitals":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(strings.ToUpper(s))) },
			"bytes apart": func(s string) string {
				var apart []byte
				for i := range len(s) {
					apart = append(apart, s[i], ' ')
				}
				return string(apart)
			},
			"Latin-1 in capitals": func(s string) string { return narrow(strings.ToUpper(s)) },
		} {
			got, f := m.Text("key=" + spell(value) + "; done")
			rest := strings.ReplaceAll(got, "$KARYI{S0}", "")
			if !f.Any() || f.Withhold == "" && len(rest) > len("key=; done")+16 {
				t.Errorf("%s of %s: %q %+v", name, value, got, f)
			}
		}
	}
	m := masker(t, "pässwörd-日本語-1234abcd")
	for text, want := range map[string]string{
		"1234abcd": "$KARYI{S0}", "234abcd.": "234abcd.", "word-日本語": "word-日本語",
		`p&auml;ssw&ouml;rd-日本語-1234abcd`: "$KARYI{S0}", `{"p": "\"p\\u00e4ssw\\u00f6rd-\\u65e5\\u672c\\u8a9e-1234abcd\""}`: `{"p": "\"$KARYI{S0}\""}`,
	} {
		if got, f := m.Text(text); got != want || f.Withhold != "" {
			t.Errorf("%q: %q %+v, want %q", text, got, f, want)
		}
	}
}

// escapedBeyond escapes the characters beyond ASCII up to one.
func escapedBeyond(format string, most rune) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if r < utf8.RuneSelf || r > most {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, format, r)
			}
		}
		return b.String()
	}
}

func utf16LE(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}
