package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tavernsim/internal/terminal"
	"tavernsim/llm/price"
	"tavernsim/protocol"
	"tavernsim/scenes/view/inspect"
)

// Deliberation writes one turn. against is where its questions were compared.
func (s *Scene) Deliberation(d *inspect.Deliberation, against string) error {
	return s.page(d, func(p *page) { p.deliberation(d, against) })
}

func (p *page) deliberation(d *inspect.Deliberation, against string) {
	p.title("%s/%d", d.Agent, d.Turn)
	p.row("profile", "%s", d.Profile)
	p.row("woken", "at %s in wave %d, world version %d", p.since(d.Time), d.Wave, d.Perceived.WorldVersion)
	p.row("outcome", "%s%s", p.outcome(d.Outcome), p.dim(terminal.OneLine(d.Error), "  %s"))
	p.row("facts", "%d to %d", d.First, d.Last)
	if d.Timing.Elapsed != "0s" {
		p.row("latency", "%s; effects at %s", d.Timing.Elapsed, p.since(d.Timing.EffectsAt))
	}
	if d.Timing.SleptTo != "" || d.Timing.Asleep {
		p.row("then sleeps", "%s", strings.TrimSpace("until "+p.since(d.Timing.SleptTo)))
	}
	p.turnPerceived(d)
	p.turnDid(d, against)
}

func (p *page) turnPerceived(d *inspect.Deliberation) {
	fmt.Fprintf(p, "\n%s\n", p.paint.Bold(fmt.Sprintf("PERCEIVED  %s", terminal.Plural(len(d.Perceived.Events), "event"))))
	for _, e := range d.Perceived.Events {
		p.inboxLine(e)
	}
	if n := d.Perceived.Count - int64(len(d.Perceived.Events)); n > 0 {
		fmt.Fprintf(p, "  and %d that came while it was being woken\n", n)
	}
	for _, o := range d.Perceived.Observations {
		p.observationLine(o)
	}
	for _, g := range d.Perceived.Goals {
		fmt.Fprintf(p, "  goal        %s %s  %s\n", jsonOf(g.Get("id")), jsonOf(g.Get("status")), p.paint.Dim(terminal.OneLine(jsonOf(g.Get("description")))))
		for _, name := range []string{"parent", "preconditions", "completion_criteria", "failure_criteria", "rewards", "penalties"} {
			if v := g.Get(name); v != nil {
				fmt.Fprintf(p, "              %s\n", p.paint.Dim(name+" "+terminal.Cut(terminal.OneLine(jsonOf(v)), 400)))
			}
		}
	}
	fmt.Fprintf(p, "  private     %s\n", terminal.Cut(jsonOf(d.Perceived.Private), 400))
}

func (p *page) turnDid(d *inspect.Deliberation, against string) {
	if p.section("KNOWLEDGE", len(d.Knowledge)) {
		for _, k := range d.Knowledge {
			mark, purpose := " ", ""
			if k.In {
				mark = "+"
			}
			if k.Purpose != string(protocol.PurposeDeliberate) {
				purpose = "  for " + k.Purpose
			}
			fmt.Fprintf(p, "  %s %s/%s  %s\n", mark, k.KB, k.Entry, p.paint.Dim(terminal.OneLine(k.Why)+purpose))
		}
	}
	if p.section("MODEL", len(d.Models)) {
		if d.Differs != "" {
			fmt.Fprintf(p, "  %s\n", p.paint.Yellow("decided again it is another turn, so these may not be the questions: "+d.Differs))
		}
		for _, m := range d.Models {
			cost := ""
			if m.Cost != nil {
				cost = ", " + price.Dollars(*m.Cost)
			}
			fmt.Fprintf(p, "  %s%s  %d tokens in%s, %d out, %s%s%s\n", cmp.Or(m.Model, "the default model"), said(m.Endpoint, " at %s"), m.Input, note(m.Cached, "(%d cached)"), m.Output, m.Latency, cost, p.dim(m.Error, "  %s"))
			if c := jsonOf(m.Served); m.Served != nil {
				fmt.Fprintf(p, "    chosen %s\n", c)
			}
			p.question(m.Question, m.Error != "")
			p.against(against, m.Against)
			if m.Thought != "" {
				fmt.Fprintf(p, "    %s\n", p.paint.Dim("reasoning: "+terminal.Cut(terminal.OneLine(m.Thought), maxThought)))
			}
			if m.Text != "" {
				fmt.Fprintf(p, "    %s\n", p.paint.Cyan(strings.ReplaceAll(strings.TrimSpace(m.Text), "\n", "\n    ")))
			}
			if c := jsonOf(m.Calls); c != "" {
				fmt.Fprintf(p, "    calls %s\n", c)
			}
			if why := finishNote(m.Finish); why != "" {
				fmt.Fprintf(p, "    %s\n", p.paint.Yellow(why))
			}
		}
	}
	if p.section("CALLS", len(d.Calls)) {
		for _, c := range d.Calls {
			fmt.Fprintf(p, "  %-6s %s  %s%s%s%s\n", c.ID, c.Tool, p.status(c.Status), p.dim(jsonOf(c.Params), "  %s"), p.dim(jsonOf(c.Output), " -> %s"), p.dim(terminal.OneLine(c.Error), "  %s"))
		}
	}
	if p.section("SAID", len(d.Said)) {
		for _, s := range d.Said {
			fmt.Fprintf(p, "  %s\n", strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  "))
		}
	}
	if p.section("CHANGED IN ITSELF", len(d.Changes)) {
		for _, c := range d.Changes {
			value := c.Value
			if value == nil {
				value = c.After
			}
			fmt.Fprintf(p, "  %s %s %s  %s\n", c.What, c.Op, pathOf(&c), terminal.Cut(terminal.OneLine(jsonOf(value)), 160))
		}
	}
	if p.section("EFFECTS", len(d.Effects)) {
		for _, e := range d.Effects {
			p.effectLine("  ", e)
		}
	}
	if p.section("OTHER FACTS", len(d.Other)) {
		for _, f := range d.Other {
			fmt.Fprintf(p, "  %s  %s\n", f.Kind, brieflyObject(f.Data))
		}
	}
}

// maxThought bounds the reasoning of an answer, in characters; --json has all.
const maxThought = 300

// finishNote says why an answer is not whole; "" = it is.
func finishNote(finish string) string {
	switch protocol.FinishReason(finish) {
	case "", protocol.FinishStop, protocol.FinishToolCalls:
		return ""
	case protocol.FinishLength:
		return "finish length: the answer was cut at max_tokens"
	case protocol.FinishFiltered:
		return "finish filtered: the server or the model refused the answer"
	}
	return "finish " + finish
}

// question shows what a model was asked; failed = it gave no answer.
func (p *page) question(q *inspect.Question, failed bool) {
	if q == nil {
		fmt.Fprintf(p, "    %s\n", p.paint.Dim("its question is not known"))
		return
	}
	for _, m := range q.Messages {
		text := strings.TrimSpace(m.Text)
		if c := jsonOf(m.Calls); c != "" {
			text = strings.TrimSpace(text + "\ncalls " + c)
		}
		if i := jsonOf(m.Images); i != "" {
			text = strings.TrimSpace(text + "\nimages " + i)
		}
		fmt.Fprintf(p, "    %s %s\n", p.paint.Bold(m.Role+strings.TrimRight(" "+m.CallID, " ")+":"), p.paint.Dim(strings.ReplaceAll(text, "\n", "\n      ")))
	}
	if len(q.Tools) > 0 {
		names := make([]string, len(q.Tools))
		for i, t := range q.Tools {
			names[i] = t.Name
		}
		fmt.Fprintf(p, "    tools: %s\n", strings.Join(names, ", "))
	}
	fmt.Fprintln(p, p.folded(4, p.paint.Dim(fmt.Sprintf("    about %d tokens%s; %s", q.Tokens, promptNote(q.Prompt), hashNote(q, failed)))))
	fmt.Fprintf(p, "    answer:\n")
}

// against says where the nearest question of another run differs.
func (p *page) against(from string, a *inspect.Against) {
	if a == nil {
		return
	}
	fmt.Fprintf(p, "    against %s%s: %s\n", from, note(a.Turn, fmt.Sprintf("turn %%d, request %d", a.Request)), cmp.Or(a.Differs, "no difference"))
	if a.Line > 0 {
		fmt.Fprintf(p, "      line %d, character %d\n      recorded %s\n      asked    %s\n", a.Line, a.Character, p.paint.Red(a.Recorded), p.paint.Green(a.Asked))
	}
}

// Missed writes where the first question without a recorded answer differs from the
// nearest one that has one, in from.
func Missed(w io.Writer, turn, from string, a *inspect.Against) error {
	return write(w, nil, func(p *page) {
		fmt.Fprintf(p, "no answer is recorded to a question of %s\n", turn)
		p.against(from, a)
	})
}

// hashNote says whether this is what was asked.
func hashNote(q *inspect.Question, failed bool) string {
	switch {
	case q.Recorded == "" && failed:
		return "the request failed and its fact names no question: there is no hash to check"
	case q.Recorded == "":
		return "a model inside the program answered: there is no hash to check"
	case q.Model != "":
		return "the hash of the question to " + strings.Join(append([]string{q.Model}, q.Or...), " or ") + " is the recorded one"
	}
	return "NO MODEL OF THE PROJECT HAS A QUESTION WITH THE RECORDED HASH " + q.Recorded
}

// promptNote says what a prompt left out.
func promptNote(trace any) string {
	raw, _ := trace.(json.RawMessage)
	var t struct {
		Room  int64 `json:"room"`
		Units []struct{ Section, Unit, Dropped string }
	}
	if json.Unmarshal(raw, &t) != nil || t.Room == 0 {
		return ""
	}
	var out []string
	for _, u := range t.Units {
		if u.Dropped != "" {
			out = append(out, fmt.Sprintf("%s %q (%s)", u.Section, u.Unit, u.Dropped))
		}
	}
	note := fmt.Sprintf(" of %d, %s", t.Room, terminal.Plural(len(t.Units), "unit"))
	if len(out) > 0 {
		note += fmt.Sprintf(", %d left out: %s", len(out), strings.Join(out, ", "))
	}
	return note
}
