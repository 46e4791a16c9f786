package terminal

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "Käse 'a' \"b\"": "Käse 'a' \"b\"", "a\nb": `a\u{a}b`, "\x1b[2K": `\u{1b}[2K`, "a\u202eb\u200b": `a\u{202e}b\u{200b}`, "\u009b1A": `\u{9b}1A`, "\xff\x00": "�\\u{0}",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// In files and pipes signs stand for what steers a terminal, and JSON has it escaped.
func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := Print(&b, "a\tb\n\x1b[31m\u009b\u202e\u200d\xffé\r"); err != nil || b.String() != "a\tb\n\u241b[31m\ufffd\ufffd\u200d\ufffdé\u240d" {
		t.Errorf("%q, %v", b.String(), err)
	}
	value := []any{"\u009b", "\u202ex\u200d", "\U000e0001", "\x7f", "plain é", "\ufffd"}
	b.Reset()
	if err := json.NewEncoder(Escaped(&b)).Encode(value); err != nil {
		t.Fatal(err)
	}
	if want := `["\u009b","\u202ex` + "\u200d" + `","\udb40\udc01","\u007f","plain é","` + "\ufffd" + `"]` + "\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	var got []any
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil || !reflect.DeepEqual(got, value) {
		t.Errorf("%q, %v", got, err)
	}
}
