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
		Limits: Limits{Block: 120, Value: 30, Fields: 4, Steps: 2, Index: 20},
		Finish: protocol.FinishLength,
		IsTool: func(id string) bool { return id == "File.Write" },
	}
}

func asJSON(r Result) string {
	j, err := json.MarshalIndent(r, "", " ")
	return fmt.Sprint(string(j), err)
}

// FuzzRoundTrip: what Format writes is read back, and what Parse read can be
// written.
func FuzzRoundTrip(f *testing.F) {
	for _, c := range goldenCases(f) {
		f.Add("File.Write", "content", c.input, "path_2", " x\n", "", uint8(3))
	}
	for _, s := range hostileSeeds() {
		f.Add(s, "command", s, "uri_x", s+" ", "req", uint8(200))
	}
	f.Fuzz(func(t *testing.T, tool, n1, v1, n2, v2, id string, shape uint8) {
		calls := madeCalls(tool, n1, v1, n2, v2, id, shape)
		text, err := formatCalls(calls)
		if err != nil {
			return
		}
		if got := Parse(text).Calls(); !sameCalls(got, calls) {
			t.Fatalf("wrote %+v as\n%s\nread %+v\n%s", calls, text, got, asJSON(Parse(text)))
		}
		if r := Parse(text); len(r.Problems()) > 0 || r.Text != "" || len(r.Blocks[0].Diagnostics) > 0 {
			t.Fatalf("canonical text has findings:\n%s\n%s", text, asJSON(r))
		}
	})
}

// madeCalls builds one or two calls from fuzzed parts.
func madeCalls(tool, n1, v1, n2, v2, id string, shape uint8) []protocol.Call {
	c := protocol.Call{Tool: tool, Params: map[string]any{n1: v1}, Origin: protocol.OriginTAM, RequestID: id, Index: int(shape & 3), OnError: protocol.OnErrorStop}
	if n2 != n1 {
		c.Params[n2] = v2
	}
	if shape&4 != 0 {
		c.OnError, c.Retry = protocol.OnErrorContinue, int(shape>>5)
	}
	if shape&8 != 0 {
		c.TypeHints = map[string]string{n1: "json"}
	}
	if shape&16 != 0 && n1 != n2 {
		delete(c.Params, n2)
		c.URIs = map[string]string{n2: v2}
	}
	if shape&32 == 0 {
		return []protocol.Call{c}
	}
	d := protocol.Call{Tool: v1, Params: map[string]any{n1: v2}, Origin: protocol.OriginTAM, RequestID: id, Index: c.Index + 1, OnError: protocol.OnErrorStop}
	return []protocol.Call{c, d}
}

// sameCalls compares all but ids and blocks, which number the calls of a text, and
// how a parameter was shared.
func sameCalls(a, b []protocol.Call) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		x.ID, y.ID, x.Block, y.Block, x.Inherited, y.Inherited = "", "", 0, 0, nil, nil
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

// FuzzReformat: whatever was read can be written, and means the same.
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
			out, err := Format(b.Manifest())
			if err != nil {
				if protocol.KindOf(err) == protocol.KindLimit {
					continue
				}
				t.Fatalf("block %d cannot be written: %v\n%s", i, err, text)
			}
			r := Parse(out)
			if len(r.Blocks) != 1 || !reflect.DeepEqual(r.Blocks[0].Manifest(), b.Manifest()) {
				t.Fatalf("block %d of\n%s\nwritten as\n%s\nread as\n%s", i, text, out, asJSON(r))
			}
		}
	})
}

// FuzzNormaliseKey: normal names stay, and hold nothing but word characters.
func FuzzNormaliseKey(f *testing.F) {
	for _, s := range []string{"File-Path 1", "filePath_1", "ＣＯＭＭＡＮＤ＿１", "文件路径1", "HTTPServer", "__", "İx", "ǅ", "e\u0301A"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := NormaliseKey(s)
		if again := NormaliseKey(n); again != n {
			t.Fatalf("NormaliseKey(%q) = %q, and of that %q", s, n, again)
		}
		if strings.HasPrefix(n, "_") || strings.HasSuffix(n, "_") || strings.Contains(n, "__") || strings.ContainsAny(n, " -:\n") {
			t.Fatalf("NormaliseKey(%q) = %q", s, n)
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

// formatCalls writes calls. Neighbours with the same request id and rising
// Index share a block.
func formatCalls(calls []protocol.Call) (string, error) {
	var blocks []Manifest
	for i, c := range calls {
		if i > 0 && c.RequestID == calls[i-1].RequestID && c.Index > calls[i-1].Index && c.Index != 0 {
			last := &blocks[len(blocks)-1]
			last.Calls = append(last.Calls, c)
			continue
		}
		blocks = append(blocks, Manifest{RequestID: c.RequestID, Calls: []protocol.Call{c}})
	}
	return Format(blocks...)
}
