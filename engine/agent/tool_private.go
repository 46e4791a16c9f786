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
		return t.private, nil
	}
	path, err := world.ParsePath(text)
	if err != nil {
		return nil, err
	}
	v, ok := private.Lookup(t.private, path)
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
	var path world.Path
	var err error
	if text != "" {
		if path, err = world.ParsePath(text); err != nil {
			return err
		}
		if err = path.CheckWrite(); err != nil {
			return err
		}
	}
	if op == "" {
		op = private.OpSet
		if text == "" {
			op = private.OpMerge
		}
	}
	next, err := private.Patch(t.private, path, op, value)
	if err != nil {
		return err
	}
	if t.m.Def.Check != nil {
		if err := t.m.Def.Check(next); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "the state would break initial_private_state_schema: %w", err)
		}
	}
	encoded := t.encode(value)
	grown := t.stateSize.After(next, len(text)+len(encoded), t.m.Def.Limits.MaxStateBytes)
	if limit := t.m.Def.Limits.MaxStateBytes; int(grown) > limit {
		return protocol.Errorf(protocol.KindLimit, "the state would have %d bytes, more than %d (custom_runtime_config.max_state_bytes)", grown, limit)
	}
	t.private, t.end.Changed, t.stateSize = next, true, grown
	t.memory = touch(t.m.Def.commands, t.memory, path, op, encoded)
	t.facts = append(t.facts, put(&t.updates, StateUpdated{Path: text, Op: op, Value: encoded}))
	return nil
}
