package agent

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

const toolUpdatePrivate = "UpdatePrivateStateTool"

func privateTools() []Tool {
	return []Tool{
		folds((*Turn).readPrivate, "ReadPrivateStateTool", "Reads your private state.",
			tool.Optional("path", "string", "what to read; everything when empty")),
		folds((*Turn).changePrivate, toolUpdatePrivate, "Changes your private state.",
			tool.Optional("path", "string", "what to change; the top when empty"),
			tool.OneOf("op", "how; set when it is missing, merge without a path", private.Ops()...),
			tool.Optional("value", "", "the new value, number to add, element or fields"),
			tool.Optional("commands", "", "instead of path: state commands with keys self.…; all are carried out at once").Raw()).toldByItsFact(),
	}
}

func (t *Turn) readPrivate(p tool.Params) (any, error) {
	text := p.Text("path")
	path, err := private.ParsePath(text, &t.space.paths)
	if err != nil {
		return nil, err
	}
	v, ok := private.Lookup(t.Private, path)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "nothing at %s", text)
	}
	return v, nil
}

// changePrivate carries out one change, or commands.
func (t *Turn) changePrivate(p tool.Params) (any, error) {
	commands := p["commands"]
	switch {
	case commands == nil:
		return nil, t.updatePrivate(p)
	case p.Text("path") != "" || p.Text("op") != "" || p["value"] != nil:
		return nil, protocol.Errorf(protocol.KindInvalid, "one call is either path, op and value, or commands; make two calls")
	}
	return t.commandOwn(commands, t.m.ID.Instance+"/"+itoa(t.end.Turn)+"."+itoa(uint64(t.end.Calls)))
}

func (t *Turn) updatePrivate(p tool.Params) error {
	text, op := p.Text("path"), private.OpOf(p)
	path, err := private.ParsePath(text, &t.space.paths)
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
	f := agentfact.StateUpdated{Path: text, Op: op, Value: t.encode(value)}
	next, err := t.m.Def.private.Change(t.own, text, path, op, f.Value)
	if err != nil {
		return err
	}
	if t.m.Def.Check != nil {
		if err := t.m.Def.Check(next.Private); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the state would break initial_private_state_schema: %w", err)
		}
	}
	if limit := t.m.Def.Limits.MaxStateBytes; int(next.Size()) > limit {
		return protocol.Errorf(protocol.KindLimit, "the state would have %d bytes, more than %d (custom_runtime_config.max_state_bytes)", next.Size(), limit)
	}
	f.Keep(next)
	t.own, t.end.Changed = next, true
	t.facts = append(t.facts, put(&t.updates, f))
	return nil
}

// commandOwn carries out commands on the draft of the private state, under a name that the turn
// uses once.
func (t *Turn) commandOwn(v any, name string) (any, error) {
	batch, err := decodeCommands(v)
	if err != nil {
		return nil, err
	}
	if key, ok := worldstate.Foreign(&batch, worldstate.Prefix); ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "key %s is of the world: send it with %s; nothing was done, for no transaction spans both", tool.Cut(key), toolRequestWorld)
	}
	dec, next, err := t.m.Def.private.Decide(t.own, statecmd.Input{
		Now: t.wake.Now, Batch: batch, BatchID: name,
		TurnID: itoa(t.end.Turn), By: t.m.ID.Instance, Profile: t.m.Def.Profile,
	})
	if err != nil {
		return nil, err
	}
	for _, r := range dec.Results {
		t.end.Changed = t.end.Changed || r.Changed
	}
	for _, f := range dec.Facts {
		t.spend(len(f.(*statecmd.Committed).AppendMsg(nil)))
	}
	t.facts, t.own = append(t.facts, dec.Facts...), next
	return statecmd.OutcomeValue(dec.Results, dec.Warnings, dec.Debug), nil
}

// expireOwn removes the values that have expired since the last turn.
func (t *Turn) expireOwn() error {
	facts, next, err := t.m.Def.private.Expire(t.own, t.wake.Now)
	if err == nil {
		t.facts, t.own = append(t.facts, facts...), next
	}
	return err
}
