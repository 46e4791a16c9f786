package private

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

// A state whose size is not measured, as a resumed one, and one that changed all along meet the
// same limit: what is counted is never less than what the state takes.
func TestSizeIsAnUpperBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		engine, err := NewEngine(nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		segment := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "list", "0"}), rapid.StringMatching("[a-z]{1,40}"))
		value := rapid.OneOf(
			rapid.Map(rapid.Int64(), func(n int64) any { return n }),
			rapid.Map(rapid.Float64Range(-9, 9), func(x float64) any { return x }),
			rapid.Map(rapid.MapOf(segment, rapid.Int64()), func(m map[string]int64) any {
				fields := map[string]any{}
				for k, n := range m {
					fields[k] = n
				}
				return fields
			}),
			rapid.Just(any([]any{})),
		)
		s := State{Private: map[string]any{}}
		for range rapid.IntRange(1, 100).Draw(t, "changes") {
			text := strings.Join(rapid.SliceOfN(segment, 0, 4).Draw(t, "path"), ".")
			path, err := ParsePath(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			v := value.Draw(t, "value")
			next, err := engine.Change(s, text, path, rapid.SampledFrom(Ops()).Draw(t, "op"), protocol.Encode(v))
			if err != nil {
				continue
			}
			if s = next; int(s.Size()) < len(protocol.Encode(s.Private)) {
				t.Fatalf("%v at %q: a bound of %d, and %d bytes", v, text, s.Size(), len(protocol.Encode(s.Private)))
			}
		}
	})
}
