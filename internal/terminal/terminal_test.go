package terminal

import (
	"bytes"
	"strings"
	"testing"
)

// What agents, models and files say does not steer the terminal that shows it.
func TestScreen(t *testing.T) {
	p := Paint{on: true}
	for _, c := range []struct{ name, text, want string }{
		{"plain", "a\tb\n名　é\u200d👩 \n", "a\tb\n名　é\u200d👩 \n"},
		{"colours of simd", p.Bold("a") + p.Red("b") + p.Dim("c") + p.Cyan("d") + p.Green("e") + p.Yellow("f"), p.Bold("a") + p.Red("b") + p.Dim("c") + p.Cyan("d") + p.Green("e") + p.Yellow("f")},
		{"title and clipboard", "\x1b]0;evil\a\x1b]52;c;ZXZpbA==\a", "␛]0;evil␇␛]52;c;ZXZpbA==␇"},
		{"a line taken back", "ok\r\x1b[Kevil\b\b", "ok␍␛[Kevil␈␈"},
		{"hidden", "\x1b[8mevil\x1b[0m", "␛[8mevil\x1b[0m"},
		{"control characters of one byte", "\u009b2Jevil\x7f", "\ufffd2Jevil\ufffd"},
		{"text turned around", "\u202egnp\u2066.\u2028", "\ufffdgnp\ufffd.\ufffd"},
		{"no text", "\xff\xc3(", "\ufffd\ufffd("},
	} {
		t.Run(c.name, func(t *testing.T) {
			for size := 1; size <= len(c.text); size++ {
				var b bytes.Buffer
				s := &Screen{w: &b, width: func() int { return 80 }}
				for at := 0; at < len(c.text); at += size {
					part := c.text[at:min(len(c.text), at+size)]
					if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
						t.Fatal(n, err)
					}
				}
				if b.String() != c.want {
					t.Fatalf("in parts of %d bytes: %q, want %q", size, b.String(), c.want)
				}
			}
		})
	}
}

// A line that is shown in place of another cannot leave it either.
func TestScreenRewrites(t *testing.T) {
	var b bytes.Buffer
	s := &Screen{w: &b}
	s.Rewrite("tavern\x1b[2J")
	s.Rewrite("")
	if got, want := b.String(), "\r\x1b[Ktavern␛[2J\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A row of a table is one line without anything that steers, wherever it goes.
func TestTableRowsAreLines(t *testing.T) {
	var b bytes.Buffer
	table := NewTable(&b, "type", "text")
	table.Row("talk\x1b[2J", "a\nb\tc\rd\u009b\u202e")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(b.String(), "\n")
	if want := "talk␛[2J  a↵b c d\ufffd\ufffd\n"; row != want {
		t.Errorf("%q, want %q", row, want)
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	tab := NewTable(&b, "name", ">n", "text")
	tab.Row("草药", "1", strings.Repeat("x", 300))
	tab.Row("ada", "1,000", "line\nline")
	if err := tab.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if lines[0] != "name      n  text" || !strings.HasPrefix(lines[1], "草药      1  xxx") || lines[2] != "ada   1,000  line↵line" {
		t.Errorf("%q", lines)
	}
	if w := Width(lines[1]); w != PlainWidth || !strings.HasSuffix(lines[1], "…") {
		t.Errorf("the last column is cut to %d cells", w)
	}
}

func TestSpark(t *testing.T) {
	if got := Spark([]int64{0, 1, 50, 100, 1000}); got != " ▁▁▁█" {
		t.Errorf("%q", got)
	}
	if got := Spark(nil); got != "" {
		t.Errorf("%q", got)
	}
}

// A line is broken between words; colours take no room, wide characters two cells, and a long word stays whole.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		line, indent string
		width        int
		want         string
	}{
		{"", "  ", 10, ""},
		{"one two three", "", 13, "one two three"},
		{"one two three", "", 12, "one two\nthree"},
		{"one two three", "  ", 7, "one two\n  three"},
		{"one two three", "  ", 5, "one\n  two\nthree"},
		{"  one two three", "    ", 9, "  one two\n    three"},
		{"sha256:0123456789 a", "  ", 8, "sha256:0123456789\n  a"},
		{"0123456789", "", 4, "0123456789"},
		{"name    0123456789 a", "        ", 14, "name\n    0123456789\n        a"},
		{"\x1b[31mone\x1b[0m two three", "", 7, "\x1b[31mone\x1b[0m two\nthree"},
		{"日本 日本", "", 8, "日本\n日本"},
		{"日本 日本", "", 9, "日本 日本"},
		{"a  b", "", 2, "a\nb"},
	} {
		if got := Fill(c.line, c.indent, c.width); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

// Text is broken on a terminal alone, and on none that is narrower than any table could be.
func TestFillOn(t *testing.T) {
	line := strings.Repeat("word ", 9) + "end"
	text := "short\n" + line + "\n"
	for width, want := range map[int]string{80: text, 40: "short\n" + line[:39] + "\n  word end\n", 39: text, 0: text} {
		if got := FillOn(&Screen{width: func() int { return width }}, text, "  "); got != want {
			t.Errorf("%d cells: %q, want %q", width, got, want)
		}
	}
	if got := FillOn(&strings.Builder{}, text, "  "); got != text {
		t.Errorf("elsewhere: %q", got)
	}
}

// On a terminal a row that is too wide has its columns closer together, and then goes on below. No cell but the last is cut.
// In a file a row is one line.
func TestTableFits(t *testing.T) {
	show := func(w *bytes.Buffer, width int, agent string) string {
		var table *Table
		if width > 0 {
			table = NewTable(&Screen{w: w, width: func() int { return width }}, "agent", "state", ">turns", "text")
		} else {
			table = NewTable(w, "agent", "state", ">turns", "text")
		}
		table.paint = Paint{}
		table.Row(agent, "asleep", "1,000", strings.Repeat("x", 30))
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		return w.String()
	}
	x := func(n int) string { return strings.Repeat("x", n-1) + "…" }
	for _, c := range []struct {
		name  string
		width int
		agent string
		want  string
	}{
		{"wide enough", 45, "ada", "agent  state   turns  text\nada    asleep  1,000  " + x(23) + "\n"},
		{"closer together", 45, "warehouse-1", "agent       state  turns text\nwarehouse-1 asleep 1,000 " + x(20) + "\n"},
		{"in two lines", 44, "warehouse-1", "agent       state  turns\n    text\nwarehouse-1 asleep 1,000\n    " + strings.Repeat("x", 30) + "\n"},
		{"a name that is wider than the terminal", 40, strings.Repeat("a", 50), "agent\n    state  turns text\n" + strings.Repeat("a", 50) + "\n    asleep 1,000 " + x(23) + "\n"},
		{"in a file", 0, "warehouse-1", "agent        state   turns  text\nwarehouse-1  asleep  1,000  " + strings.Repeat("x", 30) + "\n"},
	} {
		if got := show(&bytes.Buffer{}, c.width, c.agent); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}
