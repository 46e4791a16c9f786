package expr

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FuzzExpr compiles any text, and what compiles must answer as a JavaScript
// engine does, where the package does not promise something else.
func FuzzExpr(f *testing.F) {
	for _, src := range shapes() {
		f.Add(src)
	}
	for _, c := range evalCases() {
		f.Add(c.src)
	}
	for _, c := range refusals() {
		f.Add(c.src)
	}
	w := newTwin(f)
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Compile(src, "payload", "self")
		if err != nil {
			return
		}
		env := benchEnv()
		mine, steps := shown(p, env)
		if _, err := p.Eval(env); steps && err == nil {
			t.Fatal("the budget ended one evaluation and not the other")
		}
		if steps || !comparable(src) {
			return
		}
		if theirs := w.eval(t, src, env); mine != theirs {
			t.Fatalf("%s\nhere %s\ngoja %s", src, mine, theirs)
		}
	})
}

// comparable leaves out what differs by design (package doc: names of the
// prototype, half pairs, regular expressions beyond ASCII) and where the engine
// is known to be wrong (the sign of 0 * -2, some of Math, '1.0' == 1).
func comparable(src string) bool {
	if strings.ContainsAny(src, "'\"`") && regexp.MustCompile(`(^|[^=!])[=!]=([^=]|$)`).MatchString(src) {
		return false
	}
	if strings.ContainsAny(src, "\\*/") || strings.ContainsFunc(src, func(r rune) bool { return r > 0x7e }) {
		return false
	}
	rest := regexp.MustCompile(`\b(includes|startsWith|endsWith|indexOf|slice|at|toLowerCase|toUpperCase|trim|some|every|filter|map)\(`).ReplaceAllString(src, "(")
	known := strings.Fields("payload self typeof in void null true false undefined NaN Infinity Math Array abs ceil floor max min PI " +
		"message target_npc_id instance_id amount kind trade level tags x who length missing offer price please help deep")
	for _, word := range regexp.MustCompile(`[A-Za-z_$][\w$]*`).FindAllString(rest, -1) {
		if len(word) > 1 && !slices.Contains(known, word) {
			return false
		}
	}
	return true
}
