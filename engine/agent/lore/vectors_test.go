package lore

import (
	"errors"
	"fmt"
	"testing"

	"tavernsim/engine/agent/profile"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/protocol"
)

// reader reads the base lore, which has a vector, and may not read secret, which has one, too.
func reader(t *testing.T) *Books {
	t.Helper()
	var bases []*knowledge.Base
	for _, id := range []string{"lore", "secret"} {
		base, err := knowledge.New(knowledge.KnowledgeBase{ID: id, Embedding: &knowledge.Embedding{Model: "near-" + id}, Entries: []knowledge.Entry{{ID: "a", EntryType: "lore", Content: "ford"}}})
		if err != nil {
			t.Fatal(err)
		}
		bases = append(bases, base)
	}
	s, err := knowledge.NewState(bases...)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range s.Wanted(1) {
		for _, f := range knowledge.Decide(s, knowledge.Commit{Requests: []knowledge.Request{{KB: w.KB, Op: knowledge.OpEmbed, Entry: w.Answer(vector.Pack([][]int8{{127, 0}}), nil)}}}) {
			s = knowledge.Apply(s, f)
		}
	}
	return &Books{Bases: s, Access: profile.Accesses{{Alias: "lore", ID: "lore", Read: true}, {Alias: "secret", ID: "secret", Write: true}}}
}

func hits(t *testing.T, r *Books, text string) int {
	t.Helper()
	list, err := r.Query("", knowledge.Query{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Promise 3: a vector is wanted once, of a base that may be read; with it the entry is
// found that shares no word with the text, without it words rank alone.
func TestAskedOnce(t *testing.T) {
	r := reader(t)
	w, some := r.Lacks("", " a stream ", false)
	if !some || w != (Wish{"near-lore", "a stream"}) {
		t.Fatalf("%+v, %v", w, some)
	}
	if w, again := r.Lacks("lore", "a stream", false); again {
		t.Errorf("%+v is wanted again", w)
	}
	if hits(t, r, "a stream") != 0 || hits(t, r, "ford") != 1 {
		t.Error("without a vector other entries are found than by words")
	}
	if err := r.Vectors.Take(w, vector.Pack([][]int8{{1, 0}}), nil); err != nil || hits(t, r, "a stream") != 1 {
		t.Errorf("%v; %d entries are found by the vector", err, hits(t, r, "a stream"))
	}
	for name, kb := range map[string]string{"of a base that may not be read": "secret", "of no text": "lore"} {
		text := map[string]string{"secret": "a stream"}[kb]
		if w, some := r.Lacks(kb, text, false); some {
			t.Errorf("%+v, %s, is wanted", w, name)
		}
	}
	if w, some := r.Lacks("", "another", true); some {
		t.Errorf("%+v is wanted for lessons of a base that has none", w)
	}
}

// Promise 3: what did not come is not asked for again.
func TestVectorsThatDoNotCome(t *testing.T) {
	r := reader(t)
	w, _ := r.Lacks("", "a stream", false)
	no := protocol.Errorf(protocol.KindTimeout, "no answer")
	if err := r.Vectors.Take(w, "", no); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := r.Vectors.Take(w, "?", nil); err == nil {
		t.Error("a text without vectors was taken")
	}
	if _, some := r.Lacks("", "a stream", false); some {
		t.Error(fmt.Sprint(w, " is wanted again"))
	}
}
