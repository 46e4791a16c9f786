package statecmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

var twinKey = rapid.SampledFrom([]string{"a", "b", "c", "l"})

func twinValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch k := rapid.IntRange(0, 7).Draw(t, "type"); {
		case k == 0:
			return nil
		case k < 3 || depth == 0:
			return rapid.Int64Range(0, 3).Draw(t, "int")
		case k == 3:
			return rapid.SampledFrom([]string{"x", "xy", ""}).Draw(t, "text")
		case k == 4:
			l := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				l = append(l, twinValue(depth-1).Draw(t, "e"))
			}
			return l
		}
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			m[twinKey.Draw(t, "k")] = twinValue(depth-1).Draw(t, "v")
		}
		return m
	})
}

func genEntry(t *rapid.T) twinEntry {
	e := twinEntry{
		action: string(rapid.SampledFrom(command.Actions()).Draw(t, "action")),
		path:   rapid.SliceOfN(twinKey, 1, 3).Draw(t, "path"),
		value:  twinValue(2).Draw(t, "value"),
		opt:    map[string]any{},
	}
	maybe := func(name string, v func() any) {
		if command.Takes(command.Action(e.action), name) && rapid.IntRange(0, 5).Draw(t, name) == 0 {
			e.opt[name] = v()
		}
	}
	yes := func() any { return true }
	small := func() any { return rapid.Int64Range(1, 3).Draw(t, "small") }
	if rapid.Bool().Draw(t, "guard") || e.action == "ensure" {
		if e.action != "ensure" {
			maybe("ifExists", yes)
		}
	} else {
		maybe("ifMissing", yes)
	}
	maybe("ifEquals", func() any { return twinValue(1).Draw(t, "equal") })
	maybe("ifVersion", func() any { return rapid.Int64Range(0, 2).Draw(t, "version") })
	maybe("idempotencyKey", func() any { return "k" })
	maybe("mergeStrategy", func() any { return rapid.SampledFrom([]string{"replace", "shallow", "deep"}).Draw(t, "merge") })
	maybe("uniqueBy", func() any { return twinKey.Draw(t, "by") })
	maybe("dedupe", yes)
	maybe("position", func() any { return rapid.SampledFrom([]string{"head", "tail"}).Draw(t, "end") })
	if e.action == "push" {
		maybe("limit", small)
	}
	maybe("count", small)
	maybe("where", func() any { return map[string]any{twinKey.Draw(t, "field"): twinValue(0).Draw(t, "is")} })
	maybe("cascade", func() any { return false })
	if e.action == "delete" {
		maybe("allowMissing", yes)
	}
	maybe("expect", func() any {
		return map[string]any{"exists": rapid.Bool().Draw(t, "exists"), "equals": rapid.SampledFrom([]any{int64(1), "x", []any{}}).Draw(t, "equals")}
	})
	return e
}

// Promises 2 to 4. TestTwin_random: engine and twin agree on every outcome and every state; every
// batch replays; what is rejected changes nothing.
func TestTwin_random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := newTable(fataler{r: t}, Settings{}, `{}`)
		w := &twin{root: map[string]any{}, keys: map[string]bool{}}
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			var entries []twinEntry
			var texts []string
			for range rapid.IntRange(1, 5).Draw(t, "entries") {
				e := genEntry(t)
				entries, texts = append(entries, e), append(texts, e.text())
			}
			tx := rapid.IntRange(0, 2).Draw(t, "transaction") == 0
			text := fmt.Sprintf(`{"commands":[%s],"options":{"transaction":%v}}`, strings.Join(texts, ","), tx)
			before := tab.state()
			dec := tab.run(text)
			want := w.batch(entries, tx)
			if got := outcomes(dec.Results); got != want {
				t.Fatalf("%s\non %s\ngot  %s\ntwin %s\n%+v", text, before, got, want, dec.Results)
			}
			if got := tab.s.Document("state").AppendMsg(nil); !bytes.Equal(got, protocol.Encode(w.root)) {
				t.Fatalf("%s\non %s\ngot  %s\ntwin %s", text, before, tab.state(), world.AppendJSON(nil, w.root))
			}
		}
	})
}

// fataler lets rapid's T serve where the helpers want a testing.TB.
type fataler struct {
	testing.TB
	r *rapid.T
}

func (f fataler) Helper() {}

func (f fataler) Fatal(args ...any) { f.r.Fatal(args...) }

func (f fataler) Fatalf(format string, args ...any) { f.r.Fatalf(format, args...) }
