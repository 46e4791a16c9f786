package agent

import (
	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
)

func panelTools() []Tool {
	return []Tool{
		folds((*Turn).askPanel, "PanelInteractionTool", "Asks the user through an application panel.",
			tool.Optional("panel", "string", "instance name of the panel"),
			tool.Required("action", "string", "what the panel shows"),
			tool.Optional("payload", "", "data for the panel")),
	}
}

func (*Turn) askPanel(tool.Params) (any, error) {
	return nil, protocol.Errorf(protocol.KindUnknown, "no application panel is connected to this run")
}
