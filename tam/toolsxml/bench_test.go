package toolsxml

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

const sampleProse = "The build failed because the lock file is older than the manifest; 我先看看 a < b 的情况。\n"

const sampleTools = `I will look first.
<tools>
  <command>
    npm install && npm run build
    echo "done" > out.txt
  </command>
  <edit>
    <file src="src/config.ts">
      <find>const API_URL = "http://localhost:3000";</find>
      <replace>const API_URL = "https://api.production.com";</replace>
      <find>if (a < b && c) {</find>
      <replace>if (a <= b && c) {</replace>
    </file>
  </edit>
  <read><file src="package.json"/><file src="src/"/></read>
  <input>y\n</input>
  <ctrl>c</ctrl>
</tools>
`

// hostile are texts that make a careless parser slow. A unit is repeated, head
// and tail stand around it once.
func hostile() []struct{ name, head, unit, tail string } {
	return []struct{ name, head, unit, tail string }{
		{"nested_roots", "", "<tools>", ""},
		{"nested_commands", "<tools>", "<command>", ""},
		{"nested_commands_closed", "<tools>", "<command>x", "</command></tools>"},
		{"nested_lines", "<tools>", "\n<command>x", "</command></tools>"},
		{"closers", "<tools><command>", "</command>", "x</tools>"},
		{"closers_junk", "<tools><command>", "</command>x", "</tools>"},
		{"nested_finds", "<tools><edit><file src=a>", "<find>", "</file></edit></tools>"},
		{"find_replace_unclosed", "<tools><edit><file src=a>", "<find>a<replace>b", "</file></edit></tools>"},
		{"find_closers", "<tools><edit><file src=a><find>", "</find>", "<replace>b</replace></file></edit></tools>"},
		{"pairs", "<tools><edit><file src=a>", "<find>a</find><replace>b</replace>", "</file></edit></tools>"},
		{"roots_in_roots", "", "<tools><command>ls", ""},
		{"roots_quoted", "<tools><command>", "\n<tools><command>ls</command></tools>", "</command></tools>"},
		{"half_markers", "<tools>", "</command", ""},
		{"half_openers", "<tools><command>", "<comman", ""},
		{"unclosed_cdata", "<tools>", "<command><![CDATA[", ""},
		{"unclosed_cdata_closers", "<tools>", "<command><![CDATA[x</command>", "<command><![CDATA[]]></command></tools>"},
		{"here_documents", "<tools>", "<command>cat <<A\n</command>", "</tools>"},
		{"here_documents_words", "<tools>", "<command>cat <<A\n</command><command>cat <<B\nA\n</command>", "</tools>"},
		{"here_document_closers", "<tools><command>cat <<A\n", "</command><read/>", "\nA\n</command></tools>"},
		{"here_document_openers", "<tools><command>cat <<A\n</command><read/>", "\n<command>cat <<B\n", "\nA\n</command></tools>"},
		{"here_document_commands", "<tools><command>cat <<A\n</command><read/>", "\n<command a>cat <<B\nB</command>", "\nA\n</command></tools>"},
		{"here_document_begins", "<tools><command>cat ", "<<A ", "\n</command></tools>"},
		{"here_document_quotes", "<tools><command>", "<<A '\"$(`${((", "</command></tools>"},
		{"less_than", "<tools>", "<", ""},
		{"less_than_prose", "", "<", ""},
		{"comments_open", "<tools><command>x", "</command><!--", "--></tools>"},
		{"comments_chain", "<tools><command>x", "</command><!-- -->", "</tools>"},
		{"comments_nested", "<tools>", "<!-- </command><!-- -->", "<command>x</command></tools>"},
		{"comments_roots", "", "<!-- <tools> ", "-->"},
		{"attributes_open", "<tools><read>", `<file a="`, "</read></tools>"},
		{"attributes_quotes", "<tools><read><file a=", `"x `, "></read></tools>"},
		{"attributes_mixed", "<tools><read>", `<file a='"b`, "></read></tools>"},
		{"attributes_many", "<tools><read><file", ` a=1`, "/></read></tools>"},
		{"attributes_nothing", "<tools><read>", "<file ", "/></read></tools>"},
		{"unknown_open", "<tools>", "<a>", "</tools>"},
		{"unknown_names", "<tools>", "<a></b>", "</tools>"},
		{"unknown_closed", "<tools><edit>", "<a></a>", strings.Repeat("<ctrl>", 500)},
		{"files_unclosed", "<tools><read>", "<file>", "</read></tools>"},
		{"think_open", "a ", "<think>", ""},
		{"think_prose", "a ", "<think> <tools>", ""},
		{"naked", "", "<command>", ""},
		{"naked_closed", "", "<command></command>", ""},
		{"quotes_line", "<tools><command>", `'<command>"`, ""},
		{"references", "<tools><command>", "$KARYI{", "</command></tools>"},
		{"references_many", "<tools><command>", "$KARYI{A}", "</command></tools>"},
		{"references_malformed", "<tools><edit><file src=a>", "<find>$KARYI{</find><replace>&amp;</replace>", "</file></edit></tools>"},
		{"entities", "<tools><command>", "&amp", "</command></tools>"},
		{"escapes", "<tools><input>", `\\ud83d`, "</input></tools>"},
		{"newlines", "<tools><command>", "\r", "\n</command></tools>"},
		{"blanks", "<tools><command>x</command>", " ", "</tools>"},
		{"json_braces", "", "{\n\"tools\":{", ""},
		{"json_quotes", `{"tools":"<tools>`, `","a`, ``},
		{"json_objects", "", "{\"tools\":1}\n", ""},
		{"json_escapes", `{"tools":"<tools><command>`, `\"`, `</command></tools>"}`},
		{"json_bad_strings", "", "{\"tools\":\"a\"b\n", ""},
		{"fences", "<tools>", "```\n", "</tools>"},
		{"tools_prose", "", "<tools> prose ", ""},
		{"tools_unknown", "", "<tools> <b> ", ""},
		{"get_value", "<tools>", `<get_value key="A" reason="b">`, "</tools>"},
	}
}

func hostileText(head, unit, tail string, size int) string {
	n := max(1, (size-len(head)-len(tail))/len(unit))
	return head + strings.Repeat(unit, n) + tail
}

func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile() {
		for _, kib := range []int{16, 64, 256, 1024} {
			src := hostileText(h.head, h.unit, h.tail, kib<<10)
			b.Run(fmt.Sprintf("text=%s/kib=%d", h.name, kib), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					Parse(src, Options{})
				}
			})
		}
	}
}

func BenchmarkThroughput(b *testing.B) {
	texts := []struct{ name, text string }{
		{"prose", strings.Repeat(sampleProse, 1<<20/len(sampleProse))},
		{"tools", sampleTools},
		{"tools_in_prose", strings.Repeat(sampleProse, 20) + sampleTools},
		{"large_edit", "<tools><edit><file src=\"a\"><find>x</find><replace>" + strings.Repeat(sampleProse, 200) + "</replace></file></edit></tools>"},
	}
	for _, x := range texts {
		raw := []byte(x.text)
		b.Run("text="+x.name+"/do=parse", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				Parse(x.text, Options{})
			}
		})
		b.Run("text="+x.name+"/do=bytes.Index", func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				for at := 0; ; {
					k := bytes.Index(raw[at:], []byte("<tools"))
					if k < 0 {
						break
					}
					at += k + 1
				}
			}
		})
	}
}

// TestLinearSteps counts elementary steps instead of time: they must grow with
// the text, on every hostile text, and be few per byte.
func TestLinearSteps(t *testing.T) {
	for _, h := range hostile() {
		small := steps(hostileText(h.head, h.unit, h.tail, 16<<10))
		large := steps(hostileText(h.head, h.unit, h.tail, 1<<20))
		if large > 16 || large > 2*small+0.5 {
			t.Errorf("%s: %.2f steps per byte at 16 KiB, %.2f at 1 MiB; expected a flat cost", h.name, small, large)
		}
	}
}

// steps gives the steps per byte.
func steps(src string) float64 {
	_, work := parse(src, Options{})
	return float64(work) / float64(len(src))
}

// TestHostileTime is the coarse twin of BenchmarkHostile: a quadratic text of
// 1 MiB takes minutes, a linear one far less than the bound here.
func TestHostileTime(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, h := range hostile() {
		src := hostileText(h.head, h.unit, h.tail, 1<<20)
		start := time.Now()
		Parse(src, Options{})
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: 1 MiB took %v", h.name, took)
		}
	}
}
