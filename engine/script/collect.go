package script

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/collab"
	"tavernsim/protocol"
)

// TypeAsked is the event by which agents are asked.
const TypeAsked = "collect.asked"

// open opens a collection and asks its agents.
func (l *looking) open(a *Ask) error {
	asked := l.selects(a.From)
	f := &Opened{Collection: a.ID, State: a.State, Asked: asked, Due: closes(l.in.Now, a.Until.After.Std())}
	if err := l.decide(f); err != nil {
		return err
	}
	question, err := a.question.Eval(l)
	if err != nil {
		return l.decide(&Failed{Where: "collect " + a.ID, Error: protocol.Short(err.Error(), maxText)})
	}
	l.out.Do = append(l.out.Do, Request{"collect " + a.ID, map[string]any{"publish": map[string]any{
		"type": TypeAsked, "to": protocol.ListOf(a.From), "expects_reply": true, "task_id": "collect/" + a.ID + "/" + strconv.FormatUint(l.in.Wave, 10),
		"payload": map[string]any{"collection": a.ID, "event": a.Event, "question": question, "secret": a.Secret},
	}}})
	return nil
}

// selects are the agents that selectors mean, which were checked.
func (m *Machine) selects(list []string) (rs bus.Ranges) {
	selectors, err := cast.ParseAll(list)
	if err != nil {
		return nil
	}
	for _, o := range m.Cast.Members(selectors) {
		if n := len(rs); n > 0 && rs[n-1].From+rs[n-1].Count == o {
			rs[n-1].Count++
		} else {
			rs = append(rs, bus.Range{From: o, Count: 1})
		}
	}
	return rs
}

// Active are the agents that are woken in a state; nil = all.
func (m *Machine) Active(state string) bus.Ranges {
	n := m.States[state]
	if n == nil || len(n.Active) == 0 {
		return nil
	}
	return m.selects(n.Active)
}

// answers takes the answers of the wave into the collections, and closes those that have
// enough.
func (l *looking) answers() error {
	for _, e := range l.in.Events {
		if err := l.answer(e); err != nil {
			return err
		}
	}
	for _, id := range protocol.SortedKeys(l.state.Asked) {
		c := l.state.Asked[id]
		if !c.Open() {
			continue
		}
		if why := l.enough(c); why != "" {
			if err := l.close(c, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer takes an event into the collection of its type that is open, or says why it does
// not count.
func (l *looking) answer(e *bus.Routed) error {
	var found *Collection
	for _, a := range l.byEvent[e.Type] {
		c := l.state.Asked[a.ID]
		if c == nil || found != nil && !c.Open() {
			continue
		}
		if found = c; c.Open() {
			break
		}
	}
	o, known := l.Cast.Ordinal(e.Source)
	if found == nil || !known || !found.Asked.Contains(o) {
		return nil // an event like any other
	}
	ask := l.asks[found.ID]
	refuse := func(code protocol.ErrorKind, format string, args ...any) error {
		return l.decide(&Refused{Collection: found.ID, By: e.Source, Event: e.ID, Code: code, Message: protocol.Short(fmt.Sprintf(format, args...), maxText)})
	}
	if _, twice := found.find(o); twice {
		return refuse(protocol.KindConflict, "you have answered %s; the first answer counts", found.ID)
	}
	if !found.Open() {
		return refuse(protocol.KindTimeout, "%s is closed; the answer came late", found.ID)
	}
	if size := len(e.Body); size > MaxAnswer {
		return refuse(protocol.KindLimit, "%d bytes; an answer has at most %d", size, MaxAnswer)
	}
	if found.Bytes+int64(len(e.Body)) > MaxAnswers {
		return refuse(protocol.KindLimit, "the answers to %s have %d bytes, no more are kept", found.ID, MaxAnswers)
	}
	if ask.check != nil {
		v, err := e.Body.Value()
		if err == nil {
			err = ask.check(v)
		}
		if err != nil {
			return refuse(protocol.KindInvalid, "the answer does not fit the schema: %s", err)
		}
	}
	if ask.if_ != nil {
		l.event = e
		holds := l.truth(ask.if_)
		if l.event = nil; !holds {
			return refuse(protocol.KindInvalid, "the answer does not count, because this does not hold: %s", ask.If)
		}
	}
	return l.decide(&Answered{Collection: found.ID, Agent: o, Event: e.ID, Value: e.Body})
}

// enough says why a collection is closed now; "" = it stays open.
func (l *looking) enough(c *Collection) string {
	until, asked, n := l.asks[c.ID].Until, c.Asked.Len()-l.gone(c), len(c.Answers)
	share := until.Share
	if share == 0 {
		share = 1
	}
	switch {
	case until.Count > 0 && int64(n) >= until.Count:
		return ClosedByCount
	case n >= int(math.Ceil(share*float64(asked)-1e-9)):
		return ClosedByShare
	case c.Due != 0 && l.in.Now >= c.Due:
		return ClosedAfter
	}
	return ""
}

// gone counts those who were asked, did not answer and are away.
func (l *looking) gone(c *Collection) (n int) {
	x, some := l.Cast.(interface{ Away(ordinal uint32) bool })
	if !some {
		return 0
	}
	for o := range c.Asked.All() {
		if _, answered := c.find(o); !answered && x.Away(o) {
			n++
		}
	}
	return n
}

func (l *looking) close(c *Collection, why string) error {
	winner, _, _ := l.result(c)
	return l.decide(&Closed{Collection: c.ID, Why: why, Asked: int64(c.Asked.Len()), Answers: int64(len(c.Answers)), Winner: winner})
}

// result is what the answers came to: who won, the counts, and what a voting or an auction
// says. Its chance comes from the seed of the run, the collection and when it was opened. Who won a
// closed one is in its fact, whatever the seed of a run that was forked behind it.
func (m *Machine) result(c *Collection) (winner string, counts, value map[string]any) {
	ask, counts := m.asks[c.ID], map[string]any{}
	if m.last.of == c && !c.Open() {
		return c.Winner, m.last.counts, m.last.value
	}
	draw := protocol.NewDraw(m.Seed, protocol.HashString("collect/"+c.ID), uint64(c.Opened))
	switch {
	case ask.Auction != nil:
		bids := make([]collab.Bid, len(c.Answers))
		for i, a := range c.Answers {
			bids[i].By = m.Cast.Name(a.Agent)
			bids[i].Value, _ = a.Value.Value() // of a fact, which was read
		}
		sale := ask.Auction.Settle(bids, draw)
		if !c.Open() {
			sale.To(c.Winner)
		}
		winner, value = sale.Winner, sale.Value()
	case ask.Tally != "":
		v := cmp.Or(ask.Voting, &collab.Voting{})
		tally := v.Count(ballots(c, ask.Tally), c.Asked.Len(), draw)
		if !c.Open() {
			tally.Winner = c.Winner
		}
		winner = tally.Winner
		all := tally.Value()
		counts, _ = all["counts"].(map[string]any)
		if ask.Voting != nil {
			value = all
		}
	}
	if !c.Open() {
		m.last.of, m.last.counts, m.last.value = c, counts, value
	}
	return winner, counts, value
}

// ballots are the values at a place of the answers.
func ballots(c *Collection, field string) []any {
	list := make([]any, len(c.Answers))
	for i := range c.Answers {
		v, _ := c.Answers[i].Value.Value()
		for step := range strings.SplitSeq(field, ".") {
			fields, _ := v.(map[string]any)
			v = fields[step]
		}
		list[i] = v
	}
	return list
}

// collected is the root collected. Nobody who is shown it reads a secret that is open.
func (m *Machine) collected(s *State, shown bool) map[string]any {
	all := map[string]any{}
	for id, c := range s.Asked {
		ask := m.asks[id]
		if ask == nil {
			continue
		}
		v := map[string]any{"open": c.Open(), "asked": int64(c.Asked.Len()), "count": int64(len(c.Answers)), "answers": []any{}, "counts": map[string]any{}, "winner": nil, "result": nil}
		if !(shown && ask.Secret && c.Open()) {
			v["answers"] = m.answersOf(c)
			v["counts"], v["result"] = m.standing(c)
		}
		if c.Winner != "" {
			v["winner"] = c.Winner
		}
		all[id] = v
	}
	return all
}

// standing is what may be read of a collection: of a voting and an auction nothing before it
// is closed.
func (m *Machine) standing(c *Collection) (counts map[string]any, result any) {
	if ask := m.asks[c.ID]; c.Open() && (ask.Voting != nil || ask.Auction != nil) {
		return map[string]any{}, nil
	}
	_, counts, value := m.result(c)
	if value != nil {
		result = value
	}
	return counts, result
}

func (m *Machine) answersOf(c *Collection) []any {
	list := make([]any, len(c.Answers))
	for i, a := range c.Answers {
		v, _ := a.Value.Value() // of a fact, which was read
		list[i] = map[string]any{"by": m.Cast.Name(a.Agent), "ordinal": int64(a.Agent), "value": v}
	}
	return list
}

// Secrets are the types of events whose receivers are nobody but the scene, because a
// secret collection is open; nil = none.
func (m *Machine) Secrets(s *State) (types []string) {
	for id, c := range s.Asked {
		if a := m.asks[id]; a != nil && a.Secret && c.Open() {
			types = append(types, a.Event)
		}
	}
	return types
}

// Report is a collection as it may be shown.
type Report struct {
	*Collection
	Secret bool
	Hidden bool // a secret that is open: nothing is shown of its answers but their number
	Counts map[string]any
	Result any   // of a voting or an auction that is closed; nil = none
	Values []any // by ordinal: by, ordinal, value
}

// Report lists the collections that were opened, by id.
func (m *Machine) Report(s *State) (list []Report) {
	for _, id := range protocol.SortedKeys(s.Asked) {
		a, c := m.asks[id], s.Asked[id]
		if a == nil {
			continue
		}
		r := Report{Collection: c, Secret: a.Secret, Hidden: a.Secret && c.Open(), Counts: map[string]any{}, Values: []any{}}
		if !r.Hidden {
			r.Values = m.answersOf(c)
			r.Counts, r.Result = m.standing(c)
		}
		list = append(list, r)
	}
	return list
}
