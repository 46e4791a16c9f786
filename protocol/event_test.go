package protocol

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func sampleEvent() *Envelope {
	return &Envelope{EventHeader: EventHeader{ID: "e7", Source: "npc_1", Targets: []string{"npc_2"}, Type: "trade.offer", Priority: High, TraceID: "t3", Chain: []Link{{Agent: "player", Type: "player.speak"}, {Agent: "npc_2", Type: "npc.says"}}, Time: 946684800_500000000, Ephemeral: true, RequiresAck: true}, Kind: KindEvent, Scene: "tavern", Expires: 946684800_500000000 + Time(90*time.Second), Body: NewBody(Encode(map[string]any{"price": int64(3), "ratio": 0.5}))}
}

const sampleJSON = `{
  "id": "e7",
  "metadata": {
    "ephemeral": true,
    "priority": "high",
    "requires_ack": true,
    "source_chain": [
      {
        "source_agent_instance_id": "player",
        "type": "player.speak"
      },
      {
        "source_agent_instance_id": "npc_2",
        "type": "npc.says"
      }
    ],
    "target_agent_instance_id": "npc_2",
    "trace_id": "t3",
    "ttl_seconds": 90
  },
  "payload": {
    "price": 3,
    "ratio": 0.5
  },
  "source_agent_instance_id": "npc_1",
  "timestamp": "2000-01-01T00:00:00.5Z",
  "type": "trade.offer"
}`

func TestArchitecture9_EventWireNames(t *testing.T) {
	b, err := json.MarshalIndent(EventValue(sampleEvent()), "", "  ")
	if err != nil || string(b) != sampleJSON {
		t.Errorf("%v\n%s", err, b)
	}
	plain := EventValue(&Envelope{EventHeader: EventHeader{Type: "x"}})
	if b, _ := json.Marshal(plain); string(b) != `{"id":"","metadata":{"priority":"normal","source_chain":[],"trace_id":""},"payload":null,"source_agent_instance_id":"","timestamp":"-","type":"x"}` {
		t.Errorf("%s", b)
	}
	many := sampleEvent()
	many.Targets = []string{"a", "b"}
	many.Expires = many.Time + 1_500_000_000
	m := EventValue(many)["metadata"].(map[string]any)
	if b, _ := json.Marshal([]any{m["target_agent_instance_id"], m["ttl_seconds"]}); string(b) != `[["a","b"],1.5]` {
		t.Errorf("%s", b)
	}
}

func sampleDraft() *Draft {
	e := sampleEvent()
	return &Draft{EventHeader: e.EventHeader, TTL: 90 * time.Second, Body: e.Body.Raw}
}

func TestDraftComesBack(t *testing.T) {
	for _, d := range []*Draft{{}, sampleDraft(), {EventHeader: EventHeader{Type: "x", Priority: Low, Time: -5, Targets: []string{}, Chain: []Link{}}, TTL: -1}, {EventHeader: EventHeader{Type: "x", Cause: "e1", Turn: 300, TaskID: "ada/3.1", ExpectsReply: true}}} {
		hand := d.AppendMsg(nil)
		back, err := ReadDraft(hand)
		if err != nil || !bytes.Equal(back.AppendMsg(nil), hand) {
			t.Errorf("%v: %+v", err, back)
		}
		for cut := range hand {
			if _, err := ReadDraft(hand[:cut]); KindOf(err) != KindCorrupt {
				t.Errorf("%d of %d bytes: %v", cut, len(hand), err)
			}
		}
	}
	bad := (&Draft{EventHeader: EventHeader{Type: "x", Priority: 9}}).AppendMsg(nil)
	if _, err := ReadDraft(bad); err == nil {
		t.Error("priority 9 decodes")
	}
}

func TestSharedEventIsComputedOnce(t *testing.T) {
	s := NewSharedEvent(sampleEvent())
	a, b := s.Value(), s.Value()
	a["probe"] = true
	if b["probe"] != true {
		t.Error("two receivers have two values")
	}
	if n := testing.AllocsPerRun(100, func() { s.Value() }); n != 0 {
		t.Errorf("%v allocations for a later receiver", n)
	}
}

func FuzzReadDraft(f *testing.F) {
	f.Add(sampleDraft().AppendMsg(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := ReadDraft(raw)
		if err != nil {
			return
		}
		back, err := ReadDraft(d.AppendMsg(nil))
		if err != nil || !bytes.Equal(back.AppendMsg(nil), d.AppendMsg(nil)) {
			t.Fatalf("%v: %+v", err, d)
		}
	})
}

func BenchmarkDraft(b *testing.B) {
	d := sampleDraft()
	raw := d.AppendMsg(nil)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 1024)
		for b.Loop() {
			buf = d.AppendMsg(buf[:0])
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = ReadDraft(raw)
		}
	})
}
