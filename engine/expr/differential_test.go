package expr

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Promise 2. TestDifferential holds the subset to a JavaScript engine on random
// expressions and payloads, 2,000 unless -rapid.checks says more. rapid
// prints how to repeat a failure.
func TestDifferential(outer *testing.T) {
	w := newTwin(outer)
	compared, failed := 0, 0
	rapid.Check(outer, func(t *rapid.T) {
		env := Map{"payload": drawObject(t, 3), "self": map[string]any{"instance_id": "npc_1", "profile_id": "p"},
			"event": map[string]any{"type": "a.b"}}
		for range 20 {
			src := (&gen{t: t}).any(rapid.IntRange(1, 5).Draw(t, "depth"))
			p, err := Compile(src, "payload", "self", "event")
			if err != nil {
				t.Fatalf("%s\ndoes not compile: %v", src, err)
			}
			mine, steps := shown(p, env)
			if steps {
				continue
			}
			compared++
			if mine == "error" {
				failed++
			}
			if theirs := w.eval(outer, src, env); mine != theirs {
				t.Fatalf("%s\npayload %v\nhere   %s\ngoja   %s", src, env["payload"], mine, theirs)
			}
		}
	})
	if compared == 0 || failed == compared {
		outer.Fatalf("%d compared, %d of them errors: the test compares nothing", compared, failed)
	}
}

func drawKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "name", "items", "n", "é", "length"}).Draw(t, "key")
}

func drawScalar(t *rapid.T) any {
	switch rapid.IntRange(0, 6).Draw(t, "scalar") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64Range(-5, 300).Draw(t, "int")
	case 3:
		return rapid.SampledFrom([]int64{1 << 53, 1<<53 + 1, 1<<62 + 1, -1 << 60}).Draw(t, "big")
	case 4:
		return rapid.SampledFrom([]float64{0.5, -2.5, 1e21, 1e-7, 3, 123456789.25, 0}).Draw(t, "float")
	default:
		return drawText(t)
	}
}

func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "help", "please help me", "10", " 7 ", "0x1f", "1e3", "Infinity", "-", "ABC",
		"straße", "日本語", "a😀b", "\ue000x", "ΑΣ", "İ", "null", "x\ny", "1_0", "."}).Draw(t, "text")
}

func drawObject(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 5).Draw(t, "fields") {
		m[drawKey(t)] = drawValue(t, depth-1)
	}
	return m
}

func drawValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case depth > 0 && kind == 0:
		return drawObject(t, depth)
	case depth > 0 && kind <= 2:
		list := make([]any, rapid.IntRange(1, 4).Draw(t, "length"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	return drawScalar(t)
}

// gen writes random expressions. any may be of every type; the others lean to
// one, so that deep expressions do not all end in an error.
type gen struct {
	t      *rapid.T
	locals []string
	arrows int
}

func (g *gen) pick(options ...string) string { return rapid.SampledFrom(options).Draw(g.t, "pick") }
func (g *gen) n(limit int) int               { return rapid.IntRange(0, limit-1).Draw(g.t, "n") }

func (g *gen) leaf() string {
	if len(g.locals) > 0 && g.n(2) == 0 {
		return g.pick(g.locals...)
	}
	return g.pick("payload.a", "payload.b", "payload.name", "payload.items", "payload.n", "payload?.missing", "self.instance_id",
		"payload.items[0]", "payload['é']", "1", "0", "-1", "2.5", "'help'", "''", "'10'", "true", "false", "null", "undefined", "NaN", "payload", "event.type", "Infinity", "Math.PI")
}

func (g *gen) any(d int) string {
	if d <= 0 {
		return g.leaf()
	}
	switch g.n(14) {
	case 0:
		return g.leaf()
	case 1, 2:
		return fmt.Sprintf("(%s %s %s)", g.any(d-1), g.pick("===", "!==", "==", "!=", "<", "<=", ">", ">="), g.any(d-1))
	case 3:
		return fmt.Sprintf("((%s) %s (%s))", g.any(d-1), g.pick("&&", "||", "??"), g.any(d-1))
	case 4:
		// The engine loses the sign of 0 * -2; the addition takes it away here too.
		return fmt.Sprintf("(0 + %s * %s)", g.any(d-1), g.any(d-1))
	case 5:
		return fmt.Sprintf("(%s %s %s)", g.any(d-1), g.pick("+", "-", "/", "%"), g.any(d-1))
	case 6:
		return fmt.Sprintf("(%s%s)", g.pick("!", "- ", "+", "typeof ", "void "), g.any(d-1))
	case 7:
		return fmt.Sprintf("(%s ? %s : %s)", g.any(d-1), g.any(d-1), g.any(d-1))
	case 8:
		return g.text(d)
	case 9:
		return g.list(d)
	case 10:
		return g.method(d)
	case 11:
		return fmt.Sprintf("(%s)%s", g.any(d-1), g.pick("?.a", "?.b?.name", "?.[0]", "?.length", ".length", ".a", "?.items.length", "?.['name']", "[1]", "['n']"))
	case 12:
		return g.function(d)
	}
	return fmt.Sprintf("({a: %s, 'b': %s, [%s]: 1})", g.any(d-1), g.any(d-1), g.pick("'q'", "self.profile_id"))
}

func (g *gen) text(d int) string {
	return "`" + g.pick("", "x ", "é") + "${" + g.any(d-1) + "}" + g.pick("", "!", "😀") + "`"
}

func (g *gen) list(d int) string {
	items := make([]string, g.n(4))
	for i := range items {
		items[i] = g.any(d - 1)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (g *gen) method(d int) string {
	receiver := g.pick("payload.name", "payload.items", "(payload.items ?? [])", "'\u00a0x\ufeff'.trim()", "'please help'", "`${payload.name}`", "'a😀b'", "[1,2,'help',NaN,null]", "("+g.leaf()+")")
	q := g.pick(".", ".", "?.")
	switch g.n(4) {
	case 0:
		if g.arrows < MaxArrows {
			return g.iterate(d, receiver+q)
		}
	case 1:
		return receiver + q + g.pick("toLowerCase", "toUpperCase", "trim") + "()"
	case 2:
		args := []string{g.pick("0", "1", "-2", "2", "1.7", "NaN", "'1'", "undefined", "payload.n", "100"), g.pick("3", "-1", "undefined", "payload.n")}
		return receiver + q + g.pick("slice", "at") + "(" + strings.Join(args[:g.n(3)], ", ") + ")"
	}
	args := []string{g.pick("'help'", "''", "'b'", "'l'", g.any(d-1)), g.pick("0", "2", "3", "-1", "undefined", "payload.n")}
	return receiver + q + g.pick("includes", "startsWith", "endsWith", "indexOf", "includes?.") + "(" + strings.Join(args[:g.n(3)], ", ") + ")"
}

func (g *gen) iterate(d int, receiver string) string {
	g.arrows++
	outer := len(g.locals)
	params := []string{fmt.Sprintf("x%d", outer), fmt.Sprintf("i%d", outer), fmt.Sprintf("l%d", outer)}[:min(g.n(4), MaxLocals-outer)]
	g.locals = append(g.locals, params...)
	body := "(" + g.any(d-1) + ")"
	g.locals = g.locals[:outer]
	return fmt.Sprintf("%s%s((%s) => %s)", receiver, g.pick("some", "every", "filter", "map"), strings.Join(params, ", "), body)
}

func (g *gen) function(d int) string {
	switch g.n(6) {
	case 0:
		return "Array.isArray(" + g.any(d-1) + ")"
	case 1:
		return fmt.Sprintf("Object.keys({b: 1, a: %s})", g.any(d-1)) + g.pick(".length", "[0] !== 'z'", ".includes('a')")
	case 2:
		return g.pick("/help/", "/^h.*p$/i", "/\\d+/", "/[a-c]x?/m", "/b$/s", "/\\s/") + ".test(" + g.any(d-1) + ")"
	case 3:
		return fmt.Sprintf("(%s in %s)", g.pick("'a'", "'name'", "0", "'0'", "'length'"), g.pick("payload", "[1]", "payload.items", "({a: 1})"))
	}
	// sign, clz32 and imul are left out: the engine hands back an argument of
	// sign that is no number and clamps large numbers before the bit functions.
	return "Math." + g.pick("abs", "ceil", "floor", "round", "trunc", "sqrt", "fround") + "(" + g.any(d-1) + ")" +
		g.pick("", fmt.Sprintf(" + Math.%s(%s, %s)", g.pick("min", "max", "pow"), g.any(d-1), g.any(d-1)))
}
