package scripted

import (
	"fmt"
	"testing"

	"tavernsim/protocol"
)

// benchScript is a typical rule set: ten rules of three conditions each.
const benchScript = `
rules:
  - match: { profile: player, events: "shop.*", chance: 0.5 }
    answer: I look at the goods.
  - match: { profile: "trader*", variables: { mood: angry }, when: "variables.gold < 5" }
    answer: I have nothing left.
  - match: { profile: "trader*", events: "world.weather.*", variables: { mood: calm } }
    answer: "{{.agent}} looks at the sky."
  - match: { profile: "trader*", variables: { mood: calm, open: false }, when: "variables.hour > 20" }
    answer: I sleep.
  - match: { profile: "trader*", prompt_contains: robbery, variables: { open: true } }
    answer: Help!
  - match: { profile: "trader*", agent: "trader_0*", chance: 0.3 }
    answers: [{ text: "{{.agent}} yawns." }, { text: "{{.agent}} hums.", weight: 2 }]
  - match: { profile: "trader*", events: ["trade.*", "gossip"], when: "variables.gold > 100 && draw < 0.5" }
    answer: { text: "I am rich.", calls: [{ tool: PublishEventTool, params: { type: gossip, payload: { text: "{{.agent}} is rich" } } }] }
  - match: { profile: "trader*", variables: { open: true }, when: "variables.gold >= 5", chance: 0.9 }
    answer:
      text: "{{.agent}} buys {{pick \"mint\" \"sage\" \"yarrow\"}}."
      calls:
        - tool: PublishEventTool
          params: { type: trade.offer, payload: { herb: "{{.variables.herb}}", price: "{{randInt 1 20}}", gold: { $expr: "variables.gold - 1" } } }
  - match: { profile: "trader*", scene: market, when: "events.length > 3" }
    answer: So much news.
  - match: { profile: "trader*", json: false, round: 0 }
    answer: "{{.agent}} waits."
`

func benchRequest(i int) *protocol.ModelRequest {
	d := protocol.NewDraw(42, uint64(i))
	return &protocol.ModelRequest{
		Scene: "market", Agent: fmt.Sprintf("trader_%03d", i%1000), Profile: "trader", Draw: d, Events: []string{"trade.done"},
		Variables: map[string]any{"mood": "calm", "gold": int64(d.IntN(150)), "open": true, "hour": int64(9), "herb": "mint"},
		Messages: []protocol.ModelMessage{
			{Role: protocol.RoleSystem, Text: "You are a trader of the market. Decide what to do next, and say it in one sentence."},
			{Role: protocol.RoleUser, Text: "You have 12 gold. Mint costs 3, sage costs 4, yarrow costs 7. It is nine o'clock and the weather is fine."},
		},
	}
}

// BenchmarkAnswer holds the model's share of a deliberation: a typical rule set,
// most requests ending at the eighth rule with a call.
func BenchmarkAnswer(b *testing.B) {
	m, err := Load("bench.yaml", []byte(benchScript))
	if err != nil {
		b.Fatal(err)
	}
	requests := make([]*protocol.ModelRequest, 1024)
	for i := range requests {
		requests[i] = benchRequest(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := m.Answer(requests[i%len(requests)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnswerParallel(b *testing.B) {
	m, err := Load("bench.yaml", []byte(benchScript))
	if err != nil {
		b.Fatal(err)
	}
	req := benchRequest(1)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := m.Answer(req); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkAnswerPlain(b *testing.B) {
	m, err := Load("bench.yaml", []byte(`rules: [{ match: { profile: trader, variables: { open: true } }, answer: "{{.agent}} waits." }]`))
	if err != nil {
		b.Fatal(err)
	}
	req := benchRequest(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Answer(req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load("bench.yaml", []byte(benchScript)); err != nil {
			b.Fatal(err)
		}
	}
}
