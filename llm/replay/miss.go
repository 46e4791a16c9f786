package replay

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tavernsim/engine/secret"
)

// Difference is the first place where two texts differ.
type Difference struct {
	Line     int    // from 1
	Column   int    // in the line, from 1
	Recorded string // what stands around the place
	Asked    string
}

// String says it in one line.
func (d *Difference) String() string {
	return fmt.Sprintf("line %d, character %d: recorded %q, asked %q", d.Line, d.Column, d.Recorded, d.Asked)
}

// Bytes that are shown before a difference, and from it on.
const (
	shownBefore = 24
	shownAfter  = 56
)

// Differ finds the first difference of two texts; nil = there is none. Values of secrets
// are hidden in both, as they are in a cassette.
func Differ(recorded, asked string) *Difference {
	recorded, asked = secret.Text(recorded), secret.Text(asked)
	if recorded == asked {
		return nil
	}
	at := 0
	for at < min(len(recorded), len(asked)) && recorded[at] == asked[at] {
		at++
	}
	for at > 0 && at < len(asked) && !utf8.RuneStart(asked[at]) || at > 0 && at < len(recorded) && !utf8.RuneStart(recorded[at]) {
		at-- // to the beginning of the character
	}
	line := strings.LastIndexByte(asked[:at], '\n') + 1
	return &Difference{
		Line: strings.Count(asked[:at], "\n") + 1, Column: utf8.RuneCountInString(asked[line:at]) + 1,
		Recorded: around(recorded, line, at), Asked: around(asked, line, at),
	}
}

// around is the line about a place.
func around(text string, line, at int) string {
	from, to := max(line, at-shownBefore), min(len(text), at+shownAfter)
	lead, tail := "", ""
	if from > line {
		lead = "…"
	}
	if end := strings.IndexByte(text[at:to], '\n'); end >= 0 {
		to = at + end
	} else if to < len(text) {
		tail = "…"
	}
	return lead + strings.ToValidUTF8(text[from:to], "") + tail
}

// Missed says of a request without a recorded answer which one is the nearest, and where
// the two texts differ first, if the cassette has situations. situation is that of the
// request.
func (a *Answers) Missed(at Place, situation string) string {
	text := fmt.Sprintf("no answer is recorded to request %d of turn %d of agent %s of scene %s", at.Request, at.Turn, at.Agent, at.Scene)
	e := a.Nearest(at)
	if e == nil {
		return text + ", and none to any other of this agent"
	}
	text += fmt.Sprintf("; the nearest of this agent is request %d of turn %d, to another question", e.Request, e.Turn)
	if e.Situation == "" {
		return text
	}
	if d := Differ(e.Situation, situation); d != nil {
		return text + ", whose messages differ first in " + d.String()
	}
	return text + " with the same messages: those of the system, the tools or the model's parameters differ"
}
