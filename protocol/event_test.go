package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
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

func parseJSON(t *testing.T, text string) (*Draft, error) {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return ParseEvent(v)
}

// TestEventBothWays: what EventValue writes, ParseEvent reads.
func TestEventBothWays(t *testing.T) {
	e := sampleEvent()
	d, err := parseJSON(t, sampleJSON)
	if err != nil {
		t.Fatal(err)
	}
	if d.ID != e.ID || d.Type != e.Type || d.Source != e.Source || !slices.Equal(d.Targets, e.Targets) || d.Priority != e.Priority ||
		d.TraceID != e.TraceID || !slices.Equal(d.Chain, e.Chain) || d.Time != e.Time || d.TTL != 90*time.Second ||
		!d.Ephemeral || !d.RequiresAck || !bytes.Equal(d.Body, e.Body.Raw) {
		t.Errorf("%+v", d)
	}
}

func TestArchitecture9_CamelCaseIsRead(t *testing.T) {
	camel := sampleJSON
	for from, to := range map[string]string{"source_agent_instance_id": "sourceAgentInstanceId", "source_chain": "sourceChain", "trace_id": "traceId",
		"target_agent_instance_id": "targetAgentInstanceID", "requires_ack": "requiresAck", "ttl_seconds": "ttlSeconds"} {
		camel = strings.ReplaceAll(camel, `"`+from+`"`, `"`+to+`"`)
	}
	a, err := parseJSON(t, sampleJSON)
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseJSON(t, camel)
	if err != nil || !bytes.Equal(a.AppendMsg(nil), b.AppendMsg(nil)) {
		t.Errorf("%v: %+v", err, b)
	}
}

func TestParseEventDefaults(t *testing.T) {
	d, err := parseJSON(t, `{"type": "x", "metadata": null, "payload": null}`)
	if err != nil || d.Priority != Normal || d.TTL != 0 || d.Time != 0 || d.Targets != nil || len(d.Chain) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = parseJSON(t, `{"type": "x", "metadata": {"ttl_seconds": 0}}`); err != nil || d.TTL != -1 {
		t.Errorf("ttl 0 is never: %+v, %v", d, err)
	}
}

func TestParseEventRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`"x"`:                                  `event: got text, want an object`,
		`{}`:                                   `event: type: missing; want the event type, as in "player.action.speak"`,
		`{"type": 1}`:                          `event: type: got a number, want text`,
		`{"type":"x","prio":1}`:                `event: unknown field "prio"; want id, metadata, payload, source_agent_instance_id, timestamp, type`,
		`{"type":"x","priority":1}`:            `event: unknown field "priority"; it belongs under metadata`,
		`{"type":"x","metadata":{"type":"x"}}`: `event metadata: unknown field "type"; it belongs beside metadata, not in it`,
		`{"type":"x","metadata":{"traceId":"a","trace_id":"a"}}`:                  `event metadata: field "trace_id" is given in two spellings`,
		`{"type":"x","metadata":{"priority":"urgent"}}`:                           `event metadata: priority: priority "urgent": want low, normal, high or critical`,
		`{"type":"x","metadata":{"ephemeral":1}}`:                                 `event metadata: ephemeral: got a number, want true or false`,
		`{"type":"x","metadata":{"ttl_seconds":-1}}`:                              `event metadata: ttl_seconds: want seconds, at most 100 years; 0 for never`,
		`{"type":"x","metadata":{"ttl_seconds":"1"}}`:                             `event metadata: ttl_seconds: want seconds, at most 100 years; 0 for never`,
		`{"type":"x","metadata":{"target_agent_instance_id":["a",1]}}`:            `event metadata: target_agent_instance_id: got a number in the list, want text`,
		`{"type":"x","metadata":{"target_agent_instance_id":true}}`:               `event metadata: target_agent_instance_id: got a boolean, want text or a list of texts`,
		`{"type":"x","metadata":{"source_chain":{}}}`:                             `event metadata: source_chain: got an object, want a list`,
		`{"type":"x","metadata":{"source_chain":["a"]}}`:                          `event metadata source_chain: got text, want an object`,
		`{"type":"x","metadata":{"source_chain":[{"type":1}]}}`:                   `event metadata source_chain: type: got a number, want text`,
		`{"type":"x","timestamp":"yesterday"}`:                                    `event: timestamp: got "yesterday", want a time such as 2025-01-31T12:00:00Z`,
		`{"type":"x","timestamp":"9999-01-01T00:00:00Z"}`:                         `event: timestamp: got "9999-01-01T00:00:00Z", want a time such as 2025-01-31T12:00:00Z`,
		`{"type":"x","payload":99999999999999999999999999999999999999e999999999}`: `event: value at /payload: number`,
	} {
		_, err := parseJSON(t, text)
		if err == nil || !strings.HasPrefix(err.Error(), want) || KindOf(err) != KindInvalid {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestDraftComesBack(t *testing.T) {
	full, err := parseJSON(t, sampleJSON)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Draft{{}, full, {EventHeader: EventHeader{Type: "x", Priority: Low, Time: -5, Targets: []string{}, Chain: []Link{}}, TTL: -1}, {EventHeader: EventHeader{Type: "x", Cause: "e1", Turn: 300, TaskID: "ada/3.1", ExpectsReply: true}}} {
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

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(sampleJSON))
	f.Add([]byte(`{"type":"x"}`))
	f.Add([]byte(`{"type":"x","metadata":{"ttlSeconds":0.5,"targetAgentInstanceId":["a"],"sourceChain":[{"type":"y"}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return
		}
		d, err := ParseEvent(v)
		if err != nil {
			return
		}
		back, err := ReadDraft(d.AppendMsg(nil))
		if err != nil || !bytes.Equal(back.AppendMsg(nil), d.AppendMsg(nil)) {
			t.Fatalf("%v: %+v", err, d)
		}
		e := &Envelope{EventHeader: EventHeader{ID: d.ID, Type: d.Type, Source: d.Source, Targets: d.Targets, Priority: d.Priority, TraceID: d.TraceID, Chain: d.Chain, Time: d.Time, Ephemeral: d.Ephemeral, RequiresAck: d.RequiresAck}, Body: NewBody(d.Body)}
		if d.TTL > 0 {
			e.Expires = e.Time.Add(d.TTL)
		}
		again, err := ParseEvent(EventValue(e))
		if err != nil {
			t.Fatalf("%v: %+v", err, EventValue(e))
		}
		d.TTL, again.TTL = 0, 0 // never and default look the same in an event; floats round
		if len(d.Chain) == 0 {
			d.Chain, again.Chain = nil, nil
		}
		if len(d.Targets) == 0 {
			d.Targets, again.Targets = nil, nil
		}
		if !bytes.Equal(again.AppendMsg(nil), d.AppendMsg(nil)) {
			t.Fatalf("%+v\n%+v", again, d)
		}
	})
}

func BenchmarkDraft(b *testing.B) {
	d, err := ParseEvent(EventValue(sampleEvent()))
	if err != nil {
		b.Fatal(err)
	}
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
