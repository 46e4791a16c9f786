package motive

import (
	"fmt"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/selfstate"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

type nothing struct{}

func (nothing) Lookup(string) (any, bool) { return nil, false }

// Promises 1 and 3 of an agent without rules.
func TestWithoutRules(t *testing.T) {
	var out outbox.Box
	d := Draft{Most: 1}
	for _, c := range []struct {
		p    tool.Params
		ok   bool
		left int
	}{
		{tool.Params{"id": "eat", "status": "active"}, true, 1},
		{tool.Params{"id": "rest"}, false, 1},
		{tool.Params{"id": "eat", "status": "done"}, false, 1},
		{tool.Params{"id": "eat", "remove": true}, true, 0},
	} {
		facts := len(out.Facts)
		change, err := d.Change(c.p, goal.Self, "", &out)
		if change != nil || (err == nil) != c.ok || (len(out.Facts) > facts) != c.ok || len(d.Goals) != c.left || len(d.Active()) != c.left {
			t.Errorf("%v: %v, %v, %v", c.p, change, err, d.Goals)
		}
	}
}

// Promises 1 to 3 of an agent with rules, which is given a goal, refuses it, and tells its giver.
func TestWithRules(t *testing.T) {
	engine, err := private.NewEngine(nil, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	out := outbox.Box{Agent: "a", Turn: 1}
	own := selfstate.Draft{Engine: engine}
	d := Draft{Most: 2, Rules: &goal.Rules{}, Closing: true}
	note := func(p tool.Params, source, by string) error {
		c, err := d.Change(p, source, by, &out)
		if c == nil {
			return err
		}
		f, _, err := d.Note(c, by, &own, &out)
		folded, more := f.Goal, f.More
		folded.More = &more
		if have, _ := goal.Find(d.Goals, folded.ID); fmt.Sprint(have.Value()) != fmt.Sprint(folded.Value()) {
			t.Errorf("%v, folded %v", have, folded)
		}
		return err
	}
	if err := note(tool.Params{"id": "own", "status": goal.Refused}, goal.Self, ""); protocol.KindOf(err) != protocol.KindInvalid || len(out.Facts) > 0 {
		t.Error("a goal that was not given is refused", err)
	}
	if err := note(tool.Params{"id": "fetch"}, goal.Given, "b"); err != nil || len(d.Active()) != 1 {
		t.Fatal(err)
	}
	for _, c := range d.Settle(nothing{}, &own, &out) {
		if _, _, err := d.Note(&c, "", &own, &out); err != nil {
			t.Error(err)
		}
	}
	if err := note(tool.Params{"id": "fetch", "status": goal.Refused, "why": "busy"}, goal.Self, ""); err != nil || len(out.Requests) > 0 {
		t.Error(err, len(out.Requests))
	}
	d.Answer(&out)
	if last := out.Facts[len(out.Facts)-1].(*agentfact.GoalChanged); len(out.Requests) != 1 || !last.More.Refused || last.Goal.Status != goal.Failed || len(d.Active()) > 0 {
		t.Errorf("%d requests, %+v", len(out.Requests), last)
	}
	if d.Reset(nil, nil); len(d.Goals)+len(d.taken) > 0 || d.Rules == nil || d.Closing {
		t.Errorf("%+v", d)
	}
}
