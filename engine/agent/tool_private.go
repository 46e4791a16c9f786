package agent

import (
	"tavernsim/engine/agent/selfstate"
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

func privateTools() []Tool {
	return []Tool{
		{ToolSpec: selfstate.ReadSpec(), status: protocol.CallOK, run: func(t *Turn, p tool.Params) (any, error) { return t.own.Read(p, &t.space.paths) }},
		Tool{ToolSpec: selfstate.UpdateSpec(), status: protocol.CallOK, run: func(t *Turn, p tool.Params) (any, error) {
			return t.own.Update(p, t.end.Calls, &t.out, &t.space.paths)
		}}.toldByItsFact(),
	}
}
