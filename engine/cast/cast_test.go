package cast_test

import (
	"strings"
	"testing"

	"tavernsim/engine/cast"
	"tavernsim/protocol"
)

// Promise 1: what is read is written again. Promise 2: who is meant depends on the selector
// and the agent alone.
func TestSelectors(t *testing.T) {
	ada := &cast.Member{Instance: "ada", Profile: "pack:guard", Roles: []string{"captain", "old"}, Place: "inn"}
	for text, means := range map[string]bool{
		"ada": true, "bo": false, "role:old": true, "role:ada": false, "profile:pack:guard": true, "profile:guard": false, "*": true, "place:inn": true, "place:well": false, "role": false, "a:b": false, "$scene": false,
	} {
		s, err := cast.Parse(text)
		if err != nil || s.String() != text {
			t.Errorf("%s: read as %s, %v", text, s, err)
		}
		for range 2 {
			if s.Matches(ada) != means || (cast.Selectors{s}).Match(ada) != means {
				t.Errorf("%s means ada: %v, want %v", text, !means, means)
			}
		}
	}
	for text, want := range map[string]string{"": "want an instance id", "role:": "want an instance id", "profile:": "want an instance id", "place:": "want an instance id"} {
		if _, err := cast.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if (cast.Selectors{}).ByPlace() || cast.All().ByPlace() || cast.Changes("role:old") != "" || cast.Changes("") != "" || !strings.Contains(cast.Changes("place:inn"), "who is in a place changes") {
		t.Error("who is in a place changes, and nobody else")
	}
	if _, err := cast.ParseAll(make([]string, cast.MaxSelectors+1)); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
	for _, role := range []string{"", "a:b", "*", "a b", "a,b", strings.Repeat("x", 201)} {
		if cast.CheckRole(role) == "" {
			t.Errorf("the role %q is taken", role)
		}
	}
}

// A request reads as it was written; anything else is damaged.
func TestRequest(t *testing.T) {
	q := &cast.Request{ID: "gm/1.1", By: "gm", Reason: "why", Do: protocol.Encode([]any{map[string]any{"rest": map[string]any{"agents": "*"}}})}
	again, err := cast.ReadRequest(q.AppendMsg(nil))
	if err != nil || string(again.AppendMsg(nil)) != string(q.AppendMsg(nil)) {
		t.Errorf("%+v, %v", again, err)
	}
	for _, raw := range []protocol.Raw{nil, {0xc1}, protocol.Encode("x"), protocol.Encode(map[string]any{"id": "x"})} {
		if _, err := cast.ReadRequest(raw); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%x: %v", raw, err)
		}
	}
}
