package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"tavernsim/protocol"
)

// twin evaluates with a JavaScript engine. Both sides answer as text: the shown
// value, or "error".
type twin struct {
	vm   *goja.Runtime
	show goja.Callable
}

const showSource = `(function show(v) {
	if (v === undefined) return "undefined";
	if (v === null) return "null";
	if (typeof v === "number") return Object.is(v, -0) ? "-0" : String(v);
	if (typeof v === "string") return JSON.stringify(Array.from(v, c => c.length === 1 && c >= "\ud800" && c <= "\udfff" ? "\ufffd" : c).join(""));
	if (Array.isArray(v)) return "[" + v.map(show).join(",") + "]";
	if (typeof v === "object") return "{" + Object.keys(v).sort().map(k => JSON.stringify(k) + ":" + show(v[k])).join(",") + "}";
	return String(v);
})`

func newTwin(t testing.TB) *twin {
	vm := goja.New()
	v, err := vm.RunString(showSource)
	if err != nil {
		t.Fatal(err)
	}
	show, _ := goja.AssertFunction(v)
	return &twin{vm, show}
}

func (w *twin) eval(t testing.TB, src string, env Map) string {
	for _, name := range protocol.SortedKeys(env) {
		b, err := json.Marshal(env[name])
		if err != nil {
			t.Fatal(err)
		}
		parse, _ := goja.AssertFunction(w.vm.Get("JSON").ToObject(w.vm).Get("parse"))
		v, err := parse(goja.Undefined(), w.vm.ToValue(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		w.vm.Set(name, v)
	}
	v, err := w.vm.RunString(prefix + src)
	if err != nil {
		return "error"
	}
	s, err := w.show(goja.Undefined(), v)
	if err != nil {
		t.Fatal(src, err)
	}
	return s.String()
}

// shown evaluates here; steps reports that the budget ended it.
func shown(p *Program, env Env) (s string, steps bool) {
	m := machine{env: env, left: p.steps}
	v, err := m.eval(p.top)
	if err != nil {
		return "error", m.left < 0
	}
	var b strings.Builder
	show(&b, v)
	return b.String(), false
}

func show(b *strings.Builder, v any) {
	switch x := v.(type) {
	case float64:
		if x == 0 && math.Signbit(x) {
			b.WriteString("-0")
			return
		}
		b.WriteString(numberText(x))
	case string:
		q, _ := json.Marshal(x)
		s := string(q)
		for from, to := range map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029"} {
			s = strings.ReplaceAll(s, from, to)
		}
		b.WriteString(s)
	case []any:
		for i, e := range x {
			b.WriteString(map[bool]string{true: "[", false: ","}[i == 0])
			show(b, e)
		}
		b.WriteString(map[bool]string{true: "[]", false: "]"}[len(x) == 0])
	case map[string]any:
		for i, k := range protocol.SortedKeys(x) {
			b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
			show(b, k)
			b.WriteByte(':')
			show(b, x[k])
		}
		b.WriteString(map[bool]string{true: "{}", false: "}"}[len(x) == 0])
	case nil, undefined, bool, int64:
		b.WriteString(scalarText(x))
	default:
		fmt.Fprintf(b, "%T", v)
	}
}
