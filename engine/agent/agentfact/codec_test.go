package agentfact

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// facts draws one fact of every kind whose bytes are written by hand.
func facts(t *rapid.T) []protocol.Fact {
	text := rapid.String()
	raw := func(name string) protocol.Raw {
		return rapid.SampledFrom([]protocol.Raw{nil, protocol.Encode("x"), protocol.Encode(map[string]any{"a": int64(1)})}).Draw(t, name)
	}
	n := rapid.Int64()
	return []protocol.Fact{
		&TurnEnded{
			Agent: rapid.Uint32().Draw(t, "agent"), Turn: rapid.Uint64().Draw(t, "turn"), Wave: rapid.Uint64().Draw(t, "wave"),
			Outcome: rapid.SampledFrom([]Outcome{OutcomeOK, OutcomeFailed, OutcomeCancelled, ""}).Draw(t, "outcome"), Error: text.Draw(t, "error"),
			Through: rapid.Uint64().Draw(t, "through"), Perceived: n.Draw(t, "perceived"), Seen: n.Draw(t, "seen"), Calls: n.Draw(t, "calls"),
			SleepUntil: protocol.Time(n.Draw(t, "sleep")), Asleep: rapid.Bool().Draw(t, "asleep"),
			WakeAbove: protocol.Priority(rapid.IntRange(-1, 2).Draw(t, "above")), Reflections: n.Draw(t, "reflections"),
			ModelFailed: n.Draw(t, "model failed"), Expired: n.Draw(t, "expired"), Dropped: n.Draw(t, "dropped"), Changed: rapid.Bool().Draw(t, "changed"),
			WakeAt: protocol.Time(n.Draw(t, "wake")), Urgency: protocol.Priority(rapid.IntRange(-1, 2).Draw(t, "urgency")), Lost: n.Draw(t, "lost"),
		},
		&TurnEnded{Outcome: OutcomeOK, ToolCalls: rapid.Int64Min(1).Draw(t, "tool calls"), ToolTime: time.Duration(n.Draw(t, "tool time")), ToolBytes: n.Draw(t, "tool bytes"), ToolCost: n.Draw(t, "tool cost")},
		&StateUpdated{Path: text.Draw(t, "path"), Op: rapid.SampledFrom([]string{private.OpSet, private.OpMerge, "other"}).Draw(t, "op"), Value: raw("value")},
		&CallMade{
			ID: text.Draw(t, "id"), Tool: rapid.SampledFrom([]string{"SayTool", "workflow:x", ""}).Draw(t, "tool"), Origin: protocol.OriginTAM,
			Params: raw("params"), Status: protocol.CallDenied, Output: raw("output"), Error: text.Draw(t, "why"), Observe: rapid.Bool().Draw(t, "observe"),
		},
		&ModelAnswered{Model: text.Draw(t, "model"), Text: text.Draw(t, "text"), Calls: raw("calls"), Finish: protocol.FinishStop, Input: n.Draw(t, "in"), Output: n.Draw(t, "out"), Error: text.Draw(t, "failure"),
			Request: n.Draw(t, "request"), ErrorKind: protocol.KindTimeout, Reasoning: text.Draw(t, "reasoning"), CacheRead: n.Draw(t, "cache"), ReasoningTokens: n.Draw(t, "thoughts")},
		&ModelAnswered{Text: text.Draw(t, "text"), Calls: raw("calls"), Request: 1, Origin: &effect.Origin{
			Endpoint: text.Draw(t, "endpoint"), ID: text.Draw(t, "answer"), Fingerprint: text.Draw(t, "fingerprint"), Question: text.Draw(t, "question"),
			Attempts: n.Draw(t, "attempts"), Refused: text.Draw(t, "refused"), CacheWrite: n.Draw(t, "write"), Estimated: rapid.Bool().Draw(t, "estimated"), Served: raw("served"),
		}},
		&ModelAnswered{Request: 1, Origin: &effect.Origin{Endpoint: "cloud", Priced: true, Cost: n.Draw(t, "cost")}},
		&ModelAnswered{Request: 1, Origin: &effect.Origin{Priced: rapid.Bool().Draw(t, "priced"), Budget: &protocol.ModelBudget{
			Ledger: text.Draw(t, "ledger"), Saved: rapid.Bool().Draw(t, "saved"), Lost: n.Draw(t, "lost"), LostNano: n.Draw(t, "lost cost"), Cut: rapid.Bool().Draw(t, "cut")}}},
		&Said{Text: text.Draw(t, "said")},
	}
}

// Promise 3. Bytes that are written by hand come back as they were; a cut or longer form is refused.
func TestFactsRoundTrip(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	rapid.Check(t, func(t *rapid.T) {
		for _, f := range facts(t) {
			raw, err := codec.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			back, err := codec.ReadFact(f.FactKind(), raw)
			if err != nil || !reflect.DeepEqual(back, f) {
				t.Fatalf("%#v became %#v, %v", f, back, err)
			}
			for cut := range len(raw) {
				if _, err := codec.ReadFact(f.FactKind(), raw[:cut]); err == nil {
					t.Fatalf("%s: the first %d of %d bytes are a fact", f.FactKind(), cut, len(raw))
				}
			}
			if _, err := codec.ReadFact(f.FactKind(), append(bytes.Clone(raw), 0xc0)); err == nil {
				t.Fatalf("%s: a byte more was read", f.FactKind())
			}
		}
	})
	for _, f := range []protocol.Fact{&GoalsUpdated{Goal: goal.Goal{ID: "g", Priority: 0.5, Details: protocol.Encode("x")}, Removed: true},
		&GoalChanged{Goal: goal.Goal{ID: "g", Status: goal.Failed}, More: goal.More{Preconditions: []goal.Condition{{Expr: "world.x"}, {Text: "y"}}, Deadline: 5, Exclusive: []string{"bed"}, Reward: protocol.Encode("r")}, From: goal.Active, Cause: goal.CauseDeadline, By: "bo", Observe: true},
		&DriveMet{Drive: "hunger", Level: 5}, &Reflected{Reason: "r", Workflow: "w"}} {
		raw, err := codec.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.ReadFact(f.FactKind(), raw)
		if again, _ := codec.Marshal(back); err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%s: %v", f.FactKind(), err)
		}
	}
	if f, err := codec.ReadFact("world.committed", nil); f != nil || protocol.KindOf(err) != protocol.KindUnknown {
		t.Error("a fact of others was read")
	}
}

// Promise 2. Facts of runs that were made before the request's number was kept decode.
func TestOldModelAnswer(t *testing.T) {
	old := msgp.AppendArrayHeader(nil, 8)
	for _, s := range []string{"m", "hello"} {
		old = msgp.AppendString(old, s)
	}
	old = protocol.AppendRaw(old, protocol.Encode([]any{map[string]any{"tool": "SayTool", "params": map[string]any{"text": "x"}}}))
	old = msgp.AppendString(old, "stop")
	for _, n := range []int64{3, 4, 5} {
		old = protocol.AppendInt(old, n)
	}
	f, err := readModelAnswered(msgp.AppendString(old, "broke"))
	if err != nil || f.Text != "hello" || f.Latency != 5 || f.Error != "broke" || f.Request != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, ok := f.Answered(); ok {
		t.Error("the kind of an old failure is not known, and was made up")
	}
	f.Error = ""
	x, ok := f.Answered()
	if !ok || x.Err != nil || len(x.Model.Calls) != 1 || x.Model.Calls[0].Tool != "SayTool" || x.Model.Usage.Output != 4 {
		t.Errorf("%+v %v", x, ok)
	}
}

// Promise 1. They are the bytes that reflection would write: fields in their order, as a
// list, integers in their shortest form. An Origin that is not there is left out, and
// what is not there at its end.
func TestFactsAreTheCodecsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, f := range facts(t) {
			want := reflected(t, reflect.ValueOf(f).Elem())
			got := f.(protocol.Appender).AppendMsg(nil)
			if !bytes.Equal(got, want) {
				t.Fatalf("%s %+v:\n%x, reflection writes\n%x", f.FactKind(), f, got, want)
			}
		}
	})
}

func reflected(t *rapid.T, fields reflect.Value) []byte {
	var buf, head bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	enc.UseCompactInts(true)
	enc.UseArrayEncodedStructs(true)
	n := 0
	o, nested := reflect.TypeAssert[*effect.Origin](fields.Addr())
	end, ended := reflect.TypeAssert[*TurnEnded](fields.Addr())
	for i := range fields.NumField() {
		name, v := fields.Type().Field(i).Name, fields.Field(i)
		if !fields.Type().Field(i).IsExported() || v.Kind() == reflect.Pointer && v.IsNil() {
			continue
		}
		if ended && end.ToolCalls+end.ToolRefused == 0 && strings.HasPrefix(name, "Tool") {
			continue
		}
		if nested && (name == "Served" && v.Len() == 0 && !o.Priced && o.Budget == nil || name == "Cost" && !o.Priced && o.Budget == nil || name == "Priced") {
			continue
		}
		if b, ok := reflect.TypeAssert[*protocol.ModelBudget](v); ok { // the fields of it, and whether there was a price
			list := []any{b.Ledger, b.Saved, b.Lost, b.LostNano, o.Priced}
			if b.Cut {
				list = append(list, true)
			}
			v = reflect.ValueOf(list)
		}
		n++
		if _, nested := reflect.TypeAssert[*effect.Origin](v); nested {
			buf.Write(reflected(t, v.Elem()))
		} else if err := enc.Encode(v.Interface()); err != nil {
			t.Fatal(err)
		}
	}
	if err := msgpack.NewEncoder(&head).EncodeArrayLen(n); err != nil {
		t.Fatal(err)
	}
	return append(head.Bytes(), buf.Bytes()...)
}

func FuzzReadFact(f *testing.F) {
	codec := protocol.NewCodec(Facts())
	kinds := []string{FactTurnEnded, FactStateUpdated, FactCallMade, FactModelAnswered, FactSaid, FactGoalsUpdated, FactReflected, FactUnknown}
	for i, x := range []protocol.Fact{&TurnEnded{}, &StateUpdated{Value: protocol.Encode("x")}, &CallMade{Tool: "t"}, &ModelAnswered{}, &Said{Text: "x"}, &GoalsUpdated{}, &Reflected{}, &OutcomeUnknown{Effect: "model"}} {
		raw, _ := codec.Marshal(x)
		f.Add(i, []byte(raw))
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		kind := kinds[uint(i)%uint(len(kinds))]
		fact, err := codec.ReadFact(kind, b)
		if err != nil {
			return
		}
		raw, err := codec.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.ReadFact(kind, raw)
		if again, _ := codec.Marshal(back); err != nil || !bytes.Equal(raw, again) {
			t.Fatalf("%s: %x, then %x: %v", kind, raw, again, err)
		}
	})
}

// Without artifacts the fact has the bytes that earlier versions wrote.
func TestBytesOfCallAnswered(t *testing.T) {
	f := CallAnswered{Kind: "tool", Request: 2, Output: protocol.Encode("soon"), Latency: 5, ErrorKind: "k", Error: "e"}
	for text, with := range map[string][]tool.Artifact{"96a4746f6f6c02a4736f6f6e05a16ba165": nil, "": {{ID: "sha256-a", Size: 3, Type: "t", Name: "n"}}} {
		f.Artifacts = with
		raw := f.AppendMsg(nil)
		if got := hex.EncodeToString(raw); with == nil && got != text {
			t.Errorf("%s, want %s", got, text)
		}
		got, err := readCallAnswered(raw)
		if err != nil || !reflect.DeepEqual(*got, f) {
			t.Errorf("%+v, want %+v: %v", got, f, err)
		}
		if x, ok := got.Answered(); !ok || !reflect.DeepEqual(x.Artifacts, with) || x.Carried {
			t.Errorf("%+v", x)
		}
		f.Carried = true
		if got, err = readCallAnswered(f.AppendMsg(nil)); err != nil || !reflect.DeepEqual(*got, f) {
			t.Errorf("%+v, want %+v: %v", got, f, err)
		}
		if x, ok := got.Answered(); !ok || !x.Carried {
			t.Errorf("%+v", x)
		}
		f.Carried, f.Hooks = false, protocol.Encode("changed")
		if got, err = readCallAnswered(f.AppendMsg(nil)); err != nil || !reflect.DeepEqual(*got, f) {
			t.Errorf("%+v, want %+v: %v", got, f, err)
		}
		if x, ok := got.Answered(); !ok || !reflect.DeepEqual(x.Hooks, f.Hooks) {
			t.Errorf("%+v", x)
		}
		f.Hooks = nil
		for n := range raw {
			if _, err := readCallAnswered(raw[:n]); err == nil {
				t.Errorf("%d bytes are a fact", n)
			}
		}
	}
}
