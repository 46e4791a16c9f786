package prompt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"tavernsim/engine/prompt"
)

// TestTokens holds the table to two tokenizers: on every text it is within a tenth of the
// larger of their counts.
func TestTokens(t *testing.T) {
	files, err := filepath.Glob("testdata/texts/*")
	files = append(files, "../../scenes/examples/herbalist/agent_profiles/elara.json", "../../scenes/examples/market/workflows/trade.yaml")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	var counters []tokenizer.Codec
	for _, e := range []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase} {
		c, err := tokenizer.Get(e)
		if err != nil {
			t.Fatal(err)
		}
		counters = append(counters, c)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, c := range counters {
			n, err := c.Count(string(data))
			if err != nil {
				t.Fatal(err)
			}
			want = max(want, n)
		}
		got := prompt.Tokens(string(data))
		off := 100 * float64(got-want) / float64(want)
		t.Logf("%-14s %d tokens, the table says %d (%+.1f %%)", filepath.Base(f), want, got, off)
		if off > 10 || off < -10 {
			t.Errorf("%s: %+.1f %%", f, off)
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	data, err := os.ReadFile("testdata/texts/english.txt")
	if err != nil {
		b.Fatal(err)
	}
	text := string(data)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		prompt.Tokens(text)
	}
}
