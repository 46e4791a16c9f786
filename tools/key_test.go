package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// A run that an older program began has keys of JSON as Go writes it.
func TestKeyIsOfJSON(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[ -~]{0,12}`), rapid.StringMatching("[a\"\\\\<>&\n\x00é\u2028\x7f]{0,6}"), rapid.Just("a\xffb"))
	leaves := rapid.OneOf(
		rapid.Map(texts, func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Float64Range(-1e30, 1e30), func(f float64) any { return f }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.SampledFrom([]any{nil, []byte("x<y"), []any(nil), map[string]any(nil), []any{}, map[string]any{}}),
	)
	values := leaves
	for range 2 {
		inner := values
		values = rapid.OneOf(leaves,
			rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(texts, inner, 0, 4), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := Place{Run: texts.Draw(t, "run"), Scene: "s", Agent: texts.Draw(t, "agent"), Turn: rapid.Uint64().Draw(t, "turn"), Number: rapid.IntRange(-3, 300).Draw(t, "number")}
		params := rapid.MapOfN(rapid.StringMatching(`[a-c"<]{1,3}`), values, 0, 5).Draw(t, "params")
		text, err := json.Marshal([]any{p.Run, p.Scene, p.Agent, p.Turn, p.Number, "tool", params})
		if err != nil {
			t.Skip(err)
		}
		sum := sha256.Sum256(text)
		if have, want := Key(p, "tool", params), hex.EncodeToString(sum[:16]); have != want {
			t.Fatalf("%s, want %s of %s", have, want, text)
		}
	})
}
