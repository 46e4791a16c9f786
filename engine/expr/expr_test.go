package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tavernsim/protocol"
)

type evalCase struct{ src, want string }

func evalCases() []evalCase {
	return []evalCase{
		{"payload.message.includes('help')", "true"},
		{"payload.target_npc_id === self.instance_id", "true"},
		{"payload['message'].length", "14"},
		{"payload.missing", "undefined"},
		{"payload.missing?.deep.deeper()", "error"},
		{"payload.missing?.deep.includes('x')", "undefined"},
		{"payload.message?.includes('me')", "true"},
		{"payload.amount.includes?.('x')", "undefined"},
		{"payload.missing.deep", "error"},
		{"payload.amount.includes('x')", "error"},
		{"1 + 2 * 3 % 4 - -1", "4"},
		{"0.1 + 0.2", "0.30000000000000004"},
		{"10 / 4", "2.5"},
		{"10 / 5", "2"},
		{"-0", "-0"},
		{"1 / 0", "Infinity"},
		{"0 / 0", "NaN"},
		{"'1' + 1", `"11"`},
		{"'3' * '4'", "12"},
		{"null + 1", "1"},
		{"undefined + 1", "NaN"},
		{"true + true", "2"},
		{"[1, 2] + ''", `"1,2"`},
		{"({}) + ''", `"[object Object]"`},
		{"{a: 1}", `{"a":1}`},
		{"[1, [null, undefined, 'x']] == '1,,,x'", "true"},
		{"'.0' != 0", "false"},
		{"'1.0' == 1", "true"},
		{"'1e1' == 10", "true"},
		{"null == undefined", "true"},
		{"null === undefined", "false"},
		{"null == 0", "false"},
		{"'' == 0", "true"},
		{"'1' == 1", "true"},
		{"true == '1'", "true"},
		{"NaN === NaN", "false"},
		{"[NaN].includes(NaN)", "true"},
		{"[NaN].indexOf(NaN)", "-1"},
		{"payload === payload", "true"},
		{"payload.tags === payload.tags", "true"},
		{"[] === []", "false"},
		{"({}) === ({})", "false"},
		{"'b' > 'a'", "true"},
		{"'10' < '9'", "true"},
		{"'10' < 9", "false"},
		{"undefined < 1", "false"},
		{"null >= 0", "true"},
		{"'\U0001f600' < '\uffee'", "true"},
		{"'a\U0001f600'.length", "3"},
		{"'1234567\U0001f600'.length", "9"},
		{"'12345678\U0001f600'.length", "10"},
		{"'\U0001f60012345678'.length", "10"},
		{"'a\U0001f600b'.indexOf('b')", "3"},
		{"'a\U0001f600b'.slice(1, 3)", "\"\U0001f600\""},
		{"'a\U0001f600b'[1]", "\"\ufffd\""},
		{"'a\U0001f600b'.at(-1)", `"b"`},
		{"'straße'.toUpperCase()", `"STRASSE"`},
		{"' \u00a0x\ufeff'.trim()", `"x"`},
		{"null ?? 'd'", `"d"`},
		{"0 ?? 'd'", "0"},
		{"0 || 'd'", `"d"`},
		{"'a' && 0", "0"},
		{"payload.amount > 100 ? 'big' : 'small'", `"big"`},
		{"typeof payload.missing", `"undefined"`},
		{"typeof null", `"object"`},
		{"'amount' in payload", "true"},
		{"'toString' in payload", "false"},
		{"1 in [5, 6]", "true"},
		{"'a' in 'abc'", "error"},
		{"`${payload.amount} of ${[1, 2]}${null}`", `"120 of 1,2null"`},
		{"payload.tags.some(t => t === 'blue')", "true"},
		{"payload.tags.every((t, i) => t.length > i)", "true"},
		{"payload.tags.filter(t => t.includes('e')).map((t, i, all) => t + i + all.length)", `["red03","green13","blue23"]`},
		{"[1, 2].map(x => [3, 4].map(y => x * y))", "[[3,4],[6,8]]"},
		{"payload.tags.slice(-2)", `["green","blue"]`},
		{"[1, 2, 3].slice(2, 1)", "[]"},
		{"Math.max(1, payload.amount, '7')", "120"},
		{"Math.max()", "-Infinity"},
		{"Math.max(1, NaN)", "NaN"},
		{"Math.round(-0.5)", "-0"},
		{"Math.round(2.5)", "3"},
		{"Math.round(0.49999999999999994)", "0"},
		{"Math.pow(1, Infinity)", "NaN"},
		{"Math.sign('x')", "NaN"},
		{"Math.sign(-3)", "-1"},
		{"Math.imul(65537, 65537)", "131073"},
		{"Math.clz32(1e21)", "0"},
		{"Math.hypot(3, 4)", "5"},
		{"Math.hypot()", "0"},
		{"Array.isArray(payload.tags)", "true"},
		{"Object.keys({b: 1, a: 2})", `["a","b"]`},
		{"Object.keys('ab')", `["0","1"]`},
		{"Object.keys(null)", "error"},
		{"/^PLEASE/i.test(payload.message)", "true"},
		{"/^.$/.test('\U0001f600')", "true"},
		{"/\\d{3}/.test(payload.amount)", "true"},
		{"9007199254740993 === 9007199254740992", "true"},
		{"9007199254740991 + 1", "9007199254740992"},
		{"1e21 + 1", "1e+21"},
		{"payload // the whole", `{"amount":120,"kind":"trade","level":7,"message":"please help me","tags":["red","green","blue"],"target_npc_id":"npc_7","who":"p1","x":1.5}`},
	}
}

// Promises 1 and 2: every case gives its answer, each time again.
func TestEval(t *testing.T) {
	for _, c := range evalCases() {
		p, err := Compile(c.src, "payload", "event", "self")
		if c.want == "error" && err != nil {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		for range 4 { // an order of keys that Go draws would show
			if got, _ := shown(p, benchEnv()); got != c.want {
				t.Errorf("%s = %s, want %s", c.src, got, c.want)
			}
		}
	}
}

// TestArchitecture9FilterRoots: filters see payload, event and self, and the
// texts of the specification hold as they are written there.
func TestArchitecture9FilterRoots(t *testing.T) {
	for _, src := range []string{"payload.message.includes('help')", "payload.target_npc_id === self.instance_id"} {
		p, err := Compile(src, "payload", "event", "self")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := p.EvalBool(benchEnv()); !ok || err != nil {
			t.Errorf("%s = %v, %v", src, ok, err)
		}
		if ok, err := p.EvalBool(Map{"payload": map[string]any{"message": "no"}}); ok {
			t.Errorf("%s holds for another payload (%v)", src, err)
		}
	}
}

type refusal struct{ src, want string }

func refusals() []refusal {
	return []refusal{
		{"", `line 1, column 1: the expression is empty; write true for one that always holds`},
		{"payload.a.contains('x')", `line 1, column 11: method "contains" is not in the subset; did you mean "includes"?`},
		{"payload.a.startWith('x')", `line 1, column 11: method "startWith" is not in the subset; did you mean "startsWith"?`},
		{"true &&\n  paylod.a", `line 2, column 3: unknown name "paylod"; did you mean "payload"?`},
		{"zzz", `line 1, column 1: unknown name "zzz"; want one of payload, event, self`},
		{"Math.flor(1)", `line 1, column 6: unknown Math.flor; did you mean "floor"?`},
		{"Math.random()", `line 1, column 6: an expression draws no chance; use the tool that draws random numbers`},
		{"payload.a = 1", `line 1, column 1: an expression cannot assign; write === to compare`},
		{"payload.a++", `line 1, column 1: operator ++ is not in the subset`},
		{"delete payload.a", `line 1, column 1: operator delete is not in the subset`},
		{"payload.a & 1", `line 1, column 1: operator & is not in the subset; write && for and`},
		{"payload.a ** 2", `line 1, column 1: operator ** is not in the subset; write Math.pow(a, b)`},
		{"payload.a and payload.b", `line 1, column 11: unexpected identifier; write && for and`},
		{"x => 1", `line 1, column 1: an arrow function stands only as the argument of some, every, filter or map`},
		{"[1].map(x => { return x })", `line 1, column 9: an arrow function with statements is not in the subset; write x => expression`},
		{"[1].map(function (x) { return x })", `line 1, column 9: map wants an arrow function; write map(x => …)`},
		{"[1].map(({a}) => a)", `line 1, column 10: patterns and defaults are not in the subset; write a plain name`},
		{"[...payload.a]", `line 1, column 5: spread is not in the subset`},
		{"[1,,2]", `line 1, column 1: item 2 of the list is missing; write undefined or null`},
		{"new Date()", `line 1, column 1: new is not in the subset`},
		{"this.a", `line 1, column 1: this is not in the subset; want one of payload, event, self`},
		{"1, 2", `line 1, column 4: more than one expression; join conditions with && or ||`},
		{"1; 2", `line 1, column 1: more than one statement; write one expression`},
		{"a) + (b", `line 1, column 2: unexpected token )`},
		{"eval('1')", `line 1, column 1: only methods can be called; call a method, as in text.includes('a')`},
		{"/(?=a)/.test('a')", `line 1, column 1: regular expression: `},
		{"/a/y.test('a')", `line 1, column 1: regular expression flag 'y'; the flags are g, i, m, s, u, each once`},
		{"/a/", `line 1, column 1: a regular expression stands only before .test; write /re/.test(text)`},
		{"'\\ud83d'", `line 1, column 1: the text holds half a surrogate pair; write the whole character`},
		{"10n", `line 1, column 1: number 10n is not in the subset; write a plain number`},
		{"({__proto__: 1})", `line 1, column 3: __proto__ is not in the subset`},
		{"({get a() { return 1 }})", `line 1, column 7: methods, getters and setters are not in the subset`},
		{"a\xff", `line 1, column 1: the text is not UTF-8`},
		{strings.Repeat(" ", MaxSource) + "1", `line 1, column 1: 8193 bytes of expression; the limit is 8192`},
		{strings.Repeat("((a=", 9) + "1" + strings.Repeat(")=>1)", 9), `line 1, column 1: more than 8 arrow functions`},
		{strings.Repeat("!", MaxNested+1) + "1", `line 1, column 257: nested deeper than 256`},
		{"[1].map((a,b,c) => [1].map((d,e,f) => [1].map((g,h,i) => 1)))", `line 1, column 47: more than 8 parameters in scope`},
	}
}

// Promise 5: every refusal says where, and what to write instead.
func TestRefusals(t *testing.T) {
	for _, c := range refusals() {
		_, err := Compile(c.src, "payload", "event", "self")
		if err == nil {
			t.Errorf("%.40q compiles", c.src)
			continue
		}
		if !strings.HasPrefix(err.Error(), "expr: "+c.want) {
			t.Errorf("%.40q\n got %v\nwant expr: %s", c.src, err, c.want)
		}
		if _, ok := errors.AsType[*Error](err); !ok || protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%.40q: %T of kind %s", c.src, err, protocol.KindOf(err))
		}
	}
}

// TestRunTimeErrorsSayWhere: promise 5 for what only an evaluation can see.
func TestRunTimeErrorsSayWhere(t *testing.T) {
	for src, want := range map[string]string{
		"payload.a.b":              `expr: line 1, column 11: cannot read "b" of undefined; write ?. before it`,
		"true &&\n payload.none.x": `expr: line 2, column 15: cannot read "x" of null; write ?. before it`,
		"payload.a['b' + 1]":       `expr: line 1, column 11: cannot read "b1" of undefined; write ?. before it`,
		"payload.n.trim()":         `expr: line 1, column 11: number has no method trim`,
		"payload.a.trim()":         `expr: line 1, column 11: cannot read "trim" of undefined; write ?. before it`,
		"payload.n.some(x => x)":   `expr: line 1, column 11: number has no method some`,
		"!'x'.trim":                `expr: line 1, column 6: trim is a method of string; call it: trim(…)`,
		"'a' in payload.n":         `expr: line 1, column 8: in wants an object or a list, got number`,
	} {
		p, err := Compile(src, "payload")
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Eval(Map{"payload": map[string]any{"n": int64(1), "none": nil}})
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", src, err, want)
		}
	}
}

// TestResultIsAValue: what leaves Eval is a protocol value.
func TestResultIsAValue(t *testing.T) {
	for src, want := range map[string]any{
		"undefined":                        nil,
		"-0":                               int64(0),
		"[undefined, 1.5, -0]":             []any{nil, 1.5, int64(0)},
		"({a: undefined, b: [undefined]})": map[string]any{"b": []any{nil}},
		"payload.list":                     []any{int64(1), 2.0},
		"payload.list.map(x => x / 2)":     []any{0.5, int64(1)},
		"[payload.a].filter(x => true)":    []any{nil},
		"payload.list.length":              int64(2),
		"2 * 1.5":                          int64(3),
		"payload.big":                      int64(1<<62 + 1),
		"'a' + payload.big":                "a4611686018427388000",
	} {
		p, err := Compile(src, "payload")
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Eval(Map{"payload": map[string]any{"list": []any{int64(1), 2.0}, "big": int64(1<<62 + 1)}})
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s = %#v, %v, want %#v", src, got, err, want)
		}
	}
	for _, src := range []string{"NaN", "[1/0]", "({a: -1/0})"} {
		p, _ := Compile(src)
		if v, err := p.Eval(Map{}); err == nil {
			t.Errorf("%s = %v, want an error", src, v)
		}
		if ok, err := p.EvalBool(Map{}); err != nil || ok == (src == "NaN") {
			t.Errorf("EvalBool %s = %v, %v", src, ok, err)
		}
	}
}

// TestBudget: promise 4. Every way to work much meets the budget.
func TestBudget(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	list := make([]any, 20_000)
	for i := range list {
		list[i] = int64(i)
	}
	env := Map{"payload": map[string]any{"long": long, "list": list, "texts": []any{long, long, long, long, long, long, long, long, long, long, long}}}
	for _, src := range []string{
		"payload.list.every(x => true)",
		"payload.list.map(x => x)",
		"payload.list.some(x => payload.list.some(y => false))",
		"payload.list + ''",
		"payload.list == 1",
		"payload.texts + ''",
		"Object.keys(payload.list)",
		"Object.keys(payload.long)",
		"[1,2,3,4,5,6,7,8,9,10,11].every(x => payload.long.includes('y') === false)",
		"[1,2,3,4,5,6,7,8,9,10,11].every(x => /a*b/.test(payload.long) === false)",
		"[payload.long].map(x => x + x).map(x => x + x).map(x => x + x).map(x => x + x)",
		"payload.texts.every(x => payload.long.length > 0)",
		"[payload.long].map(x => `${x}${x}${x}`).map(x => `${x}${x}${x}`).map(x => x.toUpperCase())",
		"[payload.long, payload.long, payload.long, payload.long, payload.long].map(x => x.slice(1) === x.slice(2))",
		"[1,2].every(x => payload.list.includes(-1) === false && payload.list.includes(-1) === false)",
	} {
		p, err := Compile(src, "payload")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.WithSteps(DefaultSteps / 10).Eval(env); protocol.KindOf(err) != protocol.KindLimit {
			t.Errorf("%s: %v, want the limit", src, err)
		}
		if strings.Contains(src, "list.some") {
			continue // quadratic: no budget would do
		}
		if _, err := p.WithSteps(100_000_000).Eval(env); protocol.KindOf(err) == protocol.KindLimit {
			t.Errorf("%s: %v under a large budget", src, err)
		}
	}
	every, _ := Compile("payload.list.every(x => true)", "payload")
	if _, err := every.Eval(env); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("the default budget: %v", err)
	}
	p, _ := Compile("1 + 1")
	if _, err := p.WithSteps(0).Eval(Map{}); err == nil || err.Error() != "expr: line 1, column 1: more than 1 steps; make the lists or texts smaller" {
		t.Errorf("one step: %v", err)
	}
	if _, err := p.Eval(Map{}); err != nil {
		t.Errorf("WithSteps changed the program it was called on: %v", err)
	}
}

// TestNoAllocation: promise 6.
func TestNoAllocation(t *testing.T) {
	for name, src := range shapes() {
		p, err := Compile(src, "payload", "self")
		if err != nil {
			t.Fatal(err)
		}
		var env Env = benchEnv()
		if n := testing.AllocsPerRun(100, func() { _, _ = p.EvalBool(env) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestRoots(t *testing.T) {
	p, err := Compile("payload.list.some(self => self === event.id)", "payload", "event", "self", "world")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.roots); got != "[event payload]" || p.Uses("self") || !p.Uses("event") {
		t.Errorf("roots %s", got)
	}
	if p.Source() != "payload.list.some(self => self === event.id)" {
		t.Error(p.Source())
	}
}

// TestNeverWrites: promise 3. The payload has the same bytes afterwards.
func TestNeverWrites(t *testing.T) {
	env := benchEnv()
	before := string(protocol.Encode(map[string]any(env)))
	for _, c := range evalCases() {
		if p, err := Compile(c.src, "payload", "self"); err == nil {
			_, _ = p.Eval(env)
		}
	}
	if string(protocol.Encode(map[string]any(env))) != before {
		t.Error("an evaluation wrote into the payload")
	}
}

func TestTruthy(t *testing.T) {
	nan, _ := Compile("NaN || payload", "payload")
	if v, _ := nan.Eval(Map{"payload": "x"}); v != "x" {
		t.Error("NaN is true")
	}
	for _, v := range []any{nil, false, int64(0), 0.0, ""} {
		if Truthy(v) {
			t.Errorf("%#v is true", v)
		}
	}
	for _, v := range []any{true, int64(-1), 0.5, "0", []any{}, map[string]any{}} {
		if !Truthy(v) {
			t.Errorf("%#v is false", v)
		}
	}
}

// TestSelects: only the shapes whose meaning the shortcut keeps.
func TestSelects(t *testing.T) {
	for src, want := range map[string]string{
		"payload.to === self.instance_id":                      `whole "npc_7"`,
		"self.instance_id === payload?.to":                     `whole "npc_7"`,
		"payload.to === self['instance_id'] && self.x && true": `"npc_7"`,
		"payload.none.to === self.instance_id":                 "whole error",
		"'npc_7' === self.instance_id":                         "no", // no path
		"payload.to == self.instance_id":                       "no",
		"payload.to !== self.instance_id":                      "no",
		"payload.to === self.profile_id":                       "no",
		"self.instance_id === self.instance_id":                "no",
		"payload.n > 1 && payload.to === self.instance_id":     "no", // not first: n may fail for everyone
		"payload.to === self.instance_id || true":              "no",
		"payload[self.n] === self.instance_id":                 "no",
	} {
		p, err := Compile(src, "payload", "self")
		if err != nil {
			t.Fatal(err)
		}
		got := "no"
		if x, whole, ok := p.Selects("self", "instance_id"); ok {
			got, _ = shown(x, Map{"payload": map[string]any{"to": "npc_7"}})
			if whole {
				got = "whole " + got
			}
		}
		if got != want {
			t.Errorf("%s selects %s, want %s", src, got, want)
		}
	}
}
