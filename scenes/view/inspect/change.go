package inspect

import (
	"cmp"
	"strings"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/permit"
	"tavernsim/engine/secret"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/scenes/view/factjson"
)

// What a Change is of.
const (
	WhatWorld     = "world"     // the world document
	WhatCommand   = "command"   // a state command, with its own audit
	WhatPrivate   = "private"   // the private state of an agent
	WhatGoal      = "goal"      // a goal of an agent
	WhatKnowledge = "knowledge" // an entry of a knowledge base
	WhatCall      = "call"      // a call of a tool or skill
	WhatAsk       = "ask"       // a question whether a call may be made, and its answer
	WhatPolicy    = "policy"    // what a rule made of a call
	WhatGrant     = "grant"     // what the operator granted a tool of the run
	WhatHook      = "hook"      // what hooks of plugins answered
	WhatTask      = "task"      // what became of a task of a tool
	WhatEdit      = "edit"      // of a file, by a call of the tool edit
)

// Change is one line of the view "audit": who changed what, from what to what,
// why, and through which call.
type Change struct {
	Seq     uint64 `json:"seq"` // of the fact
	Wave    uint64 `json:"wave"`
	Time    string `json:"time"`
	What    string `json:"what"`           // one of audit.Whats
	By      string `json:"by"`             // instance id; "" = the scene
	Of      string `json:"of,omitempty"`   // agent whose private state or goal it is, if By ordered it
	Turn    uint64 `json:"turn,omitempty"` // deliberation of Of, else of By, where it is known
	Through string `json:"through"`        // id of the call or request, or of the event that ordered it
	Tool    string `json:"tool,omitempty"` // of a call
	Op      string `json:"op"`             // of a call its origin, of a hook its place
	Path    string `json:"path"`
	Before  any    `json:"before"`
	After   any    `json:"after"`
	Value   any    `json:"value"` // the operand: what was asked for
	// What became another in an object; before and after hold it whole.
	Differences []Difference `json:"differences,omitempty"`
	Status      string       `json:"status"`           // applied, refused, or a call's own
	Code        string       `json:"code,omitempty"`   // of a refusal
	Reason      string       `json:"reason,omitempty"` // that was given
	Tags        []string     `json:"tags,omitempty"`   // of a state command
	Error       string       `json:"error,omitempty"`
	Took        string       `json:"took,omitempty"`          // of a call or task that left the process
	Result      string       `json:"result_sha256,omitempty"` // of its status, output, error and artifacts

	At world.Path `json:"-"` // within the document that changed; nil: it is of no document
}

// Statuses of a Change that are not a call's.
const (
	StatusApplied = "applied"
	StatusRefused = "refused"
	StatusAsked   = "asked"
	StatusAllowed = "allowed"
	StatusDenied  = "denied"
)

func worldChange(r protocol.Record, wave uint64, c *world.Change) Change {
	return Change{
		Seq: r.Seq, Wave: wave, Time: r.Time.String(), What: WhatWorld, By: c.By, Turn: turnOf(c.Request), Through: c.Request,
		Op: string(c.Op), Path: c.Path.String(), Value: factjson.At(c.Path.String(), factjson.Value(c.Value)), Status: StatusApplied, Reason: secret.Text(c.Reason), At: c.Path,
	}
}

// Changes are what a fact says about changes, without the values before and
// after them, which only a fold knows.
func Changes(r protocol.Record, wave uint64, f protocol.Fact) []Change {
	base := Change{Seq: r.Seq, Wave: wave, Time: r.Time.String(), Status: StatusApplied}
	switch x := f.(type) {
	case *world.Committed:
		var list []Change
		for i := range x.Changes {
			list = append(list, worldChange(r, wave, &x.Changes[i]))
		}
		return list
	case *world.Refused:
		base.What, base.By, base.Through, base.Op, base.Path = WhatWorld, x.By, x.Request, string(x.Op), x.Path.String()
		base.Status, base.Code, base.Error, base.Turn, base.At = StatusRefused, string(x.Code), secret.Text(x.Message), turnOf(x.Request), x.Path
		return []Change{base}
	case *statecmd.Committed:
		return commandChanges(base, x)
	case *agentfact.StateUpdated:
		base.What, base.By, base.Op, base.Path, base.Value = WhatPrivate, r.Actor, x.Op, x.Path, factjson.At(x.Path, factjson.Value(x.Value))
		base.At = pathIn(x.Path)
		return []Change{base}
	case *agentfact.GoalsUpdated:
		base.What, base.By, base.Op, base.Path, base.After = WhatGoal, r.Actor, "set", x.Goal.ID, factjson.Goal(x.Goal, nil)
		if x.Removed {
			base.Op, base.After = "delete", nil
		}
		return []Change{base}
	case *agentfact.GoalChanged:
		g := x.Goal
		g.More = &x.More
		base.What, base.By, base.Op, base.Path, base.After = WhatGoal, r.Actor, string(x.Cause), x.Goal.ID, factjson.Goal(g, nil)
		return []Change{base}
	case *agentfact.CallMade:
		base.What, base.By, base.Through, base.Turn, base.Tool = WhatCall, r.Actor, x.ID, turnOf(x.ID), x.Tool
		base.Op, base.Status, base.Error, base.Value, base.After = string(x.Origin), string(x.Status), secret.Text(x.Error), factjson.Value(x.Params), factjson.Value(x.Output)
		return []Change{base}
	case *agentfact.CallAsked:
		base.What, base.Status, base.Value = WhatAsk, StatusAsked, factjson.Value(x.Params)
		return []Change{base.judged(r, x.ID, x.Tool, x.Rule, x.Reason)}
	case *agentfact.HookAnswered:
		base.What, base.By, base.Op, base.Path, base.Value = WhatHook, r.Actor, x.Place, x.Subject, factjson.Value(x.Output)
		base.Error, base.Reason = secret.Text(x.Error), secret.Text(x.Veto)
		if base.Status = StatusAllowed; x.Veto != "" {
			base.Status = StatusDenied
		}
		return []Change{base}
	case *agentfact.CallJudged:
		if base.What, base.Op, base.Status = WhatAsk, x.By, StatusDenied; x.By == permit.ByPolicy {
			base.What = WhatPolicy
		}
		if x.Allowed {
			base.Status = StatusAllowed
		}
		return []Change{base.judged(r, x.ID, x.Tool, x.Rule, x.Reason)}
	}
	return knowledgeChanges(base, f)
}

// judged is a change that is none: what a rule says about a call. Its path is the id of the
// rule.
func (c Change) judged(r protocol.Record, call, tool, rule, reason string) Change {
	c.By, c.Through, c.Turn, c.Tool, c.Path, c.Reason = r.Actor, call, turnOf(call), tool, rule, secret.Text(reason)
	return c
}

func knowledgeChanges(base Change, f protocol.Fact) []Change {
	base.What = WhatKnowledge
	switch x := f.(type) {
	case *knowledge.Written:
		base.By, base.Through, base.Op, base.Path, base.After = x.By, x.Request, string(x.Op), x.KB+"/"+x.EntryID, factjson.Value(x.Entry)
	case *knowledge.Suggested:
		base.By, base.Through, base.Op, base.Path, base.Value = x.By, x.Request, "suggest "+string(x.Op), x.KB, factjson.Value(x.Entry)
	case *knowledge.Reviewed:
		base.By, base.Through, base.Op, base.Path, base.Value = x.By, x.Request, "review", x.KB, x.Accepted
	case *knowledge.Refused:
		base.By, base.Through, base.Path, base.Status = x.By, x.Request, x.KB, StatusRefused
		base.Code, base.Error = string(x.Reason), secret.Text(x.Message)
	default:
		return nil
	}
	base.Turn = turnOf(base.Through)
	return []Change{base}
}

// pathIn is a path of a document; "" is all of it.
func pathIn(text string) world.Path {
	p, err := world.ParsePath(text)
	if err != nil {
		return world.Path{}
	}
	return p
}

// commandChanges are the records of a batch's own audit. They hold what was
// before and after, with secrets hidden when they were written.
func commandChanges(base Change, f *statecmd.Committed) (list []Change) {
	for i := range f.Audit {
		a, c := &f.Audit[i], base
		c.What, c.By, c.Through, c.Turn = WhatCommand, cmp.Or(f.By, a.Actor), f.BatchName(), turnOf(f.BatchName())
		c.Op, c.Path, c.Before, c.After = string(a.Action), a.Key, factjson.Value(a.Before), factjson.Value(a.After)
		c.Status, c.Code, c.Value = string(a.Status), string(a.Code), factjson.Value(a.Options)
		c.At = pathIn(strings.TrimPrefix(strings.TrimPrefix(a.Key, "world."), "self."))
		if options, err := a.Options.Value(); err == nil {
			if m, ok := options.(map[string]any); ok {
				reason, _ := m["reason"].(string)
				c.Reason, c.Tags = secret.Text(reason), tags(m["tags"])
			}
		}
		list = append(list, c)
	}
	return list
}

// tags are those of the options of a state command: a text or a list of texts.
func tags(given any) (list []string) {
	one, many := given.([]any)
	if !many {
		one = []any{given}
	}
	for _, tag := range one {
		if text, ok := tag.(string); ok {
			list = append(list, secret.Text(text))
		}
	}
	return list
}
