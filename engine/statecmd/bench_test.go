package statecmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
)

func agentName(i int) string { return fmt.Sprintf("agent_%06d", i) }

func benchState(tb testing.TB, n int) (State, map[string]any) {
	tb.Helper()
	agents := map[string]any{}
	for i := range n {
		agents[agentName(i)] = map[string]any{"gold": int64(i), "place": "market"}
	}
	root := map[string]any{"agents": agents, "counters": map[string]any{}}
	doc, err := world.FromValue(root, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return NewState(map[string]*world.Document{"state": doc}), root
}

func setCommands(agents, n, salt int) string {
	var b strings.Builder
	b.WriteString("[")
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"action":"set","key":"character.saveData.agents.%s.gold","value":%d}`, agentName((i*7919+salt)%agents), i+salt)
	}
	b.WriteString("]")
	return b.String()
}

// BenchmarkSet: simple set commands through the engine, ns per command. 300,000/s
// is what it must reach. "text" includes decoding.
func BenchmarkSet(b *testing.B) {
	for _, from := range []string{"text", "decoded"} {
		b.Run("from="+from+"/batch=100", func(b *testing.B) {
			e, err := New(Settings{})
			if err != nil {
				b.Fatal(err)
			}
			s, _ := benchState(b, 1000)
			var texts []string
			var batches []command.Batch
			for i := range 64 {
				texts = append(texts, setCommands(1000, 100, i*31))
				batch, err := command.Decode(texts[i])
				if err != nil {
					b.Fatal(err)
				}
				batches = append(batches, batch)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += 100 {
				batch := batches[i/100%64]
				if from == "text" {
					batch, _ = command.Decode(texts[i/100%64])
				}
				s = e.Decide(s, Input{Now: 1, Batch: batch}).Next
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
		})
	}
}

// BenchmarkGoMap does the same with encoding/json and a plain map, without any
// guarantee.
func BenchmarkGoMap(b *testing.B) {
	_, root := benchState(b, 1000)
	text := setCommands(1000, 100, 0)
	b.ReportAllocs()
	for i := 0; i < b.N; i += 100 {
		var cmds []struct {
			Key   string
			Value any
		}
		if err := json.Unmarshal([]byte(text), &cmds); err != nil {
			b.Fatal(err)
		}
		for _, c := range cmds {
			parts := strings.Split(c.Key, ".")[2:]
			at := root
			for _, p := range parts[:len(parts)-1] {
				at = at[p].(map[string]any)
			}
			at[parts[len(parts)-1]] = c.Value
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}

// BenchmarkFact encodes and folds the fact of a batch, per command.
func BenchmarkFact(b *testing.B) {
	e, _ := New(Settings{})
	s, _ := benchState(b, 1000)
	batch, _ := command.Decode(setCommands(1000, 100, 7))
	dec := e.Decide(s, Input{Now: 1, Batch: batch})
	fact := dec.Facts[0].(*Committed)
	raw := mustMarshal(b, fact)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += 100 {
			mustMarshal(b, fact)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += 100 {
			if _, err := ReadCommitted(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += 100 {
			if _, err := e.Apply(s, fact); err != nil {
				b.Fatal(err)
			}
		}
	})
}
