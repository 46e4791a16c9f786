package letters_test

import (
	"fmt"
	"reflect"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/scenes/machines/letters"
)

// In a storm the first letters keep their names, the others are counted, and what was
// kept of them gives the same list again: verify reads it from the facts.
func TestLettersOfAStorm(t *testing.T) {
	var l, again letters.List
	const all = 5000
	for i := range all {
		l.Add(&agenda.DeadLettered{Event: fmt.Sprint("e", i), Receiver: "ana", Reason: "queue_full", Kind: "event", Type: fmt.Sprint("type.", i%150), Count: 1})
	}
	total := int64(0)
	for i, f := range l {
		total += f.Count
		if told := i < letters.Max; told != (f.Event == fmt.Sprint("e", i)) || told != (f.Receiver == "ana") {
			t.Errorf("letter %d: %+v", i, f)
		}
		if other := f.Reason == letters.ReasonOther; other == (f.Kind == "event") {
			t.Errorf("letter %d: %+v", i, f)
		}
		again.Add(f)
	}
	if last := l[len(l)-1]; total != all || len(l) != letters.Max+letters.MaxGroups+1 || last.Reason != letters.ReasonOther || last.Kind != "" || last.Type != "" {
		t.Errorf("%d letters in %d facts, the last %+v", total, len(l), last)
	}
	if !reflect.DeepEqual(l, again) {
		t.Error("the list that is added again is another")
	}
}
