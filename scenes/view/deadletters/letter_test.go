package deadletters

import (
	"slices"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/protocol"
)

// A delivery that the loop rule held back is a letter to one receiver.
func TestLettersOfMarks(t *testing.T) {
	f := &bus.Routed{EventHeader: protocol.EventHeader{ID: "e1", Type: "x", Source: "a", Time: 10, TraceID: "t", Chain: []protocol.Link{{Agent: "b", Type: "y"}},
		Cause: "e0", Turn: 7, TaskID: "a/7.1", ExpectsReply: true}, Expires: 30, Body: protocol.Encode("hi"),
		Marks: []bus.Mark{{Agent: "b", Reason: bus.ReasonLoop, Action: bus.LoopDrop}, {Agent: "c", Reason: bus.ReasonLoop, Action: bus.LoopWarn}}}
	list := Of(f, nil)
	if len(list) != 1 || list[0].Agent != "b" || list[0].Reason != "loop" || !list[0].Sendable || list[0].Chain[0] != "b y" {
		t.Fatalf("%+v", list)
	}
	if d := list[0].Draft(); !slices.Equal(d.Targets, []string{"b"}) || d.TTL != 20 || d.TraceID != "t" || string(d.Body) != string(f.Body) ||
		d.TaskID != "a/7.1" || !d.ExpectsReply || d.Cause != "e0" || d.Turn != 7 {
		t.Errorf("%+v", d)
	}
}

// An event without payload can be sent again; one whose payload was left out of the fact cannot.
func TestLettersWithoutPayload(t *testing.T) {
	for _, c := range []struct {
		of   bus.Refused
		want bool
	}{
		{bus.Refused{Reason: bus.ReasonThrottled}, true},
		{bus.Refused{Reason: bus.ReasonThrottled, Body: protocol.Encode(1)}, true},
		{bus.Refused{Reason: bus.ReasonThrottled, EventHeader: protocol.EventHeader{Ephemeral: true}}, false},
		{bus.Refused{Reason: bus.ReasonSize}, false},
		{bus.Refused{Reason: bus.ReasonInvalid}, false},
	} {
		c.of.Type = "x"
		list := Of(&c.of, nil)
		if len(list) != 1 || list[0].Sendable != c.want || (list[0].Draft() != nil) != c.want {
			t.Errorf("%+v: %+v", c.of, list)
		}
	}
}

// What a mailbox refused is a letter whose content nobody kept.
func TestLettersOfMailboxes(t *testing.T) {
	list := Of(&agenda.DeadLettered{Event: "e1", Type: "x", Reason: "full", Chain: []protocol.Link{{Agent: "a", Type: "y"}}}, nil)
	if len(list) != 1 || list[0].Sendable || list[0].Event != "e1" || list[0].Reason != "full" {
		t.Errorf("%+v", list)
	}
}
