package show

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/order"
	"tavernsim/internal/terminal"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

func TestOffsets(t *testing.T) {
	s := &Scene{Begun: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
	for text, want := range map[string]string{
		"2000-01-01T00:00:00Z": "+0s", "2000-01-01T01:00:00Z": "+1h", "2000-01-01T00:01:10Z": "+1m10s", "2000-01-01T10:00:00.25Z": "+10h0m0.25s", "": "",
	} {
		if got := s.since(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The table of orders shows no secrets. As JSON it is a file for another run, which must come to
// the same digest.
func TestOrdersForPeople(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out strings.Builder
		s := &Scene{Out: &out, Err: &out, JSON: asJSON, Limit: -1}
		line := inspect.OrderLine{Entry: order.Entry{ID: "o", Reason: "password: hunter2", Refused: "api_key=hunter2"}}
		if err := Lines(s, s.Orders(), func(_ int, yield func(inspect.OrderLine) error) error { return yield(line) }); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "hunter2"); n != 0 && !asJSON || n != 2 && asJSON {
			t.Errorf("JSON %v: %s", asJSON, out.String())
		}
	}
}

// Promise 1. A list asks for one row more than it shows, and says when there are more. With JSON all
// are shown. A list that goes on has one headline, and ends with its context.
func TestLines(t *testing.T) {
	numbers := List[int]{"none", []string{"n"}, func(t *terminal.Table, n int) { t.Row(fmt.Sprint(n)) }}
	count := func(total int, asked *int) func(int, func(int) error) error {
		return func(limit int, yield func(int) error) error {
			*asked = limit
			for n := 1; n <= total && (limit == 0 || n <= limit); n++ {
				if err := yield(n); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, c := range []struct {
		name         string
		json         bool
		limit, total int
		asked, rows  int
		said         string
	}{
		{"no row", false, -1, 0, 51, 0, "none\n"},
		{"all", false, 0, 200, 0, 200, ""},
		{"the first 50", false, -1, 51, 51, 50, "the first 50; there are more: --limit N, --limit 0 for all\n"},
		{"just 50", false, -1, 50, 51, 50, ""},
		{"three", false, 3, 9, 4, 3, "the first 3; there are more: --limit N, --limit 0 for all\n"},
		{"JSON", true, -1, 60, 0, 60, ""},
		{"three in JSON", true, 3, 9, 3, 3, ""},
	} {
		var out, said strings.Builder
		s, asked := &Scene{Out: &out, Err: &said, JSON: c.json, Limit: c.limit}, -1
		if err := Lines(s, numbers, count(c.total, &asked)); err != nil {
			t.Fatal(c.name, err)
		}
		rows := strings.Count(out.String(), "\n") - strings.Count(out.String(), "n\n")
		if asked != c.asked || rows != c.rows || said.String() != c.said {
			t.Errorf("%s: asked for %d, showed %d, said %q; want %d, %d, %q", c.name, asked, rows, said.String(), c.asked, c.rows, c.said)
		}
	}
	var out strings.Builder
	ctx, stop := context.WithCancel(t.Context())
	s, asked := &Scene{Out: &out, Err: &out, Live: &Live{Ctx: ctx}}, 0
	for range 2 {
		if err := Lines(s, numbers, count(2, &asked)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "n\n1\n2\n1\n2\n"; out.String() != want || s.Live.Shown != 4 {
		t.Errorf("%q, %d rows; want %q", out.String(), s.Live.Shown, want)
	}
	stop()
	if err := Lines(s, numbers, count(2, &asked)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// Promise 2. A list is written while it is read, a batch at a time.
func TestLinesAreNotKept(t *testing.T) {
	var out strings.Builder
	s, kept := &Scene{Out: &out, Err: &out, Limit: 0}, 0
	rows := List[int]{"none", []string{"n"}, func(t *terminal.Table, n int) { t.Row(fmt.Sprint(n)) }}
	err := Lines(s, rows, func(_ int, yield func(int) error) error {
		for n := 1; n <= 10_000; n++ {
			if err := yield(n); err != nil {
				return err
			}
			kept = max(kept, n-strings.Count(out.String(), "\n"))
		}
		return nil
	})
	if err != nil || kept > 200 {
		t.Errorf("%d rows are kept, %v", kept, err)
	}
}

// Promise 3; cmd/simd tries every view.
func TestPagesSteerNothing(t *testing.T) {
	var b strings.Builder
	if err := write(&b, nil, func(p *page) { p.row("said", "%s", "\x1b[2Ja\u202eb\u009b") }); err != nil || strings.ContainsAny(b.String(), "\x1b\u202e\u009b") || !strings.Contains(b.String(), "\u241b[2Ja") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// Of two facts, the members that differ are shown, of objects in them those alone.
func TestMembersThatDiffer(t *testing.T) {
	p := &page{}
	p.members("", factjson.Object{{Name: "same", Value: "x"}, {Name: "text", Value: "a"}, {Name: "origin", Value: factjson.Object{{Name: "id", Value: "1"}, {Name: "cost", Value: int64(5)}}}, {Name: "gone", Value: factjson.Object{{Name: "n", Value: int64(1)}}}},
		factjson.Object{{Name: "same", Value: "x"}, {Name: "text", Value: "b"}, {Name: "origin", Value: factjson.Object{{Name: "id", Value: "1"}, {Name: "cost", Value: int64(6)}, {Name: "reused", Value: true}}}, {Name: "gone", Value: nil}})
	if want := "     text: a | b\n     origin.cost: 5 | 6\n     origin.reused:  | true\n     gone: {\"n\":1} | \n"; p.String() != want {
		t.Errorf("%q, want %q", p.String(), want)
	}
}

// On a terminal, only the limit of a budget says what is counted.
func TestUnitsOfBudgets(t *testing.T) {
	left := int64(7500)
	b := &inspect.BudgetLine{}
	b.Limit.Tokens, b.Used.Tokens, b.Reserved.Tokens, b.Left.Tokens, b.Limit.Nano = 10000, 2000, 500, &left, 2e9
	for narrow, want := range map[bool]string{
		true:  "[{10,000 tokens 2,000 500 7,500} {$2.00 $0 $0 }]",
		false: "[{10,000 tokens 2,000 tokens 500 tokens 7,500 tokens} {$2.00 $0 $0 }]",
	} {
		if got := fmt.Sprint(budgetUnits(b, narrow)); got != want {
			t.Errorf("%v: %s, want %s", narrow, got, want)
		}
	}
}

// A digest, which does not fit behind a name, begins below it where it fits.
func TestLongWordsOfRows(t *testing.T) {
	p := &page{width: 40}
	p.row("digest", "%s", "sha256:0123456789abcdef0123456789")
	if want := "  digest\n       sha256:0123456789abcdef0123456789\n"; p.String() != want {
		t.Errorf("%q, want %q", p.String(), want)
	}
}

// A row that is too wide for the terminal goes on below its text; elsewhere it is one line.
func TestRowsAreFolded(t *testing.T) {
	for width, want := range map[int]string{
		0:  "  together       7ms on the critical path, of which 5ms by mira\n",
		40: "  together       7ms on the critical\n                 path, of which 5ms by\n                 mira\n",
		20: "  together       7ms on the critical path, of which 5ms by mira\n",
	} {
		p := &page{width: width}
		p.row("together", "%s on the critical path, of which %s by mira", "7ms", "5ms")
		if p.String() != want {
			t.Errorf("%d: %q, want %q", width, p.String(), want)
		}
	}
}

// The curves of a timeline, and its scale, are whole on a terminal that is too narrow for them and their names.
func TestNarrowTimeline(t *testing.T) {
	s := &inspect.Summary{SceneTime: "50s", Timeline: make([]inspect.Bucket, 50)}
	for i := range s.Timeline {
		s.Timeline[i].Facts = int64(i % 7 / 6)
	}
	p := &page{Scene: &Scene{}, width: 60}
	p.summaryTimeline(s)
	curves := 0
	var lines []string
	for line := range strings.Lines(p.String()) { // as write does
		lines = append(lines, strings.Split(terminal.Fill(line, "      ", p.width), "\n")...)
	}
	for _, line := range lines {
		_, curve, begins := strings.Cut(line, "▕")
		curve, _, ends := strings.Cut(curve, "▏")
		if begins != ends || begins && terminal.Width(curve) != 50 {
			t.Errorf("%q", line)
		}
		if begins {
			curves++
		}
	}
	if curves != 1 {
		t.Errorf("%d curves in %q", curves, p.String())
	}
}
