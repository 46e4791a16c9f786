package show

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tavernsim/engine/secret"
	"tavernsim/internal/terminal"
	"tavernsim/llm/price"
	"tavernsim/scenes/view/artifacts"
	"tavernsim/scenes/view/deadletters"
	"tavernsim/scenes/view/inspect"
	"tavernsim/scenes/view/trips"
)

// Agents are agents with what they did. priced: their answers can cost something.
func (s *Scene) Agents(priced bool) List[inspect.AgentLine] {
	head := []string{"agent", "profile", "state", ">turns", ">failures", ">calls", ">inbox", "last", "next", ">cost"}
	if !priced {
		head = head[:len(head)-1]
	}
	return List[inspect.AgentLine]{"no agent is like that", head, func(t *terminal.Table, a inspect.AgentLine) {
		inbox := ""
		if a.Waiting != nil {
			inbox = terminal.Thousands(*a.Waiting)
		}
		row := []string{a.Agent, a.Profile, a.State, terminal.Thousands(a.Turns), terminal.Thousands(a.Failures), terminal.Thousands(a.Calls), inbox, s.since(a.Last), s.since(a.Next), a.Price()}
		t.Row(row[:len(head)]...)
	}}
}

// Budgets are what models may take, a line for each unit.
func (s *Scene) Budgets() List[inspect.BudgetLine] {
	return List[inspect.BudgetLine]{"the scene has no budget", []string{"budget", "window", ">limit", ">used", ">reserved", ">left", ">refused", ">degraded", "exhausted"}, func(t *terminal.Table, b inspect.BudgetLine) {
		name := b.Ledger
		for _, u := range budgetUnits(&b, terminal.Is(s.Out)) {
			t.Row(name, strings.ReplaceAll(b.Window, "_", " "), u.limit, u.used, u.reserved, u.left, terminal.Thousands(b.Refused), terminal.Thousands(b.Degraded), b.OnExhausted)
			name = ""
		}
	}}
}

// Orders are what somebody outside ordered. As JSON they are a file of orders, with the secrets
// in them.
func (s *Scene) Orders() List[inspect.OrderLine] {
	return List[inspect.OrderLine]{"nobody outside ordered anything", []string{"at", ">wave", "order", "by", "changes", "reason", "refused"}, func(t *terminal.Table, o inspect.OrderLine) {
		t.Row(s.since(o.Time()), terminal.Thousands(o.Wave), o.ID, o.By, o.Kinds(), secret.Text(o.Reason), secret.Text(o.Refused))
	}}
}

// Trips are who left for other scenes and who came from them.
func (s *Scene) Trips() List[trips.Trip] {
	return List[trips.Trip]{"nobody left for another scene or came from one", []string{"at", "agent", "from", "to", ">ticket", "became", "heard", ">turns", "by", "why"}, func(t *terminal.Table, trip trips.Trip) {
		why, heard, turns := cmp.Or(trip.Error, trip.Reason), "", terminal.Thousands(trip.Turns)
		if trip.State == trips.TurnedAway {
			turns = ""
		}
		if trip.Closed != "" {
			heard = s.since(trip.Closed)
		}
		t.Row(s.since(trip.Time), trip.Agent, trip.From, trip.To, terminal.Thousands(trip.Number), strings.ReplaceAll(trip.State, "_", " "), heard, turns, trip.By, why)
	}}
}

// Artifacts are files that calls left.
func (s *Scene) Artifacts() List[artifacts.Line] {
	return List[artifacts.Line]{"no call left an artifact", []string{"at", "agent", "tool", "name", "type", ">bytes", "artifact"}, func(t *terminal.Table, a artifacts.Line) {
		uri := a.URI
		if !a.There {
			uri += " (not there)"
		}
		t.Row(s.since(a.Time), a.Agent, a.Tool, a.Name, a.Type, terminal.Thousands(a.Size), uri)
	}}
}

// budgetUnits are the units of a budget that have a limit, in words. narrow: only the limit says what is counted.
func budgetUnits(b *inspect.BudgetLine, narrow bool) (rows []struct{ limit, used, reserved, left string }) {
	add := func(limit, used, reserved int64, left *int64, text func(int64) string, unit string) {
		if limit <= 0 {
			return
		}
		most := text(limit) + unit
		if whole := text; !narrow {
			text = func(n int64) string { return whole(n) + unit }
		}
		rest := "" // of a budget that other runs share nobody here knows it
		if left != nil {
			rest = text(*left)
		}
		rows = append(rows, struct{ limit, used, reserved, left string }{most, text(used), text(reserved), rest})
	}
	add(b.Limit.Tokens, b.Used.Tokens, b.Reserved.Tokens, b.Left.Tokens, terminal.Thousands[int64], " tokens")
	add(b.Limit.Nano, b.Used.Nano, b.Reserved.Nano, b.Left.Nano, price.Dollars, "")
	add(b.Limit.Calls, b.Used.Calls, b.Reserved.Calls, b.Left.Calls, terminal.Thousands[int64], " calls")
	add(b.Limit.Micro, b.Used.Micro, 0, b.Left.Micro, micros, "")
	add(b.Limit.Bytes, b.Used.Bytes, 0, b.Left.Bytes, terminal.Thousands[int64], " bytes")
	return rows
}

// micros says a time.
func micros(n int64) string { return (time.Duration(n) * time.Microsecond).String() }

// Events are events with their fate.
func (s *Scene) Events() List[inspect.EventLine] {
	return List[inspect.EventLine]{"no event is like that", []string{"at", "id", "type", "source", ">heard", "", "payload"}, func(t *terminal.Table, e inspect.EventLine) {
		t.Row(s.since(e.Time), e.ID, e.Type, e.Source, terminal.Thousands(e.Delivered), eventNote(&e), jsonOf(e.Payload))
	}}
}

// eventNote says what is unusual about an event.
func eventNote(e *inspect.EventLine) string {
	var notes []string
	if e.Refused != "" {
		notes = append(notes, "refused: "+e.Refused)
	}
	if e.Priority != "normal" {
		notes = append(notes, e.Priority)
	}
	if e.Held > 0 {
		notes = append(notes, terminal.Thousands(e.Held)+" held")
	}
	if n := len(e.Marks); n > 0 {
		notes = append(notes, fmt.Sprintf("%d %s", n, e.Marks[0].Reason))
	}
	return strings.Join(notes, " ")
}

// Facts are facts, decoded.
func (s *Scene) Facts() List[inspect.FactLine] {
	return List[inspect.FactLine]{"no fact is like that", []string{">seq", ">wave", "at", "actor", "kind", "data"}, func(t *terminal.Table, f inspect.FactLine) {
		t.Row(strconv.FormatUint(f.Seq, 10), strconv.FormatUint(f.Wave, 10), s.since(f.Time), f.Actor, f.Kind, brieflyObject(f.Data))
	}}
}

// Audit are changes of values.
func (s *Scene) Audit() List[inspect.Change] {
	return List[inspect.Change]{"nothing was changed like that", []string{"at", "who", "through", "what", "op", "path", "change"}, func(t *terminal.Table, c inspect.Change) {
		t.Row(s.since(c.Time), who(c.By), through(&c), c.What, c.Op, pathOf(&c), changeText(&c))
	}}
}

// through is the deliberation, with the call where it is known.
func through(c *inspect.Change) string {
	if c.Through != "" {
		if i := strings.LastIndexByte(c.Through, '/'); i >= 0 {
			return c.Through[i+1:]
		}
		return c.Through
	}
	if c.Turn > 0 {
		return strconv.FormatUint(c.Turn, 10)
	}
	return ""
}

// changeText says what a change did: from what to what, and why.
func changeText(c *inspect.Change) string {
	var b strings.Builder
	switch {
	case c.Status == inspect.StatusRefused:
		fmt.Fprintf(&b, "refused %s: %s", c.Code, c.Error)
	case c.What == inspect.WhatCall || c.What == inspect.WhatTask:
		b.WriteString(strings.TrimSpace(c.Status + " " + jsonOf(c.Value)))
		if out := jsonOf(c.After); out != "" {
			b.WriteString(" -> " + out)
		}
	case c.What == inspect.WhatAsk || c.What == inspect.WhatPolicy || c.What == inspect.WhatGrant:
		b.WriteString(strings.TrimSpace(c.Status + " " + said(c.Path, "by the rule %s ") + jsonOf(c.Value)))
	case c.What == inspect.WhatHook:
		b.WriteString(c.Status + " " + jsonOf(c.Value))
	case len(c.Differences) > 0:
		b.WriteString(differenceText(c.Differences))
	default:
		fmt.Fprintf(&b, "%s -> %s", orNothing(c.Before), orNothing(c.After))
		if c.Status != inspect.StatusApplied {
			fmt.Fprintf(&b, "  %s %s", c.Status, c.Code)
		}
	}
	if c.Error != "" && c.Status != inspect.StatusRefused {
		b.WriteString("  " + c.Error)
	}
	return b.String() + said(c.Reason, "  (%s)") + said(c.Took, "  in %s") + said(c.Result[:min(8, len(c.Result))], "  sha256 %s")
}

// DeadLetters are refused messages.
func (s *Scene) DeadLetters() List[deadletters.Letter] {
	return List[deadletters.Letter]{"no message was refused like that", []string{"at", ">seq", "reason", "type", "from", "to", "", "payload"}, func(t *terminal.Table, l deadletters.Letter) {
		t.Row(s.since(l.Time), strconv.FormatUint(l.Seq, 10), l.Reason, l.Type, l.Source, l.Agent, letterNote(&l), letterText(&l))
	}}
}

func letterNote(l *deadletters.Letter) string {
	switch {
	case l.Redelivered:
		return "sent again"
	case !l.Sendable:
		return "not kept"
	}
	return ""
}

// letterText is the payload, and what led to it.
func letterText(l *deadletters.Letter) string {
	text := jsonOf(l.Payload)
	if l.Count > 1 {
		text = fmt.Sprintf("%d messages that are counted only", l.Count)
	}
	if n := len(l.Chain); n > 0 {
		text += fmt.Sprintf("  after %d: %s", n, strings.Join(l.Chain, " > "))
	}
	return text
}

// LetterGroups counts dead letters by reason, type or source.
func (s *Scene) LetterGroups(by string, groups []inspect.LetterGroup) error {
	if s.JSON {
		return JSON(s.Out, map[string]any{"by": by, "groups": groups})
	}
	if len(groups) == 0 {
		fmt.Fprintln(s.Err, "no message was refused like that")
	}
	t := terminal.NewTable(s.Out, by, ">count", "first", "last", "types", "example")
	for _, g := range groups {
		var types []string
		for _, c := range g.Types {
			types = append(types, fmt.Sprintf("%s %d", c.Name, c.Count))
		}
		t.Row(g.Name, terminal.Thousands(g.Count), s.since(g.First), s.since(g.Last), strings.Join(types, ", "), fmt.Sprintf("seq %d of %s: %s", g.Example[0].Seq, g.Example[0].Source, g.Example[0].Detail))
	}
	return t.Flush()
}

// Redelivery writes how many dead letters were sent again.
func (s *Scene) Redelivery(r *inspect.Redelivery) error {
	if s.JSON {
		return JSON(s.Out, r)
	}
	wave := ""
	if r.Wave > 0 {
		wave = fmt.Sprintf(" in wave %d", r.Wave)
	}
	fmt.Fprintf(s.Out, "%s: %s sent again%s\n", r.Scene, terminal.Plural(r.Sent, "message"), wave)
	if r.Before > 0 {
		fmt.Fprintf(s.Err, "%s sent again before: --again does so once more\n", terminal.Plural(r.Before, "message"))
	}
	if r.Content > 0 {
		fmt.Fprintf(s.Err, "of %s the content was not kept\n", terminal.Plural(r.Content, "message"))
	}
	if r.Sent > 0 {
		fmt.Fprintf(s.Err, "resume with: simd run --resume %s\n", s.Dir)
	}
	return nil
}
