package agent

import (
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/world"
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
	if text == "" {
		return t.Private, nil
	}
	path, err := world.ParsePath(text)
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
	path, op, value, commands := p.Text("path"), p.Text("op"), p["value"], p["commands"]
	switch {
	case commands == nil:
		return nil, t.updatePrivate(path, op, value)
	case path != "" || op != "" || value != nil:
		return nil, protocol.Errorf(protocol.KindInvalid, "one call is either path, op and value, or commands; make two calls")
	}
	return t.updateByCommands(commands)
}

func (t *Turn) updatePrivate(text, op string, value any) error {
	path, err := privatePath(text)
	if err == nil && text != "" {
		err = path.CheckWrite()
	}
	if err != nil {
		return err
	}
	switch {
	case op == "" && text == "":
		op = private.OpMerge
	case op == "":
		op = private.OpSet
	}
	f := StateUpdated{Path: text, Op: op, Value: t.encode(value)}
	if f.next, err = t.after(&f, path, t.m.Def); err != nil {
		return err
	}
	if t.m.Def.Check != nil {
		if err := t.m.Def.Check(f.next.Private); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the state would break initial_private_state_schema: %w", err)
		}
	}
	if limit := t.m.Def.Limits.MaxStateBytes; int(f.next.size) > limit {
		return protocol.Errorf(protocol.KindLimit, "the state would have %d bytes, more than %d (custom_runtime_config.max_state_bytes)", f.next.size, limit)
	}
	t.own, t.end.Changed = f.next, true
	t.facts = append(t.facts, put(&t.updates, f))
	return nil
}
