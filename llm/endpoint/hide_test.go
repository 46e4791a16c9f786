package endpoint

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/llm"
)

// Promise 1: what the user puts into headers and parameters is hidden like the key; what
// tells a version or a name is not.
func TestSecrets(t *testing.T) {
	got := secretsOf("sk-1", Definition{
		Headers: map[string]string{"Authorization": "Bearer abcdefgh-1", "X-Title": "my application", "anthropic-beta": "tools-2024-04-04", "X-Org": "org-1"},
		Query:   map[string]string{"code": "function-key-1", "api-version": "2024-10-21-preview"},
	})
	if want := []string{"function-key-1", "abcdefgh-1", "sk-1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if none := secretsOf("", Definition{}); len(none) > 0 {
		t.Errorf("%q", none)
	}
}

func TestSecretsOfHeadersInAnswers(t *testing.T) {
	e := at(t, Definition{Headers: map[string]string{"X-Token": "token-of-mine"}, Query: map[string]string{"code": "code-of-mine"}}, func(w http.ResponseWriter, r *http.Request) {
		text := "a " + r.Header.Get("X-Token") + " b " + r.URL.Query().Get("code")
		if r.URL.Path == "/error" {
			w.WriteHeader(400)
			_, _ = fmt.Fprintf(w, `{"error":{"message":%q}}`, strings.Repeat("x", 285)+text)
			return
		}
		_, _ = io.WriteString(w, text)
	})
	a, err := e.Complete(context.Background(), Ask{Path: "/"}, &lines{}, nil)
	if err != nil || a.Text != "a [key] b [key]" {
		t.Errorf("%q, %v", a.Text, err)
	}
	// The message is shortened in the middle of a secret, and must not show a part of it.
	if _, err = e.Do(context.Background(), Ask{Path: "/error"}); err == nil || strings.Contains(err.Error(), "token") || !strings.Contains(err.Error(), "xx") {
		t.Error(err)
	}
}

// Promise 1: a secret that a server repeats in hex or base64 is hidden, alone and wherever it stands in what was encoded.
func TestSpelledSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ0129-_~?>\xff\xfe")), 8, 40, 60).Draw(t, "secret")
		if len(secret) < shortSecret {
			t.Skip()
		}
		e := &Endpoint{}
		e.access.Store(&access{secrets: spelled([]string{secret})})
		around := rapid.StringOfN(rapid.RuneFrom([]rune("user: ")), 0, 7, -1)
		before, behind := around.Draw(t, "before"), around.Draw(t, "behind")
		for name, encode := range map[string]func([]byte) string{
			"plain": func(b []byte) string { return string(b) }, "hex": hex.EncodeToString, "HEX": func(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) },
			"std": base64.StdEncoding.EncodeToString, "raw std": base64.RawStdEncoding.EncodeToString, "url": base64.URLEncoding.EncodeToString, "raw url": base64.RawURLEncoding.EncodeToString,
		} {
			text := "no such key: " + encode([]byte(before+secret+behind)) + "."
			got := e.Hide(text)
			if want := encode([]byte(secret)); !strings.Contains(got, hiddenText) || strings.Contains(got, want) || len(got) > len(text)-len(secret)+len(hiddenText)+4 {
				t.Fatalf("%s: %q becomes %q", name, text, got)
			}
			if alone := strings.TrimRight(e.Hide(encode([]byte(secret))), "="); alone != hiddenText {
				t.Fatalf("%s: alone it becomes %q", name, alone)
			}
		}
	})
	short := spelled([]string{"sk-1"})
	if !slices.Equal(short, []string{"sk-1"}) {
		t.Errorf("a short one is spelled %q", short)
	}
}

// The text of an error without a secret costs little.
func BenchmarkHide(b *testing.B) {
	e := &Endpoint{}
	e.access.Store(&access{secrets: spelled([]string{"sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz", "organization-1234"})})
	text := "400 Bad Request, invalid_value: Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."
	b.ReportAllocs()
	for b.Loop() {
		if e.Hide(text) != text {
			b.Fatal("it is another text")
		}
	}
}

// Promise 1: a sink gets no part of a secret that comes in several chunks, and gets all
// the rest.
func TestSecretInChunks(t *testing.T) {
	e := at(t, Definition{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range key {
			say(w, "data: "+key[i:i+1]+"\n\n")
		}
		say(w, "data: then sk-s\n\n")
		if r.URL.Path == "/filter" {
			say(w, "data: FILTER\n\n")
		}
		say(w, "data: END\n\n")
	})
	for _, path := range []string{"/", "/filter"} {
		var shown []string
		a, err := e.Complete(context.Background(), Ask{Path: path, Stream: true}, &lines{}, func(c llm.Chunk) error {
			shown = append(shown, c.Text)
			return nil
		})
		if text := strings.Join(shown, ""); err != nil || text != "[key]then sk-s" || a.Text != text {
			t.Errorf("%s: %q, answer %q, %v", path, shown, a.Text, err)
		}
	}
}

// However a text is cut into parts, the parts without the secrets are the text without
// the secrets, and no secret is in it.
func TestHidingParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 2, 5, -1)
		e := &Endpoint{}
		e.access.Store(&access{secrets: longestFirst(rapid.SliceOfN(word, 0, 3).Draw(t, "secrets"))})
		parts := rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)).Draw(t, "parts")
		h, got := hiding{Endpoint: e}, ""
		for _, p := range parts {
			got += h.next(p)
		}
		got += h.end()
		if whole := e.Hide(strings.Join(parts, "")); got != whole {
			t.Fatalf("%q becomes %q, at once %q", parts, got, whole)
		}
		for _, w := range e.secrets() {
			if strings.Contains(strings.ReplaceAll(got, hiddenText, "|"), w) {
				t.Fatalf("%q has the secret %q", got, w)
			}
		}
	})
}
