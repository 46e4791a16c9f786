package rawtext

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzValue: escapes and entities have inverses, the layout of a laid-out text
// stays.
func FuzzValue(f *testing.F) {
	for _, s := range []string{"", "a\\n", "\\x4", "\\ud83d\\ude00", "&amp;&#x1F600;&", "\n  a\n    b\n", "a\r\r\nb", "<![CDATA[a]]>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := DecodeEscapes(encodeEscapes(s)); got != s {
			t.Fatalf("escapes: %q became %q", s, got)
		}
		if got, all := DecodeEntities(strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(s)); got != s || !all {
			t.Fatalf("entities: %q became %q", s, got)
		}
		if once := LayoutScript(s); LayoutScript("\n"+once+"\n") != once {
			t.Fatalf("layout: %q became %q", once, LayoutScript("\n"+once+"\n"))
		}
		if v := Read(s); strings.Contains(v.Text, "\r\n") && !strings.Contains(s, "&#") {
			t.Fatalf("newlines: %q", v.Text)
		}
		if name, bytes, ok := Control(s); ok {
			if again, same, _ := Control(name); again != name || string(same) != string(bytes) {
				t.Fatalf("control %q: %q became %q", s, name, again)
			}
		}
	})
}

// FuzzHereDocs: any text can be read, in pieces too, and what is open has a word that ends it.
func FuzzHereDocs(f *testing.F) {
	for _, s := range []string{"cat <<A <<-'B C'\nx\nA\n\tB C\n", "\"$(cat <<\\E\n'\nE\n)\"", "$((1<<2)) ${a#<<b} `<<c` $'\\'' # <<d\n<<<e", "<<\"a", "cat <<A `a[1<<2]=3 $[1<<2] <<B\nx\\`\\\nB`\nA\n"} {
		f.Add(s, len(s)/2)
	}
	f.Fuzz(func(t *testing.T, s string, at int) {
		docs := NewHereDocs(s, 0)
		for _, end := range []int{min(max(at, 0), len(s)), len(s)} {
			if word, open := docs.Upto(end); open == (word == "") || docs.Ended() > end {
				t.Fatalf("%q up to %d: %q, %t, ended at %d", s, end, word, open, docs.Ended())
			}
		}
	})
}

// encodeEscapes is the inverse of decodeEscapes.
func encodeEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == 0x1b:
			b.WriteString(`\e`)
		case r < 0x20 || r == 0x7f || r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
