package lenient

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/template"
	"tavernsim/protocol"
)

var update = flag.Bool("update", false, "rewrite testdata from what the code does")

func outcome(text string) string {
	r, err := Parse(text)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	out := string(template.AppendJSON(nil, r.Value)) + "\n"
	for _, w := range r.Warnings {
		out += "warning: " + w + "\n"
	}
	return out
}

const casesFile = "testdata/cases.txt"

func cases(t testing.TB) (names, texts, wants []string) {
	raw, err := os.ReadFile(casesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(raw), "\n== ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		text, want, _ := strings.Cut(rest, "\n=>\n")
		names, texts, wants = append(names, name), append(texts, text), append(wants, strings.TrimRight(want, "\n")+"\n")
	}
	return
}

// TestGolden runs testdata/cases.txt. Rewrite with:
//
//	go test ./engine/workflow/nodes/lenient -update
func TestGolden(t *testing.T) {
	names, texts, wants := cases(t)
	var file strings.Builder
	file.WriteString("What models write, and what is read.\n")
	for i := range names {
		got := outcome(texts[i])
		if got != wants[i] && !*update {
			t.Errorf("%s:\n%s\ngot  %swant %s", names[i], texts[i], got, wants[i])
		}
		fmt.Fprintf(&file, "\n== %s\n%s\n=>\n%s", names[i], texts[i], got)
	}
	if *update {
		if err := os.WriteFile(casesFile, []byte(file.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// drawValue makes any value.
func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth <= 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64().Draw(t, "int")
	case 3:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "float")
	case 4:
		return rapid.String().Draw(t, "text")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "len") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "len") {
		m[rapid.String().Draw(t, "key")] = drawValue(t, depth-1)
	}
	return m
}

// TestValidJSONIsExact (promise 1): valid JSON comes back as it is, without a
// warning; in prose and in a fence it is found.
func TestValidJSONIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawValue(t, 3)
		indent := rapid.SampledFrom([]string{"", "  "}).Draw(t, "indent")
		raw, err := json.MarshalIndent(want, "", indent)
		if err != nil {
			t.Skip("not JSON")
		}
		check := func(text string, clean bool) {
			r, err := Parse(text)
			if err != nil || !same(r.Value, raw) || clean && len(r.Warnings) > 0 {
				t.Fatalf("%q\ngot  %s %v %v", text, template.AppendJSON(nil, r.Value), r.Warnings, err)
			}
		}
		check(string(raw), true)
		switch want.(type) {
		case map[string]any, []any:
			if !strings.Contains(string(raw), "```") {
				check("```json\n"+string(raw)+"\n```", false)
			}
		}
	})
}

// same compares with what the standard library reads.
func same(v any, raw []byte) bool {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var want any
	if dec.Decode(&want) != nil {
		return false
	}
	n, err := protocol.Normalize(want)
	return err == nil && protocol.Equal(v, n)
}

func FuzzParse(f *testing.F) {
	_, texts, _ := cases(f)
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		r, err := Parse(text)
		if err != nil {
			return
		}
		if _, err := protocol.Normalize(r.Value); err != nil {
			t.Fatalf("not a value: %v", err)
		}
		if err := protocol.Check(protocol.Encode(r.Value)); err != nil {
			t.Fatalf("does not encode: %v", err)
		}
		again, err := Parse(text)
		if err != nil || !protocol.Equal(r.Value, again.Value) {
			t.Fatal("twice, and not the same")
		}
		// What was repaired is valid JSON now.
		clean := string(template.AppendJSON(nil, r.Value))
		if r2, err := Parse(clean); err != nil || !protocol.Equal(r.Value, r2.Value) || len(r2.Warnings) > 0 {
			t.Fatalf("%q reads back as %v %v %v", clean, r2.Value, r2.Warnings, err)
		}
	})
}

func TestBounds(t *testing.T) {
	if _, err := Parse(strings.Repeat("x", MaxText+1)); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("too long: %v", err)
	}
	for _, unit := range []string{"<think></think>", "</think>", "<think>", "1a ", "{'a b': 1a ", `"a" `, "[", "{a:", "```", `\`, "#", "“", `{"`, "/*", "<"} {
		start := time.Now()
		Parse("{" + strings.Repeat(unit, 1<<17/len(unit)))
		if d := time.Since(start); d > 20*time.Second { // milliseconds when linear, minutes when not
			t.Errorf("%q over and over took %v", unit, d)
		}
	}
	for _, n := range []int{protocol.MaxDepth + 5, 100_000} {
		if r, err := Parse(strings.Repeat("[", n)); err == nil && len(r.Warnings) == 0 {
			t.Errorf("%d deep: %v", n, r)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"clean":  `{"action": "wait", "reason": "the rain", "params": {"minutes": 10, "place": "shop"}}`,
		"fenced": "Sure!\n```json\n{\"action\": \"wait\", \"reason\": \"the rain\"}\n```",
		"broken": `{action: 'wait', "reason": “the rain”, params: {minutes: 10,}`,
	} {
		b.Run("text="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
