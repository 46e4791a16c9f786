package effect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

// Promises 1 and 2. An answer has the bytes that earlier versions wrote into logs of effects, reads
// as itself, and bytes that are none are refused.
func TestBytesOfAnswers(t *testing.T) {
	full := Answered{Kind: KindModel, Number: 3, Model: protocol.ModelAnswer{
		Model: "m", Text: "Good day.", Reasoning: "why", Finish: protocol.FinishToolCalls, Latency: 1500 * time.Millisecond,
		Usage: protocol.Usage{Input: 300, Output: -1, CacheRead: 70000, Reasoning: 2},
		Calls: []protocol.Call{
			{ID: "c1", Tool: "Say", Origin: protocol.OriginNative, Params: map[string]any{"b": int64(1), "a": []any{"x", nil, true, 2.5}}},
			{ID: "c2", Tool: "T", Origin: protocol.OriginNative, Params: map[string]any{}},
		},
	}}
	for text, x := range map[string]Answered{
		"9a03a16da9476f6f64206461792ea37768799293a26331a353617982a16194a178c0c3cb4004000000000000a1620193a26332a15480aa746f6f6c5f63616c6c7394cd012cffce0001117002ce59682f00a0a0": full,
		"9a01a0a0a0c0a0940000000000a774696d656f7574b16e6f20616e7377657220696e2074696d65":                                                                                         {Kind: KindModel, Number: 1, Err: &protocol.Error{Kind: protocol.KindTimeout, Message: "no answer in time"}},
		"9accc8a0a0a0c0a0940000000000a0a0":                       {Kind: KindModel, Number: 200},
		"9502a4736f6f6e05a0a0":                                   {Kind: "oracle", Number: 2, Output: "soon", Latency: 5},
		"9602a4736f6f6e05a0a09194a87368613235362d6103a174a16e":   {Kind: "oracle", Number: 2, Output: "soon", Latency: 5, Artifacts: []tool.Artifact{{ID: "sha256-a", Size: 3, Type: "t", Name: "n"}}},
		"9702a4736f6f6e05a0a090c3":                               {Kind: "oracle", Number: 2, Output: "soon", Latency: 5, Carried: true},
		"9702a4736f6f6e05a0a09194a87368613235362d6103a174a16ec3": {Kind: "oracle", Number: 2, Output: "soon", Latency: 5, Artifacts: []tool.Artifact{{ID: "sha256-a", Size: 3, Type: "t", Name: "n"}}, Carried: true},
	} {
		if got := hex.EncodeToString(x.AppendMsg(nil)); got != text {
			t.Errorf("%+v\n%s, want\n%s", x, got, text)
		}
		raw, _ := hex.DecodeString(text)
		got, err := ReadAnswered(x.Kind, raw)
		if err != nil || !reflect.DeepEqual(*got, x) {
			t.Errorf("%+v, want\n%+v: %v", got, x, err)
		}
		for n := range raw {
			if _, err := ReadAnswered(x.Kind, raw[:n]); err == nil {
				t.Errorf("%d bytes of %s are an answer", n, text)
			}
		}
	}
}

// Promise 3. Settle gives what would be read from the bytes, of any answer.
func TestSettledAnswersAreThoseThatAreRead(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "über", "x\x00y"})
	number := rapid.SampledFrom([]int64{0, 1, -1, 70000})
	value := rapid.SampledFrom([]any{nil, "s", int64(3), 2.5, true, []any{}, []any{"x", nil}, map[string]any{}, map[string]any{"b": int64(1)}})
	params := rapid.SampledFrom([]map[string]any{nil, {}, {"a": []any{"x", map[string]any{}}, "b": 1.0}})
	rapid.Check(t, func(r *rapid.T) {
		yes := func(name string) bool { return rapid.Bool().Draw(r, name) }
		word := func(name string) string { return text.Draw(r, name) }
		n := func(name string) int64 { return number.Draw(r, name) }
		x := Answered{Kind: rapid.SampledFrom([]string{KindModel, "tool", KindApproval}).Draw(r, "kind"), Number: int(n("number")), Latency: time.Duration(n("took")), Output: value.Draw(r, "output"), Carried: yes("carried")}
		if yes("artifacts") {
			x.Artifacts = []tool.Artifact{}
			for range rapid.IntRange(0, 2).Draw(r, "files") {
				x.Artifacts = append(x.Artifacts, tool.Artifact{ID: "sha256-a", Size: n("size"), Type: word("type"), Name: word("name")})
			}
		}
		x.Err = rapid.SampledFrom([]error{nil, errors.New("why"), errors.New(""), &protocol.Error{Kind: protocol.KindTimeout, Message: "late"}, fmt.Errorf("in: %w", &protocol.Error{Kind: protocol.KindLimit, Message: "full"})}).Draw(r, "error")
		m := &x.Model
		m.Model, m.Text, m.Reasoning, m.Finish, m.Latency = word("model"), word("text"), word("reasoning"), protocol.FinishReason(word("finish")), time.Duration(n("latency"))
		m.Usage = protocol.Usage{Input: n("in"), Output: n("out"), CacheRead: n("read"), Reasoning: n("thought"), CacheWrite: n("write"), Estimated: yes("estimated")}
		if yes("calls") {
			m.Calls = []protocol.Call{}
			for range rapid.IntRange(0, 2).Draw(r, "n") {
				m.Calls = append(m.Calls, protocol.Call{ID: word("id"), Tool: word("tool"), Params: params.Draw(r, "params"), Broken: word("broken"), RequestID: word("request"), Index: 3})
			}
		}
		if yes("origin") {
			m.Origin = &protocol.ModelOrigin{
				Endpoint: word("endpoint"), ID: word("answer"), Fingerprint: word("print"), Question: word("question"), Attempts: n("attempts"), Refused: word("refused"),
				Cost: n("cost"), Priced: yes("priced"), FirstChunk: time.Duration(n("first")), Reused: yes("reused"),
			}
			if yes("served") {
				m.Origin.Served = protocol.Encode("why")
			}
			if yes("budget") {
				m.Origin.Budget = &protocol.ModelBudget{Ledger: word("ledger"), Saved: yes("saved"), Lost: n("lost"), LostNano: n("nano"), Cut: yes("cut")}
			}
		}
		want, err := ReadAnswered(x.Kind, x.AppendMsg(nil))
		if err != nil {
			r.Fatal(err)
		}
		x.Settle()
		if !reflect.DeepEqual(&x, want) {
			r.Fatalf("%+v\nwant\n%+v", x, *want)
		}
	})
}
