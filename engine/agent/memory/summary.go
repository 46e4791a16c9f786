package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tavernsim/engine/knowledge/score"
	"tavernsim/engine/knowledge/words"
	"tavernsim/engine/prompt"
	"tavernsim/protocol"
)

// Line is something that somebody said; Who is "" for the agent itself.
type Line struct {
	At   protocol.Time
	Who  string
	Text string
}

// Summarising says what becomes of what the history of an agent has lost.
type Summarising struct {
	After    int           // utterances that the history has
	Tokens   int           // most of the summary
	HalfLife time.Duration // of recency
	Model    *string       // that makes it, "" = the default; nil = sentences are taken as they were said
}

// Summary is the input of that name: the sentences that tell most of what was said before the
// history begins, by who said them, oldest first.
const Summary = "summary"

const (
	maxUtterance = 2_000 // bytes of an utterance that are looked at
	leastTerms   = 3     // of a sentence that tells something
)

// say takes utterances of a turn: those that the history loses go into the summary.
func (m *Mind) say(x *Summarising, said []Line, now protocol.Time) {
	for i := range said {
		said[i].At = now
	}
	m.recent = append(slices.Clip(m.recent), said...)
	if n := len(m.recent) - x.After; n > 0 {
		for _, l := range m.recent[:n] {
			m.summary = x.sum(m.summary, l, now)
		}
		m.recent = slices.Clone(m.recent[n:])
	}
}

// sum takes the sentences of an utterance, and leaves out those that tell least beyond the
// bound.
func (x *Summarising) sum(list []Line, l Line, now protocol.Time) []Line {
	list = slices.Clone(list)
	for _, s := range sentences(l.Text) {
		if len(words.OfQuery(s)) < leastTerms || words.Common(s) {
			continue
		}
		same := func(o Line) bool { return o.Who == l.Who && strings.EqualFold(o.Text, s) }
		list = append(slices.DeleteFunc(list, same), Line{l.At, l.Who, s})
	}
	for len(list) > 0 && prompt.Tokens(rendered(list)) > x.Tokens {
		least, worth := 0, int64(-1)
		for i := range list {
			if w := list[i].worth(x, now); worth < 0 || w < worth {
				least, worth = i, w
			}
		}
		list = slices.Delete(list, least, least+1)
	}
	return list
}

// worth is how much a sentence tells, in millionths: its distinct words, those with digits
// twice, and more of what was said lately.
func (l *Line) worth(x *Summarising, now protocol.Time) int64 {
	n := int64(0)
	for _, t := range words.OfQuery(l.Text) {
		if n++; strings.ContainsAny(t, "0123456789") {
			n++
		}
	}
	age := max(now.Sub(l.At), 0).Microseconds()
	return min(n, 12) * (score.Million + score.Halved(age, max(x.HalfLife.Microseconds(), 1)))
}

// sentences cuts a text behind full stops, and at line ends.
func sentences(text string) (out []string) {
	text = cut(text, maxUtterance)
	from := 0
	end := func(to int) {
		if s := line(text[from:to]); s != "" {
			out = append(out, s)
		}
		from = to
	}
	for i := range text {
		r, size := utf8.DecodeRuneInString(text[i:])
		next := i + size
		if strings.ContainsRune("。！？\n", r) || strings.ContainsRune(".!?", r) && (next == len(text) || text[next] == ' ' || text[next] == '\n') {
			end(next)
		}
	}
	end(len(text))
	return out
}

// Summary is what the agent remembers of what was said before its history, to those that speak now;
// "" = nothing.
func (m *Mind) Summary(now ...string) string {
	if m == nil {
		return ""
	}
	return rendered(m.summary) + m.talked(now)
}

// rendered lists lines by who said them, in the order of their first ones.
func rendered(list []Line) string {
	var b strings.Builder
	var done []string
	for _, l := range list {
		if slices.Contains(done, l.Who) {
			continue
		}
		done = append(done, l.Who)
		b.WriteString("- " + cmp.Or(l.Who, "you") + ":")
		for _, o := range list {
			if o.Who == l.Who {
				b.WriteString(" " + o.Text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
