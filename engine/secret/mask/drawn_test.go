package mask

import (
	"fmt"
	"strings"
	"testing"
)

// Promise 2: what a terminal shows is found, though no spelling stands in the text.
func TestDrawn(t *testing.T) {
	m := masker(t, token)
	each := func(f func(i int, c byte) string) string {
		var b strings.Builder
		for i := range len(token) {
			b.WriteString(f(i, token[i]))
		}
		return b.String()
	}
	half := len(token) / 2
	for name, text := range map[string]string{
		"bold":             each(func(_ int, c byte) string { return fmt.Sprintf("%c\b%c", c, c) }),
		"junk, backspaces": each(func(_ int, c byte) string { return fmt.Sprintf("xy\b\b%c", c) }) + "  ",
		"cursor left":      each(func(_ int, c byte) string { return fmt.Sprintf("q\x1b[D%c", c) }),
		"named columns": each(func(i int, _ byte) string {
			i = (i*7 + 3) % len(token)
			return fmt.Sprintf("\x1b[%dG%c", i+1, token[i])
		}),
		"named places": each(func(i int, _ byte) string {
			i = (i*7 + 3) % len(token)
			return fmt.Sprintf("\x1b[5;%dH%c", i+1, token[i])
		}),
		"carriage return": strings.Repeat("x1", half/2) + token[half/2*2:] + "\r" + token[:half/2*2],
		"deleted":         each(func(_ int, c byte) string { return fmt.Sprintf("%cz\x1b[D\x1b[P", c) }),
		"inserted":        token[:1] + token[half:] + fmt.Sprintf("\x1b[%dD\x1b[%d@", len(token)-half, half-1) + token[1:half],
		"inserted, short": each(func(i int, _ byte) string { return fmt.Sprintf("\r\x1b[@%c", token[len(token)-1-i]) }),
		"saved":           each(func(_ int, c byte) string { return fmt.Sprintf("\x1b7a\x1b8%c", c) }),
		"lines":           "1\n" + each(func(_ int, c byte) string { return fmt.Sprintf("\x1b[Bq\x1b[A%c\x1b[A", c) + "\x1b[B" }),
		"erased screen":   each(func(_ int, c byte) string { return fmt.Sprintf("w\b%c", c) }) + "\x1b[2J\x1b[Hnothing",
		"erased line":     each(func(_ int, c byte) string { return fmt.Sprintf("w\b%c", c) }) + "\r\x1b[Knothing",
		"title between":   each(func(_ int, c byte) string { return fmt.Sprintf("\x1b]0;title\a%c", c) }),
	} {
		if strings.Contains(text, token) {
			t.Fatalf("%s: it is there as it is", name)
		}
		if _, f := m.Text(text); !f.Any() { // parts that are long enough are replaced
			t.Errorf("%s: %q is not found: %q", name, text, drawing(text))
		}
	}
	for _, text := range []string{"10%\r20%\r30%\n", "\x1b[31mred\x1b[0m\r\n", "N\bNA\bAM\bME\bE\n", "\x1b[2J\x1b[Hmenu\x1b[5;10Hitem", "\x1b", "\x1b[", "\x1b[1", "\x1b]0;x", "\x1b[9999999999999999999D", "\x1b[-5;-7H\x1b[-3P", "\x1b[L\x1b[M\x1b[J\x1b[1J\x1b[1K\x1b[X"} {
		if got, f := m.Text(text); f.Any() || got != text {
			t.Errorf("%q: %q %+v", text, got, f)
		}
	}
	if got, f := m.Text("10%\r20%\n" + token + "\r\n"); f.Withhold != "" || strings.Contains(got, token) {
		t.Errorf("%q %+v", got, f)
	}
}

// What a text makes a screen do is bounded by its length.
func TestDrawingIsBounded(t *testing.T) {
	for _, piece := range []string{"\x1b[60000;4000Hx", "x\x1b[L", "x\x1b[9999@", "x\x1b[J\x1b[B", "x\r\x1b[C", "\x1b[4000Gx\r"} {
		text := strings.Repeat(piece, 1<<17/len(piece))
		if got := drawing(text); len(got) > leastWork+(maxWork+4)*len(text) {
			t.Errorf("%q: %d bytes", piece, len(got))
		}
	}
}

func FuzzDrawing(f *testing.F) {
	f.Add("a\x1b[2;3Hb\x1b[1Jc\x1b[4@\x1b[Pd\x1b[2L\x1b[3M\x1b7\x1b8\b\r\t\x1b[K")
	f.Fuzz(func(_ *testing.T, text string) { drawing(text) })
}
