package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tavernsim/internal/terminal"
	"tavernsim/llm/price"
	"tavernsim/scenes/view/deadletters"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
)

// jsonOf shows a part of a view as JSON in one line; text as it is.
func jsonOf(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case json.RawMessage:
		return string(x)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func number[T int | int64 | uint64](n T) string { return thousands(int64(n)) }

func (x *inspecting) agents([]string) error {
	var all *inspect.AgentList
	head := []string{"agent", "profile", "state", ">turns", ">failures", ">calls", ">inbox", "last active", "next", ">cost"}
	if len(x.run.Manifest.Endpoints)+x.run.Manifest.Answers == 0 { // nothing cost anything
		head = head[:len(head)-1]
	}
	t := terminal.NewTable(x.out, head...)
	err := list(x, t, "no agent is like that", func(limit int, yield func(inspect.AgentLine) error) (err error) {
		all, err = x.scene.Agents(inspect.AgentQuery{Profile: x.o.profile, State: x.o.state, Name: x.o.name, Failed: x.o.failed, Sort: x.o.sort, Limit: limit})
		for i := 0; err == nil && i < len(all.Agents); i++ {
			err = yield(all.Agents[i])
		}
		return err
	}, func(t *terminal.Table, a inspect.AgentLine) {
		row := []string{a.Agent, a.Profile, a.State, number(a.Turns), number(a.Failures), number(a.Calls), number(a.Waiting), x.since(a.Last), x.since(a.Next), a.Price()}
		t.Row(row[:len(head)]...)
	})
	if err == nil && !x.o.json {
		fmt.Fprintf(x.err, "%s of %s agents\n", number(all.Found), number(all.Total))
	}
	return err
}

func (x *inspecting) budgets([]string) error {
	t := terminal.NewTable(x.out, "budget", "window", ">limit", ">used", ">reserved", ">left", ">refused", ">degraded", "exhausted")
	return list(x, t, "the scene has no budget", func(limit int, yield func(inspect.BudgetLine) error) error {
		lines, err := x.scene.Budgets()
		if limit > 0 {
			lines = lines[:min(limit, len(lines))]
		}
		for i := 0; err == nil && i < len(lines); i++ {
			err = yield(lines[i])
		}
		return err
	}, func(t *terminal.Table, b inspect.BudgetLine) {
		name := b.Ledger
		for _, u := range budgetUnits(&b) {
			t.Row(name, strings.ReplaceAll(b.Window, "_", " "), u.limit, u.used, u.reserved, u.left, number(b.Refused), number(b.Degraded), b.OnExhausted)
			name = ""
		}
	})
}

// budgetUnits are the units of a budget that have a limit, in words.
func budgetUnits(b *inspect.BudgetLine) (rows []struct{ limit, used, reserved, left string }) {
	add := func(limit, used, reserved int64, left *int64, text func(int64) string) {
		if limit <= 0 {
			return
		}
		rest := "" // of a budget that other runs share nobody here knows it
		if left != nil {
			rest = text(*left)
		}
		rows = append(rows, struct{ limit, used, reserved, left string }{text(limit), text(used), text(reserved), rest})
	}
	unit := func(name string) func(int64) string { return func(n int64) string { return number(n) + " " + name } }
	add(b.Limit.Tokens, b.Used.Tokens, b.Reserved.Tokens, b.Left.Tokens, unit("tokens"))
	add(b.Limit.Nano, b.Used.Nano, b.Reserved.Nano, b.Left.Nano, price.Dollars)
	add(b.Limit.Calls, b.Used.Calls, b.Reserved.Calls, b.Left.Calls, unit("calls"))
	add(b.Limit.Micro, b.Used.Micro, 0, b.Left.Micro, micros)
	add(b.Limit.Bytes, b.Used.Bytes, 0, b.Left.Bytes, unit("bytes"))
	return rows
}

// micros says a time.
func micros(n int64) string { return (time.Duration(n) * time.Microsecond).String() }

func (x *inspecting) events([]string) error {
	q := inspect.EventQuery{Span: x.span(), Types: x.o.types, Source: x.o.source, Receiver: x.o.receiver, Priority: x.o.priority, Trace: x.o.trace, Refused: x.o.refused}
	t := terminal.NewTable(x.out, "at", "id", "type", "source", ">heard", "", "payload")
	return list(x, t, "no event is like that", func(limit int, yield func(inspect.EventLine) error) error {
		q.Limit = limit
		return x.scene.Events(q, yield)
	}, func(t *terminal.Table, e inspect.EventLine) {
		t.Row(x.since(e.Time), e.ID, e.Type, e.Source, number(e.Delivered), x.eventNote(&e), jsonOf(e.Payload))
	})
}

// eventNote says what is unusual about an event.
func (x *inspecting) eventNote(e *inspect.EventLine) string {
	var notes []string
	if e.Refused != "" {
		notes = append(notes, "refused: "+e.Refused)
	}
	if e.Priority != "normal" {
		notes = append(notes, e.Priority)
	}
	if e.Held > 0 {
		notes = append(notes, number(e.Held)+" held")
	}
	if n := len(e.Marks); n > 0 {
		notes = append(notes, fmt.Sprintf("%d %s", n, e.Marks[0].Reason))
	}
	return strings.Join(notes, " ")
}

func (x *inspecting) facts([]string) error {
	q := inspect.FactQuery{Span: x.span(), Kinds: x.o.kinds, Actor: x.o.actor}
	t := terminal.NewTable(x.out, ">seq", ">wave", "at", "actor", "kind", "data")
	return list(x, t, "no fact is like that", func(limit int, yield func(inspect.FactLine) error) error {
		q.Limit = limit
		return x.scene.Facts(q, yield)
	}, func(t *terminal.Table, f inspect.FactLine) {
		t.Row(strconv.FormatUint(f.Seq, 10), strconv.FormatUint(f.Wave, 10), x.since(f.Time), f.Actor, f.Kind, brieflyObject(f.Data))
	})
}

// brieflyObject shows the members that say something.
func brieflyObject(o factjson.Object) string {
	var parts []string
	for _, m := range o {
		text := jsonOf(m.Value)
		switch text {
		case "", "0", "false", "[]", "0s", "null", "{}":
			continue
		}
		parts = append(parts, m.Name+"="+text)
	}
	return strings.Join(parts, " ")
}

func (x *inspecting) audit([]string) error {
	q := inspect.AuditQuery{Span: x.span(), Path: x.o.path, Agent: x.o.agent, Tool: x.o.tool, What: x.o.what}
	t := terminal.NewTable(x.out, "at", "who", "through", "what", "op", "path", "change")
	return list(x, t, "nothing was changed like that", func(limit int, yield func(inspect.Change) error) error {
		q.Limit = limit
		return x.scene.Audit(q, yield)
	}, func(t *terminal.Table, c inspect.Change) {
		t.Row(x.since(c.Time), who(c.By), through(&c), c.What, c.Op, pathOf(&c), changeText(&c))
	})
}

func who(id string) string { return cmp.Or(id, "$scene") }

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

func pathOf(c *inspect.Change) string {
	switch c.What {
	case inspect.WhatCall, inspect.WhatAsk, inspect.WhatPolicy, inspect.WhatGrant:
		return c.Tool
	case inspect.WhatHook:
		return c.Path // the place is the operation
	}
	return cmp.Or(c.Path, "(all)")
}

// changeText says what a change did: from what to what, and why.
func changeText(c *inspect.Change) string {
	var b strings.Builder
	switch {
	case c.Status == inspect.StatusRefused:
		fmt.Fprintf(&b, "refused %s: %s", c.Code, c.Error)
	case c.What == inspect.WhatCall:
		fmt.Fprintf(&b, "%s %s", c.Status, jsonOf(c.Value))
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
	return b.String() + said(c.Reason, "  (%s)")
}

// differenceText shows the first differences of an object.
func differenceText(list []inspect.Difference) string {
	var parts []string
	for i, d := range list {
		if i == maxShownDifferences {
			parts = append(parts, fmt.Sprintf("… %d more", len(list)-i))
			break
		}
		parts = append(parts, d.Path+": "+fromTo(&d))
	}
	return strings.Join(parts, ", ")
}

const maxShownDifferences = 6

func orNothing(v any) string {
	if v == nil {
		return "nothing"
	}
	return jsonOf(v)
}

func (x *inspecting) letterQuery() inspect.DeadLetterQuery {
	return inspect.DeadLetterQuery{Span: x.span(), Reasons: x.o.reasons, Types: x.o.types, Agent: x.o.agent}
}

func (x *inspecting) deadLetters([]string) error {
	if x.o.again {
		return usageError{fmt.Errorf("--again needs --redeliver")}
	}
	if x.o.group != "" {
		return x.letterGroups()
	}
	q := x.letterQuery()
	t := terminal.NewTable(x.out, "at", ">seq", "reason", "type", "from", "to", "", "payload")
	return list(x, t, "no message was refused like that", func(limit int, yield func(deadletters.Letter) error) error {
		q.Limit = limit
		return x.scene.DeadLetters(q, yield)
	}, func(t *terminal.Table, l deadletters.Letter) {
		t.Row(x.since(l.Time), strconv.FormatUint(l.Seq, 10), l.Reason, l.Type, l.Source, l.Agent, letterNote(&l), letterText(&l))
	})
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

func (x *inspecting) letterGroups() error {
	groups, err := x.scene.GroupDeadLetters(x.letterQuery(), x.o.group)
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, map[string]any{"by": x.o.group, "groups": groups})
	}
	if len(groups) == 0 {
		fmt.Fprintln(x.err, "no message was refused like that")
	}
	t := terminal.NewTable(x.out, x.o.group, ">count", "first", "last", "types", "example")
	for _, g := range groups {
		var types []string
		for _, c := range g.Types {
			types = append(types, fmt.Sprintf("%s %d", c.Name, c.Count))
		}
		t.Row(g.Name, number(g.Count), x.since(g.First), x.since(g.Last), strings.Join(types, ", "), fmt.Sprintf("seq %d of %s: %s", g.Example[0].Seq, g.Example[0].Source, g.Example[0].Detail))
	}
	return t.Flush()
}

// redeliver sends dead letters again.
func (x *inspecting) redeliver() error {
	if x.o.group != "" || x.o.limit >= 0 {
		return usageError{fmt.Errorf("--redeliver takes --reason, --type, --agent, --since, --until and --again")}
	}
	r, err := inspect.Redeliver(x.dir, x.o.scene, x.letterQuery(), x.o.again)
	if err != nil {
		return err
	}
	if x.o.json {
		return writeJSON(x.out, r)
	}
	fmt.Fprintf(x.out, "%s: %s sent again", r.Scene, plural(r.Sent, "message"))
	if r.Wave > 0 {
		fmt.Fprintf(x.out, " in wave %d", r.Wave)
	}
	fmt.Fprintln(x.out)
	if r.Before > 0 {
		fmt.Fprintf(x.err, "%s sent again before: --again does so once more\n", plural(r.Before, "message"))
	}
	if r.Content > 0 {
		fmt.Fprintf(x.err, "of %s the content was not kept\n", plural(r.Content, "message"))
	}
	if r.Sent > 0 {
		fmt.Fprintf(x.err, "resume with: simd run --resume %s\n", x.dir)
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), what)
}
