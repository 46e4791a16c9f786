package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/prompt"
)

// Minds §12: fifteen like episodes get one note before sleep, once.
func TestNotes(t *testing.T) {
	r := rules(100)
	r.Consolidate = 15
	var m *Mind
	n := uint64(0)
	turn := func(text string, asleep bool) {
		n++
		m = m.Note(&agentfact.Said{Text: text}).End(r, &agentfact.TurnEnded{Turn: n, Asleep: asleep}, start.Add(time.Duration(n)*time.Hour), nil)
	}
	notes := func() (list []string) {
		for _, e := range m.Episodes() {
			if e.Of > 0 {
				list = append(list, fmt.Sprintf("%d %d %s", e.Of, e.Importance, e.Text))
			}
		}
		return list
	}
	for i := range 14 {
		turn(fmt.Sprintf("I baked %d loaves of rye bread for the inn today", i), false)
	}
	turn("The miller is a rogue, everybody says so", true)
	if got := notes(); got != nil {
		t.Fatalf("fourteen are enough: %v", got)
	}
	turn("I baked 99 loaves of rye bread for the inn today", false)
	if got := notes(); got != nil {
		t.Fatalf("a note while awake: %v", got)
	}
	turn("Good night", true)
	want := []string{"15 1 15 times from 1970-02-11T17:00:00Z to 1970-02-12T08:00:00Z: you said: I baked 99 loaves of rye bread for the inn today"}
	if got := notes(); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range 14 {
		turn(fmt.Sprintf("I baked %d loaves of rye bread for the inn today", i), true)
	}
	if got := notes(); len(got) != 1 {
		t.Errorf("what is in a note is in another: %v", got)
	}
	turn("I baked 7 loaves of rye bread for the inn today", true)
	if got := notes(); len(got) != 2 {
		t.Errorf("the next fifteen have no note: %v", got)
	}
	back, err := Load(m.Store())
	if err != nil || len(back.episodes) != len(m.episodes) || back.slept != m.slept {
		t.Fatal(err, back)
	}
	for i, e := range back.episodes {
		if *e != *m.episodes[i] {
			t.Errorf("%+v, was %+v", e, m.episodes[i])
		}
	}
}

// Minds §10: what falls out of the history stands in the summary, by who said it.
func TestSummary(t *testing.T) {
	r := rules(9)
	r.Summary = &Summarising{After: 2, Tokens: 60, HalfLife: time.Hour}
	var m *Mind
	for i, said := range []string{
		"Good day! The ford floods after heavy rain.", "Bread costs 3 coins at the mill.", "Hm.", "The ford floods after heavy rain. Yes.", "So it is.", "Well.", "Indeed.",
	} {
		if i%2 == 0 {
			m = m.Heard(Heard{From: "bo", Text: said})
		} else {
			m = m.Note(&agentfact.Said{Text: said})
		}
		m = m.End(r, &agentfact.TurnEnded{Turn: uint64(i)}, start.Add(time.Duration(i)*time.Minute), nil)
	}
	want := "- bo: The ford floods after heavy rain.\n- you: Bread costs 3 coins at the mill. The ford floods after heavy rain.\n"
	if got := m.Summary(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := m.recentTexts(); got != "Well. Indeed." {
		t.Errorf("the history has %q", got)
	}
	if (*Mind)(nil).Summary() != "" {
		t.Error("nothing was said")
	}
}

func (m *Mind) recentTexts() string {
	var out []string
	for _, l := range m.recent {
		out = append(out, l.Text)
	}
	return strings.Join(out, " ")
}

func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "One": {"One"}, "One. Two! Three?": {"One.", "Two!", "Three?"}, "It costs 3.50 coins. Yes": {"It costs 3.50 coins.", "Yes"},
		"雨后渡口会被淹。走桥！": {"雨后渡口会被淹。", "走桥！"}, "a\nb\n\nc": {"a", "b", "c"}, "\xff.\xff": {"\xff.\xff"},
	} {
		if got := sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The summary is never longer than its bound, whatever is said, and reads back.
func TestSummaryIsBounded(t *testing.T) {
	word := rapid.SampledFrom(strings.Fields("ford flood bread mill 森林很大 rain. dear! 3.5 \n x"))
	rapid.Check(t, func(rt *rapid.T) {
		r := rules(3)
		r.Summary = &Summarising{After: rapid.IntRange(1, 4).Draw(rt, "after"), Tokens: rapid.IntRange(1, 80).Draw(rt, "tokens"), HalfLife: time.Hour}
		var m *Mind
		for i := range rapid.IntRange(1, 12).Draw(rt, "turns") {
			text := strings.Join(rapid.SliceOfN(word, 1, 30).Draw(rt, "text"), " ")
			who := rapid.SampledFrom([]string{"", "bo", "cy"}).Draw(rt, "who")
			if who == "" {
				m = m.Note(&agentfact.Said{Text: text})
			} else {
				m = m.Heard(Heard{From: who, Text: text})
			}
			m = m.End(r, &agentfact.TurnEnded{Turn: uint64(i)}, start.Add(time.Duration(i)*time.Hour), nil)
			if n := prompt.Tokens(m.Summary()); n > r.Summary.Tokens {
				rt.Fatalf("%d tokens of %d: %q", n, r.Summary.Tokens, m.Summary())
			}
			if len(m.recent) > r.Summary.After {
				rt.Fatalf("%d utterances", len(m.recent))
			}
			back, err := Load(m.Store())
			if err != nil || back.Summary() != m.Summary() || back.recentTexts() != m.recentTexts() {
				rt.Fatalf("%v: %q, %q", err, back.Summary(), m.Summary())
			}
		}
	})
}
