package knowledge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/protocol"
)

// Minds §12: what was archived or superseded is bounded, too: the oldest leave, those of people stay, and a run that
// is resumed anywhere comes to the same base.
func TestRetiredEntriesAreBounded(t *testing.T) {
	of, err := New(KnowledgeBase{ID: "village", Learning: &Learning{Keep: 3}, Entries: []Entry{{ID: "ford", EntryType: "failed_lesson", Source: SourceAgent, Content: "The ford is the short way."}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewState(of)
	if err != nil {
		t.Fatal(err)
	}
	project := s
	codec := protocol.NewCodec(Facts())
	snapshot := func(s State) protocol.Raw {
		raw, err := Snapshot(codec, s)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	id := func(n int) string { return fmt.Sprintf("l%04d", n) }
	write := func(s State, n int) State {
		at := protocol.Time(time.Duration(n+1) * time.Hour)
		if n == 5 {
			s, _ = learnAt(s, at, "a/ford", OpSupersede, map[string]any{"id": "ford2", "entry_type": "failed_lesson", "content": "The ford is gone.", "supersedes": []any{"ford"}, "evidence": []any{"seen"}})
		}
		s, _ = learnAt(s, at, "a/"+id(n), OpCreate, map[string]any{"id": id(n), "entry_type": "failed_lesson", "content": "about " + strings.Repeat(id(n)+" ", 3), "importance": 1})
		return s
	}
	const all = 2*MaxRetired + 300
	var resumed State
	most := 0
	for n := range all {
		s = write(s, n)
		if n >= MaxRetired {
			resumed = write(resumed, n)
		}
		if n == MaxRetired-1 || n == MaxRetired+MaxRetired/4+1 || n == all-2 {
			var err error
			if resumed, err = Restore(codec, project, snapshot(s)); err != nil {
				t.Fatal(err)
			}
		}
		b, _ := s.Base("village")
		most = max(most, b.Len())
	}
	if !bytes.Equal(snapshot(s), snapshot(resumed)) {
		t.Error("a resumed run has another base")
	}
	b, _ := s.Base("village")
	if bound := MaxRetired + MaxRetired/4 + 1 + 3; most > bound || most < bound-3 {
		t.Errorf("the base had up to %d entries, want %d", most, bound)
	}
	if _, ok := b.Get(id(3)); ok {
		t.Error("the oldest is still there")
	}
	if e, ok := b.Get(id(all - 10)); !ok || !e.Disabled {
		t.Errorf("a new one has left: %+v", e)
	}
	if e, ok := b.Get("ford"); !ok || !e.Retired() {
		t.Errorf("an entry of the project has left: %+v", e)
	}
	if hits := b.Query(Query{Text: "about " + id(all-1)}); len(hits) == 0 || hits[0].Entry.ID != id(all-1) {
		t.Errorf("the newest is not found: %v", hits)
	}
}
