package tam

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tavernsim/protocol"
)

// checkResult holds for the result of any text.
func checkResult(t testing.TB, text string, r Result) {
	t.Helper()
	at := 0
	for _, b := range r.Blocks {
		if b.Span.Start < at || b.Span.End <= b.Span.Start || b.Span.End > len(text) {
			t.Fatalf("span %v after %d in %d bytes", b.Span, at, len(text))
		}
		at = b.Span.End
		if b.Executable && (!b.Complete || len(b.Commands) == 0) {
			t.Fatalf("executable block %+v", b)
		}
		for _, c := range b.Commands {
			for name, f := range c.Fields {
				if f.KeySpan[0] < 0 || f.ValueSpan[1] > len(text) || f.ValueSpan[0] > f.ValueSpan[1] || text[f.KeySpan[0]:f.KeySpan[1]] != f.RawKey {
					t.Fatalf("field %s: %+v", name, f)
				}
			}
		}
		for _, d := range b.Diagnostics {
			if d.Line < 1 || d.Col < 1 || d.Offset < 0 || d.Offset > len(text) || d.Message == "" {
				t.Fatalf("diagnostic %+v", d)
			}
		}
	}
	Pretty(text, r)
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
}

func seed(f *testing.F) {
	for _, c := range goldenCases(f) {
		f.Add(c.input)
	}
	for _, s := range hostileSeeds() {
		f.Add(s)
	}
}

func hostileSeeds() []string {
	units := []string{"»", "«««", ">>>", "a:»»»", "a:»»»\n", "<|[", "<|[REQUEST_TOOL]|>", "<|[END_TOOL]|>", "<think>", "「始", "a:「始ESCAPE」", "```\n", "a:»»»»x\n", "a:»»»x«««\n", "command:»»»X«««\n", "«« ", "x,"}
	var out []string
	for _, u := range units {
		out = append(out, startMarker+"\n"+strings.Repeat(u, 5), strings.Repeat(u, 5)+endMarker)
	}
	return out
}

// FuzzParse: no panic, and what holds for the result of any text.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		for _, o := range []Options{{}, smallOptions()} {
			checkResult(t, text, o.Parse(text))
		}
	})
}

// smallOptions bring the limits within reach of short texts.
func smallOptions() Options {
	return Options{
		limits: limits{Block: 120, Value: 30, Fields: 4, Steps: 2, Index: 20},
		Finish: protocol.FinishLength,
		IsTool: func(id string) bool { return id == "File.Write" },
	}
}

func asJSON(r Result) string {
	j, err := json.MarshalIndent(r, "", " ")
	return fmt.Sprint(string(j), err)
}

// FuzzRoundTrip: a value of any text is read as it was written.
func FuzzRoundTrip(f *testing.F) {
	for _, c := range goldenCases(f) {
		f.Add(c.input)
	}
	for _, s := range append(hostileSeeds(), " x\n", "", "»", "«", "a«", "»»»»a««««", "「始RAW」", "「末raw」") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		var w formatter
		w.WriteString(startMarker + "\ncommand:»»»X«««\n")
		w.field("a", v)
		w.field("b", v)
		w.WriteString(endMarker)
		r := Parse(w.String())
		if len(v) > 50*kib {
			return
		}
		if len(r.Problems()) > 0 || r.Text != "" || len(r.Blocks) != 1 || len(r.Blocks[0].Diagnostics) > 0 {
			t.Fatalf("canonical text has findings:\n%s\n%s", w.String(), asJSON(r))
		}
		if p := r.Blocks[0].Commands[0].Params; len(p) != 2 || p["a"] != v || p["b"] != v {
			t.Fatalf("wrote %q as\n%s\nread %q", v, w.String(), p)
		}
	})
}

// FuzzReformat: whatever runs is written in the canonical form, unless that is
// larger than a block may be, and means the same.
func FuzzReformat(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		for i, b := range Parse(text).Blocks {
			if !b.Executable || len(b.Orphans) > 0 {
				continue
			}
			out := b.canonical()
			r := Parse(out)
			if r.Text != "" || len(r.Blocks) != 1 || !b.means(&r.Blocks[0]) && r.Blocks[0].Executable {
				t.Fatalf("block %d of\n%s\nwritten as\n%s\nread as\n%s", i, text, out, asJSON(r))
			}
			if len(r.Problems()) > 0 && r.Blocks[0].Executable {
				t.Fatalf("canonical text has findings:\n%s\n%s", out, asJSON(r))
			}
		}
		if got := Parse(Reformat(text)).Calls(); !reflect.DeepEqual(got, Parse(text).Calls()) {
			t.Fatalf("%q means something else when it is rewritten:\n%s", text, Reformat(text))
		}
	})
}

// FuzzNormaliseKey: normal names stay, and hold nothing but word characters.
func FuzzNormaliseKey(f *testing.F) {
	for _, s := range []string{"File-Path 1", "filePath_1", "ＣＯＭＭＡＮＤ＿１", "文件路径1", "HTTPServer", "__", "İx", "ǅ", "e\u0301A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := normaliseKey(s)
		if again := normaliseKey(n); again != n {
			t.Fatalf("normaliseKey(%q) = %q, and of that %q", s, n, again)
		}
		if strings.HasPrefix(n, "_") || strings.HasSuffix(n, "_") || strings.Contains(n, "__") || strings.ContainsAny(n, " -:\n") {
			t.Fatalf("normaliseKey(%q) = %q", s, n)
		}
	})
}

// TestParse_RandomMixtures reads random mixtures of everything that matters.
func TestParse_RandomMixtures(t *testing.T) {
	units := append([]string{"\n", " ", "\t", "\r\n", "x", "key", "command", "command_2", ":", "：", "»»»", "«««", ">>>", "<<<", "「始」", "「末」", "»»»»", "««««", "「始ESCAPE」", "「末ESCAPE」", "「始RAW1」", "「末RAW1」", "{始}", "{末}", "»»", "««",
		startMarker, startMarker, endMarker, "<", "<|[", "<think>", "</think>", "```", "```tam\n", "# note", "// note", ",", "，", "- ", "**", "\u200b", "\u00a0", "\ufeff", "文件路径", "_1", "1", "\xe3", "on_error_1", "uri_x", "type_hint_x", "common_x", "retry", "request_id", "comment"},
		"\ncommand:»»»A«««", "\nx_1:»»»v«««", "\nkey:»»»a\nb«««", "\n"+startMarker+"\n", "\n"+endMarker+"\n")
	seed, text := uint64(20251121), ""
	defer func() {
		if t.Failed() {
			t.Logf("text %q", text)
		}
	}()
	for round := range 20000 {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		var b strings.Builder
		for range 2 + rng.IntN(24) {
			b.WriteString(units[rng.IntN(len(units))])
		}
		text = b.String()
		for _, o := range []Options{{}, smallOptions()} {
			checkResult(t, text, o.Parse(text))
		}
	}
}
