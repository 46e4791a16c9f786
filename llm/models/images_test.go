package models

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// A model that reads no pictures does without those that calls have brought, and refuses
// others; one that reads them is asked about all, and they are counted.
func TestPictures(t *testing.T) {
	sent, to := cloud(t)
	s, err := New(Options{Files: files("scripted", rules, "thinker", thinker, "seer", thinker+"image_tokens: 6000\n"), Default: "models/scripted.yaml", Endpoints: to})
	if err != nil {
		t.Fatal(err)
	}
	with := func(model string, found bool) *protocol.ModelRequest {
		q := ask(model)
		q.Messages = append(q.Messages, protocol.ModelMessage{Role: protocol.RoleUser, Text: "look", Images: []protocol.Image{{URI: "data:image/png;base64,YQ==", Type: "image/png", Found: found}}})
		q.Picture = func(*protocol.Image) ([]byte, error) { return []byte("a"), nil }
		return q
	}
	bare := ask("thinker")
	bare.Messages = append(bare.Messages, protocol.ModelMessage{Role: protocol.RoleUser, Text: "look"})
	without, err := s.Complete(context.Background(), bare, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := s.Complete(context.Background(), with("thinker", true), nil); err != nil || a.Origin.Question != without.Origin.Question || (*sent)[1] != (*sent)[0] {
		t.Errorf("%+v, %v: %s", a, err, (*sent)[1])
	}
	var f *llm.Failure
	if _, err := s.Complete(context.Background(), with("thinker", false), nil); !errors.As(err, &f) || f.Outcome != llm.OutcomeBadRequest || !strings.Contains(f.Message, "model thinker has no image_tokens") || len(*sent) != 2 {
		t.Errorf("%v, %d requests", err, len(*sent))
	}
	for i, found := range []bool{true, false} {
		a, err := s.Complete(context.Background(), with("seer", found), nil)
		if err != nil || a.Origin.Question == without.Origin.Question || !strings.Contains((*sent)[2+i], "base64,YQ==") {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if more := s.Bound(with("seer", true)).Input - s.Bound(with("thinker", true)).Input; more != 6000 {
		t.Errorf("a picture is counted as %d tokens", more)
	}
	q := with("seer", true)
	q.Picture = nil
	if _, err := s.Complete(context.Background(), q, nil); !errors.As(err, &f) || f.Outcome != llm.OutcomeBadRequest {
		t.Errorf("%v", err)
	}
}
