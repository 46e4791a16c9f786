package private

import "tavernsim/engine/agent/tool"

// Assigned are the fields of a change that somebody else makes: he says why.
func Assigned() []tool.Param {
	return []tool.Param{
		tool.Optional("path", "string", "what to change; the top when it is missing"),
		tool.OneOf("op", "how; set when it is missing, merge without a path", Ops()...),
		tool.Optional("value", "", "the new value, number to add, element or fields"),
		tool.Required("reason", "string", "why"),
	}
}
