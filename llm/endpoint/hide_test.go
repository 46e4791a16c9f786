package endpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"tavernsim/llm"
)

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
