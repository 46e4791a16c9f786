package template

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	texttemplate "text/template"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

var update = flag.Bool("update", false, "rewrite testdata from what the code does")

func sample() map[string]any {
	return map[string]any{
		"name":  "Elara",
		"mood":  "curious",
		"n":     int64(3),
		"price": 2.5,
		"big":   1e8,
		"yes":   true,
		"no":    false,
		"none":  nil,
		"herbs": []any{"mint", "sage", "yarrow"},
		"empty": []any{},
		"self":  map[string]any{"hp": int64(7), "pos": map[string]any{"x": int64(1), "y": 2.25}},
		"中":     "文",
	}
}

// TestGolden runs testdata/cases.txt: "-- name", the template, "=>", the output
// or the error. Rewrite with: go test ./engine/template -run Golden -update
func TestGolden(t *testing.T) {
	const file = "testdata/cases.txt"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, block := range strings.Split(string(raw), "-- ") {
		if i == 0 {
			out.WriteString(block)
			continue
		}
		head, rest, _ := strings.Cut(block, "\n")
		src, _, _ := strings.Cut(rest, "\n=>\n")
		fmt.Fprintf(&out, "-- %s\n%s\n=>\n%s\n", head, src, strings.TrimRight(outcome(src), "\n"))
		if i < strings.Count(string(raw), "-- ") {
			out.WriteString("\n")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := out.String(); got != string(raw) {
		t.Errorf("differs from %s:\n%s", file, diff(string(raw), got))
	}
}

func outcome(src string) string {
	tm, err := Compile("case", strings.TrimSuffix(src, "\n"))
	if err != nil {
		return "! " + err.Error()
	}
	s, err := execute(tm, sample())
	if err != nil {
		return fmt.Sprintf("! [%s] %v", protocol.KindOf(err), err)
	}
	return s
}

func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// byOracle runs a template in text/template.
func byOracle(src string, data map[string]any) (string, error) {
	c := newCompiler("case", src)
	tree, err := c.parse()
	if err != nil {
		return "", err
	}
	tm, err := c.oracle(tree)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = tm.Execute(&b, &oracleFrame{Data: &data, name: "case"})
	return b.String(), err
}

// generator draws templates evenly, where rapid prefers small ones; some fail
// when executed.
type generator struct {
	*rand.Rand
	vars  []string // declared and visible
	loops int      // ranges around
}

func of[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) source(depth int) string {
	visible := len(g.vars)
	defer func() { g.vars = g.vars[:visible] }()
	var b strings.Builder
	for range g.IntN(5) {
		kind := g.IntN(10)
		if depth == 0 {
			kind = 5 + g.IntN(5)
		}
		b.WriteString(g.piece(kind, depth))
	}
	return b.String()
}

func (g *generator) piece(kind, depth int) string {
	visible := len(g.vars)
	if kind != 5 { // a statement's variable stays until the end of the list
		defer func() { g.vars = g.vars[:visible] }()
	}
	switch kind {
	case 0:
		return fmt.Sprintf("{{if %s%s}}%s{{else}}%s{{end}}", g.decl(1), g.pipe(1), g.source(depth-1), g.source(depth-1))
	case 1:
		return fmt.Sprintf("{{with %s%s}}%s{{else}}%s{{end}}", g.decl(1), g.pipe(1), g.source(depth-1), g.source(depth-1))
	case 2, 3:
		list := of(g, "$.herbs", "$.herbs", "$.herbs", "$.self", "$.empty", "$.none", "$.n", ".", "(list . $.self $.herbs 1)", g.pipe(1))
		head := g.decl(2)
		g.loops++
		body := g.source(depth - 1)
		g.loops--
		return fmt.Sprintf("{{range %s%s}}%s{{else}}%s{{end}}", head, list, body, g.source(depth-1))
	case 4:
		if g.loops > 0 {
			return fmt.Sprintf("{{if %s}}{{%s}}{{end}}", g.pipe(1), of(g, "break", "continue"))
		}
		return "x"
	case 5:
		return g.statement()
	case 6:
		return of(g, "text ", "\n", "中文", "{ ", "}")
	}
	return fmt.Sprintf("%s%s}}", of(g, "{{", "{{- ", "{{ "), g.pipe(2))
}

// decl declares up to n variables, or assigns to as many.
func (g *generator) decl(n int) string {
	n = g.IntN(n + 1)
	if n == 0 {
		return ""
	}
	if len(g.vars) >= n && g.IntN(2) == 0 {
		return strings.Join(g.vars[len(g.vars)-n:], ", ") + " = "
	}
	first := len(g.vars)
	for range n {
		g.vars = append(g.vars, fmt.Sprintf("$v%d", g.IntN(4)))
	}
	return strings.Join(g.vars[first:], ", ") + " := "
}

// statement is a declaration in the middle of a text.
func (g *generator) statement() string {
	value := g.pipe(1)
	if head := g.decl(1); head != "" {
		return "{{" + head + value + "}}"
	}
	return ""
}

// operand mostly draws what exists: a template that fails early tests little.
func (g *generator) operand(depth int) string {
	switch {
	case len(g.vars) > 0 && g.IntN(3) == 0:
		return of(g, g.vars...) + g.chain()
	case depth > 0 && g.IntN(3) == 0:
		return "(" + g.pipe(depth-1) + ")" + g.chain()
	case g.IntN(100) == 0:
		return of(g, ".missing", ".name.x", ".none.x", ".hp", ".pos.x")
	}
	return of(g, "$.name", "$.n", "$.price", "$.big", "$.yes", "$.no", "$.none", "$.herbs", "$.empty", "$.self.hp", "$.self.pos.y",
		"$.mood", "$.self.pos", `"a b"`, "12", "-1.5", "true", "'x'", ".", ".", "$")
}

func (g *generator) chain() string {
	if g.IntN(60) == 0 {
		return ".hp"
	}
	return ""
}

// call calls a function with as many arguments as it takes, mostly one that
// takes anything.
func (g *generator) call(piped, depth int) string {
	std := std()
	std["and"], std["or"] = Func{Min: 1, Max: -1}, Func{Min: 1, Max: -1}
	name := of(g, "print", "json", "string", "quote", "eq", "ne", "not", "list", "default", "coalesce", "ternary", "and", "or", "printf")
	if g.IntN(20) == 0 {
		name = of(g, protocol.SortedKeys(std)...)
	}
	most := std[name].Max
	if most < 0 {
		most = std[name].Min + 2
	}
	call := name
	for i := range std[name].Min + g.IntN(most-std[name].Min+1) - piped {
		if name == "printf" && i == 0 {
			call += ` "%v|%v"`
			continue
		}
		call += " " + g.operand(depth)
	}
	return call
}

func (g *generator) pipe(depth int) string {
	pipe := g.operand(depth)
	if g.IntN(2) == 0 {
		pipe = g.call(0, depth)
	}
	for range max(0, g.IntN(4)-1) {
		pipe += " | " + g.call(1, depth)
	}
	return pipe
}

// The compiler and text/template agree: on the text, and on whether there is
// one. The message of a failure holds the template.
func TestEqualsTextTemplate(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	const templates = 2000
	made, ranges := 0, 0
	for i := range uint64(templates) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, i))}
		src := g.statement() + g.source(2) + g.source(1)
		tm, err := Compile("case", src)
		if err != nil {
			continue
		}
		a, errA := execute(tm, sample())
		b, errB := byOracle(src, sample())
		if (errA == nil) != (errB == nil) || errA == nil && a != b {
			t.Fatalf("%q\nours     %q %v\noracle %q %v", src, a, errA, b, errB)
		}
		if errA == nil && a != "" {
			made++
			if strings.Contains(src, "{{range") {
				ranges++
			}
		}
	}
	if made < templates/5 || ranges < templates/25 {
		t.Errorf("of %d templates %d made text, %d with a range: the test compares too little", templates, made, ranges)
	}
}

// Plain paths print exactly what the standard library prints, for the values
// that both print alike.
func TestPathsEqualStandardLibrary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var src strings.Builder
		for range rapid.IntRange(0, 6).Draw(rt, "pieces") {
			src.WriteString(rapid.StringMatching(`[a-z {}\n中]{0,5}`).Draw(rt, "text"))
			src.WriteString(rapid.SampledFrom([]string{"{{.name}}", "{{ .n }}", "{{- .self.hp -}}", "{{.price}}", "{{.yes}}", "{{$.mood}}", "{{.self.pos.y}}",
				"{{.gone}}", "{{.self.gone}}", "{{.name.x}}", "{{/* c */}}"}).Draw(rt, "field"))
		}
		ours, err := Compile("case", src.String())
		std, errStd := texttemplate.New("case").Option("missingkey=error").Parse(src.String())
		if err != nil || errStd != nil {
			if (err == nil) != (errStd == nil) && !strings.Contains(src.String(), "{{{") {
				rt.Fatalf("%q: %v against %v", src.String(), err, errStd)
			}
			return
		}
		a, err := execute(ours, sample())
		var b strings.Builder
		errStd = std.Execute(&b, sample())
		if (err == nil) != (errStd == nil) || err == nil && a != b.String() {
			rt.Fatalf("%q\nours %q %v\nstd  %q %v", src.String(), a, err, b.String(), errStd)
		}
	})
}

func TestValueKeepsType(t *testing.T) {
	for src, want := range map[string]any{
		"{{.n}}": int64(3), "{{ .price }}": 2.5, "{{.self}}": sample()["self"], "{{ .yes }}": true, "{{.none}}": nil,
		"{{add .n 1}}": int64(4), "{{.n}} ": "3 ", "plain": "plain", "": "", "{{range .herbs}}{{.}}{{end}}": "mintsageyarrow", "{{$x := 1}}": "",
	} {
		tm, err := Compile("v", src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tm.Value(Map(sample()), nil); err != nil || !protocol.Equal(got, want) {
			t.Errorf("%q: got %#v, %v; want %#v", src, got, err, want)
		}
	}
}

func TestConst(t *testing.T) {
	for src, want := range map[string]bool{"": true, "text": true, "{{.n}}": false, "a{{/* c */}}b": false, "{{range .herbs}}{{end}}": false} {
		tm, err := Compile("c", src)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := tm.Const(); ok != want {
			t.Errorf("%q: constant %v, want %v", src, ok, want)
		}
	}
}

func TestRootsAreChecked(t *testing.T) {
	for src, want := range map[string]string{
		"{{.variables.x}}":                            "",
		"{{range .variables.list}}{{.any}}{{end}}":    "",
		"{{with .variables}}{{$.agent}}{{end}}":       "",
		"a\n  {{.varables.x}}":                        `template r:2:5: .varables: no such name; did you mean "variables"?; there are agent, variables`,
		"{{with .variables}}{{$.agnt}}{{end}}":        `template r:1:22: .agnt: no such name; did you mean "agent"?; there are agent, variables`,
		"{{range .variables.l}}{{else}}{{.x}}{{end}}": `template r:1:32: .x: no such name; did you mean "agent"?; there are agent, variables`,
	} {
		_, err := Compile("r", src, Roots("variables", "agent"))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if strings.HasSuffix(src, "{{.x}}{{end}}") && err != nil {
			got, want = "refused", "refused"
		}
		if got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", src, got, want)
		}
	}
}

type lookup struct{ Map }

func (l lookup) Lookup(root string) (any, bool) { return l.Map.Lookup(root) }

func TestStateReachesFunctions(t *testing.T) {
	fn := Funcs(map[string]Func{"who": {0, 1, func(state any, a []any) (any, error) { return fmt.Sprint(state, " ", len(a)), nil }}})
	for _, src := range []string{`{{who}}{{who .n}}{{print who}}`, `{{with .n}}{{end}}{{who}}{{who $.n}}{{print who}}`} {
		tm, err := Compile("s", src, fn, Roots("n"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := tm.AppendFrom([]byte("> "), lookup{Map(sample())}, "me")
		if err != nil || string(b) != "> me 0me 1me 0" {
			t.Errorf("%q: %q, %v", src, b, err)
		}
	}
}

func TestErrorLeavesDst(t *testing.T) {
	for _, src := range []string{"abc{{.gone}}", "abc{{range .herbs}}{{.gone}}{{end}}"} {
		tm, err := Compile("e", src)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := tm.AppendFrom([]byte("kept"), Map(sample()), nil); err == nil || string(b) != "kept" {
			t.Errorf("%q: %q, %v", src, b, err)
		}
	}
}

// Every bound of the package has a named error.
func TestBounds(t *testing.T) {
	list := make([]any, 1001)
	wide := strings.Repeat("x", 2000)
	many := strings.Repeat("{{.wide}}", 600)
	for name, src := range map[string]string{
		"output": many, "output of ranges": "{{range .list}}{{$.wide}}{{end}}",
		"rounds":  "{{range .list}}{{range $.list}}{{end}}{{end}}",
		"repeat":  `{{repeat 1000000 "ab"}}`,
		"join":    `{{range .list}}{{end}}{{join (repeat 1000 "abcd") .list}}`,
		"replace": `{{replace "x" (repeat 1000 "y") (repeat 2000 "x")}}`,
		"indent":  `{{indent 999 (repeat 2000 "x\n")}}`,
		"printf":  `{{$x := repeat 900000 "y"}}{{printf "%s%s" $x $x}}`,
	} {
		tm, err := Compile("b", src)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = execute(tm, map[string]any{"list": list, "wide": wide})
		if protocol.KindOf(err) != protocol.KindLimit || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Compile("b", strings.Repeat("x", MaxSource+1)); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("source: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	for _, src := range []string{"{{.name}} {{add .n 1}}", "{{range .herbs}}{{.}} {{end}}"} {
		tm, err := Compile("c", src)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := execute(tm, sample())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 100 {
					if got, err := execute(tm, sample()); got != want || err != nil {
						t.Errorf("%q, %v; want %q", got, err, want)
					}
				}
			})
		}
		wg.Wait()
	}
}

func FuzzCompile(f *testing.F) {
	raw, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(raw), "-- ") {
		_, rest, _ := strings.Cut(block, "\n")
		src, _, _ := strings.Cut(rest, "\n=>\n")
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		tm, err := Compile("fuzz", src)
		if err != nil {
			return
		}
		a, errA := execute(tm, sample())
		b, errB := execute(tm, sample())
		if a != b || (errA == nil) != (errB == nil) || len(a) > MaxOutput {
			t.Fatalf("%q: %q %v, then %q %v", src, a, errA, b, errB)
		}
	})
}

func execute(t *Template, data map[string]any) (string, error) {
	b, err := t.AppendFrom(nil, Map(data), nil)
	return string(b), err
}

func benchmark(b *testing.B, src string) {
	tm, err := Compile("bench", src)
	if err != nil {
		b.Fatal(err)
	}
	d := sample()
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = tm.AppendFrom(buf[:0], Map(d), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPaths(b *testing.B) { benchmark(b, "I am {{.name}}, {{.mood}}, at {{.self.pos.x}}.") }
func BenchmarkCalls(b *testing.B) {
	benchmark(b, `{{upper .name}}{{if gt .n 2}} sells {{index .herbs 1}}{{end}}`)
}
func BenchmarkRange(b *testing.B) { benchmark(b, `{{range .herbs}}{{.}}, {{end}}`) }
func BenchmarkStandardLibraryPaths(b *testing.B) {
	tm := texttemplate.Must(texttemplate.New("x").Parse("I am {{.name}}, {{.mood}}, at {{.self.pos.x}}."))
	d := sample()
	var w strings.Builder
	b.ReportAllocs()
	for b.Loop() {
		w.Reset()
		if err := tm.Execute(&w, d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile("bench", "I am {{.name}}, {{.mood}}{{range .herbs}}, {{.}}{{end}}."); err != nil {
			b.Fatal(err)
		}
	}
}
