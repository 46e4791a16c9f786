package world

import (
	"fmt"
	"testing"

	"tavernsim/protocol"
)

// agentsDocument has n agents under one parent, each a small object.
func agentsDocument(tb testing.TB, n int) *Document {
	tb.Helper()
	agents := make(map[string]any, n)
	for i := range n {
		agents[agentName(i)] = map[string]any{"gold": int64(i), "place": "market", "stats": map[string]any{"hp": int64(10), "mp": int64(5)}}
	}
	d, err := FromValue(map[string]any{"agents": agents, "weather": "rain"}, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func agentName(i int) string { return fmt.Sprintf("agent_%07d", i) }

// BenchmarkGet reads paths of depth 4, beside nested Go maps of the same
// content. Of few agents everything is in the processor's cache, of many next to
// nothing.
func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		d := agentsDocument(b, n)
		root := plain(d.Value()).(map[string]any)
		paths, names := make([]Path, 1024), make([]string, 1024)
		for i := range paths {
			names[i] = agentName(i * 7919 % n)
			paths[i] = P("agents", names[i], "stats", "hp")
		}
		b.Run(fmt.Sprintf("depth=4/agents=%d/of=document", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if _, ok := d.Get(paths[i&1023]); !ok {
					b.Fatal("missing")
				}
			}
		})
		b.Run(fmt.Sprintf("depth=4/agents=%d/of=map", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				agents := root["agents"].(map[string]any)
				if _, ok := agents[names[i&1023]].(map[string]any)["stats"].(map[string]any)["hp"]; !ok {
					b.Fatal("missing")
				}
			}
		})
	}
}

// plain copies nested values into maps of their own.
func plain(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for k, e := range m {
		out[k] = plain(e)
	}
	return out
}

// BenchmarkCommit: one set per commit below a parent of n children.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("children=%d", n), func(b *testing.B) {
			m := map[string]any{}
			for i := range n {
				m[agentName(i)] = int64(i)
			}
			d, err := FromValue(map[string]any{"agents": m}, 0)
			if err != nil {
				b.Fatal(err)
			}
			paths := make([]Path, 1<<16)
			for i := range paths {
				paths[i] = P("agents", agentName(i*7919%n))
			}
			req := []Request{{ID: "r", By: "a", Op: OpSet, Value: protocol.Encode(int64(1000))}}
			c := Commit{Requests: each(req...)}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				req[0].Path = paths[i&(1<<16-1)]
				d = Machine{}.Decide(d, c).Next
			}
		})
	}
}

// BenchmarkWave: 100,000 requests in one commit; ns/op is per request.
func BenchmarkWave(b *testing.B) {
	for _, op := range []Op{OpSet, OpAdd} {
		for _, n := range []int{100, 1000, 100_000} {
			b.Run(fmt.Sprintf("op=%s/agents=%d", op, n), func(b *testing.B) {
				d := agentsDocument(b, n)
				reqs := make([]Request, 100_000)
				for i := range reqs {
					reqs[i] = Request{ID: "r", By: "a", Op: op, Path: P("agents", agentName(i*7919%n), "gold"), Value: protocol.Encode(int64(i))}
				}
				c := Commit{Requests: each(reqs...)}
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; i < b.N; i += len(reqs) {
					d = Machine{}.Decide(d, c).Next
				}
			})
		}
	}
}

// BenchmarkGoMap does BenchmarkWave's work without snapshots, versions, facts
// or checks.
func BenchmarkGoMap(b *testing.B) {
	for _, n := range []int{100, 1000, 100_000} {
		b.Run(fmt.Sprintf("agents=%d", n), func(b *testing.B) {
			agents := map[string]any{}
			for i := range n {
				agents[agentName(i)] = map[string]any{"gold": int64(i), "place": "market"}
			}
			root := map[string]any{"agents": agents}
			names := make([]string, 100_000)
			for i := range names {
				names[i] = agentName(i * 7919 % n)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				root["agents"].(map[string]any)[names[i%100_000]].(map[string]any)["gold"] = int64(i)
			}
		})
	}
}

// BenchmarkCodec encodes and decodes the fact of a wave, per change.
func BenchmarkCodec(b *testing.B) {
	fact := &Committed{Before: 1, After: 2}
	for i := range 1000 {
		fact.Changes = append(fact.Changes, Change{Op: OpSet, Path: P("agents", agentName(i), "gold"), Value: protocol.Encode(int64(i)), By: agentName(i), Request: "r"})
	}
	raw := fact.AppendMsg(nil)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, len(raw))
		for i := 0; i < b.N; i += 1000 {
			buf = fact.AppendMsg(buf[:0])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += 1000 {
			if _, err := ReadCommitted(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
