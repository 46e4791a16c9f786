package endpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"tavernsim/llm"
	"tavernsim/protocol"
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

// named reads answers of a server that calls itself and them by long names.
type named struct{ lines }

func (*named) Answer(int) (protocol.ModelAnswer, error) {
	long := strings.Repeat("é", 1<<20)
	return protocol.ModelAnswer{Model: long, Text: long, Origin: &protocol.ModelOrigin{ID: strings.Repeat("x", 190) + key + long, Fingerprint: long}}, nil
}

// What a server calls itself and its answers decides nothing and is in every fact: it is cut, after the secrets are hidden.
func TestNamesAreBounded(t *testing.T) {
	e := at(t, Definition{}, func(http.ResponseWriter, *http.Request) {})
	var a protocol.ModelAnswer
	if err := e.answer(&a, &named{}, 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{a.Model, a.Origin.ID, a.Origin.Fingerprint} {
		if len(name) > maxName+len("…") || len(name) < maxName-2 || !utf8.ValidString(name) || strings.Contains(name, "sk-") {
			t.Errorf("%d bytes are kept: %.250s", len(name), name)
		}
	}
	if len(a.Text) != 2<<20 {
		t.Errorf("the text has %d bytes", len(a.Text))
	}
}
