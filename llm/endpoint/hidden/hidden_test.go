package hidden

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A secret that a server repeats in hex or base64 is hidden, alone and wherever it stands in what was encoded.
func TestSpelledSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ0129-_~?>\xff\xfe")), 8, 40, 60).Draw(t, "secret")
		if len(secret) < Short {
			t.Skip()
		}
		e := Of([]string{secret})
		around := rapid.StringOfN(rapid.RuneFrom([]rune("user: ")), 0, 7, -1)
		before, behind := around.Draw(t, "before"), around.Draw(t, "behind")
		for name, encode := range map[string]func([]byte) string{
			"plain": func(b []byte) string { return string(b) }, "hex": hex.EncodeToString, "HEX": func(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) },
			"std": base64.StdEncoding.EncodeToString, "raw std": base64.RawStdEncoding.EncodeToString, "url": base64.URLEncoding.EncodeToString, "raw url": base64.RawURLEncoding.EncodeToString,
		} {
			text := "no such key: " + encode([]byte(before+secret+behind)) + "."
			got := e.Hide(text)
			if want := encode([]byte(secret)); !strings.Contains(got, Text) || strings.Contains(got, want) || len(got) > len(text)-len(secret)+len(Text)+4 {
				t.Fatalf("%s: %q becomes %q", name, text, got)
			}
			if alone := strings.TrimRight(e.Hide(encode([]byte(secret))), "="); alone != Text {
				t.Fatalf("%s: alone it becomes %q", name, alone)
			}
		}
	})
	short := Of([]string{"sk-1"})
	if len(short) > 0 {
		t.Errorf("a short one is spelled %q", short)
	}
}

// A secret that a server repeats as it was sent, or as JSON or a page of HTML has it, is hidden.
func TestSentSecrets(t *testing.T) {
	for _, secret := range []string{"sk-Zq9+/leakKeyTest7731xyz==", "AIza+sEcret/Que7y==", `a"b\c d&e<f>'g`, "plain-secret-1"} {
		e := Of([]string{secret})
		inJSON, _ := json.Marshal(secret)
		all := ""
		for _, c := range secret {
			all += fmt.Sprintf(`\u%04x`, c)
		}
		for name, said := range map[string]string{
			"query": url.QueryEscape(secret), "small": regexp.MustCompile("%..").ReplaceAllStringFunc(url.QueryEscape(secret), strings.ToLower), "path": url.PathEscape(secret), "component": strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
			"JSON": strings.Trim(string(inJSON), `"`), "slashes": strings.ReplaceAll(strings.Trim(strings.ReplaceAll(string(inJSON), `\u0026`, "&"), `"`), "/", `\/`), "numbers": all,
			"HTML": html.EscapeString(secret), "page": strings.ReplaceAll(html.EscapeString(secret), "=", "&#61;"), "page of Go": template.HTMLEscapeString(secret), "attribute": strings.NewReplacer("=", "&#x3D;", "/", "&#x2F;").Replace(html.EscapeString(secret)),
		} {
			if name == "slashes" && strings.ContainsAny(secret, "<>") {
				continue
			}
			if got := e.Hide("Cannot POST /v1?key=" + said + "."); got != "Cannot POST /v1?key="+Text+"." {
				t.Errorf("%s: %q becomes %q", name, said, got)
			}
		}
	}
}

// The text of an error without a secret costs little.
func BenchmarkHide(b *testing.B) {
	e := Of([]string{"sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz", "organization-1234"})
	text := "400 Bad Request, invalid_value: Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."
	b.ReportAllocs()
	for b.Loop() {
		if e.Hide(text) != text {
			b.Fatal("it is another text")
		}
	}
}

// However a text is cut into parts, the parts without the secrets are the text without
// the secrets, and no secret is in it.
func TestHidingParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 2, 5, -1)
		e := longestFirst(rapid.SliceOfN(word, 0, 3).Draw(t, "secrets"))
		parts := rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)).Draw(t, "parts")
		h, got := Parts{Secrets: e}, ""
		for _, p := range parts {
			got += h.Next(p)
		}
		got += h.End()
		if whole := e.Hide(strings.Join(parts, "")); got != whole {
			t.Fatalf("%q becomes %q, at once %q", parts, got, whole)
		}
		for _, w := range e {
			if strings.Contains(strings.ReplaceAll(got, Text, "|"), w) {
				t.Fatalf("%q has the secret %q", got, w)
			}
		}
	})
}
