package expr

import "testing"

// shapes are the filters that the design measured: the two of the
// specification, a three-way condition and a field that is missing.
func shapes() map[string]string {
	return map[string]string{
		"includes":   "payload.message.includes('help')",
		"equal":      "payload.target_npc_id === self.instance_id",
		"three":      "payload.amount > 100 && payload.kind === 'trade' && payload.message.startsWith('please')",
		"missing":    "payload.trade?.offer?.price > 3",
		"arithmetic": "payload.amount * 2 + 1 - payload.level < 1000.5",
		"some":       "payload.tags.some(t => t === 'blue')",
		"regexp":     "/he(l+)p/.test(payload.message)",
		"error":      "payload.trade.offer.price > 3",
	}
}

func benchEnv() Map {
	return Map{"self": map[string]any{"instance_id": "npc_7", "profile_id": "npc"},
		"payload": map[string]any{"message": "please help me", "target_npc_id": "npc_7", "amount": int64(120), "kind": "trade",
			"level": int64(7), "tags": []any{"red", "green", "blue"}, "x": 1.5, "who": "p1"}}
}

func BenchmarkEval(b *testing.B) {
	for _, name := range []string{"includes", "equal", "three", "missing", "arithmetic", "some", "regexp", "error"} {
		p, err := Compile(shapes()[name], "payload", "event", "self")
		if err != nil {
			b.Fatal(err)
		}
		var env Env = benchEnv()
		b.Run("shape="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = p.EvalBool(env)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(shapes()["three"], "payload", "event", "self"); err != nil {
			b.Fatal(err)
		}
	}
}
