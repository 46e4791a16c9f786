package template_test

import (
	"strings"
	"testing"

	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// TestDoublingEnds: a list or object that holds the one before twice, forty
// times over, ends as an error before it is printed, compared or handed out.
func TestDoublingEnds(t *testing.T) {
	for name, action := range map[string]string{
		"lists":   `{{$a = list $a $a}}`,
		"objects": `{{$a = dict "x" $a "y" $a}}`,
		"texts":   `{{$a = print $a $a}}`,
	} {
		src := `{{$a := "some text"}}` + strings.Repeat(action, 40) + `{{eq $a $a}}`
		tpl, err := template.Compile(name, src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tpl.AppendFrom(nil, template.Map(nil), nil); protocol.KindOf(err) != protocol.KindLimit {
			t.Errorf("%s: %v, want a limit", name, err)
		}
	}
}

// TestLargeValuesPrintWithinTheBound: what is printed of a value stops at the
// bound of the output.
func TestLargeValuesPrintWithinTheBound(t *testing.T) {
	big := any(strings.Repeat("x", 1<<10))
	for range 15 {
		big = []any{big, big}
	}
	for _, action := range []string{`{{.big}}`, `{{json .big}}`, `{{len (string .big)}}`, `{{len (print .big .big)}}`, `{{len (join "" .big)}}`, `{{len (quote .big)}}`, `{{len (printf "%v" .big)}}`} {
		tpl, err := template.Compile("t", action)
		if err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(1, func() { _, err = tpl.AppendFrom(nil, template.Map{"big": big}, nil) })
		if protocol.KindOf(err) != protocol.KindLimit {
			t.Errorf("%s: %v, want a limit (%v)", action, err, n)
		}
	}
}
