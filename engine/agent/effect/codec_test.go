package effect

import (
	"encoding/hex"
	"reflect"
	"testing"
	"time"

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
		"9accc8a0a0a0c0a0940000000000a0a0":                     {Kind: KindModel, Number: 200},
		"9502a4736f6f6e05a0a0":                                 {Kind: "oracle", Number: 2, Output: "soon", Latency: 5},
		"9602a4736f6f6e05a0a09194a87368613235362d6103a174a16e": {Kind: "oracle", Number: 2, Output: "soon", Latency: 5, Artifacts: []tool.Artifact{{ID: "sha256-a", Size: 3, Type: "t", Name: "n"}}},
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
