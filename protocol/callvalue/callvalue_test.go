package callvalue

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

func randomCall(t *rapid.T) protocol.Call {
	text := rapid.SampledFrom([]string{"", "a", "ab c"})
	texts := rapid.SampledFrom([]map[string]string{nil, {}, {"k": "v"}, {"k": "v", "l": ""}})
	n := rapid.IntRange(0, 3)
	return protocol.Call{
		ID: text.Draw(t, "id"), Tool: text.Draw(t, "tool"), Broken: text.Draw(t, "broken"), RequestID: text.Draw(t, "request"), After: text.Draw(t, "after"),
		Params:  rapid.SampledFrom([]map[string]any{nil, {}, {"a": int64(1), "l": []any{"x", nil}}}).Draw(t, "params"),
		Origin:  rapid.SampledFrom([]protocol.Origin{"", protocol.OriginTAM, protocol.OriginNative}).Draw(t, "origin"),
		OnError: rapid.SampledFrom([]protocol.OnError{"", protocol.OnErrorContinue}).Draw(t, "on error"),
		Index:   n.Draw(t, "index"), Retry: n.Draw(t, "retry"), Block: n.Draw(t, "block"),
		URIs: texts.Draw(t, "uris"), TypeHints: texts.Draw(t, "hints"), Orphans: texts.Draw(t, "orphans"), Common: texts.Draw(t, "common"),
		Inherited: rapid.SampledFrom([][]string{nil, {}, {"p", "qq"}}).Draw(t, "inherited"),
	}
}

// Calls that nobody opened are read, and counted against a budget, as their values are.
// Rapid prints how to repeat it.
func TestCallsAreReadAsTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := Calls(rapid.SliceOfN(rapid.Custom(randomCall), 0, 3).Draw(t, "calls"))
		values := calls.Values()
		whole := protocol.SizeOf(values, 1<<20)
		for _, limit := range []int{1 << 20, whole, whole - 1, rapid.IntRange(0, 300).Draw(t, "limit")} {
			got, want := protocol.SizeOf(calls, limit), protocol.SizeOf(values, limit)
			if got > limit != (want > limit) || got <= limit && got != want {
				t.Fatalf("limit %d: size %d, want %d", limit, got, want)
			}
		}
		for i := range calls {
			got, err := calls.Read(i)
			want, fault := Read(values[i])
			if (err == nil) != (fault == nil) || err != nil && err.Error() != fault.Error() || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, %v\nwant %+v, %v", got, err, want, fault)
			}
		}
	})
}
