// Package selfstate is a turn's draft of the private state, and the tools that read and change
// it (agent architecture §2.1.4). Later calls of the turn see the changes; the agent gets them when
// the facts of the turn are applied.
//
// # Promises
//
//  1. A failed change leaves the draft unchanged, and no fact.
//  2. The draft after a fact is the state that folding the fact gives.
//
// # Not here
//
// The rules of changes: engine/agent/private.
package selfstate

import (
	"strconv"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/agent/worldview"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/statecmd/command"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Draft is the private state as a turn changes it.
type Draft struct {
	private.State
	Engine  *private.Engine
	Profile string // id
	Now     protocol.Time

	updates []agentfact.StateUpdated
}

// Clear forgets the state, and keeps the memory of the facts.
func (d *Draft) Clear() {
	clear(d.updates[:cap(d.updates)])
	*d = Draft{updates: d.updates[:0]}
}

// ReadSpec describes the tool that reads the private state.
func ReadSpec() protocol.ToolSpec {
	return tool.Spec("ReadPrivateStateTool", "Reads your private state.",
		tool.Optional("path", "string", "what to read; everything when empty"))
}

// UpdateSpec describes the tool that changes it.
func UpdateSpec() protocol.ToolSpec {
	return tool.Spec(private.Tool, "Changes your private state.",
		tool.Optional("path", "string", "what to change; the top when empty"),
		tool.OneOf("op", "how; set when it is missing, merge without a path", private.Ops()...),
		tool.Optional("value", "", "the new value, number to add, element or fields"),
		tool.Optional("commands", "", "instead of path: state commands with keys self.…; all are carried out at once").Raw())
}

// Read carries out a call that reads.
func (d *Draft) Read(p tool.Params, paths *world.Paths) (any, error) {
	text := p.Text("path")
	path, err := private.ParsePath(text, paths)
	if err != nil {
		return nil, err
	}
	v, ok := private.Lookup(d.Private, path)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "nothing at %s", text)
	}
	return v, nil
}

// Update carries out a call that changes the state once, or by commands; call numbers it.
func (d *Draft) Update(p tool.Params, call int64, out *outbox.Box, paths *world.Paths) (any, error) {
	commands := p["commands"]
	switch {
	case commands == nil:
		return nil, d.Change(p, out, paths)
	case p.Text("path") != "" || p.Text("op") != "" || p["value"] != nil:
		return nil, protocol.Errorf(protocol.KindInvalid, "one call is either path, op and value, or commands; make two calls")
	}
	return d.Command(commands, out.Name(".", strconv.FormatInt(call, 10)), out)
}

// Change carries out one change.
func (d *Draft) Change(p tool.Params, out *outbox.Box, paths *world.Paths) error {
	text, op := p.Text("path"), private.OpOf(p)
	path, err := private.ParsePath(text, paths)
	if err != nil {
		return err
	}
	value, err := private.ValueOf(p, op)
	if err == nil {
		err = private.CheckWrite(path, value)
	}
	if err != nil {
		return err
	}
	f := agentfact.StateUpdated{Path: text, Op: op, Value: out.Encode(value)}
	next, err := d.Engine.Change(d.State, text, path, op, f.Value)
	if err == nil {
		err = d.Engine.Check(next)
	}
	if err != nil {
		return err
	}
	f.Keep(next)
	d.State, out.Changed = next, true
	d.updates = append(d.updates, f)
	out.Note(&d.updates[len(d.updates)-1])
	return nil
}

// Command carries out commands, under a name that the turn uses once.
func (d *Draft) Command(v any, name string, out *outbox.Box) (any, error) {
	batch, err := command.DecodeCall(v)
	if err != nil {
		return nil, err
	}
	if key, ok := worldstate.Foreign(&batch, worldstate.Prefix); ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "key %s is of the world: send it with %s; nothing was done, for no transaction spans both", tool.Cut(key), worldview.RequestTool)
	}
	dec, next, err := d.Engine.Decide(d.State, statecmd.Input{
		Now: d.Now, Batch: batch, BatchID: name,
		TurnID: strconv.FormatUint(out.Turn, 10), By: out.Agent, Profile: d.Profile,
	})
	if err != nil {
		return nil, err
	}
	for _, r := range dec.Results {
		out.Changed = out.Changed || r.Changed
	}
	for _, f := range dec.Facts {
		out.Spend(len(f.(*statecmd.Committed).AppendMsg(nil)))
	}
	out.Note(dec.Facts...)
	d.State = next
	return statecmd.OutcomeValue(dec.Results, dec.Warnings, dec.Debug), nil
}

// Expire removes the values that have expired since the last turn.
func (d *Draft) Expire(out *outbox.Box) error {
	facts, next, err := d.Engine.Expire(d.State, d.Now)
	if err == nil {
		out.Note(facts...)
		d.State = next
	}
	return err
}
