package terminal

import "testing"

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "Käse 'a' \"b\"": "Käse 'a' \"b\"", "a\nb": `a\u{a}b`, "\x1b[2K": `\u{1b}[2K`, "a\u202eb\u200b": `a\u{202e}b\u{200b}`, "\u009b1A": `\u{9b}1A`, "\xff\x00": "�\\u{0}",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
