package bus

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

func drawRouted(t *rapid.T) *Routed {
	text := rapid.StringN(0, 40, 300)
	f := &Routed{EventHeader: protocol.EventHeader{ID: text.Draw(t, "id"), Type: text.Draw(t, "type"), Source: text.Draw(t, "source"), Priority: protocol.Priority(rapid.IntRange(-1, 2).Draw(t, "priority")), TraceID: text.Draw(t, "trace"), Time: protocol.Time(rapid.Int64().Draw(t, "time")), Ephemeral: rapid.Bool().Draw(t, "ephemeral"), RequiresAck: rapid.Bool().Draw(t, "ack"), Cause: text.Draw(t, "cause"), Turn: rapid.Uint64().Draw(t, "turn"), TaskID: text.Draw(t, "task"), ExpectsReply: rapid.Bool().Draw(t, "asks")}, Seq: rapid.Uint64().Draw(t, "seq"), Expires: protocol.Time(rapid.Int64().Draw(t, "expires")), FilterErrors: rapid.Uint32().Draw(t, "errors")}
	if rapid.Bool().Draw(t, "targets") {
		f.Targets = rapid.SliceOfN(text, 1, 4).Draw(t, "target")
	}
	for range rapid.IntRange(0, 3).Draw(t, "links") {
		f.Chain = append(f.Chain, protocol.Link{Agent: text.Draw(t, "agent"), Type: text.Draw(t, "type")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "marks") {
		f.Marks = append(f.Marks, Mark{Agent: text.Draw(t, "agent"), Reason: ReasonLoop, Action: LoopDrop})
	}
	for range rapid.IntRange(0, 40).Draw(t, "runs") {
		f.Receivers = f.Receivers.With(rapid.Uint32Range(0, 100).Draw(t, "ordinal"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "holds") {
		f.Held = append(f.Held, Held{Subscription: Subscription{Type: text.Draw(t, "held type"), FilterCondition: text.Draw(t, "filter"), Path: text.Draw(t, "path"),
			Debounce: DebounceMerge, Quiet: time.Duration(rapid.Int64().Draw(t, "quiet")), Most: time.Second}, Key: text.Draw(t, "key"), Until: 1 + protocol.Time(rapid.Uint32().Draw(t, "until")),
			Reason: ReasonDebounced, Receivers: Ranges{{From: rapid.Uint32Range(0, 9).Draw(t, "held for"), Count: 1}}})
	}
	if rapid.Bool().Draw(t, "release") {
		f.Released, f.Merged = rapid.Uint64().Draw(t, "released"), rapid.Uint32().Draw(t, "merged")
	}
	if rapid.Bool().Draw(t, "body") {
		f.Body = protocol.Encode(map[string]any{"a": rapid.Int64().Draw(t, "a"), "b": text.Draw(t, "b")})
	}
	return f
}

// An event that was routed comes back from its bytes.
func TestRoutedComesBack(t *testing.T) {
	same := []cmp.Option{cmpopts.IgnoreUnexported(Routed{}, Range{}, Mark{}, Held{}, Subscription{}), cmpopts.EquateEmpty()}
	rapid.Check(t, func(t *rapid.T) {
		f := drawRouted(t)
		raw := f.AppendMsg(nil)
		read, err := ReadRouted(raw)
		if err != nil || !cmp.Equal(f, read, same...) {
			t.Fatalf("%v\n%s", err, cmp.Diff(f, read, same...))
		}
		for cut := range raw {
			if _, err := ReadRouted(raw[:cut]); err == nil {
				t.Fatalf("%d of %d bytes decode", cut, len(raw))
			}
		}
	})
}

func TestFactsComeBack(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	facts := []protocol.Fact{
		&Routed{EventHeader: protocol.EventHeader{ID: "e1", Type: "x"}, Seq: 1, Receivers: Ranges{{From: 1, Count: 2}}},
		&Refused{EventHeader: protocol.EventHeader{ID: "e2", Type: "x", Source: "s", Targets: []string{"t"}, Priority: protocol.Low, TraceID: "t", Chain: []protocol.Link{{Agent: "a", Type: "x"}}, Time: start, Ephemeral: true, Cause: "e1", Turn: 9, TaskID: "a/1.1", ExpectsReply: true}, Seq: 2, Reason: ReasonLoop, Detail: "d", TTL: -time.Second, Body: protocol.Encode("b")},
		&ThrottleChanged{Rule: throttle.Rule{Type: "a.*", Per: throttle.PerScene, Max: 3, Window: time.Second, Action: throttle.Delay, Until: start}, Removed: true, Time: start},
		&NotDone{By: "a", What: "subscribe", Subject: "x", Code: protocol.KindLimit, Message: "m"},
		&SubscriptionChanged{Agent: 3, Add: []Subscription{{Type: "a.*", FilterCondition: "payload > 1"}}, Remove: []Subscription{{Type: "b"}}},
	}
	for _, f := range facts {
		raw, err := codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.ReadFact(f.FactKind(), raw)
		same := cmpopts.IgnoreUnexported(Routed{}, Range{}, Refused{}, SubscriptionChanged{}, Subscription{})
		if err != nil || !cmp.Equal(f, back, same) {
			t.Errorf("%s: %v\n%s", f.FactKind(), err, cmp.Diff(f, back, same))
		}
		if _, err := codec.ReadFact(f.FactKind(), raw[:len(raw)-1]); err == nil {
			t.Errorf("%s: a cut fact decodes", f.FactKind())
		}
	}
	for name, f := range map[string]protocol.Fact{
		"a filter that does not compile":   &SubscriptionChanged{Add: []Subscription{{Type: "a", FilterCondition: "("}}},
		"a throttle rule without a window": &ThrottleChanged{Rule: throttle.Rule{Type: "a"}},
		"a path of another type":           &SubscriptionChanged{Add: []Subscription{{Type: "a", Path: "x"}}},
		"held for no time":                 &Routed{Held: []Held{{Receivers: Ranges{{From: 1, Count: 1}}}}},
		"runs out of order":                &Routed{Receivers: Ranges{{From: 5, Count: 1}, {From: 2, Count: 1}}},
		"an empty run":                     &Routed{Receivers: Ranges{{From: 5}}},
		"runs that touch":                  &Routed{Receivers: Ranges{{From: 5, Count: 1}, {From: 6, Count: 1}}},
		"a run beyond the ordinals":        &Routed{Receivers: Ranges{{From: 1<<32 - 1, Count: 2}}},
	} {
		raw, err := codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := codec.ReadFact(f.FactKind(), raw); protocol.KindOf(err) != protocol.KindCorrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := codec.ReadFact("agent.said", nil); protocol.KindOf(err) != protocol.KindUnknown {
		t.Errorf("another machine's fact: %v", err)
	}
}

func FuzzReadRouted(f *testing.F) {
	f.Add((&Routed{EventHeader: protocol.EventHeader{ID: "e1", Type: "x", Targets: []string{"a"}, Chain: []protocol.Link{{Agent: "a", Type: "x"}}}, Seq: 1, Body: protocol.Encode("b"), Receivers: Ranges{{From: 1, Count: 2}}, Marks: []Mark{{Agent: "a", Reason: ReasonLoop, Action: LoopWarn}}}).AppendMsg(nil))
	f.Add([]byte{0xdc, 0, routedFields, 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		fact, err := ReadRouted(b)
		if err != nil {
			return
		}
		again, err := ReadRouted(fact.AppendMsg(nil))
		if err != nil || !bytes.Equal(again.AppendMsg(nil), fact.AppendMsg(nil)) {
			t.Fatalf("%v: %+v", err, fact)
		}
	})
}
