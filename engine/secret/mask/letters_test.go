package mask

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
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
	many := strings.Repeat("Mot-de-passé_9fQ2xZ7b\n", 20_000)
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
