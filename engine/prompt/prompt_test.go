package prompt_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/prompt"
	"tavernsim/protocol"
)

// fill makes the sections of a prompt with so many units each, of about so many tokens.
func fill(units map[string]int, tokens int, rules map[string]prompt.Rule) []prompt.Section {
	var list []prompt.Section
	for _, k := range prompt.Sections() {
		if r, ok := rules[k.Name]; ok {
			if r.Drop == "" {
				r.Drop = k.Drop
			}
			k.Rule = r
		}
		s := prompt.Section{Kind: k}
		for i := range units[k.Name] {
			text := fmt.Sprintf("%s %d%s", k.Name, i, strings.Repeat(" word", max(0, tokens-3)))
			s.Units = append(s.Units, prompt.Unit{ID: fmt.Sprint(i), Text: text, Rank: int64(100 - i), Moment: int64(60 * i)})
		}
		list = append(list, s)
	}
	return list
}

func dropped(p *prompt.Prompt) map[string][]string {
	out := map[string][]string{}
	for _, k := range p.Trace {
		if k.Dropped != "" {
			out[k.Section] = append(out[k.Section], k.Unit+" "+k.Dropped)
		}
	}
	return out
}

func assemble(t *testing.T, sections []prompt.Section, b prompt.Budget) *prompt.Prompt {
	t.Helper()
	p, err := prompt.Assemble(sections, b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The stable sections are the system message, the volatile ones the user message, each in
// the order of the table.
func TestOrder(t *testing.T) {
	all := map[string]int{}
	for _, name := range prompt.Names() {
		all[name] = 1
	}
	p := assemble(t, fill(all, 3, nil), prompt.Budget{Context: 4000, Output: 100})
	at := -1
	for _, name := range prompt.Names() {
		next := strings.Index(p.System+p.User, name+" 0")
		if next <= at {
			t.Errorf("%s stands at %d, the section before at %d:\n%s\n%s", name, next, at, p.System, p.User)
		}
		at = next
	}
	if !strings.Contains(p.System, "lessons 0") || !strings.Contains(p.User, "summary 0") {
		t.Errorf("the system message ends in the wrong place:\n%s", p.System)
	}
	if p.Left != 0 || strings.Contains(p.User, "Left out") {
		t.Errorf("nothing had to be left out: %+v", p)
	}
}

// What goes first: activated knowledge of the lowest rank, then half of the history, the
// summary, lessons, events, observations, constant knowledge.
func TestWhatIsDroppedFirst(t *testing.T) {
	units := map[string]int{"persona": 1, "constant": 2, "lessons": 2, "summary": 1, "history": 6, "knowledge": 3, "goals": 1, "observations": 2, "events": 2, "instruction": 1}
	sections := fill(units, 90, nil)
	whole := assemble(t, sections, prompt.Budget{Context: 100_000, Output: 100})
	var order []string
	seen := map[string]bool{}
	for most := whole.Tokens; ; most -= 5 {
		p, err := prompt.Assemble(sections, prompt.Budget{Context: 100_000, Output: 100, Most: most})
		if err != nil {
			if protocol.KindOf(err) != protocol.KindLimit || !strings.Contains(err.Error(), "persona ") {
				t.Errorf("the last error is %v", err)
			}
			break
		}
		for _, k := range p.Trace {
			if name := k.Section + " " + k.Unit; k.Dropped != "" && !seen[name] {
				seen[name] = true
				order = append(order, name)
			}
		}
	}
	want := "knowledge 2, knowledge 1, knowledge 0, history 0, history 1, history 2, history 3, history 4, history 5, summary 0, lessons 1, lessons 0, events 1, events 0, observations 0, observations 1, constant 1, constant 0"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("dropped in the order\n%s\nwant\n%s", got, want)
	}
}

// A section's own bounds hold before the budget's, and its minimum against the others.
func TestRules(t *testing.T) {
	units := map[string]int{"persona": 1, "knowledge": 5, "events": 4, "observations": 5, "instruction": 1}
	sections := fill(units, 20, map[string]prompt.Rule{"knowledge": {Min: 60}, "events": {Max: 60}, "observations": {Units: 3}})
	p := assemble(t, sections, prompt.Budget{Context: 8000, Output: 100})
	if got := fmt.Sprint(dropped(p)); got != "map[events:[2 max 3 max] observations:[0 units 1 units]]" {
		t.Error(got)
	}
	if !strings.Contains(p.User, "(Left out for want of room: 2 of 5 observations, 2 of 4 events.)\n\ninstruction 0") {
		t.Errorf("the prompt does not say what was left out:\n%s", p.User)
	}
	p = assemble(t, sections, prompt.Budget{Context: 8000, Output: 100, Most: 250})
	if got := len(dropped(p)["knowledge"]); got != 2 {
		t.Errorf("%d entries of knowledge went, want 2: with two more it would have less than its minimum", got)
	}
	_, err := prompt.Assemble(fill(units, 20, map[string]prompt.Rule{"persona": {Max: 5}}), prompt.Budget{Context: 8000, Output: 100})
	if protocol.KindOf(err) != protocol.KindLimit || !strings.Contains(err.Error(), "sections.persona.max") {
		t.Errorf("a persona above its bound: %v", err)
	}
}

// A history of one entry has the newest.
func TestHistoryOfOne(t *testing.T) {
	for entries, want := range map[int]string{1: "map[]", 2: "map[history:[0 units]]"} {
		p := assemble(t, fill(map[string]int{"history": entries}, 20, map[string]prompt.Rule{"history": {Units: 1}}), prompt.Budget{Context: 8000, Output: 100})
		if got := fmt.Sprint(dropped(p)); got != want {
			t.Errorf("%d entries: %s went, want %s", entries, got, want)
		}
	}
}

// A prompt within its budget is a request within it: an accent makes no line dearer but its own.
func TestAccentsOfOneLine(t *testing.T) {
	for _, name := range []string{"Anna", "André", "Dvořák"} {
		s := prompt.Section{Kind: prompt.Kind{Name: "knowledge", Rule: prompt.Rule{Drop: prompt.DropLowest}}}
		for i := range 400 {
			s.Units = append(s.Units, prompt.Unit{ID: strconv.Itoa(i), Text: "The merchant sells copper and barley at the northern market; until the guards close the gate."})
		}
		s.Units[0].Text, s.Units[0].Rank = "The merchant "+name+" sells copper and barley.", 1000
		p, err := prompt.Assemble([]prompt.Section{s}, prompt.Budget{Context: 8192, Output: 1024, Fixed: 2 * prompt.PerMessage})
		if err != nil || !strings.Contains(p.User, name) {
			t.Fatal(err, p)
		}
		q := &protocol.ModelRequest{Messages: []protocol.ModelMessage{{Role: "system", Text: p.System}, {Role: "user", Text: p.User}}}
		if n := prompt.Request(q); n > 8192-1024 || n < 5000 {
			t.Errorf("%s: a prompt of %d tokens is a request of %d", name, p.Tokens, n)
		}
	}
}

// A history that loses its oldest entry in every turn begins in the same place for several
// turns.
func TestHistoryBreaksRarely(t *testing.T) {
	for _, step := range []int64{1, 7, 60, 61, 480, 3600} {
		starts, last := 0, ""
		const turns = 200
		for turn := range turns {
			s := prompt.Section{Kind: prompt.Kind{Name: "history", Rule: prompt.Rule{Drop: prompt.DropHalf, Units: 16}}}
			for i := range 16 {
				n := int64(turn + i)
				s.Units = append(s.Units, prompt.Unit{ID: fmt.Sprint(n), Text: "word", Moment: 959_852_820 + n*step})
			}
			p := assemble(t, []prompt.Section{s}, prompt.Budget{Context: 8000, Output: 10})
			first := ""
			for _, k := range p.Trace {
				if k.Dropped == "" {
					first = k.Unit
					break
				}
			}
			if kept := 16 - p.Left; kept < 8 || kept > 15 {
				t.Fatalf("step %d: %d of 16 are kept", step, kept)
			}
			if first != last {
				starts, last = starts+1, first
			}
		}
		if starts > turns/4 {
			t.Errorf("a history with an entry every %d s began anew %d times in %d turns", step, starts, turns)
		}
	}
}

// Promises 1 to 4, for any sizes and rules.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, rules, total := map[string]int{}, map[string]prompt.Rule{}, 0
		for _, k := range prompt.Sections() {
			n := rapid.IntRange(0, 12).Draw(t, k.Name)
			if k.Fixed {
				n = min(n, 1)
			}
			units[k.Name], total = n, total+n
			if rapid.Bool().Draw(t, "rule") {
				rules[k.Name] = prompt.Rule{Min: rapid.IntRange(0, 100).Draw(t, "min"), Max: rapid.IntRange(0, 300).Draw(t, "max"), Units: rapid.IntRange(0, 20).Draw(t, "units"),
					Drop: prompt.Drop(rapid.SampledFrom(append(prompt.Drops(), "")).Draw(t, "drop"))}
			}
		}
		sections := fill(units, rapid.IntRange(1, 40).Draw(t, "tokens"), rules)
		b := prompt.Budget{Context: rapid.IntRange(100, 3000).Draw(t, "context"), Output: 50, Fixed: rapid.IntRange(0, 200).Draw(t, "fixed")}
		p, err := prompt.Assemble(sections, b)
		if err != nil {
			var e *protocol.Error
			if !errors.As(err, &e) || e.Kind != protocol.KindLimit {
				t.Fatalf("kind of %v", err)
			}
			return
		}
		again, err := prompt.Assemble(sections, b)
		if err != nil || again.System != p.System || again.User != p.User {
			t.Fatalf("the second prompt differs: %v", err)
		}
		if n := prompt.Tokens(p.System) + prompt.Tokens(p.User) + b.Fixed; n > b.Room() || p.Tokens > b.Room() {
			t.Fatalf("%d tokens by the text, %d by the sum; the room is %d", n, p.Tokens, b.Room())
		}
		if len(p.Trace) != total {
			t.Fatalf("the trace has %d units of %d", len(p.Trace), total)
		}
		i := 0
		for _, s := range sections {
			for k, u := range s.Units {
				kept := p.Trace[i]
				i++
				if kept.Section != s.Name || kept.Unit != u.ID {
					t.Fatalf("trace %d is %+v, want %s %s", i, kept, s.Name, u.ID)
				}
				if there := strings.Contains("\n"+p.System+"\n"+p.User+"\n", "\n"+u.Text+"\n"); there != (kept.Dropped == "") {
					t.Fatalf("%s %d: in the prompt %v, in the trace %+v", s.Name, k, there, kept)
				}
				if kept.Dropped != "" && (s.Fixed || s.Drop == prompt.DropNever) {
					t.Fatalf("%s was dropped", s.Name)
				}
			}
		}
	})
}
