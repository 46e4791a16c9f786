package private

import (
	"slices"
	"strings"

	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/protocol"
)

// Assigned are the fields of a change that somebody else makes: he says why.
func Assigned() []tool.Param {
	return []tool.Param{
		tool.Optional("path", "string", "what to change; the top when it is missing"),
		tool.OneOf("op", "how; set when it is missing, merge without a path", Ops()...),
		tool.Optional("value", "", "the new value, number to add, element or fields"),
		tool.Required("reason", "string", "why"),
	}
}

// OpOf is how a private state is changed.
func OpOf(p tool.Params) string {
	switch op := p.Text("op"); {
	case op == "" && p.Text("path") == "":
		return OpMerge
	case op == "":
		return OpSet
	default:
		return op
	}
}

// ValueOf reads the value of a change, of the world or of a private state, by one rule: all but
// delete need one. A null that was written is one, except that nothing can be added to it or merged
// from it. Delete makes no use of a value: it is given back as it was written, because models fill
// every parameter and facts hold what was written.
func ValueOf(p tool.Params, op string) (any, error) {
	v, given := p["value"]
	switch {
	case given || op == OpDelete || !slices.Contains(Ops(), op): // who carries it out refuses another op
		return v, nil
	case op == OpSet || op == OpPush:
		return nil, protocol.Errorf(protocol.KindInvalid, "%s needs a value; null is one", op)
	}
	return nil, protocol.Errorf(protocol.KindInvalid, "%s needs a value", op)
}

// CheckAssigned refuses a change that somebody else makes for its place and operation, which can be
// known without the agent.
func CheckAssigned(p tool.Params) error {
	path, op := p.Text("path"), OpOf(p)
	at, err := ParsePath(path, nil)
	if err == nil && path != "" {
		err = at.CheckWrite()
	}
	if err == nil && !slices.Contains(Ops(), op) {
		err = protocol.Errorf(protocol.KindInvalid, "op %q: want one of %s", op, strings.Join(Ops(), ", "))
	}
	return err
}

// Told are the parameters of a change that somebody told an agent. One of the scene without a value is of an older
// program, which took it for null: a new order or script without one is refused.
func Told(p tool.Params, by string) tool.Params {
	if _, given := p["value"]; !given && by == cast.Scene {
		p["value"] = nil
	}
	return p
}
