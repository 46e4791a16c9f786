package tam

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const kib = 1 << 10

// prose is plain text of n bytes with the brackets that prose has.
func prose(n int) string {
	unit := "She looked at the harbour; the <b>third</b> ship was late, and 3 < 5 as always. " +
		"他看着港口，第三艘船又晚了。 \"Wait,\" he said. `if a >> b { }`\n\n"
	return repeatTo(unit, n)
}

// ordinary is answers with two steps each between some prose.
func ordinary(n int) string {
	unit := "I will write the report now.\n\n" + startMarker + "\n# step 1\ncommand_1:»»»File.Write«««\nfile_path_1:»»»/logs/today.log«««\ncontent_1:»»»func main() {\n\tfmt.Println(\"hello\", a < b)\n}\n第一行\n" +
		strings.Repeat("    lines of content, with (some) text: and more.\n", 8) + "«««\n\ncommand_2:»»»Http.Get«««\nurl_2:»»»https://example.org/a?b=c«««\non_error_2:»»»continue«««\n" + endMarker + "\n\nDone.\n"
	return repeatTo(unit, n)
}

func repeatTo(unit string, n int) string {
	return strings.Repeat(unit, n/len(unit)+1)[:n/len(unit)*len(unit)+len(unit)]
}

func hostileTexts(n int) map[string]string {
	head := startMarker + "\ncommand:»»»X«««\ncontent:»»»"
	m := map[string]string{
		"openers":            repeatTo("»", n),
		"half_markers":       repeatTo("<|[REQUEST_TOO", n),
		"starts":             repeatTo(startMarker, n),
		"ends":               repeatTo(endMarker, n),
		"lt":                 repeatTo("<", n),
		"think":              repeatTo("<think>", n),
		"blanks":             head + repeatTo(" ", n),
		"newlines":           repeatTo("\n", n),
		"fences":             repeatTo("```\n", n),
		"blocks_unended":     repeatTo(startMarker+"\na:»»»x\n", n),
		"blocks_long_run":    repeatTo(startMarker+"\na:»»»»x\n", n),
		"blocks_mismatch":    repeatTo(startMarker+"\na:»»»x<<<<\n"+endMarker+startMarker, n),
		"blocks_quoted":      repeatTo(startMarker+"\na:»»»x\n"+startMarker+endMarker+endMarker, n),
		"fields_unended":     startMarker + "\n" + repeatTo("a:»»»x\n", n),
		"fields_nested_ends": startMarker + repeatTo("\na:»»»", n/2) + endMarker + repeatTo("«««\n", n/2) + startMarker,
		"fields_runs":        startMarker + "\n" + runs(n),
	}
	for name, unit := range map[string]string{
		"in_openers": "»", "in_nested": "a:»»»", "in_nested_lines": "\na:»»»", "in_closers": "««« ", "in_closer_lines": "«««x\n",
		"in_half": "<|[END_TOO", "in_ends": endMarker, "in_starts": startMarker, "in_key": "a", "in_key_colon": "a:", "in_comma": "«««,a ",
		"in_corner": "「始", "in_escape": "\na:「始ESCAPE」", "in_balanced": "\na:»»»x«««", "in_brace": "{始}", "in_comment": "\n# a:»»»",
	} {
		m[name] = head + repeatTo(unit, n)
	}
	return m
}

// runs has openers of ever longer runs, none of which is closed.
func runs(n int) string {
	var b strings.Builder
	for k := 4; b.Len() < n; k++ {
		b.WriteString("a:" + strings.Repeat("»", 4+k%200) + "x\n")
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"text=prose", prose(256 * kib)}, {"text=ordinary", ordinary(256 * kib)}, {"text=one_block", ordinary(1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(c.text)
			}
		})
		b.Run(c.name+"/bare_scan", func(b *testing.B) {
			raw, marker := []byte(c.text), []byte(startMarker)
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				for at := 0; ; {
					k := bytes.Index(raw[at:], marker)
					if k < 0 {
						break
					}
					at += k + len(marker)
				}
			}
		})
	}
}

// BenchmarkHostile shows the time per byte of texts made to hurt: it stays flat
// from 16 KiB to 1 MiB.
func BenchmarkHostile(b *testing.B) {
	for _, size := range []int{16 * kib, 128 * kib, 1024 * kib} {
		texts := hostileTexts(size)
		for _, name := range sortedNames(texts) {
			text := texts[name]
			b.Run(fmt.Sprintf("text=%s/kib=%d", name, size/kib), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Parse(text)
				}
			})
		}
	}
}

func BenchmarkReformat(b *testing.B) {
	text := ordinary(1)
	b.ReportAllocs()
	for b.Loop() {
		Reformat(text)
	}
}
