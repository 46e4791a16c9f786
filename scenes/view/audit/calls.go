package audit

import (
	"encoding/json"
	"slices"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/secret"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/view/artifacts"
	"tavernsim/scenes/view/factjson"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools/audit"
	"tavernsim/tools/manifest"
	"tavernsim/tools/plugin"
)

// Whats lists what an audit is of.
func Whats() []string {
	return append([]string{inspect.WhatWorld, inspect.WhatCommand, inspect.WhatPrivate, inspect.WhatGoal, inspect.WhatKnowledge}, ofTools()...)
}

// ofTools are those that are about calls of tools.
func ofTools() []string {
	return []string{inspect.WhatCall, inspect.WhatAsk, inspect.WhatPolicy, inspect.WhatGrant, inspect.WhatHook, inspect.WhatTask, inspect.WhatEdit}
}

func ofTool(what string) bool { return slices.Contains(ofTools(), what) }

func callFacts() []string {
	return []string{agentfact.FactCallAnswered, agentfact.FactCallMade, agentfact.FactCallAsked, agentfact.FactCallJudged, agentfact.FactHookAnswered}
}

func taskFacts() []string {
	return []string{tooltask.FactOpened, tooltask.FactSent, tooltask.FactReported, tooltask.FactEnded, tooltask.FactCancelled}
}

// calls is what facts before say about calls.
type calls struct {
	answers map[string]*answer        // by agent: to the call whose fact comes next
	tasks   map[string]*tooltask.Task // that are open, by id
}

// answer is one of an executor.
type answer struct {
	base inspect.Change
	fact *agentfact.CallAnswered
}

// changes are those of facts about what left the process.
func (k *calls) changes(base inspect.Change, actor string, f protocol.Fact, list []inspect.Change) []inspect.Change {
	switch x := f.(type) {
	case *agentfact.CallAnswered:
		if x.Kind != effect.KindApproval {
			k.answers[actor] = &answer{base, x}
		}
	case *agentfact.CallMade:
		a := k.answers[actor]
		if delete(k.answers, actor); a != nil {
			took(&list[0], a.fact.Latency, a.fact.Artifacts)
			hooked := ofHooks(a.base, &list[0], list[0].Value, a.fact.Hooks)
			return slices.Concat(hooked, a.edits(&list[0]), list)
		}
	case tooltask.Fact:
		return k.task(base, x)
	}
	return list
}

// took says how long a call took, and what came of it.
func took(c *inspect.Change, latency time.Duration, left []tool.Artifact) {
	ids := make([]string, len(left))
	for i := range left {
		ids[i] = left[i].ID
	}
	b, _ := json.Marshal([]any{c.Status, c.After, c.Error, ids}) // texts, and what is JSON already
	c.Took, c.Result = latency.String(), audit.Hash(b)
}

// ofHooks are what hooks did to a call with those parameters, one for each that changed, forbade or failed. Of those of a place
// the last one that changed something has what was there before all of them, and what they made of it.
func ofHooks(base inspect.Change, call *inspect.Change, params any, raw protocol.Raw) (list []inspect.Change) {
	did := hook.ReadOfCall(raw)
	add := func(place string, steps []hook.Step, before, after any) {
		last := -1
		for _, s := range steps {
			c := base
			c.What, c.By, c.Turn, c.Through, c.Tool, c.Op, c.Path = inspect.WhatHook, call.By, call.Turn, call.Through, call.Tool, place, s.Plugin
			switch s.Did {
			case hook.Changed:
				last = len(list)
			case hook.Forbade:
				c.Status, c.Reason = inspect.StatusDenied, secret.Text(s.Why)
			default:
				c.Status, c.Error = "error", secret.Text(s.Why)
			}
			list = append(list, c)
		}
		if last >= 0 {
			list[last].Before, list[last].After = before, after
		}
	}
	add(plugin.BeforeCall, did.Before, params, factjson.JSON(did.Params))
	add(plugin.AfterCall, did.After, factjson.JSON(did.Output), call.After)
	return list
}

// hooked is what hooks did to a call that was a task, and has ended.
func (k *calls) hooked(base, end inspect.Change, f *tooltask.Ended) []inspect.Change {
	var asked any
	if t := k.tasks[f.ID]; t != nil {
		params, err := t.Params.Value()
		m, ok := params.(map[string]any)
		if uris, _ := t.References(); err == nil && ok {
			for name, uri := range uris {
				m[name] = uri
			}
		}
		asked, end.Turn = factjson.JSON(params), t.Turn
	}
	delete(k.tasks, f.ID)
	return ofHooks(base, &end, asked, f.Hooks)
}

// edits are the changes of files by a call.
func (a *answer) edits(call *inspect.Change) (list []inspect.Change) {
	if call.Tool != manifest.Edit {
		return nil
	}
	for _, e := range artifacts.Edits(a.fact.Artifacts) {
		c := a.base
		c.What, c.By, c.Turn, c.Through, c.Tool = inspect.WhatEdit, call.By, call.Turn, call.Through, call.Tool
		if c.Op, c.Path, c.After = "make", e.File, factjson.JSON(e.After); e.Before != "" {
			c.Op, c.Before = "change", factjson.JSON(e.Before)
		}
		list = append(list, c)
	}
	return list
}

// task is what became of a task.
func (k *calls) task(c inspect.Change, f tooltask.Fact) []inspect.Change {
	base := c
	c.What = inspect.WhatTask
	switch x := f.(type) {
	case *tooltask.Opened:
		k.tasks[x.Task.ID] = &x.Task
		c.By, c.Turn, c.Through, c.Tool, c.Op, c.Status, c.Value = x.Task.Agent, x.Task.Turn, x.Task.ID, x.Task.Tool, "open", "opened", factjson.Value(x.Task.Params)
	case *tooltask.Sent:
		c.Through, c.Op, c.Status = x.ID, "send", "sent"
		if t := k.tasks[x.ID]; t != nil {
			c.By, c.Tool = t.Agent, t.Tool
		}
	case *tooltask.Reported:
		c.By, c.Through, c.Tool, c.Op, c.Status, c.Value, c.Reason = x.By, x.ID, tooltask.AskTool, "report", x.Status, factjson.JSON(x.Progress), secret.Text(x.Note)
	case *tooltask.Ended:
		c.By, c.Through, c.Tool, c.Op, c.Status, c.After = x.Agent, x.ID, x.Tool, "end", x.Status, factjson.Value(x.Output)
		c.Code, c.Error = string(x.ErrorKind), secret.Text(x.Error)
		took(&c, x.Latency, x.Artifacts)
		return append(k.hooked(base, c, x), c)
	case *tooltask.Cancelled:
		c.By, c.Through, c.Tool, c.Op, c.Status, c.Reason = x.Agent, x.ID, x.Tool, "cancel", string(protocol.KindCancelled), x.Reason
		if delete(k.tasks, x.ID); x.Unknown {
			c.Code = "unknown" // what came of it
		}
	case *tooltask.Uncharged, *tooltask.Refused, *tooltask.TakenOver, *tooltask.Released:
		return nil // no task is another one
	}
	return []inspect.Change{c}
}
