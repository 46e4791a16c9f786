package endpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"tavernsim/llm"
)

// Promise 1: what the user puts into headers and parameters is hidden like the key, whatever its name has in it, but for exact
// names of what is harmless and those in public. Names decided by their parts: X-Beta-Token was shown.
func TestSecrets(t *testing.T) {
	got, warnings := secretsOf("sk-00001", Definition{
		Headers: map[string]string{"Authorization": "Bearer abcdefgh-1", "X-Title": "my application", "Anthropic-Beta": "tools-2024-04-04", "X-Beta-Token": "token-of-beta-1", "X-Pass": "hunter2", "X-Env": "production", "x-region": "northern-1", "X-Pair": "abc12 def34"},
		Query:   map[string]string{"code": "function-key-1", "api-version": "2024-10-21-preview"}, Public: []string{"X-Region"},
	})
	if want := []string{"abc12 def34", "abcdefgh-1", "function-key-1", "production", "sk-00001", "token-of-beta-1"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "X-Env is hidden") || !strings.Contains(warnings[1], "X-Pass has fewer") || strings.Contains(strings.Join(warnings, ""), "hunter") {
		t.Errorf("%q", warnings)
	}
	for _, key := range []string{"sk-1", "LM-Studio"} {
		if list, warnings := secretsOf(key, Definition{}); len(list) > 0 || len(warnings) != 1 {
			t.Errorf("%q: %q, %q", key, list, warnings)
		}
	}
	if none, warnings := secretsOf("", Definition{}); len(none)+len(warnings) > 0 {
		t.Errorf("%q, %q", none, warnings)
	}
}

// The page lists what is no secret.
func TestPageOfSecrets(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Secrets")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, word := range slices.Concat(harmless(), standIns()) {
		if !strings.Contains(section, "`"+word+"`") {
			t.Errorf("the page does not say %s", word)
		}
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
