package letterbox

import (
	"fmt"
	"sync"
	"testing"

	"tavernsim/actors"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/letters"
)

func letter(id, receiver, eventType, reason string) actors.DeadLetter {
	return actors.DeadLetter{Envelope: &protocol.Envelope{EventHeader: protocol.EventHeader{ID: id, Type: eventType, TraceID: "t1"}, Kind: protocol.KindEvent}, Receiver: receiver, Reason: reason}
}

func TestLettersComeInOneOrder(t *testing.T) {
	var b Box
	if got := b.Take(); got != nil {
		t.Fatalf("an empty box holds %v", got)
	}
	for _, l := range []actors.DeadLetter{letter("e10", "ana", "say", "queue_full"), letter("e9", "ben", "say", "queue_full"),
		letter("e2", "ana", "say", "queue_full"), letter("e3", "cy", "say", actors.ReasonStopped)} {
		b.Add(l)
	}
	var got []string
	for _, f := range b.Take() {
		got = append(got, fmt.Sprint(f.Receiver, " ", f.Event, " ", f.Reason, " ", f.Kind, " ", f.TraceID, " ", f.Count))
	}
	want := "[ana e2 queue_full event t1 1 ana e10 queue_full event t1 1 ben e9 queue_full event t1 1]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if got := b.Take(); got != nil {
		t.Errorf("taken twice: %v", got)
	}
}

// Many letters are few facts, and none is lost from the count.
func TestAStormIsCounted(t *testing.T) {
	var b Box
	var wg sync.WaitGroup
	const senders, each = 4, 5000
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				b.Add(letter(fmt.Sprint("e", i), "ana", fmt.Sprint("type.", i%(letters.MaxGroups*2)), fmt.Sprint("r", s)))
			}
		})
	}
	wg.Wait()
	total, told, other := int64(0), 0, int64(0)
	facts := b.Take()
	for _, f := range facts {
		total += f.Count
		if f.Event != "" {
			told++
		}
		if f.Reason == letters.ReasonOther {
			other += f.Count
		}
	}
	if total != senders*each || told != letters.Max || len(facts) != letters.Max+letters.MaxGroups+1 || other == 0 {
		t.Errorf("%d letters in %d facts, %d told, %d others", total, len(facts), told, other)
	}
}
