package memory

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/prompt"
	"tavernsim/protocol"
)

// talking keeps a history by partners.
func talking(tokens int64, partners int, s *Summarising) *Rules {
	return &Rules{History: &Talking{Tokens: tokens, Partners: partners}, Summary: s}
}

// said is a turn in which somebody says something to the agent, or nobody does, and it answers.
func said(m *Mind, r *Rules, turn uint64, who, text, answer string) *Mind {
	at := start.Add(time.Duration(turn) * time.Minute)
	if who != "" {
		m = m.Heard(Heard{At: at, From: who, Type: "talk", Text: text})
	}
	if answer != "" {
		m = m.Note(&agentfact.Said{Text: answer})
	}
	return m.End(r, &agentfact.TurnEnded{Turn: turn}, at, nil)
}

func spoken(m *Mind) (out []string) {
	for _, s := range m.Spoken() {
		who := s.Who
		if who == "" {
			who = "I to " + strings.Join(s.With, "+")
		}
		out = append(out, who+": "+s.Text)
	}
	return out
}

// Minds §10: the history is kept by partners, in tokens: who talks much pushes nobody else's words out,
// the newest words with a partner stay whatever their length, and who spoke longest ago goes.
func TestHistoryByPartners(t *testing.T) {
	r := talking(18, 2, nil) // two of the words below have 12 to 18 tokens, three have more
	var m *Mind
	m = said(m, r, 1, "bo", "The ford is deep.", "So it is, I fear.")
	m = said(m, r, 2, "cy", "Bread is dear now.", "")
	for i := range uint64(3) {
		m = said(m, r, 3+i, "cy", fmt.Sprintf("Cheese %d costs more.", i), "")
	}
	want := []string{"bo: The ford is deep.", "I to bo: So it is, I fear.", "cy: Cheese 1 costs more.", "cy: Cheese 2 costs more."}
	if got := spoken(m); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	m = said(m, r, 6, "bo", strings.Repeat("And so on and on. ", 20), "")
	if got := spoken(m); len(got) != 3 || !strings.HasPrefix(got[2], "bo: And so on") {
		t.Errorf("%q", got)
	}
	m = said(m, r, 7, "", "", "Nobody hears me.")
	if got := spoken(m); len(got) != 2 || got[1] != "I to : Nobody hears me." {
		t.Errorf("a third partner: %q", got)
	}
}

// Own words belong to all who had spoken in the turn, and go when they are beyond for each of them.
func TestOwnWordsHaveSeveralPartners(t *testing.T) {
	r := talking(12, 3, nil)
	m := (*Mind)(nil).Heard(Heard{From: "bo", Text: "Good day to you."})
	m = said(m, r, 1, "cy", "And to you, too.", "Welcome, both of you.")
	for i := range uint64(3) {
		m = said(m, r, 2+i, "bo", fmt.Sprintf("Number %d of many.", i), "")
	}
	if got := spoken(m); !slices.Contains(got, "I to cy: Welcome, both of you.") || slices.Contains(got, "bo: Good day to you.") {
		t.Errorf("%q", got)
	}
}

// Who hears itself is no partner of its own, meets nobody, and has said nothing twice; what it published
// in another way is its own word.
func TestNobodyIsItsOwnPartner(t *testing.T) {
	r := talking(60, 2, nil)
	r.Keep, r.Recall, r.HalfLife = 9, 5, time.Hour
	var m *Mind
	m = said(m, r, 1, "bo", "The ford is deep.", "So it is, I fear.")
	m = m.Heard(Heard{At: start, From: "ada", Type: agentfact.EventSaid, Text: "So it is, I fear.", Own: true})
	m = m.End(r, &agentfact.TurnEnded{Turn: 2}, start, nil)
	m = m.Heard(Heard{At: start, From: "ada", Type: "talk", Text: "Bread is dear.", Own: true})
	m = m.End(r, &agentfact.TurnEnded{Turn: 3}, start, nil)
	want := []string{"bo: The ford is deep.", "I to bo: So it is, I fear.", "I to : Bread is dear."}
	if got := spoken(m); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var texts []string
	for _, e := range m.Episodes() {
		texts = append(texts, fmt.Sprint(e.Importance, " ", e.Text))
	}
	if want := []string{"3 bo said: The ford is deep.; you said: So it is, I fear.", "1 you said: Bread is dear."}; !slices.Equal(texts, want) {
		t.Errorf("%q, want %q", texts, want)
	}
}

// What falls out goes into the summary of the partner, which is shown while that partner is in the
// history, or speaks.
func TestSummaryByPartner(t *testing.T) {
	r := talking(12, 1, &Summarising{Tokens: 60, HalfLife: time.Hour})
	var m *Mind
	m = said(m, r, 1, "bo", "The ford floods after rain.", "")
	m = said(m, r, 2, "cy", "Bread costs three coins.", "")
	if got := m.Summary(); got != "" {
		t.Errorf("bo is not there, and the summary is %q", got)
	}
	if got, want := m.Summary("bo"), "With bo:\n- bo: The ford floods after rain.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	back, err := Load(m.Store())
	if err != nil || !reflect.DeepEqual(back.Spoken(), m.Spoken()) || back.Summary("bo") != m.Summary("bo") {
		t.Error(err, back.Summary("bo"))
	}
}

// A model is asked for the older half when there is more than the bound, twice of which is kept until
// then; what it says replaces what was said, and without it sentences stay as they were said.
func TestSummaryByAModel(t *testing.T) {
	name := "small"
	r := talking(20, 2, &Summarising{Tokens: 30, HalfLife: time.Hour, Model: &name})
	var m *Mind
	for i := range uint64(4) {
		m = said(m, r, 1+i, "bo", fmt.Sprintf("Sheep %d is lost.", i), "")
		if _, some := m.Unsummarised(r); some != (i == 3 || m.beyondBound(r)) {
			t.Fatalf("after %d: %v", i, some)
		}
	}
	for i := uint64(5); ; i++ {
		u, some := m.Unsummarised(r)
		if !some {
			m = said(m, r, i, "bo", fmt.Sprintf("Sheep %d is lost.", i), "")
			continue
		}
		if system, user := u.Asked(30); u.With != "bo" || !strings.Contains(system, "at most 22 words") || !strings.HasPrefix(user, "Said since then:\nbo: Sheep 0 is lost.\n") {
			t.Errorf("%+v: %s %s", u, system, user)
		}
		lines := int64(len(u.Lines))
		good := m.Summarised(r, &agentfact.Summarised{With: "bo", Lines: lines, Text: "Bo lost sheep."}, start)
		if got := good.Summary(); got != "With bo:\nBo lost sheep.\n" || len(good.Spoken()) != len(m.Spoken())-int(lines) || lines == 0 {
			t.Errorf("%q, %d lines of %d are left", got, len(good.Spoken()), len(m.Spoken()))
		}
		bad := m.Summarised(r, &agentfact.Summarised{With: "bo", Lines: lines, Error: errors.New("no").Error()}, start)
		if got := bad.Summary(); !strings.Contains(got, "Sheep 0 is lost.") || len(bad.Spoken()) != len(good.Spoken()) {
			t.Errorf("%q", got)
		}
		if text := Cut(strings.Repeat("word ", 500), 30); len(text) > 30*8 || text == "" {
			t.Errorf("%d bytes", len(text))
		}
		return
	}
}

func (m *Mind) beyondBound(r *Rules) bool {
	sum := int64(0)
	for _, s := range m.spoken {
		sum += s.Tokens
	}
	return sum > r.History.Tokens
}

// However people talk: with each partner the history has at most so many tokens, or one utterance; it
// has at most so many partners; it is in the order in which things were said; and a fold that was cut
// by a snapshot comes to the same.
func TestTalksAreBounded(t *testing.T) {
	name := ""
	rapid.Check(t, func(t *rapid.T) {
		r := talking(rapid.Int64Range(1, 60).Draw(t, "tokens"), rapid.IntRange(1, 4).Draw(t, "partners"), nil)
		most := r.History.Tokens
		switch rapid.IntRange(0, 2).Draw(t, "summary") {
		case 1:
			r.Summary = &Summarising{Tokens: 40, HalfLife: time.Hour}
		case 2:
			r.Summary = &Summarising{Tokens: 40, HalfLife: time.Hour, Model: &name}
			most *= 2
		}
		var m *Mind
		for turn := range uint64(rapid.IntRange(1, 40).Draw(t, "turns")) {
			text := strings.TrimSpace(strings.Repeat("word ", rapid.IntRange(1, 30).Draw(t, "words")))
			m = said(m, r, turn+1, rapid.SampledFrom([]string{"", "bo", "cy", "di", "ed", "fi"}).Draw(t, "who"), text, rapid.SampledFrom([]string{"", "Yes.", "Well, I never heard of that."}).Draw(t, "answer"))
			if u, some := m.Unsummarised(r); some && rapid.Bool().Draw(t, "asked") {
				m = m.Summarised(r, &agentfact.Summarised{With: u.With, Lines: int64(len(u.Lines)), Text: "A summary.", Error: rapid.SampledFrom([]string{"", "no"}).Draw(t, "error")}, start)
			}
			if rapid.Bool().Draw(t, "snapshot") {
				back, err := Load(m.Store())
				if err != nil || !reflect.DeepEqual(back.Spoken(), m.Spoken()) || !reflect.DeepEqual(back.talks, m.talks) {
					t.Fatal(err)
				}
				m = back
			}
			used, lines, at := map[string]int64{}, map[string]int{}, protocol.Time(0)
			for _, s := range m.Spoken() {
				for _, p := range s.With {
					used[p], lines[p] = used[p]+s.Tokens, lines[p]+1
				}
				if s.At < at {
					t.Fatal("not in order")
				}
				at = s.At
			}
			for p, n := range used {
				if n > most && lines[p] > 1 {
					t.Fatalf("%d tokens with %q, at most %d", n, p, most)
				}
			}
			if len(used) > r.History.Partners || len(m.talks) > MaxTalks {
				t.Fatalf("%d partners", len(used))
			}
		}
	})
}

// What a profile says, with its defaults.
func TestTalkingOfAProfile(t *testing.T) {
	r := RulesOf(&profile.Profile{Memory: &profile.Memory{History: &profile.History{}, Summary: &profile.Summary{By: profile.ByModel, Model: "small"}}}, 16)
	if r == nil || *r.History != (Talking{2000, 8}) || r.Summary.Model == nil || *r.Summary.Model != "small" || r.Keep != 0 {
		t.Errorf("%+v", r)
	}
	if r := RulesOf(&profile.Profile{Memory: &profile.Memory{Summary: &profile.Summary{}}}, 16); r.History != nil || r.Summary.Model != nil {
		t.Errorf("%+v", r)
	}
}

// A mind that is read again costs the stems of its words once, not for each episode: an agent that
// wakes has to be there within milliseconds.
func BenchmarkLoad(b *testing.B) {
	r := rules(1000)
	var m *Mind
	for i := range 1000 {
		m = m.Note(&agentfact.Said{Text: fmt.Sprintf("At the market of town %d the millers were selling bread, cheese and carrots for %d coins, complaining about floods.", i%40, i%7)}).
			End(r, &agentfact.TurnEnded{Turn: uint64(i + 1)}, start.Add(time.Duration(i)*time.Hour), nil)
	}
	stored := m.Store()
	for b.Loop() {
		if _, err := Load(stored); err != nil {
			b.Fatal(err)
		}
	}
}

// A summary of any text and any bound is cut, also one that has no room for a word.
func TestCutToFewTokens(t *testing.T) {
	for _, text := range []string{"", "漢", "漢字漢字漢字漢字漢字", "hello there my friend", "🙂🙂🙂", "{}[]{}[]{}"} {
		for tokens := range 8 {
			if got := Cut(text, tokens); prompt.Tokens(got) > tokens || !utf8.ValidString(got) {
				t.Errorf("%q for %d tokens: %q", text, tokens, got)
			}
		}
	}
}
