package endpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tavernsim/llm"
)

// Promise 1: what the user puts into headers and parameters is hidden like the key; what
// tells a version or a name is not.
func TestSecrets(t *testing.T) {
	got := secretsOf("sk-1", Definition{
		Headers: map[string]string{"Authorization": "Bearer abcdefgh-1", "X-Title": "my application", "anthropic-beta": "tools-2024-04-04", "X-Org": "org-1"},
		Query:   map[string]string{"code": "function-key-1", "api-version": "2024-10-21-preview"},
	})
	if want := []string{"abcdefgh-1", "function-key-1", "sk-1"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
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
