package mask

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
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
