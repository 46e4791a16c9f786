package tools

import (
	"context"
	"testing"

	"tavernsim/tools/manifest"
)

// BenchmarkFunction is a call of a function of the program: what Run adds to it.
func BenchmarkFunction(b *testing.B) {
	c := called(manifest.Free)
	c.Params = map[string]any{"town": "Rome", "days": int64(3), "exact": true}
	out := map[string]any{"text": "sunny", "days": []any{int64(1), int64(2)}}
	x := Func(func(context.Context, *Call) Result { return Output(out) })
	b.ReportAllocs()
	for b.Loop() {
		k := *c
		k.Key = Key(Place{"run", "scene", "a_1", 3, 1}, c.Tool.ID, c.Params)
		if r := Run(b.Context(), x, &k, Options{}); r.Status != OK {
			b.Fatal(r)
		}
	}
}
